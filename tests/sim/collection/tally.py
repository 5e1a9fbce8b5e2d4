"""What the schedules of a scene amount to: how many there were, how many met where it matters, and what was deleted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.sim.collection.place import CollectionPlace, Span
from tests.sim.trace import Effect

_WRITES = ("put", "put_if_absent")


@dataclass(slots=True)
class Tally:
    schedules: int = 0
    met: int = 0  # in which a collector went on while a writer was between its bytes and its append
    deleted: int = 0  # objects, while the scene was played
    live_deleted: int = 0

    def add(self, place: CollectionPlace) -> None:
        self.schedules += 1
        history = place.oracle.store.history
        self.met += any(_meets(writer, place.spans, history) for writer in place.spans if not writer.collects)

    def join(self, other: "Tally") -> None:
        self.schedules += other.schedules
        self.met += other.met
        self.deleted += other.deleted
        self.live_deleted += other.live_deleted

    def line(self, scenes: int) -> str:
        return (
            f"{self.schedules:,} schedules, {scenes} scenes, in {self.met:,} a collector went on between a writer's "
            f"bytes and its append, objects deleted {self.deleted:,}, live objects deleted {self.live_deleted:,}"
        )


def _meets(writer: Span, spans: Iterable[Span], history: Sequence[Effect]) -> bool:
    start, stop = _window(writer, history)
    for other in spans:
        if other.collects and other.machine != writer.machine:
            low, high = max(start, other.start), min(stop, other.stop, len(history))
            if any(history[at].who == other.machine for at in range(low, high)):
                return True
    return False


def _window(writer: Span, history: Sequence[Effect]) -> tuple[int, int]:
    """From the first bytes of an act to its last append. An act that writes no bytes begins with its first look at the
    journal; one that is refused ends with its last request."""
    own = [at for at in range(writer.start, min(writer.stop, len(history))) if history[at].who == writer.machine]
    files = [at for at in own if history[at].verb in _WRITES and "/journal/" not in history[at].path]
    landed = [at for at in own if history[at].outcome == "created" and "/journal/" in history[at].path]
    if not own:
        return 0, 0
    stop = landed[-1] if landed else own[-1]
    return files[0] if files and files[0] < stop else own[0], stop
