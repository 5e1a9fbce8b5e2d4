"""Ready-made queries for quality gates. Each returns a row for every violation, so its result must be empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

Settings = Mapping[str, object]


class TemplateError(Exception):
    """An error about a setting, by its name. `schema` stands for a setting that does not exist."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting
        self.message = message


class Template(NamedTuple):
    settings: tuple[str, ...]
    query: Callable[[Settings], str]
    words: Callable[[Settings], str]  # the message when it refuses


def _row_count(settings: Settings) -> str:
    low, high = _whole(settings, "min"), _whole(settings, "max")
    if low is None and high is None:
        raise TemplateError("min", "row-count needs min, max or both")
    tests = [f"rows < {low}"] if low is not None else []
    tests += [f"rows > {high}"] if high is not None else []
    return f"from {_source(settings)} | rows:=count() | {' or '.join(tests)}"


def _null_share(settings: Settings) -> str:
    column, most = _column(settings), settings.get("max", 0.0)
    if isinstance(most, bool) or not isinstance(most, int | float) or not 0 <= most <= 1:
        raise TemplateError("max", "max is a share from 0 to 1")
    share = f"nulls:=count() where {column}==null or not has({column}), rows:=count()"
    return f"from {_source(settings)} | {share} | rows > 0 | nulls > {float(most)!r} * rows"


def _schema(settings: Settings) -> str:
    columns = settings.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise TemplateError("columns", "schema needs columns, such as {price: float, name: string}")
    tests = []
    for name, kind in columns.items():
        found = _name(str(name), "columns")
        if str(kind) not in _KINDS:
            raise TemplateError("columns", f"{kind!r} is no kind of a column: one of {', '.join(_KINDS)}")
        kinds = ", ".join(f'"{each}"' for each in (*_KINDS[str(kind)], "null"))
        tests.append(f"not has({found}) or not (kind({found}) in [{kinds}])")
    return f"from {_source(settings)} | {' or '.join(f'({each})' for each in tests)} | head 10"


def _source(settings: Settings) -> str:
    found = settings.get("source")
    if not isinstance(found, str) or not found.strip() or any(letter in found for letter in "|;\n"):
        raise TemplateError("source", "source is what the query reads, such as logs or shop/data/*.csv")
    return found


def _column(settings: Settings) -> str:
    return _name(str(settings.get("column") or ""), "column")


def _name(text: str, setting: str) -> str:
    if not text.replace(".", "_").isidentifier():
        raise TemplateError(setting, f"{text!r} is not the name of a column")
    return text


def _whole(settings: Settings, name: str) -> int | None:
    found = settings.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise TemplateError(name, f"{name} is a whole number")
    return found


_KINDS = {
    "int": ("int",),
    "float": ("float", "int", "decimal"),
    "string": ("string",),
    "bool": ("bool",),
    "time": ("time",),
}

TEMPLATES: Mapping[str, Template] = {
    "row-count": Template(("min", "max"), _row_count, lambda given: "the number of rows is outside its limits"),
    "null-share": Template(("column", "max"), _null_share, lambda given: f"too many nulls in {given.get('column')}"),
    "schema": Template(("columns",), _schema, lambda given: "rows do not have the declared columns"),
}
