"""The smallest program that does what an S3 gateway does: no signature, no metadata; a PUT is a synced file of its own.

Run by Granian, one worker, as the gateway is.
"""

import os
import tempfile
from itertools import count
from typing import Any

_FOLDER = tempfile.mkdtemp(prefix="lochan-bare-", dir=os.environ.get("LOCHAN_BENCH_FOLDER"))
_SMALL = b"x" * 1024
_LARGE = b"x" * (4 << 20)
_LARGE_COUNT = 16
_numbers = count()


async def app(scope: Any, protocol: Any) -> None:
    if scope.method == "PUT":
        await _put(scope, protocol)
    elif scope.method == "HEAD":
        protocol.response_empty(200, [("content-length", "1024")])
    elif "large" in scope.path:
        await _get_large(protocol)
    elif scope.path.count("/") == 1:  # a list: as many bytes as the query says
        size = int(scope.query_string.rpartition("=")[2])
        protocol.response_bytes(200, [("content-type", "application/xml")], b"x" * size)
    else:
        protocol.response_bytes(200, [("content-type", "binary/octet-stream")], _SMALL)


async def _put(scope: Any, protocol: Any) -> None:
    name = os.path.join(_FOLDER, str(next(_numbers)))  # noqa: PTH118
    file = os.open(name, os.O_CREAT | os.O_WRONLY)
    if "large" in scope.path:
        async for chunk in protocol:
            os.write(file, chunk)
    else:
        os.write(file, await protocol())
    os.fsync(file)
    os.close(file)
    protocol.response_empty(200, [])


async def _get_large(protocol: Any) -> None:
    """From a file, as the gateway does."""
    name = os.path.join(_FOLDER, "large")  # noqa: PTH118
    if not os.path.exists(name):  # noqa: PTH110, ASYNC240
        with open(name, "wb") as made:  # noqa: PTH123, ASYNC230
            for _ in range(_LARGE_COUNT):
                made.write(_LARGE)
    transport = protocol.response_stream(200, [("content-length", str(len(_LARGE) * _LARGE_COUNT))])
    file = os.open(name, os.O_RDONLY)
    while piece := os.read(file, len(_LARGE)):
        await transport.send_bytes(piece)
    os.close(file)
