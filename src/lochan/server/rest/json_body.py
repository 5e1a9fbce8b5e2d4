"""Reads the JSON body of a request. It is refused if it is too large, not JSON, ambiguous, or not what the operation
takes."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request

from lochan.formats.json_names import repeated_name
from lochan.server.api.errors import HttpError
from lochan.server.rest.operation import JSON

BODY_BYTES_MAX = 16 << 20  # the bodies of objects have no limit
_DRAINED_BYTES_MAX = 128 << 20


async def parse_body(request: Request, kind: Any) -> Any:
    """Returns the body. Raises 400, naming the field or the header, and 413."""
    media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media != JSON:
        raise HttpError(400, f"in the header content-type: the body must be {JSON}, not {media[:80]!r}")
    data = await read_body(request, BODY_BYTES_MAX) or b"{}"
    try:
        found = msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise HttpError(400, f"in the body: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise HttpError(400, f"the body is not valid JSON: {error}") from None
    if (name := repeated_name(data)) is not None:
        raise HttpError(400, f"in the body: the field {name[:80]!r} is given twice")
    return found


async def read_body(request: Request, bytes_max: int) -> bytes:
    """Returns the body. Raises 413. A body that is too large is read to its end and discarded, because many clients
    look at the answer only after they have sent everything. A body that is far too large is not read."""
    refusal = HttpError(413, f"the body has more than {bytes_max:,} bytes")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > _DRAINED_BYTES_MAX:
        raise refusal
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > _DRAINED_BYTES_MAX:
            raise refusal
        if size <= bytes_max:
            pieces.append(piece)
    if size > bytes_max:
        raise refusal
    return b"".join(pieces)
