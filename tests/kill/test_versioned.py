"""Files and their history survive the end of a process at every step of every verb, and a later life goes on.

What was told to be done is done; what was only begun is done or not, as a whole; and nothing is left in the way: each
branch can be written to and committed at once. Dictionaries that were told the same say what must be there.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from itertools import groupby
from pathlib import Path

import msgspec
import pytest

from lochan.versioning.open_repository import OpenRepository
from tests.kill import versioned_child
from tests.kill.child import Order
from tests.kill.harness import ROOT, choose, failpoints_in_source
from tests.kill.life import live
from tests.kill.test_collection import PREFIXES as COLLECTED
from tests.kill.test_deletion import PREFIXES as DELETED
from tests.kill.test_imports import PREFIXES as BROUGHT_IN
from tests.kill.test_retention import PREFIXES as RETAINED
from tests.kill.versioned_child import Line
from tests.kill.workload import workload
from tests.model.versioned.linearize import SentRequest, ends, linearized, predicted
from tests.model.versioned.reader import LakeReader
from tests.model.versioned.requests import Request
from tests.model.versioned.state import Branch, State, same
from tests.model.versioned.verbs import UNKNOWN, Answer, play

PREFIXES = ("body.", "commit.", "compact.", "cover.", "land.", "move.", "stash.", "unstage.", "workspace.")
_AT_ONCE = 2


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for module, name, value in versioned_child.HASTENED:
        monkeypatch.setattr(module, name, value)
    with tempfile.TemporaryDirectory(
        prefix="lochan-kill-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as name:
        yield Path(name)


def test_killed_at_every_step_of_versioning(folder: Path) -> None:
    """At the first, a middle and the last passing; and no failpoint is left out."""
    names = _failpoints()
    killed = _all_tried(folder, spread=3)
    assert killed == names, f"nobody died at {sorted(names - killed)}"


@pytest.mark.full
@pytest.mark.timeout(3_600)
def test_killed_at_nearly_every_passing(folder: Path) -> None:
    assert _all_tried(folder, spread=20) == _failpoints()


def test_the_judge_notices_what_is_lost(folder: Path) -> None:
    """The process is killed after it wrote the bytes and before it reported. A forged report that the request was done
    would be false, and so would one that it was refused, if it had happened."""
    assert _live(folder / "lost", "body.after_put", 1) is None
    _forge(folder / "lost", "")
    with pytest.raises(AssertionError):
        _judge(folder / "lost")
    assert _live(folder / "done", "land.landed", 1) is None
    _forge(folder / "done", "nothing-to-do")
    with pytest.raises(AssertionError):
        _judge(folder / "done")


def _forge(folder: Path, kind: str) -> None:
    """Adds an answer to the last request."""
    with (folder / "reports").open("r+b", buffering=0) as reports:
        last = msgspec.json.decode(reports.readlines()[-1], type=Line)
        reports.write(msgspec.json.encode(msgspec.structs.replace(last, done=True, kind=kind)) + b"\n")


def test_every_failpoint_of_versioning_is_in_a_story() -> None:
    """And none is in two."""
    files = (ROOT / "src" / "lochan" / "versioning").rglob("*.py")
    here = {name for name in failpoints_in_source() if any(f'fp("{name}")' in file.read_text() for file in files)}
    elsewhere = (*BROUGHT_IN, *COLLECTED, *DELETED, *RETAINED, "repository.")
    assert not [name for name in here if not name.startswith((*PREFIXES, *elsewhere))]
    assert not set(PREFIXES) & set(BROUGHT_IN)


def _failpoints() -> set[str]:
    return {name for name in failpoints_in_source() if name.startswith(PREFIXES)}


def _all_tried(folder: Path, spread: int) -> set[str]:
    """Every step at which a process died."""
    passed = _live(folder / "dry")
    assert passed is not None
    _judge(folder / "dry")
    forgotten = _failpoints() - passed.keys()
    assert not forgotten, f"the child never passes {sorted(forgotten)}: let it do what leads there"
    trials = [(name, passing) for name in sorted(_failpoints()) for passing in choose(passed[name], spread)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return set(pool.map(lambda trial: _try(folder / f"{trial[0]}-{trial[1]}", *trial), trials)) - {""}


def _try(folder: Path, at: str, passing: int) -> str:
    """The failpoint at which it died, or "" if it was passed less often this time."""
    died = _live(folder, at, passing) is None
    try:
        _judge(folder)
    except BaseException as error:
        error.add_note(f"killed at {at}, passing {passing}")
        raise
    return at if died else ""


def _live(folder: Path, at: str = "", passing: int = 1) -> dict[str, int] | None:
    """How often each failpoint was passed, or None if the process was killed there."""
    folder.mkdir(exist_ok=True)
    order = Order(str(folder), str(folder / "reports"), seed=1, life=0, at=at, passing=passing)
    return live("versioned_child", order)


def _judge(folder: Path) -> None:
    with (folder / "reports").open("ab", buffering=0) as reports:
        asyncio.run(_judged(folder, reports))


async def _judged(folder: Path, reports: FileIO) -> None:
    lakes, repositories = await versioned_child.opened(folder)
    judge = _Judge(repositories[0])
    await judge.hear(_read(folder, life=0), [await judge.beginning()])
    await judge.commit_everywhere()
    await versioned_child.live(1, repositories, reports)
    await judge.hear(_read(folder, life=1), [judge.state])
    await versioned_child.close(lakes, repositories)


def _read(folder: Path, life: int) -> list[Line]:
    lines = [msgspec.json.decode(line, type=Line) for line in (folder / "reports").read_bytes().splitlines()]
    return [line for line in lines if line.life == life]


class _Judge:
    def __init__(self, repository: OpenRepository) -> None:
        self._repository = repository
        self._reader = LakeReader()
        self.state: State

    async def beginning(self) -> State:
        await self._reader.state(self._repository)
        first = next(id for id, commit in self._reader.commits.items() if not commit.parents)
        return State({first: self._reader.commits[first]}, {"main": Branch(first)})

    async def hear(self, reports: list[Line], states: list[State]) -> None:
        """Computes all states that the reports allow; what is there must be one of them."""
        asked: list[SentRequest] = []
        for _, lines in groupby(reports, lambda line: line.step):
            asked = await self._asked(list(lines))
            before, states = states, []
            for state in (after for one in before for after in ends(one, asked)):
                if state not in states:
                    states.append(state)
            assert states, "\n".join(predicted(before[0], asked))
        self.state, _ = await self._reader.state(self._repository)
        assert any(same(state, self.state) for state in states), f"{asked}: {states[:3]} and not {self.state}"

    async def _asked(self, lines: list[Line]) -> list[SentRequest]:
        answers = {line.at: line for line in lines if line.done}
        begun = [(line, workload(line.life)[line.step][line.at]) for line in lines if not line.done]
        return [SentRequest(request, line.name, await self._answer(answers.get(line.at))) for line, request in begun]

    async def _answer(self, line: Line | None) -> Answer:
        if line is None:
            return Answer(UNKNOWN)
        if not line.commit:
            return Answer(line.kind, line.value)
        refs, _ = await self._repository.refs()
        return Answer(line.kind, await self._reader.name(self._repository, refs, line.commit))

    async def commit_everywhere(self) -> None:
        """No seal, turn or hold of a dead process is in the way for longer than allowed."""
        branches = list(self.state.branches)
        requests = [Request("put", (branch, "after", "the end")) for branch in branches]
        requests += [Request("commit", (branch, (), False)) for branch in branches]
        requests += [Request("commit_workspace", ())] if self.state.workspaces else []
        for number, request in enumerate(requests):
            async with asyncio.timeout(10):
                answer = await play(self._repository, request, f"after {number}")
            asked = SentRequest(request, f"after {number}", await self._reader.answer(self._repository, answer))
            seen, _ = await self._reader.state(self._repository)
            assert linearized(self.state, [asked], seen) is not None, predicted(self.state, [asked])
            assert request.verb != "commit" or not asked.answer.kind, f"{request}: {asked.answer}"
            self.state = seen
