"""Runs a function of a module that an administrator has put into a folder, in a process of its own.

The process gets the event as JSON on its standard input, an empty environment and limits of memory, processor time and
files that the kernel enforces. Its output is cut; when its time is over, its whole process group is killed.

    def check(event):            # a text refuses the change, None lets it pass
        return "no" if event["branch"] == "main" else None
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from lochan.errors import Refused

_OUTPUT_BYTES_MAX = 16 << 10
_FILE_BYTES_MAX = 16 << 20
_LOOK_S = 0.1
_MARK = b"\0lochan:"

_CHILD = """
import importlib.util, json, resource, sys
path, function, memory, seconds, size = sys.argv[1:6]
for what, most in (("RLIMIT_AS", int(memory)), ("RLIMIT_CPU", int(seconds)), ("RLIMIT_FSIZE", int(size)),
                   ("RLIMIT_NOFILE", 64), ("RLIMIT_CORE", 0)):
    try:
        resource.setrlimit(getattr(resource, what), (most, most))
    except (ValueError, OSError):
        pass
event = json.load(sys.stdin)
spec = importlib.util.spec_from_file_location("hook", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
said = getattr(module, function)(event)
sys.stdout.flush()
sys.stdout.buffer.write(b"\\0lochan:" + json.dumps(None if said is None else str(said)[:2000]).encode())
"""


class PythonLimits(NamedTuple):
    folder: str  # of modules; empty: none are run
    memory_bytes: int = 512 << 20


class PythonAnswer(NamedTuple):
    refusal: str | None
    output: str
    failed: str = ""  # why there is no answer


def run_module(
    limits: PythonLimits, module: str, function: str, event: Mapping[str, object], timeout_s: float
) -> PythonAnswer:
    """Runs the function and waits for it, in this thread. Raises Refused if no administrator has enabled modules, or if
    there is no such module."""
    if not limits.folder:
        raise Refused("hooks of kind python are not enabled here", hint="an administrator sets hooks.python_folder")
    path = Path(limits.folder) / f"{module}.py"
    if not path.is_file():
        raise Refused(f"there is no module {module!r} in the folder of hooks")
    numbers = [str(each) for each in (limits.memory_bytes, int(timeout_s) + 1, _FILE_BYTES_MAX)]
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", _CHILD, str(path), function, *numbers],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=limits.folder,
        start_new_session=True,
    )
    killer = _Killer(child, timeout_s)
    try:
        head, tail = _talk(child, msgspec.json.encode(event))
        code = child.wait()
    finally:
        killer.end()
    if killer.fired:
        return PythonAnswer(None, head.decode(errors="replace"), f"it has not ended within {timeout_s:g} seconds")
    return _answer(head, tail, code)


class _Killer:
    """Kills the process and everything that it has started, when its time is over and when it has ended."""

    def __init__(self, child: subprocess.Popen[bytes], seconds: float) -> None:
        self._child = child
        self.fired = False
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def _fire(self) -> None:
        self.fired = True
        self._kill()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)

    def end(self) -> None:
        self._timer.cancel()
        self._kill()
        self._child.wait()


def _talk(child: subprocess.Popen[bytes], event: bytes) -> tuple[bytes, bytes]:
    """Sends the event. Returns the first bytes of the output, and the last ones; the bytes between them are dropped."""
    assert child.stdin is not None and child.stdout is not None
    with suppress(OSError):
        child.stdin.write(event)
    with suppress(OSError):
        child.stdin.close()
    head, tail = b"", b""
    with child.stdout as printed:
        while piece := _piece(child, printed):
            room = _OUTPUT_BYTES_MAX - len(head)
            head += piece[:room] if room > 0 else b""
            tail = (tail + piece)[-_OUTPUT_BYTES_MAX:]
    return head, tail


def _piece(child: subprocess.Popen[bytes], printed: IO[bytes]) -> bytes:
    """Returns the next output, or nothing if no more comes. A process that the module has started in a session of its
    own may hold the pipe open for ever, so this does not wait for longer than the module runs."""
    while not select.select([printed], [], [], _LOOK_S)[0]:
        if child.poll() is not None:
            return b""
    return os.read(printed.fileno(), 64 << 10)


def _answer(head: bytes, tail: bytes, code: int) -> PythonAnswer:
    _, mark, said = tail.rpartition(_MARK)
    output = head.partition(_MARK)[0].decode(errors="replace")
    if code != 0 or not mark:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return PythonAnswer(None, output, f"it ended without an answer ({how})")
    try:
        return PythonAnswer(msgspec.json.decode(said, type=str | None), output)
    except msgspec.MsgspecError:
        return PythonAnswer(None, output, "its answer cannot be read")
