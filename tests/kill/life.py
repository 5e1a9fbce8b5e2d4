"""A life: a child's module, run in a process of its own until it ends, or dies at a failpoint.

The process is forked from one that has imported what children need: for most lives, that takes longer than to live.
"""

import os
import runpy
import sys
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import msgspec

from tests.kill.child import Order

_ROOT = Path(__file__).parents[2]
_CHILDREN = [f"tests.kill.{file.stem}" for file in sorted(Path(__file__).parent.glob("*child.py"))]
_PATIENCE_S = 120
_KILLED = -9
_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(_CHILDREN)
_one = Lock()  # the server is asked by one thread at a time


def live(child: str, order: Order) -> dict[str, int] | None:
    """How often each failpoint was passed, or None if the process was killed at the one of the order."""
    with TemporaryDirectory(prefix="lochan-life-") as name:
        output, errors = Path(name, "output"), Path(name, "errors")
        words = child, msgspec.json.encode(order).decode(), str(output), str(errors)
        process = _FORKS.Process(target=_run, args=words, daemon=True)
        with _one:
            process.start()
        process.join(_PATIENCE_S)
        code = process.exitcode
        if code is None:
            process.kill()
        process.join()
        process.close()
        assert code is not None, f"{child} hangs"
        if code == _KILLED and order.at:
            return None
        assert code == 0, errors.read_text()
        return msgspec.json.decode(output.read_bytes(), type=dict[str, int])


def _run(child: str, order: str, output: str, errors: str) -> None:
    """As `python -m tests.kill.CHILD ORDER` would."""
    for number, file in ((1, output), (2, errors)):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(_ROOT)
    sys.argv = [child, order]
    runpy.run_module(f"tests.kill.{child}", run_name="__main__", alter_sys=True)
    sys.stdout.flush()
