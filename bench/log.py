"""A history of a hundred thousand commits: the time until its first commit is shown, and where it goes."""

import asyncio
import os
import subprocess
import sys
import tempfile
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import msgspec

from bench.places import ACTOR
from bench.table import middle, seconds, show
from lochan.formats import checkpoint as checkpoints
from lochan.formats.commit import Commit
from lochan.formats.repository_events import Moved
from lochan.journal.state import Schema
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.log import history
from lochan.versioning.state.refs import Refs

_COMMITS = 100_000
_PER_EVENT = 1_000
_ROUNDS = 15
_LOCHAN = str(Path(sys.executable).with_name("lochan"))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        file = asyncio.run(_write(folder))
        _show_first(folder, file)
        asyncio.run(_show_open(folder))
        _show_processes(folder)


def _show_first(folder: str, file: Path) -> None:
    asyncio.run(_first(folder))  # what is imported on the way is not counted here; see the processes
    times = [asyncio.run(_first(folder)) for _ in range(_ROUNDS)]
    data = file.read_bytes()
    rows = {
        "open_repository to the first commit of the log": [sum(each) for each in times],
        "  of it, opening the repository": [each[0] for each in times],
        "  of it, the fresh state and the first commit": [each[1] for each in times],
        "reading the checkpoint's file": [seconds(file.read_bytes) for _ in range(_ROUNDS)],
        "decoding it, with its SHA-256": [seconds(partial(_decode, data)) for _ in range(_ROUNDS)],
        "SHA-256 alone": [seconds(partial(sha256, data)) for _ in range(_ROUNDS)],
    }
    title = f"first commit of {_COMMITS:,} on local disk, a checkpoint of {len(data) / 1e6:.1f} MB: median of {_ROUNDS}"
    show(title, ["", "ms", "slowest"], [[name, middle(took) * 1e3, max(took) * 1e3] for name, took in rows.items()])


async def _show_open(folder: str) -> None:
    lake = await Lake.open(LocalStore(folder))
    repository = await lake.open_repository("demo-repo")
    begun = perf_counter()
    count = len([id async for id, _ in history(repository, "main")])
    walked = perf_counter() - begun
    assert count == _COMMITS + 1
    refs, _ = await repository.refs()
    digits = refs.branch("main").head[:10]
    found = middle([seconds(lambda: refs.commits_with(digits)) for _ in range(1_000)])
    state = repository.journal.tail.state
    again = middle([seconds(state.checkpoint) for _ in range(_ROUNDS)])
    await _extend(repository, 1, 255)
    added = seconds(state.checkpoint)
    await lake.close()
    rows = [
        ["the whole log, each commit decoded", walked * 1e3],
        ["a commit found by ten digits of its id", found * 1e3],
        ["a checkpoint made again, nothing new", again * 1e3],
        ["a checkpoint with 255 new commits", added * 1e3],
    ]
    show(f"{_COMMITS:,} commits, once they are open", ["", "ms"], rows)


def _show_processes(folder: str) -> None:
    commands = {
        "bare: import click, msgspec, obstore": [sys.executable, "-c", "import click, msgspec, obstore"],
        "bare: and pyarrow": [sys.executable, "-c", "import click, msgspec, obstore, pyarrow.compute, pyarrow.parquet"],
        "lochan log -n 1": [_LOCHAN, "--lake", folder, "log", "demo-repo", "-n", "1"],
        "lochan log -n 1 of a repository with one commit": [_LOCHAN, "--lake", folder, "log", "small", "-n", "1"],
    }
    # As installed: with bytecode, which an environment may forbid to be written beside the sources.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(_ROUNDS + 1):
        for name, command in commands.items():
            took = seconds(partial(_run, command, env))
            times[name] += [took] if number else []  # the first round writes the bytecode
    base = middle(next(iter(times.values())))
    rows = [[name, middle(taken) * 1e3, middle(taken) / base] for name, taken in times.items()]
    show(f"processes, {_COMMITS:,} commits: median of {_ROUNDS}", ["", "ms", "x bare"], rows)


# --- the lake --------------------------------------------------------------------------------------------------------
async def _write(folder: str) -> Path:
    """Through the journal itself, many commits to an event, and then a checkpoint; returns the checkpoint's file."""
    lake = await Lake.create(LocalStore(folder, create=True))
    await lake.create_repository("demo-repo", actor=ACTOR)
    await lake.create_repository("small", actor=ACTOR)
    repository = await lake.open_repository("demo-repo")
    await _extend(repository, _COMMITS // _PER_EVENT, _PER_EVENT)
    number = await repository.journal.checkpoint()
    await lake.close()
    return Path(folder, repository.repository.id, "checkpoints", f"{number:020d}")


async def _extend(repository: OpenRepository, events: int, commits: int) -> None:
    for _ in range(events):
        refs, _ = await repository.refs()
        branch = refs.branch("main")
        tip_id, tip, new = branch.head, refs.commit(branch.head), []
        for _ in range(commits):
            tip = _after(tip_id, tip)
            tip_id = tip.id
            new.append(tip)
        event = Moved("main", branch.incarnation, branch.head, tip_id, "import", tuple(new))
        await repository.submit(ACTOR, event)


def _after(parent_id: str, parent: Commit) -> Commit:
    number = parent.generation + 1
    tree = sha256(b"%d" % number).hexdigest()
    return msgspec.structs.replace(
        parent,
        parents=(parent_id,),
        author=f"user-{number % 50}",
        committer="ada",
        message=f"Load the orders of day {number} and mend what was wrong with them",
        date=1_700_000_000_000_000 + number * 60_000_000,
        tree=tree,
        tree_file=f"metaranges/{tree}-{number}-{tree[:16]}.parquet",
        generation=number,
    )


async def _first(folder: str) -> tuple[float, float]:
    """Seconds to open the repository, and from there to the first commit."""
    lake = await Lake.open(LocalStore(folder))
    begun = perf_counter()
    repository = await lake.open_repository("demo-repo")
    opened = perf_counter()
    async for _, commit in history(repository, "main"):
        assert commit.generation == _COMMITS
        break
    done = perf_counter()
    await lake.close()
    return opened - begun, done - opened


def _decode(data: bytes) -> None:
    state = Schema(Refs).restore(checkpoints.decode(data, "a checkpoint"))
    assert state.of(Refs).branch("main")


def _run(command: list[str], env: dict[str, str]) -> None:
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
