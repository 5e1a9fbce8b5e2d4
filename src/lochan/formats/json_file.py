"""Small files of JSON whose last field is a checksum of the others. Stored on disk: never changes.

    {"format": 1, …, "checksum": "<SHA-256, hex>"}

The checksum covers the file's own bytes without the 64 digits. Old files have none; they are read as long as every
field is one that they could have.
"""

import re
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import msgspec

from lochan.errors import Corrupt

T = TypeVar("T", bound=msgspec.Struct)

_FIELD = re.compile(rb'"checksum": ?"([0-9a-f]{64})"')
_NAME = "checksum"


def seal(fields: msgspec.Struct, *, indented: bool = False) -> bytes:
    """Returns the fields as JSON with the checksum. REQUIRES: no field is named checksum."""
    plain: dict[str, Any] = {**msgspec.to_builtins(fields), _NAME: "0" * 64}
    data = msgspec.json.encode(plain)
    if indented:
        data = msgspec.json.format(data) + b"\n"
    found = _last(data)
    assert found is not None
    return data[: found.start(1)] + sha256(_without(data, found)).hexdigest().encode() + data[found.end(1) :]


class JsonFile(NamedTuple):
    fields: dict[str, Any]  # without the checksum
    has_checksum: bool


def unseal(data: bytes, what: str, hint: str) -> JsonFile:
    """Returns the fields without the checksum, once it is verified. Raises Corrupt."""
    try:
        fields = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError) as error:
        raise Corrupt(f"{what} cannot be read: {error}", hint=hint) from error
    if fields.pop(_NAME, None) is None:
        return JsonFile(fields, has_checksum=False)
    found = _last(data)
    if found is None or sha256(_without(data, found)).hexdigest().encode() != found[1]:
        raise Corrupt(f"{what} fails its checksum", hint=hint)
    return JsonFile(fields, has_checksum=True)


def convert(unsealed: JsonFile, type: type[T], what: str, hint: str) -> T:
    """Returns the fields as a struct. Raises Corrupt if a field has a wrong type, or if a file without a checksum has
    an unknown field: the name `checksum` itself may be damaged."""
    unknown = [name for name in unsealed.fields if name not in type.__struct_fields__]
    if unknown and not unsealed.has_checksum:
        raise Corrupt(f"{what} has no checksum and an unknown field: {unknown[0]!r}", hint=hint)
    try:
        return msgspec.convert(unsealed.fields, type)
    except msgspec.ValidationError as error:
        raise Corrupt(f"{what} cannot be read: {error}", hint=hint) from error


def _last(data: bytes) -> re.Match[bytes] | None:
    """Finds the checksum, which is the last match: values may contain anything."""
    return max(_FIELD.finditer(data), key=re.Match.start, default=None)


def _without(data: bytes, found: re.Match[bytes]) -> bytes:
    return data[: found.start(1)] + data[found.end(1) :]
