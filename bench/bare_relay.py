"""The smallest gateway in front of a bucket: a PUT is put there, then a record is created beside it. No signature, no
hash, no users. Run by Granian, one worker, as the gateway is; the environment says where the bucket is."""

import os
from itertools import count
from typing import Any

import obstore
from obstore.store import S3Store

RECORD = b"r" * 600  # as long as one with one staged entry

_store = S3Store(
    os.environ["LOCHAN_BENCH_BUCKET"],
    prefix="relay",
    endpoint=os.environ["LOCHAN_BENCH_ENDPOINT"],
    access_key_id=os.environ["LOCHAN_BENCH_KEY"],
    secret_access_key=os.environ["LOCHAN_BENCH_SECRET"],
    region="us-east-1",
    client_options={"allow_http": True},
)
_numbers = count()


async def app(scope: Any, protocol: Any) -> None:
    body = bytes(await protocol())
    await obstore.put_async(_store, f"data/{next(_numbers)}", body, use_multipart=False)
    await obstore.put_async(_store, f"journal/{next(_numbers)}", RECORD, mode="create", use_multipart=False)
    protocol.response_empty(200, [])
