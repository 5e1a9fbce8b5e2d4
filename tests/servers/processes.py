"""The processes of a server, as Linux reports them."""

from pathlib import Path
from typing import NamedTuple

FORK_SERVER = "lochan.ingest.fork_server"


class Process(NamedTuple):
    pid: int
    parent: int
    command: str

    @property
    def peak_mib(self) -> int:
        """The most memory that it ever had."""
        return _number(self.pid, "VmHWM:") >> 10


def descendants(pid: int) -> list[Process]:
    """The process itself, and all that it or they have started."""
    every = _processes()
    found, seen = [each for each in every if each.pid == pid], {pid}
    while more := [each for each in every if each.parent in seen and each.pid not in seen]:
        found += more
        seen |= {each.pid for each in more}
    return found


def fork_servers(pid: int) -> list[Process]:
    every = descendants(pid)
    forked = {each.pid for each in every if FORK_SERVER in each.command}
    return [each for each in every if each.pid in forked and each.parent not in forked]


def decoders(pid: int) -> list[Process]:
    """Those that run just now."""
    servers = {each.pid for each in fork_servers(pid)}
    return [each for each in descendants(pid) if each.parent in servers]


def workers(pid: int) -> list[Process]:
    """All processes except decoders."""
    return [each for each in descendants(pid) if FORK_SERVER not in each.command]


def _processes() -> list[Process]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(Process(int(folder.name), _number(int(folder.name), "PPid:"), words))
            except OSError:  # it has just ended
                continue
    return found


def _number(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
