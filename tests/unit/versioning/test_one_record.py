"""Several events of one record share its number, and their results are still told apart."""

import asyncio

import msgspec
import pytest

from lochan.errors import ConcurrentCommit, NotFound
from lochan.formats.entry import Entry
from lochan.formats.events import Event
from lochan.formats.repository_events import BranchCreated, BranchDeleted, BranchRestored, Staged, StashDropped, Stashed
from lochan.formats.workspace_events import WorkspaceOpened, WorkspaceSealed, WorkspaceStaged
from lochan.journal.state import EventPosition
from lochan.versioning import branches, objects, stash
from lochan.versioning.state.branch import AGAIN, record_of
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces import commit
from tests.run import run
from tests.unit.versioning.folded_events import FIRST, Story, entry
from tests.unit.versioning.workspace_place import ANN, commit_all, once, opened, read, repository_with


def in_one_record(story: Story, *events: Event, version: int = 2) -> list[object]:
    story.number += 1
    return [story.refs.apply(event, EventPosition(story.number, 0, "ann", version)) for event in events]


def test_a_branch_made_again_in_the_same_record_is_another() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        repository.gate = None  # hooks would look at the branch before it is there
        _, before = await repository.refs()
        await asyncio.gather(
            branches.create_branch(repository, "dev", "main", actor=ANN),
            objects.put(repository, "dev", "staged on the first", once(b"x"), actor=ANN),
            branches.delete_branch(repository, "dev", "main", actor=ANN),
            branches.create_branch(repository, "dev", "main", actor=ANN),
            return_exceptions=True,
        )
        refs, after = await repository.refs()
        made, deleted = refs.branch("dev"), refs.deleted("dev")[0]
        assert after == before + 1, "they share a record, or this shows nothing"
        assert record_of(made.incarnation) == record_of(deleted.incarnation) == after
        assert made.incarnation != deleted.incarnation
        with pytest.raises(ConcurrentCommit):
            await repository.submit(ANN, BranchDeleted("dev", deleted.incarnation))
        await branches.delete_branch(repository, "dev", "main", actor=ANN)
        refs, _ = await repository.refs()
        assert [branch.incarnation for branch in refs.deleted("dev")] == [made.incarnation, deleted.incarnation]

    run(play())


def test_a_branch_restored_in_the_record_of_its_deletion_is_another() -> None:
    story = Story()
    in_one_record(story, BranchCreated("dev", FIRST.id), BranchDeleted("dev", 2), BranchRestored("dev", 2))
    assert story.refs.branch("dev").incarnation == 2 + AGAIN
    story.refuses(BranchDeleted("dev", 2), ConcurrentCommit)


def test_branches_of_two_names_have_the_number_of_their_record() -> None:
    story = Story()
    in_one_record(story, BranchCreated("dev", FIRST.id), BranchCreated("exp", FIRST.id))
    assert {story.refs.branch(name).incarnation for name in ("dev", "exp")} == {2}


def test_events_of_older_journals_fold_to_what_they_folded_to() -> None:
    """Version 1: later events name what they made by the number alone."""
    story = Story()
    made = (BranchCreated("dev", FIRST.id), BranchDeleted("dev", 2), BranchCreated("dev", FIRST.id))
    in_one_record(story, *made, version=1)
    assert story.refs.branch("dev").incarnation == 2
    story.tell(BranchDeleted("dev", 2))
    story.tell(Staged("main", (entry("a"),)))
    pushed = in_one_record(story, Stashed("main"), StashDropped(str(story.number + 1)), version=1)
    assert pushed[0] == str(story.number)
    story.tell(Staged("main", (entry("a"),)))
    id = story.apply(WorkspaceOpened("main", "tail"))
    in_one_record(story, WorkspaceSealed(id), WorkspaceStaged(id, (entry("late"),)), version=1)
    assert story.refs.workspaces.get(id).last == story.number


def test_the_next_record_counts_anew_and_a_fork_that_is_given_up_counts_nothing() -> None:
    story = Story()
    given_up = story.refs.fork()
    given_up.apply(BranchCreated("dev", FIRST.id), EventPosition(2, 0, "ann", 2))
    given_up.apply(BranchDeleted("dev", 2), EventPosition(2, 0, "ann", 2))
    in_one_record(story, BranchCreated("dev", FIRST.id))
    in_one_record(story, BranchDeleted("dev", 2))
    in_one_record(story, BranchCreated("dev", FIRST.id))
    assert story.refs.branch("dev").incarnation == 4
    again = Refs()
    again.load(msgspec.Raw(msgspec.msgpack.encode(story.refs.dump())))
    assert again.branch("dev") == story.refs.branch("dev")


def test_the_id_of_a_stash_is_given_once() -> None:
    """Pushed, dropped and pushed by three requests that share a record: the first must not find the other's."""

    async def play() -> None:
        repository = await repository_with(a="1")
        await objects.put(repository, "main", "b", once(b"first"), actor=ANN)
        put = repository.submit(ANN, Staged("main", (Entry("c", (), 0, "", "", 0),)))
        first, _, _, second = await asyncio.gather(
            stash.push(repository, "main", actor=ANN),
            stash.drop(repository, "main", actor=ANN),
            put,
            stash.push(repository, "main", actor=ANN),
        )
        assert first.partition(".")[0] == second.partition(".")[0], "they share a record, or this shows nothing"
        assert first != second
        with pytest.raises(NotFound):
            await stash.drop(repository, "main", first, actor=ANN)

    run(play())


def test_a_write_in_the_record_of_a_commit_s_last_look_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes after the look, with the same number."""

    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)

        async def _entry(path: str) -> Entry:
            await objects.put(repository, "main", f"source of {path}", once(path.encode()), actor=ANN)
            found = await objects.stat(repository, "main", f"source of {path}")
            return msgspec.structs.replace(found, path=path)

        await repository.submit(ANN, WorkspaceStaged(workspace.id, (await _entry("b"),)))
        late_entry = await _entry("late")
        seal = commit._Commit._seal
        shared: list[int] = []

        async def seal_and_somebody_writes(self: commit._Commit, found: WorkspaceState) -> int:
            before = (await repository.refs())[1]
            sealing = asyncio.create_task(seal(self, found))
            if not shared:
                await asyncio.gather(sealing, repository.submit(ANN, WorkspaceStaged(workspace.id, (late_entry,))))
            upto = await sealing
            shared.append((await repository.refs())[1] - before)
            return upto

        monkeypatch.setattr(commit._Commit, "_seal", seal_and_somebody_writes)
        await commit_all(repository, workspace)
        assert shared[0] == 1, "they share a record, or this shows nothing"
        assert set(await read(repository, "main@")) == {"a", "b", "late"}

    run(play())
