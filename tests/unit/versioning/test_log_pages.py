"""Pages of a log: each goes on where the one before was closed, and shows what the whole log would."""

from contextlib import aclosing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.errors import Invalid
from lochan.versioning import branches
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions import log as logs
from lochan.versioning.revisions.graph import log_of_all
from lochan.versioning.revisions.log import LogRequest
from lochan.versioning.revisions.log import history as log_of
from lochan.versioning.revisions.log_positions import LogPositions
from tests.run import run
from tests.unit.versioning.history import ANN, History, graph, history

LINES = 12


async def _forked() -> History:
    repo = await history()
    for number in range(LINES):
        await repo.branch(f"dev{number}")
        await repo.write(f"dev{number}", f"d{number}=1")
        await repo.write("main", f"p/{number}=1")
        await repo.merge(f"dev{number}", "main")
    return repo


async def _page(repository: OpenRepository, request: LogRequest, limit: int) -> list[str]:
    """As a server does it: it looks one commit further, and closes the log there."""
    found: list[str] = []
    async with aclosing(log_of(repository, "main", request)) as commits:
        async for id, _ in commits:
            if len(found) == limit:
                break
            found.append(id)
    return found


@pytest.mark.parametrize("kept", [True, False], ids=["positions are known", "positions are forgotten"])
@pytest.mark.parametrize("limit", [1, 3, 7])
@pytest.mark.parametrize(
    "request_", [LogRequest(), LogRequest(first_parent=True), LogRequest(prefixes=("p/",)), LogRequest(grep="d")]
)
def test_pages_are_the_log(request_: LogRequest, limit: int, kept: bool) -> None:
    async def play() -> None:
        repository = (await _forked()).repository
        whole = [id async for id, _ in log_of(repository, "main", request_)]
        assert len(whole) >= LINES
        found: list[str] = []
        while True:
            after = found[-1] if found else ""
            if not kept:
                repository.log_positions = LogPositions()
            page = await _page(repository, request_._replace(after=after), limit)
            if not page:
                break
            found += page
        assert found == whole

    run(play())


def test_a_page_costs_no_more_than_its_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repository = (await _forked()).repository
        passed: list[str] = []

        def counted(*args: object, **kwargs: object) -> object:
            for id, commit in log_of_all(*args, **kwargs):  # type: ignore[arg-type]
                passed.append(id)
                yield id, commit

        monkeypatch.setattr(logs, "log_of_all", counted)
        after, costs = "", []
        for _ in range(5):
            passed.clear()
            page = await _page(repository, LogRequest(after=after), 6)
            costs.append(len(passed))
            after = page[-1]
        assert costs == [7] * 5, "one more, to know whether there is another page"

    run(play())


def test_a_log_goes_on_when_the_branch_has_moved_meanwhile() -> None:
    async def play() -> None:
        repo = await _forked()
        first = await _page(repo.repository, LogRequest(), 4)
        whole = [id async for id, _ in log_of(repo.repository, "main")]
        await repo.write("main", "new=1")
        assert await _page(repo.repository, LogRequest(after=first[-1]), 3) == whole[4:7]

    run(play())


def test_a_position_is_worth_nothing_once_the_branch_is_another() -> None:
    async def play() -> None:
        repo = await _forked()
        first = await _page(repo.repository, LogRequest(), 4)
        await branches.hard_reset(repo.repository, "main", "dev0", actor=ANN)
        with pytest.raises(Invalid, match="no commit in the history of main"):
            await _page(repo.repository, LogRequest(after=first[-1]), 3)

    run(play())


@settings(max_examples=60)
@given(st.data())
def test_a_log_from_its_open_commits_is_the_rest_of_it(data: st.DataObject) -> None:
    edges = ["c0"]
    for number in range(1, data.draw(st.integers(2, 14))):
        parents = data.draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=3, unique=True))
        edges.append(" ".join([f"c{number}", *(f"c{each}" for each in parents)]))
    commits = graph(*edges)
    head = edges[-1].split()[0]
    whole = [id for id, _ in log_of_all(commits.__getitem__, (head,))]
    open = {head}
    for at, id in enumerate(whole):
        assert [each for each, _ in log_of_all(commits.__getitem__, tuple(open))] == whole[at:]
        open.discard(id)
        open.update(commits[id].parents)
