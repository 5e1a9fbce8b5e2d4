"""Rows of Python values as bytes, and back without trust: there is nothing in them but values."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

_DECIMAL, _DATE = 1, 2

Row = dict[str, Any]


class NotRows(Exception):
    """These bytes are no rows."""


def packed(rows: list[Row]) -> bytes:
    """Raises ValueError, TypeError or RecursionError for what no row holds."""
    return _encoder.encode(_tagged(rows))


def unpacked(data: bytes | memoryview) -> list[Row]:
    """Raises NotRows."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, InvalidOperation, RecursionError) as error:
        raise NotRows(str(error)) from error


def _tagged(value: Any) -> Any:
    """With a mark at decimals and days, which the encoder takes for texts."""
    match value:
        case dict():
            return {name: _tagged(each) for name, each in value.items()}
        case list():
            return [_tagged(each) for each in value]
        case Decimal():
            return msgspec.msgpack.Ext(_DECIMAL, str(value).encode())
        case datetime():
            return value
        case date():
            return msgspec.msgpack.Ext(_DATE, value.isoformat().encode())
    return value


def _decoded(code: int, data: memoryview) -> Any:
    text = bytes(data).decode()
    if code == _DECIMAL:
        return Decimal(text)
    if code == _DATE:
        return date.fromisoformat(text)
    raise ValueError(f"a value of an unknown kind, {code}")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Row], ext_hook=_decoded)
