"""The position of a stream, read from the commits of a branch."""

import pytest

from lochan.errors import Corrupt
from lochan.formats.commit import Commit
from lochan.jobs.job_commit import BATCH, JOB, find_commit
from lochan.jobs.streams.kafka import OFFSETS, StreamPosition, decode_offsets, encode_offsets, newest


def history(*metadata: dict[str, str]) -> dict[str, Commit]:
    """One after the other: `0` is the oldest."""
    return {
        str(number): new_commit((str(number - 1),) if number else (), number, each)
        for number, each in enumerate(metadata)
    }


def new_commit(parents: tuple[str, ...], generation: int, metadata: dict[str, str]) -> Commit:
    return Commit(parents, "", "", "", generation, metadata, "", "f", generation)


def offsets(next: int) -> str:
    return encode_offsets({("t", 0): next})


def of(stream: str, batch: int, offsets: str = "{}") -> dict[str, str]:
    return {JOB: stream, BATCH: str(batch), OFFSETS: offsets}


def test_offsets_come_back() -> None:
    given = {("orders", 1): 9, ("orders", 0): 17, ("more", 12): 1 << 60}
    assert encode_offsets(given) == '{"more": {"12": 1152921504606846976}, "orders": {"0": 17, "1": 9}}'
    assert decode_offsets(encode_offsets(given), "c") == given


@pytest.mark.parametrize("text", ["", "{", "[]", '{"orders": 3}', '{"orders": {"x": 1}}', '{"orders": {"0": null}}'])
def test_what_is_none(text: str) -> None:
    with pytest.raises(Corrupt, match="commit c1 does not tell"):
        decode_offsets(text, "c1")


def test_the_newest_of_a_stream_counts() -> None:
    commits = history({}, of("a", 0, '{"t": {"0": 5}}'), of("b", 7), of("a", 1, '{"t": {"0": 9}}'), {"by": "ada"})
    assert newest(commits.__getitem__, "4", "a") == StreamPosition(1, {("t", 0): 9})
    assert newest(commits.__getitem__, "2", "a") == StreamPosition(0, {("t", 0): 5})
    assert newest(commits.__getitem__, "4", "c") == StreamPosition(since="4")


@pytest.mark.parametrize(
    "theirs, expected",
    [
        ([1, 2], StreamPosition(2, {("t", 0): 20})),
        ([], StreamPosition(0, {("t", 0): 0})),
        ([1, 2, 3], StreamPosition(3, {("t", 0): 30})),
    ],
)
def test_what_a_merge_has_brought_in_was_read(theirs: list[int], expected: StreamPosition) -> None:
    """Whichever batch is the newest, the next one is not there yet; otherwise it could never land."""
    commits = history({}, of("a", 0, '{"t": {"0": 0}}'), {})
    commits |= {
        f"d{batch}": new_commit(
            (f"d{batch - 1}" if batch > 1 else "1",), 1 + batch, of("a", batch, offsets(batch * 10))
        )
        for batch in theirs
    }
    commits["merged"] = new_commit(("2", f"d{theirs[-1]}") if theirs else ("2",), 9, {})
    found = newest(commits.__getitem__, "merged", "a")
    assert found == expected
    assert find_commit(commits.__getitem__, "merged", found.next("a")) is None


def test_both_sides_of_a_merge_have_read_on() -> None:
    commits = history({}, of("a", 0, offsets(0)), of("a", 1, offsets(50)), of("a", 2, offsets(60)))
    commits |= {"d": new_commit(("1",), 2, of("a", 1, offsets(70))), "merged": new_commit(("3", "d"), 4, {})}
    found = newest(commits.__getitem__, "merged", "a")
    assert found.batch == 2
    assert find_commit(commits.__getitem__, "merged", found.next("a")) is None


def test_a_batch_that_another_has_landed_is_found() -> None:
    commits = history({}, of("a", 0, "{}"), of("a", 1, "{}"))
    behind = newest(commits.__getitem__, "1", "a")
    assert find_commit(commits.__getitem__, "2", behind.next("a")) == "2"
    assert find_commit(commits.__getitem__, "1", behind.next("a")) is None
    assert find_commit(commits.__getitem__, "2", newest(commits.__getitem__, "2", "a").next("a")) is None
