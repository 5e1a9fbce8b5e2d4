"""An append whose answer is lost, as if the process had been killed right after it."""

from collections.abc import Iterator
from contextlib import contextmanager

from lochan import failpoints


@contextmanager
def lost_answer(number: int) -> Iterator[list[str]]:
    """Loses the answer to the append of that number, as if the process had been killed right after it; 0 loses none.
    Yields what was passed."""
    passed: list[str] = []

    def act(name: str) -> None:
        if name == "append.decided":
            passed.append(name)
            if len(passed) == number:
                raise RuntimeError("the answer is lost")

    failpoints.arm(act)
    try:
        yield passed
    finally:
        failpoints.arm(None)
