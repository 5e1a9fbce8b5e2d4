"""strace, to see the system calls of a process. It is installed if it is missing."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CALLS = "fsync,fdatasync,rename,renameat2,link,linkat,sendto,writev,write,sendmsg"
_LINE = re.compile(r"^(\d+) +(?:\d+\.\d+ )?(\w+)\((.*)$")
_RESUMED = re.compile(r"^(\d+) +(?:\d+\.\d+ )?<\.\.\. (\w+) resumed>(.*)$")


class Call(NamedTuple):
    name: str
    rest: str  # its arguments and its answer, as strace writes them


def command(trace: Path) -> list[str]:
    """A prefix for a command, which stays our child. All its threads and children are followed."""
    if shutil.which("strace") is None:
        subprocess.run(["apt-get", "install", "-y", "-q", "strace"], check=True, capture_output=True)
    return ["strace", "-D", "-f", "-y", "-s", "64", "-e", f"trace={CALLS}", "-o", str(trace)]


def calls(trace: Path) -> Iterator[Call]:
    """The calls in the order in which they ended. A call that another thread interrupted is in two pieces."""
    begun: dict[str, str] = {}
    for line in trace.read_text(errors="replace").splitlines():
        resumed = _RESUMED.match(line)
        if resumed:
            yield Call(resumed[2], begun.pop(resumed[1] + resumed[2], "") + resumed[3])
            continue
        found = _LINE.match(line)
        if found and found[3].endswith("<unfinished ...>"):
            begun[found[1] + found[2]] = found[3].removesuffix("<unfinished ...>")
        elif found:
            yield Call(found[2], found[3])
