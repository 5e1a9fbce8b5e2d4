"""The smallest gateway over very many keys: a GET opens, reads and closes a file, a HEAD looks at it, a PUT writes it
without syncing it. No signature, no users, no versions, no metadata, and not even a name of its own for each key: keys
share a thousand files, so that a million of them need no gigabytes. Run by Granian, one worker, as the gateway is.
"""

# ruff: noqa: PTH116
import os
from pathlib import Path
from typing import Any

BODY = b"x" * 1024
_FOLDER = os.environ.get("LOCHAN_BENCH_FOLDER", "")
_FILES = 1_000
_BYTES_MAX = 1 << 20
_names = [f"{_FOLDER}/bare-{number:05d}" for number in range(_FILES)]


def make_files(folder: str) -> None:
    """Before the app is started."""
    for name in _names:
        Path(folder, Path(name).name).write_bytes(BODY)


async def app(scope: Any, protocol: Any) -> None:
    name = _names[int(scope.path[-8:]) % _FILES]
    if scope.method == "HEAD":
        protocol.response_empty(200, [("content-length", str(os.stat(name).st_size))])
    elif scope.method == "GET":
        file = os.open(name, os.O_RDONLY)
        data = os.read(file, _BYTES_MAX)
        os.close(file)
        protocol.response_bytes(200, [("content-type", "binary/octet-stream")], data)
    else:
        file = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.write(file, await protocol())
        os.close(file)
        protocol.response_empty(200, [])
