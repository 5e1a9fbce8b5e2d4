"""The JSON body of a request: refused if it is too large, no JSON, ambiguous, or not what the operation takes."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request

from lochan.formats.json_names import repeated_name
from lochan.server.api.errors import HttpError
from lochan.server.rest.operation import JSON

BODY_BYTES_MAX = 16 << 20  # those of objects have no limit
_DRAINED_BYTES_MAX = 128 << 20


async def parse_body(request: Request, kind: Any) -> Any:
    """Raises 400, which names the field or the header, and 413."""
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
    """Raises 413. A body that is too large is read to its end, and forgotten: many clients look at the answer only when
    they have sent everything. One that is very much too large is not."""
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
