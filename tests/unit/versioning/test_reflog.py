"""Where a branch was at a moment: against a plain list of its moves."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from lochan.versioning.state.reflog import Moves, RefLog

A, B, C = (digit * 64 for digit in "abc")


def loaded(log: RefLog) -> RefLog:
    again = RefLog()
    again.load(msgspec.msgpack.decode(msgspec.msgpack.encode(log.dump()), type=dict[str, Moves]))
    return again


def test_the_last_move_at_or_before() -> None:
    log = RefLog()
    for time, head in ((10, A), (20, B), (30, "")):
        log.moved("main", time, head)
    for each in (log, loaded(log), log.fork()):
        assert [each.at("main", time) for time in (9, 10, 19, 20, 29, 30, 99)] == [None, A, A, B, B, "", ""]
        assert each.at("dev", 99) is None
        assert (each.first("main"), each.last("main"), each.first("dev")) == (10, (30, ""), None)


def test_a_clock_that_is_behind_does_not_turn_moves_around() -> None:
    log = loaded(_moves(("main", 100, A)))
    log.moved("main", 50, B)
    log.moved("main", 101, C)
    assert [log.at("main", time) for time in (99, 100, 101)] == [None, B, C]


def test_a_fork_is_joined_after_a_checkpoint() -> None:
    log = _moves(("main", 1, A), ("dev", 1, A))
    fork = log.fork()
    fork.moved("main", 2, B)
    assert log.at("main", 2) == A
    log.dump()
    assert fork.at("main", 2) == B
    assert fork.last("dev") == (1, A)
    fork.join()
    assert loaded(log).at("main", 2) == B
    assert loaded(log).at("dev", 2) == A


def _moves(*moves: tuple[str, int, str]) -> RefLog:
    log = RefLog()
    for move in moves:
        log.moved(*move)
    return log


@given(
    st.lists(st.tuples(st.sampled_from(["move", "fork", "join", "load"]), st.integers(0, 30), st.sampled_from("abc")))
)
def test_as_a_list(steps: list[tuple[str, int, str]]) -> None:
    logs: list[RefLog] = [RefLog()]
    moves: list[tuple[int, str]] = []
    for what, time, digit in steps:
        if what == "move":
            logs[-1].moved("main", time, digit * 64)
            moves.append((max([time, *(before for before, _ in moves)]), digit * 64))
        elif what == "fork":
            logs.append(logs[-1].fork())
        elif what == "join" and len(logs) > 1:
            logs.pop().join()
        elif what == "load" and len(logs) == 1:
            logs = [loaded(logs[0])]
    for time in range(31):
        expected = [head for moved, head in moves if moved <= time]
        assert logs[-1].at("main", time) == (expected[-1] if expected else None)
