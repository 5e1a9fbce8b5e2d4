"""Whole commands over a lake of many entries: commit, merge, diff, status, a recursive list and an upload of a folder.

Processor time is compared, because the machine may be busy. Bare is the smallest program that does the work of the
command, in a process of its own, its start included: it reads the same rows as Parquet and writes them, prints the same
lines from a file, or copies the same files with eight threads. A copy makes its files safe as an upload does that packs
many into one, by one sync of the file system at the end; or, by the side, each file by itself.

The first table is cold: commands read what they need from the store. The second says of those that print how much of
their time is the start, the reading and checking of files, and the printing. In the third a companion has done the same
before. The same work through an open repository is in `versioning.py`.
"""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.companion import Times, home_of, running_companion
from bench.places import ACTOR
from bench.sizes import sizes
from bench.table import middle, show
from bench.tree import changes_at, differing_files, entries
from bench.versioning import puts, stage
from lochan.formats.metarange import EMPTY
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning import branches
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository

_LOCHAN = str(Path(sys.executable).with_name("lochan"))
_CHANGES = 10_000
_FILES = 10_000
_ROUNDS = 3
_WARM_ROUNDS = 11
# Not base0 beside theirs: by then base0 is where theirs was merged into.
_PRINTING = {"diff": ["diff", "demo@theirs~1", "demo@theirs"], "status": ["status", "demo@staged"]}
_COUNTED = {"diff": _PRINTING["diff"], "status": ["diff", "demo@staged"]}
Words = Callable[[int], list[str]]  # of the command, by its turn
_IMPORTS = "import pyarrow.parquet as pq, sys, glob"
_WRITE = f"""{_IMPORTS}
from bench.tree import write_bare
from pathlib import Path
for file in sys.argv[2:]:
    write_bare(pq.read_table(file), Path(sys.argv[1]))
"""
_READ = f"{_IMPORTS}; [pq.read_table(f) for f in sys.argv[1:]]"
_PRINT = "import sys; sys.stdout.writelines(line for line in open(sys.argv[1]))"
_COPY = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
source, target = sys.argv[1:]
def copy(name):
    with open(os.path.join(source, name), 'rb') as file: data = file.read()
    temporary = os.path.join(target, name + '.new')
    with open(temporary, 'wb') as file:
        file.write(data); file.flush(); os.fsync(file.fileno())
    os.rename(temporary, os.path.join(target, name))
with ThreadPoolExecutor(8) as pool: list(pool.map(copy, os.listdir(source)))
folder = os.open(target, os.O_RDONLY); os.fsync(folder)
"""
_COPY_SYNCED_ONCE = _COPY.replace("; os.fsync(file.fileno())", "").replace(
    "os.fsync(folder)", "import ctypes; assert not ctypes.CDLL(None).syncfs(folder)"
)


def main() -> None:
    for size in sizes((300_000, 1_000_000)):
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            _Commands(Path(folder), size).run()


class Spending:
    """Processor time and time by the clock of processes, in turns."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def run(self, command: Sequence[str], out: Path | None = None) -> tuple[float, float]:
        before, begun = _children_s(), perf_counter()
        with Path(out or os.devnull).open("wb") as file:
            subprocess.run(command, env=self._env, stdout=file, check=True, cwd=Path(__file__).parent.parent)
        return _children_s() - before, perf_counter() - begun


