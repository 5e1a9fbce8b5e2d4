"""Reads a configuration: defaults, then a YAML file, then the environment, then flags; later values win.

These functions do not look at the process: the environment, the folder and the home are arguments. A configuration has
the source of each value, and never changes once it is made."""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lochan.config.kinds import PostgresUrl, ValueContext
from lochan.config.settings import (
    BY_NAME,
    BY_VARIABLE,
    OTHER_VARIABLES,
    SETTINGS,
    ConfigSettings,
    Setting,
    no_such_setting,
    no_such_variable,
)
from lochan.errors import Invalid

_SHOWN_LENGTH_MAX = 80
_STARS = "********"


class ConfigLayer(IntEnum):
    """Where values come from; later layers win."""

    DEFAULT = 0
    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3


class ValueSource(NamedTuple):
    layer: ConfigLayer
    text: str  # `default`, `lochan.yaml, line 3`, `LOCHAN_LAKE`, `--lake`


class ConfigValue(NamedTuple):
    value: Any  # None if nothing is set
    written: str  # as the user wrote it
    source: ValueSource


class Config:
    """A configuration. `config.settings.api.listen` is a value; `config.source("api.listen")` returns its source."""

    def __init__(self, values: Mapping[str, ConfigValue]) -> None:
        self._values = dict(values)
        given = {key: each.value for key, each in values.items() if each.source.layer is not ConfigLayer.DEFAULT}
        self.settings = _settings(given)

    def __iter__(self) -> Iterator[str]:
        """Yields the keys of all settings."""
        return iter(self._values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key].value

    def source(self, key: str) -> ValueSource:
        return self._values[key].source

    def is_set(self, key: str) -> bool:
        """Returns whether a value was given, rather than left at the default."""
        return self.source(key).layer is not ConfigLayer.DEFAULT

    def without_secrets(self) -> "Config":
        """Returns a copy without secrets, for other processes, which get the credentials of the store separately."""
        secrets = {key: value for key, value in self._values.items() if BY_NAME[key].kind.secret}
        unset = {key: value._replace(value=None, written="") for key, value in secrets.items()}
        return Config({**self._values, **unset})

    def shown(self, key: str) -> str:
        """Returns the value as it may be displayed: secrets are masked, and it is empty if nothing is set."""
        value, written, _ = self._values[key]
        if value is None:
            return ""
        text = value if isinstance(value, str) else written
        if BY_NAME[key].kind.secret and BY_NAME[key].type != PostgresUrl:  # of this URL only the password is masked
            return _STARS if text else ""
        return without_password(text)


def _settings(values: Mapping[str, Any]) -> ConfigSettings:
    """Returns the settings with these values, and defaults for all others."""
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *sections, name = key.split(".")
        at = nested
        for section in sections:
            at = at.setdefault(section, {})
        at[name] = value
    return msgspec.convert(nested, ConfigSettings)


def without_password(url: str) -> str:
    url = re.sub(r"(://[^:/@]*:).*@", rf"\1{_STARS}@", url)
    return re.sub(r"(?i)(password=)[^&\s]*", rf"\1{_STARS}", url)


class Flag(NamedTuple):
    """A value from the command line: `--lake X` is Flag("--lake", "lake", "X")."""

    flag: str
    name: str
    text: str


def load(
    *, file: Path | None = None, env: Mapping[str, str], flags: Iterable[Flag] = (), cwd: Path, home: Path
) -> Config:
    """Reads a configuration. Raises NotFound if there is no such file, and Invalid for any mistake in it."""
    values = {**_defaults()}
    if file is not None:
        values |= _layer(_from_file(cwd / file, str(file)), ValueContext((cwd / file).parent, home))
    values |= _layer(_from_environment(env), ValueContext(cwd, home))
    values |= _layer(_from_flags(flags), ValueContext(cwd, home))
    return Config(values)


@cache
def _defaults() -> Mapping[str, ConfigValue]:
    default = ValueSource(ConfigLayer.DEFAULT, "default")
    return {each.key: ConfigValue(each.default, each.default_text, default) for each in SETTINGS}


class _Given(NamedTuple):
    name: str
    text: str
    source: ValueSource


def _from_file(file: Path, shown: str) -> Iterator[_Given]:
    from lochan.config.yaml_file import read  # which imports yaml: slow, and most commands have no file

    for line in read(file, shown):
        yield _Given(line.name, line.text, ValueSource(ConfigLayer.FILE, line.where))


def _from_environment(env: Mapping[str, str]) -> Iterator[_Given]:
    """Yields values of the environment. Variables that are empty count as not set."""
    for name in env:
        if not name.startswith("LOCHAN_") or name in OTHER_VARIABLES or not (text := env[name]):
            continue
        if name not in BY_VARIABLE:
            raise no_such_variable(name)
        yield _Given(BY_VARIABLE[name], text, ValueSource(ConfigLayer.ENVIRONMENT, name))


def _from_flags(flags: Iterable[Flag]) -> Iterator[_Given]:
    for flag, name, text in flags:
        if name not in BY_NAME:
            raise no_such_setting(flag, name)
        yield _Given(name, text, ValueSource(ConfigLayer.FLAG, flag))


def _layer(given: Iterable[_Given], place: ValueContext) -> dict[str, ConfigValue]:
    """Returns the values of one layer, in which each setting may be given once, under one of its names."""
    values: dict[str, ConfigValue] = {}
    first: dict[str, _Given] = {}
    for each in given:
        setting = BY_NAME[each.name]
        if setting.key in values:
            raise _twice(setting, first[setting.key], each)
        first[setting.key] = each
        values[setting.key] = ConfigValue(_value(setting, each, place), each.text, each.source)
    return values


def _value(setting: Setting, given: _Given, place: ValueContext) -> Any:
    if not given.text and setting.default is None:
        return None  # an empty value takes back what an earlier layer gave
    try:
        return msgspec.convert(setting.kind.parse(given.text, place), setting.type, strict=False)
    except ValueError:  # msgspec's ValidationError is one
        wrong = _what(setting, given.name, given.text)
        raise Invalid(f"{given.source.text}: {wrong} not {setting.kind.expected}") from None


def _what(setting: Setting, name: str, text: str) -> str:
    if setting.kind.secret:
        return f"the value of {name} (a secret, so not shown here) is"
    shown = without_password(text)
    return f"{name} is {shown[:_SHOWN_LENGTH_MAX]!r}{'…' if len(shown) > _SHOWN_LENGTH_MAX else ''}, which is"


def _twice(setting: Setting, first: _Given, second: _Given) -> Invalid:
    same = "" if first.name == second.name else f"; {first.name} and {second.name} are two names for it"
    return Invalid(
        f"{second.source.text}: {setting.key} was already given ({first.source.text}){same}", hint="keep one of the two"
    )
