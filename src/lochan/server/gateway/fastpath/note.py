"""Who is told of every answer of the short way."""

from typing import Protocol


class Note(Protocol):
    def __call__(
        self,
        operation: str,
        method: str,
        path: str,
        bucket: str,
        ref: str,
        inside: str,
        sent: int,
        arrived: float,
        source: str,
        user: str,
        id: str,
        received: int = 0,
        /,
    ) -> None: ...
