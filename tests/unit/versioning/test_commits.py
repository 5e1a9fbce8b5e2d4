"""The commit table: the same as a dictionary, whatever was dumped and loaded in between, and lazy after a load."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.formats.commit import Commit
from lochan.versioning.state import commits as module
from lochan.versioning.state.commits import CommitColumns, Commits, Packed


def commit(number: int, file: str = "file") -> Commit:
    return Commit((), "ann", "ann", f"message {number}", number, {}, "tree", file, 0)


def loaded(table: Commits) -> Commits:
    again = Commits()
    again.load(msgspec.msgpack.decode(msgspec.msgpack.encode(table.dump()), type=CommitColumns | list[Commit]))
    return again


def filled(*numbers: int) -> Commits:
    table = Commits()
    for number in numbers:
        table.put(commit(number).id, commit(number))
    return table


def test_what_was_dumped_is_found() -> None:
    table = loaded(filled(*range(200)))
    assert all(table.get(commit(number).id) == commit(number) for number in range(200))
    assert commit(200).id not in table
    assert sorted(table) == sorted(commit(number).id for number in range(200))


@pytest.mark.parametrize("id", ["", "main", "0" * 63, "0" * 64, "f" * 64, "F" * 64, "ü" * 64])
def test_an_unknown_id_is_not_found(id: str) -> None:
    assert loaded(filled(1, 2)).get(id) is None
    assert Commits().get(id) is None


def test_a_prefix_is_a_span_of_the_index_and_of_what_is_new() -> None:
    ids = sorted(commit(number).id for number in range(300))
    table = loaded(filled(*range(200)))
    for number in range(200, 300):
        table.put(commit(number).id, commit(number))
    for prefix in ("", "0", "f", "ff", ids[0], ids[-1], ids[7][:5], ids[8][:6]):
        assert table.with_prefix(prefix) == [id for id in ids if id.startswith(prefix)]
        assert table.fork().with_prefix(prefix) == table.with_prefix(prefix)
    assert table.with_prefix("xyz") == table.with_prefix(ids[0].upper() + "0") == []


def test_nothing_is_decoded_or_encoded_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table = loaded(filled(*range(100)))
    table.put(commit(100).id, commit(100))
    encoded: list[int] = []

    class Counting:
        def encode(self, obj: Packed) -> bytes:
            encoded.append(obj.date)
            return msgspec.msgpack.encode(obj)

    monkeypatch.setattr(module, "_encoder", Counting())
    monkeypatch.setattr(module, "_decoder", None)
    table.dump()
    table.dump()
    assert encoded == [100]
    assert len(table.with_prefix("")) == 101


def test_every_field_is_kept() -> None:
    tree, parents = "ab" * 32, ("01" * 32, "cd" * 32)
    whole = Commit(parents, "ann", "bob", "why\n\nbecause", -7, {"k": "v"}, tree, f"m/{tree}-7-0123.parquet", 3)
    odd = Commit(("short",), "", "", "", 0, {}, "", "elsewhere", 0)
    table = Commits()
    for each in (whole, odd):
        table.put(each.id, each)
    again = loaded(table)
    assert [again.get(each.id) for each in (whole, odd)] == [whole, odd]
    assert [field.name for field in msgspec.structs.fields(Packed)] == [
        field.name for field in msgspec.structs.fields(Commit)
    ], "a field that is added to a commit is added here"


def test_one_of_the_same_id_takes_its_place() -> None:
    table = loaded(filled(1, 2, 3))
    table.put(commit(2).id, commit(2, "written again"))
    assert sorted(table) == sorted(commit(number).id for number in (1, 2, 3))
    again = loaded(table)
    assert again.get(commit(2).id) == commit(2, "written again")
    assert [again.get(commit(number).id) for number in (1, 3)] == [commit(1), commit(3)]
    assert len(again.dump()) == 3


def test_a_checkpoint_from_before_there_were_columns() -> None:
    old = msgspec.msgpack.encode([commit(1), commit(2)])
    table = Commits()
    table.load(msgspec.msgpack.decode(old, type=CommitColumns | list[Commit]))
    assert table.get(commit(2).id) == commit(2)
    assert loaded(table).get(commit(1).id) == commit(1)


def test_a_fork_is_seen_by_itself_until_it_is_joined() -> None:
    table = loaded(filled(1))
    fork = table.fork()
    fork.put(commit(2).id, commit(2))
    assert commit(2).id in fork
    assert commit(2).id not in table
    table.dump()  # between fork and join: what was new moves into the columns, and nobody sees a difference
    assert sorted(fork) == sorted([commit(1).id, commit(2).id])
    fork.join()
    assert commit(2).id in loaded(table)


FILES = st.text(st.characters(exclude_characters="\0"), max_size=2)


@given(st.lists(st.tuples(st.sampled_from(["put", "fork", "join", "load"]), st.integers(0, 20), FILES)))
def test_as_a_dictionary(steps: list[tuple[str, int, str]]) -> None:
    tables, models = [Commits()], [dict[str, Commit]()]
    for what, number, file in steps:
        if what == "put":
            new = commit(number, file)
            tables[-1].put(new.id, new)
            models[-1][new.id] = new
        elif what == "fork":
            tables.append(tables[-1].fork())
            models.append(dict(models[-1]))
        elif what == "join" and len(tables) > 1:
            tables.pop().join()
            models[-2:] = models[-1:]
        elif what == "load" and len(tables) == 1:
            tables = [loaded(tables[0])]
    assert {id: tables[-1].get(id) for id in tables[-1]} == models[-1]
    assert msgspec.msgpack.encode(loaded(tables[0]).dump()) == msgspec.msgpack.encode(tables[0].dump())
