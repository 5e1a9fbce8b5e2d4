"""The smallest program that takes a PUT: it writes the body to a file of its own and does not sync it. No signature, no
users, no versions, no journal. Run by Granian, one worker, as the gateway is."""

import os
import tempfile
from itertools import count
from typing import Any

_FOLDER = tempfile.mkdtemp(prefix="lochan-bare-", dir=os.environ.get("LOCHAN_BENCH_FOLDER"))
_numbers = count()


async def app(scope: Any, protocol: Any) -> None:
    body = await protocol()
    file = os.open(f"{_FOLDER}/{next(_numbers)}", os.O_CREAT | os.O_WRONLY)
    os.write(file, body)
    os.close(file)
    protocol.response_empty(200, [])
