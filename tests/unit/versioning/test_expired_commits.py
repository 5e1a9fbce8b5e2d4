"""Expired commits are one bit each in a checkpoint, and come back from it."""

import hashlib
import random

import msgspec

from lochan.formats.collection_events import Expired
from lochan.formats.commit import Commit
from lochan.versioning.state.commits import Commits
from lochan.versioning.state.expired_commits import ExpiredCommits
from lochan.versioning.state.refs import Refs
from tests.unit.versioning.folded_events import FIRST, Story, after


def commit_of(number: int) -> tuple[str, Commit]:
    return hashlib.sha256(b"%d" % number).hexdigest(), Commit((), "a", "a", "", number, {}, "", "", 0)


def test_bits_survive_commits_that_come_between() -> None:
    chance = random.Random(7)
    commits, expired, model = Commits(), ExpiredCommits(), set[str]()
    for round in range(6):
        for number in range(round * 50, round * 50 + 50):
            commits.put(*commit_of(number))
        for id in chance.sample(sorted(commits), 20):
            fork = expired.fork()
            fork.add(id)
            assert id in fork
            fork.join()
            model.add(id)
        assert set(expired) == model
        bits = expired.dump(commits.dump())
        assert len(bits) == -(-(round * 50 + 50) // 8)
        again = ExpiredCommits()
        again.load(commits.columns, bits)
        for each in (expired, again, again.fork()):
            assert set(each) == model == {id for id in commits if id in each}
            assert bool(each)
            assert "no commit" not in each


def test_a_checkpoint_has_them_and_so_has_an_old_one() -> None:
    story = Story()
    story.tell(story.move(after(FIRST)))
    assert not story.refs.collection.any_expired
    story.tell(Expired((FIRST.id,)))
    dumped = msgspec.msgpack.encode(story.refs.dump())
    loaded = Refs()
    loaded.load(msgspec.Raw(dumped))
    assert loaded.collection.expired() == {FIRST.id}
    old = msgspec.structs.replace(story.refs.dump(), expired=b"")
    old = msgspec.structs.replace(old, collection=msgspec.structs.replace(old.collection, expired=[FIRST.id]))
    loaded = Refs()
    loaded.load(msgspec.Raw(msgspec.msgpack.encode(old)))
    assert loaded.collection.expired() == {FIRST.id}


def test_an_expiry_is_a_bit() -> None:
    columns = Commits()
    for number in range(20_000):
        columns.put(*commit_of(number))
    expired = ExpiredCommits()
    for id in columns:
        expired.add(id)
    assert len(expired.dump(columns.dump())) == 2_500
