"""A policy as people write it, in YAML or JSON:

statements:
  - effect: allow
    actions: ["fs:Read*", "fs:List*"]
    resources: repository/sales/*
"""

from typing import Any

import msgspec

from lochan.errors import Invalid
from lochan.formats.lake_events import Statement

SIZE_BYTES_MAX = 1 << 18


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    effect: str
    actions: str | list[str]
    resources: str | list[str]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    statements: list[_Written]


def parse(data: bytes, what: str) -> tuple[Statement, ...]:
    """Raises Invalid, naming `what`. Whether there are such actions is not looked at here."""
    if len(data) > SIZE_BYTES_MAX:
        raise Invalid(f"{what}: larger than {SIZE_BYTES_MAX} bytes, so not a policy")
    try:
        read = msgspec.convert(_loaded(data, what), _File)
    except msgspec.ValidationError as error:
        raise Invalid(f"{what}: this is no policy: {error}", hint=_HINT) from None
    return tuple(Statement(each.effect, _many(each.actions), _many(each.resources)) for each in read.statements)


def written(statements: tuple[Statement, ...]) -> list[dict[str, Any]]:
    """As `parse` reads them."""
    return [
        {"effect": each.effect, "actions": list(each.actions), "resources": list(each.resources)} for each in statements
    ]


def _many(texts: str | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _loaded(data: bytes, what: str) -> Any:
    """JSON, which is quicker to read and has clearer mistakes, else YAML."""
    if data.lstrip()[:1] == b"{":
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            raise Invalid(f"{what}: not JSON: {error}") from None
    import yaml

    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise Invalid(f"{what}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise Invalid(f"{what}: nested too deeply") from None


_HINT = "write statements: - {effect: allow, actions: ['fs:Read*'], resources: ['repository/NAME/*']}"
