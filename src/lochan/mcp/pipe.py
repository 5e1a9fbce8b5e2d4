"""The protocol over standard input and output, with a message on each line."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from lochan.mcp.messages import INVALID_REQUEST, MESSAGE_BYTES_MAX, RpcError, error_message


def serve_pipe(incoming: BinaryIO, outgoing: BinaryIO, answer: Callable[[bytes], bytes | None]) -> None:
    """Answers messages until the client closes its end."""
    while line := incoming.readline(MESSAGE_BYTES_MAX + 1):
        if len(line) > MESSAGE_BYTES_MAX and not line.endswith(b"\n"):
            _skip_line(incoming)
            answered: bytes | None = error_message(
                None, RpcError(INVALID_REQUEST, f"a message has at most {MESSAGE_BYTES_MAX:,} bytes")
            )
        else:
            answered = answer(line) if line.strip() else None
        if answered is not None:
            outgoing.write(answered + b"\n")
            outgoing.flush()


def _skip_line(incoming: BinaryIO) -> None:
    while (piece := incoming.readline(1 << 20)) and not piece.endswith(b"\n"):
        pass
