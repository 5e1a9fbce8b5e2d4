"""A request with its key that is sent twice at once, lost, forgotten and held: it is carried out once (rule J8)."""

import asyncio
from typing import Any

import pytest

from lochan.errors import KeyReused, Unknown
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.keys import KEPT_PER_USER, KeyedActor, part_of, with_key, without_key
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning import objects
from lochan.versioning.branches import create_branch, create_tag, delete_branch
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.moves import merge
from lochan.versioning.idempotency import hold_key
from lochan.versioning.open_repository import OpenRepository
from tests.lost_answer import lost_answer
from tests.run import run

ANN = Actor("ann", "test", "here", "claimed")


async def opened(store: MemoryStore | None = None) -> tuple[Lake, OpenRepository]:
    lake = await (Lake.create(MemoryStore()) if store is None else Lake.open(store))
    if store is None:
        await lake.create_repository("demo-repo", actor=ANN)
    return lake, await lake.open_repository("demo-repo")


async def once(data: bytes) -> Any:
    yield data


async def put(repository: OpenRepository, path: str, data: bytes = b"x") -> None:
    await objects.put(repository, "main", path, once(data), actor=ANN)


def test_two_at_once_are_one() -> None:
    async def play() -> None:
        _, repository = await opened()
        await put(repository, "a")
        asked = [
            commit(repository, "main", CommitRequest("twice"), actor=with_key(ANN, "k", "commit")) for _ in range(3)
        ]
        made = await asyncio.gather(*asked)
        assert len({id for id, _ in made}) == 1
        assert (await repository.resolve("main~1")).commit.generation == 0, "one commit on top of the first"
        assert not (await repository.refs())[0].branch("main").turns, "nobody is left in the queue"
        assert made[0][1].author == "claimed"
        assert made[0][1].committer == "ann"

    run(play())


def test_two_in_one_record_whose_answer_is_lost_share_its_fate() -> None:
    async def play() -> None:
        _, repository = await opened()
        asked = [create_branch(repository, "dev", "main", actor=with_key(ANN, "k", "create")) for _ in range(2)]
        with lost_answer(1):
            outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(each) for each in outcomes] == [Unknown, Unknown]
        assert await create_branch(repository, "dev", "main", actor=with_key(ANN, "k", "create"))

    run(play())


def test_what_came_since_is_not_done_again() -> None:
    """Such as a commit of later writes under the old message, or a branch that was deleted and created again."""

    async def play() -> None:
        _, repository = await opened()
        await put(repository, "a")
        actor = with_key(ANN, "k", "commit")
        first, _ = await commit(repository, "main", CommitRequest("one"), actor=actor)
        await put(repository, "b")
        assert (await commit(repository, "main", CommitRequest("one"), actor=actor))[0] == first
        assert (await objects.list_objects(repository, "main$")).entries, "what was staged since is staged"
        await commit(repository, "main", CommitRequest("two"), actor=ANN)
        create = with_key(ANN, "b", "create")
        await create_branch(repository, "dev", "main", actor=create)
        await delete_branch(repository, "dev", "main", actor=ANN)
        await create_branch(repository, "dev", "main", actor=create)
        assert (await repository.refs())[0].find_branch("dev") is None
        with pytest.raises(KeyReused):
            await create_tag(repository, "v1", "main", actor=with_key(ANN, "b", "tag"))

    run(play())


def test_a_merge_that_could_not_even_begin_again_gives_its_result() -> None:
    async def play() -> None:
        _, repository = await opened()
        await create_branch(repository, "dev", "main", actor=ANN)
        await objects.put(repository, "dev", "d", once(b"x"), actor=ANN)
        await commit(repository, "dev", CommitRequest("dev"), actor=ANN)
        actor = with_key(ANN, "k", "merge")
        head = await merge(repository, "dev", "main", actor=actor)
        await delete_branch(repository, "dev", "main", actor=ANN)
        assert await merge(repository, "dev", "main", actor=actor) == head

    run(play())


def test_a_held_key_is_not_forgotten() -> None:
    """However many others come meanwhile. The outcome of one that was not held is no longer known."""

    async def play() -> None:
        lake, repository = await opened()

        def draw() -> str:
            return lake.ids.idempotency_key(lake.clock.wall())

        held, plain, own = (with_key(ANN, draw(), name) for name in ("held", "plain", "own"))
        await hold_key(repository, held)
        await hold_key(repository, held)  # begun again after a kill
        numbers = iter(range(3 * KEPT_PER_USER))
        others = [
            create_tag(repository, f"t{next(numbers)}", "main", actor=with_key(ANN, draw(), "t")) for _ in range(8)
        ]
        await asyncio.gather(*others)
        keys = repository.journal.tail.state.keys
        forget(keys, "ann")
        await create_tag(repository, "held", "main", actor=held)
        assert await create_tag(repository, "held", "main", actor=held)
        with pytest.raises(Unknown, match="too old to tell"):
            await create_tag(repository, "plain", "main", actor=plain)
        assert isinstance(own, KeyedActor)
        new = with_key(ANN, own.key, "own", is_new=True)
        await create_tag(repository, "own", "main", actor=new)  # a clock that is behind stops nobody
        assert (await repository.refs())[0].find_tag("own")

    run(play())


def forget(keys: Any, user: str) -> None:
    """As if very many keys had come."""
    found = keys._own_keys(user)
    found.evict(len(found.known))


def test_pieces_of_a_request_have_keys_of_their_own() -> None:
    actor = with_key(ANN, Ids().idempotency_key(1_700_000_000_000_000), "manage")
    assert isinstance(actor, KeyedActor)
    one, other = part_of(actor, "one"), part_of(actor, "other")
    assert isinstance(one, KeyedActor) and isinstance(other, KeyedActor)
    assert one != other and one == part_of(actor, "one")
    assert one.key.startswith(actor.key)
    assert without_key(one) == ANN and part_of(ANN, "one") is ANN
