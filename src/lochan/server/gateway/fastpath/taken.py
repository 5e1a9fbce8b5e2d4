"""The other side of a request whose body was waited for already: the general way finds the same."""

from typing import Any


class Taken:
    """Has the verbs of Granian's protocol that a small body and its answer need."""

    def __init__(self, protocol: Any, body: bytes | Exception) -> None:
        """`body` may be why there is none."""
        self._body = body
        self.response_bytes = protocol.response_bytes
        self.response_empty = protocol.response_empty

    async def __call__(self) -> bytes:
        if isinstance(self._body, Exception):
            raise self._body
        return self._body
