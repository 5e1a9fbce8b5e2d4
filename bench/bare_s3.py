"""The smallest programs that could stand in for an S3 gateway: no signature, no users, no versions, no metadata.

`app` does the job itself: a PUT is a synced file of its own; a GET opens and reads the last file of its key, a HEAD
looks at it. `constants` answers GET and HEAD from memory, whatever was put, so nothing that looks anything up can reach
it: it shows what Granian and the load generator take by themselves. Run by Granian, one worker, as the gateway is.
"""

import os
import tempfile
from itertools import count
from typing import Any

_FOLDER = tempfile.mkdtemp(prefix="lochan-bare-", dir=os.environ.get("LOCHAN_BENCH_FOLDER"))
_SMALL = b"x" * 1024
_PIECE_BYTES = 4 << 20
_WHOLE_BYTES_MAX = 1 << 20
_numbers = count()
_files: dict[str, str] = {}  # by the path


async def app(scope: Any, protocol: Any) -> None:
    path = scope.path
    if path.count("/") == 1:
        _list(scope, protocol)
        return
    if scope.method == "PUT":
        _files[path] = await _put(scope, protocol)
    elif scope.method == "HEAD":
        size = os.stat(_files[path]).st_size  # noqa: PTH116
        protocol.response_empty(200, [("content-length", str(size))])
    else:
        await _get(_files[path], protocol)


async def constants(scope: Any, protocol: Any) -> None:
    if scope.method == "PUT":
        await _put(scope, protocol)
    elif scope.method == "HEAD":
        protocol.response_empty(200, [("content-length", "1024")])
    elif scope.path.count("/") == 1:
        _list(scope, protocol)
    else:
        protocol.response_bytes(200, [("content-type", "binary/octet-stream")], _SMALL)


def _list(scope: Any, protocol: Any) -> None:
    """As many bytes as the query says."""
    size = int(scope.query_string.rpartition("=")[2])
    protocol.response_bytes(200, [("content-type", "application/xml")], b"x" * size)


async def _put(scope: Any, protocol: Any) -> str:
    name = f"{_FOLDER}/{next(_numbers)}"
    file = os.open(name, os.O_CREAT | os.O_WRONLY)
    if int(scope.headers.get("content-length")) > _WHOLE_BYTES_MAX:
        async for chunk in protocol:
            os.write(file, chunk)
    else:
        os.write(file, await protocol())
    os.fsync(file)
    os.close(file)
    protocol.response_empty(200, [])
    return name


async def _get(name: str, protocol: Any) -> None:
    file = os.open(name, os.O_RDONLY)
    data = os.read(file, _WHOLE_BYTES_MAX)
    if len(data) < _WHOLE_BYTES_MAX:
        protocol.response_bytes(200, [("content-type", "binary/octet-stream")], data)
    else:
        transport = protocol.response_stream(200, [("content-length", str(os.fstat(file).st_size))])
        while data:
            await transport.send_bytes(data)
            data = os.read(file, _PIECE_BYTES)
    os.close(file)
