"""From one thread to another, one piece ahead: who makes them waits while nobody takes them."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class Handoff(Generic[T]):
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._piece: T | None = None
        self._ended = False
        self._why: Exception | None = None

    @property
    def is_over(self) -> bool:
        """Nothing more is taken: it was ended, or stopped."""
        return self._ended

    def put(self, piece: T) -> bool:
        """False: nobody wants it any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is None or self._ended)
            if self._ended:
                return False
            self._piece = piece
            self._changed.notify_all()
            return True

    def take(self) -> T | None:
        """None at the end. Raises what it was stopped by, at once."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is not None or self._ended)
            if self._why is not None:
                raise self._why
            piece, self._piece = self._piece, None
            self._changed.notify_all()
            return piece

    def end(self) -> None:
        """There are no more, after the one that is still to be taken."""
        self._over(None)

    def stop(self, why: Exception) -> None:
        """Whoever waits is told; the first word counts."""
        self._over(why)

    def _over(self, why: Exception | None) -> None:
        with self._changed:
            if self._why is None and why is not None and not (self._ended and self._piece is None):
                self._why, self._piece = why, None
            self._ended = True
            self._changed.notify_all()
