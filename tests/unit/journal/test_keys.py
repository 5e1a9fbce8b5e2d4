"""Rule J8 by itself: what the table of idempotency keys answers, and what it forgets."""

import msgspec
import pytest

from lochan.errors import Invalid, KeyReused, Unknown
from lochan.formats.record import Actor, RecordEntry
from lochan.journal.keys import KeyedResult, Keys

NOW = 1_700_000_000_000_000


def entry(key: str, fingerprint: bytes = b"f", *, user: str = "ann", pending: bool = False) -> RecordEntry:
    return RecordEntry(Actor(user, "c", "s"), key, fingerprint, (), pending)


def new_key(seconds: int, name: str = "k") -> str:
    return f"{NOW + seconds * 1_000_000:016d}-{name}"


def test_a_known_key_gets_the_first_result() -> None:
    keys = Keys()
    assert keys.look_up(entry(new_key(0)), NOW) is None
    keys.remember(entry(new_key(0)), NOW, "result")
    assert keys.look_up(entry(new_key(0)), NOW) == KeyedResult("result")


def test_keys_are_each_users_own() -> None:
    keys = Keys()
    keys.remember(entry(new_key(0)), NOW, "result")
    assert keys.look_up(entry(new_key(0), user="bob"), NOW) is None


def test_the_same_key_for_another_request_is_refused() -> None:
    keys = Keys()
    keys.remember(entry(new_key(0)), NOW, "result")
    with pytest.raises(KeyReused):
        keys.look_up(entry(new_key(0), b"other"), NOW)


def test_the_keys_made_longest_ago_go_first_and_are_not_taken_for_new() -> None:
    keys = Keys(kept=2)
    for second in (3, 1, 4, 2, 5):  # the order in which they came in does not matter
        keys.remember(entry(new_key(second)), NOW, second)
    assert keys.look_up(entry(new_key(5)), NOW) == KeyedResult(5)
    assert keys.look_up(entry(new_key(4)), NOW) == KeyedResult(4)
    for forgotten in (1, 2, 3):
        with pytest.raises(Unknown, match="too old to tell"):
            keys.look_up(entry(new_key(forgotten)), NOW)
    with pytest.raises(Unknown):  # never seen, but who knows
        keys.look_up(entry(new_key(2, "another")), NOW)
    assert keys.look_up(entry(new_key(6)), NOW) is None


def test_a_pending_key_is_not_forgotten_and_is_closed_by_its_own() -> None:
    keys = Keys(kept=1)
    keys.remember(entry(new_key(0), pending=True), NOW, "running")
    for second in range(1, 9):
        keys.remember(entry(new_key(second)), NOW, second)
    assert keys.look_up(entry(new_key(0), pending=True), NOW) == KeyedResult("running")
    assert keys.look_up(entry(new_key(0)), NOW) is None, "the entry that closes it is carried out"
    keys.remember(entry(new_key(0)), NOW, "finished")
    assert keys.look_up(entry(new_key(0)), NOW) == KeyedResult("finished")


def test_a_key_from_the_future_is_refused() -> None:
    with pytest.raises(Invalid, match="future"):
        Keys().look_up(entry(new_key(301)), NOW)
    assert Keys().look_up(entry(new_key(299)), NOW) is None


def test_a_foreign_key_has_the_time_of_its_record() -> None:
    keys = Keys(kept=1)
    keys.remember(entry("theirs"), NOW, "result")
    assert keys.look_up(entry("theirs"), NOW) == KeyedResult("result")
    keys.remember(entry(new_key(1)), NOW, 1)
    keys.remember(entry(new_key(2)), NOW, 2)
    assert keys.look_up(entry("theirs"), NOW) is None, "forgotten, and without a time nobody can tell"


def test_a_fork_keeps_its_keys_to_itself_until_it_is_joined() -> None:
    keys = Keys()
    keys.remember(entry(new_key(0)), NOW, "before")
    fork = keys.fork()
    fork.remember(entry(new_key(1)), NOW, "in the fork")
    assert fork.look_up(entry(new_key(0)), NOW) == KeyedResult("before")
    assert keys.look_up(entry(new_key(1)), NOW) is None
    fork.join()
    assert keys.look_up(entry(new_key(1)), NOW) == KeyedResult("in the fork")


def test_what_is_dumped_is_loaded() -> None:
    keys = Keys(kept=1)
    for second in range(4):
        keys.remember(entry(new_key(second)), NOW, second)
    again = Keys(kept=1)
    again.load(msgspec.msgpack.encode(keys.dump()))
    assert again.look_up(entry(new_key(3)), NOW) == KeyedResult(3)
    with pytest.raises(Unknown):
        again.look_up(entry(new_key(0)), NOW)