class _Commands:
    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self.lake = str(folder / "lake")
        self.rows: list[list[object]] = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCHAN_")}
        self.spending = Spending({**kept, "HOME": str(folder), "LOCHAN_COMPANION": "0"})
        self.changes = min(_CHANGES, size // 10)

    def run(self) -> None:
        ranges, differing = asyncio.run(self.make())
        start = self.cost(lambda number: ["log", "demo@main"], None)
        self.add(
            f"commit {self.size:,}",
            lambda n: ["commit", f"demo@all{n}", "-m", "x"],
            [_WRITE, str(self.folder / "bare.parquet"), *ranges],
            start,
        )
        some = f"commit {self.changes:,} over {self.size:,}"
        self.add(
            some,
            lambda n: ["commit", f"demo@some{n}", "-m", "x"],
            [_WRITE, str(self.folder / "bare.parquet"), *ranges],
            start,
        )
        self.add_lines("diff", ["diff", "demo@base0", "demo@theirs"], start)
        self.add_lines("status", ["status", "demo@staged"], start)
        self.add_lines("fs ls -r", ["fs", "ls", "-r", "demo@base0"], start)
        self.add(
            "merge, both sides changed",
            lambda n: ["merge", "demo@theirs", f"demo@ours{n}"],
            [_READ, *differing, *ranges],
            start,
        )
        self.add("merge, one side changed", lambda n: ["merge", "demo@theirs", f"demo@base{n}"], [_READ], start)
        self.upload(start)
        head = [
            "",
            "cpu s",
            "s",
            "bare cpu s",
            "bare s",
            "cpu x bare",
            "x bare",
            "cpu x bare, without the start",
            "lines/s of cpu",
        ]
        show(
            f"whole commands, {self.size:,} entries, cold; a command that does nothing takes {start[0]:.2f} s",
            head,
            self.rows,
        )
        self.parts(start)
        self.warm()

    def parts(self, start: tuple[float, float]) -> None:
        """The start is that of a command that does nothing, reading is what a count takes beyond it, and printing what
        the lines take beyond the count."""
        rows: list[list[object]] = []
        for title, words in _PRINTING.items():
            counted = self.cost(lambda _, words=words: [*_COUNTED[words[0]], "--summary"], None)[0]  # type: ignore[misc]
            whole = self.cost(lambda _, words=words: words, self.folder / "lines")[0]  # type: ignore[misc]
            bare = self.bare(_PRINT, str(self.folder / "lines"))[0]
            took = [part * 1e3 for part in (whole, start[0], counted - start[0], whole - counted, bare)]
            rows.append([title, *took, took[3] / took[4]])
        head = ["ms of processor time", "in all", "start", "reading", "printing", "bare", "printing x bare"]
        show(f"commands that print, {self.size:,} entries, cold", head, rows)

    def warm(self) -> None:
        rows: list[list[object]] = []
        out = self.folder / "lines"
        (self.folder / "warm").mkdir()
        with home_of(self.folder / "warm") as env, running_companion(env) as companion:
            for title, words in {"nothing (log -n 1)": ["log", "demo@main", "-n", "1"], **_PRINTING}.items():
                command = [_LOCHAN, "--lake", self.lake, *words]
                taken = Times()
                for _ in range(3):  # the first ones show it what is needed
                    out.write_bytes(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
                    companion.settle()
                for _ in range(_WARM_ROUNDS):
                    taken.add("bare", [sys.executable, "-c", _PRINT, str(out)], env)
                    taken.add("warm", command, env, companion)
                lines = out.read_bytes().count(b"\n")
                rows.append(
                    [title, lines, *map(taken.ms, ("warm", "bare")), taken.ms("warm") / taken.ms("bare"), "3 x"]
                )
        head = ["ms of processor time", "lines", "companion", "bare", "ratio", "budget"]
        show(f"commands that print, {self.size:,} entries, with the companion", head, rows)

    def cost(self, words: Words, out: Path | None) -> tuple[float, float]:
        found = [self.spending.run([_LOCHAN, "--lake", self.lake, *words(n)], out) for n in range(_ROUNDS)]
        return middle([cpu for cpu, _ in found]), middle([wall for _, wall in found])

    def bare(self, program: str, *arguments: str) -> tuple[float, float]:
        found = [self.spending.run([sys.executable, "-c", program, *arguments]) for _ in range(_ROUNDS)]
        return middle([cpu for cpu, _ in found]), middle([wall for _, wall in found])

    def add(self, title: str, words: Words, bare: Sequence[str], start: tuple[float, float], lines: int = 0) -> None:
        ours, theirs = self.cost(words, None), self.bare(*bare)
        self._row(title, ours, theirs, start, lines)

    def add_lines(self, title: str, words: list[str], start: tuple[float, float]) -> None:
        out = self.folder / "lines"
        ours = self.cost(lambda number: words, out)
        lines = out.read_bytes().count(b"\n")
        self._row(f"{title}, {lines:,} lines", ours, self.bare(_PRINT, str(out)), start, lines)

    def upload(self, start: tuple[float, float]) -> None:
        source, target = self.folder / "files", self.folder / "copies"
        source.mkdir()
        target.mkdir()
        for number in range(_FILES):
            (source / f"{number:06}.csv").write_bytes(f"{number:07},".encode() * 125)
        words = ["fs", "upload", "-r", str(source)]
        for title, program in (("synced once", _COPY_SYNCED_ONCE), ("each synced", _COPY)):
            self.add(
                f"fs upload -r, {_FILES:,} of 1 kB; bare: {title}",
                lambda n, title=title: [*words, f"demo@main/{title[0]}{n}/"],  # type: ignore[misc]
                [program, str(source), str(target)],
                start,
            )

    def _row(
        self, title: str, ours: tuple[float, float], bare: tuple[float, float], start: tuple[float, float], lines: int
    ) -> None:
        above = max(0.0, ours[0] - start[0])
        rate = lines / above if lines and above else ""
        self.rows.append([title, *ours, *bare, ours[0] / bare[0], ours[1] / bare[1], above / bare[0], rate])

    async def make(self) -> tuple[list[str], list[str]]:
        """The range files of everything, and those that one side has changed."""
        lake = await Lake.create(LocalStore(self.lake, create=True))
        await lake.create_repository("demo", actor=ACTOR)
        repository = await lake.open_repository("demo")
        repository.staged = lambda branch: None  # what upkeep does is no part of a command
        table = entries(self.size)
        every = self.size // self.changes
        rows = np.arange(0, self.size, every)[: self.changes]
        for number in range(_ROUNDS):
            await _branch(repository, f"all{number}", "main")
            await stage(repository, f"all{number}", puts(table))
        await _branch(repository, "base0", "main")
        await stage(repository, "base0", puts(table))
        await commit(repository, "base0", CommitRequest("all of it"), actor=ACTOR)
        for name, at in (("theirs", rows), ("ours0", rows + every // 2)):
            await _branch(repository, name, "base0")
            await stage(repository, name, changes_at(table, at))
            await commit(repository, name, CommitRequest("changes"), actor=ACTOR)
        for number in range(1, _ROUNDS):
            await _branch(repository, f"base{number}", "base0")
            await _branch(repository, f"ours{number}", "ours0")
        for name in ("staged", *(f"some{number}" for number in range(_ROUNDS))):
            await _branch(repository, name, "base0")
            await stage(repository, name, changes_at(table, rows))
        found = [await self._files(repository, name) for name in ("base0", "theirs", "ours0")]
        await repository.close()
        await lake.close()
        return found[0], [*found[1], *found[2]]

    async def _files(self, repository: OpenRepository, name: str) -> list[str]:
        tree = await repository.tree((await repository.resolve(name)).commit)
        nothing = await repository.trees.open(EMPTY)
        stored = Path(self.lake) / repository.repository.id
        return [*map(str, await differing_files(repository.trees, (tree, nothing), stored, self.folder / "whole"))]


async def _branch(repository: OpenRepository, name: str, source: str) -> None:
    await branches.create_branch(repository, name, source, actor=ACTOR)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
