"""Reading a configuration: defaults, then a YAML file, then the environment, then flags; the later wins.

Nothing here looks at the process: the environment, the folder and the home are arguments.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from lochan.config.kinds import ValueContext
from lochan.config.settings import (
    BY_NAME,
    BY_VARIABLE,
    OTHER_VARIABLES,
    SETTINGS,
    Setting,
    no_such_setting,
    no_such_variable,
)
from lochan.config.values import Config, ConfigLayer, ConfigValue, ValueSource, without_password
from lochan.errors import Invalid

_SHOWN_LENGTH_MAX = 80


class Flag(NamedTuple):
    """A value from the command line: `--lake X` is Flag("--lake", "lake", "X")."""

    flag: str
    name: str
    text: str


def load(
    *, file: Path | None = None, env: Mapping[str, str], flags: Iterable[Flag] = (), cwd: Path, home: Path
) -> Config:
    """Raises NotFound for a file that is not there, Invalid for anything that cannot be taken."""
    values = dict(_defaults(ValueContext(cwd, home)))
    if file is not None:
        values |= _layer(_from_file(cwd / file, str(file)), ValueContext((cwd / file).parent, home))
    values |= _layer(_from_environment(env), ValueContext(cwd, home))
    values |= _layer(_from_flags(flags), ValueContext(cwd, home))
    return Config(values)


class _Given(NamedTuple):
    name: str
    text: str
    source: ValueSource


def _defaults(place: ValueContext) -> Iterator[tuple[str, ConfigValue]]:
    source = ValueSource(ConfigLayer.DEFAULT, "default")
    for setting in SETTINGS:
        text = setting.default
        value = None if text is None else setting.kind.parse(text, place)
        yield setting.key, ConfigValue(value, text or "", source)


def _from_file(file: Path, shown: str) -> Iterator[_Given]:
    from lochan.config.yaml_file import read  # which imports yaml: slow, and most commands have no file

    for line in read(file, shown):
        yield _Given(line.name, line.text, ValueSource(ConfigLayer.FILE, line.where))


def _from_environment(env: Mapping[str, str]) -> Iterator[_Given]:
    """Variables that are empty count as not set."""
    for name, text in env.items():
        if not name.startswith("LOCHAN_") or name in OTHER_VARIABLES or not text:
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
    """The values of one layer, where each setting may be given once, under one of its names."""
    values: dict[str, ConfigValue] = {}
    names: dict[str, str] = {}
    for name, text, source in given:
        setting = BY_NAME[name]
        if setting.key in values:
            raise _twice(setting, names[setting.key], values[setting.key].source, name, source)
        names[setting.key] = name
        values[setting.key] = ConfigValue(_parse(setting, name, text, source, place), text, source)
    return values


def _parse(setting: Setting, name: str, text: str, source: ValueSource, place: ValueContext) -> object:
    if not text and setting.default is None:
        return None  # an empty value takes back what an earlier layer gave
    try:
        return setting.kind.parse(text, place)
    except ValueError:
        raise Invalid(f"{source.text}: {_what(setting, name, text)} not {setting.kind.expected}") from None


def _what(setting: Setting, name: str, text: str) -> str:
    if setting.secret:
        return f"the value of {name} (a secret, so not shown here) is"
    shown = without_password(text)
    return f"{name} is {shown[:_SHOWN_LENGTH_MAX]!r}{'…' if len(shown) > _SHOWN_LENGTH_MAX else ''}, which is"


def _twice(setting: Setting, first: str, first_source: ValueSource, second: str, second_source: ValueSource) -> Invalid:
    same = "" if first == second else f"; {first} and {second} are two names for it"
    return Invalid(
        f"{second_source.text}: {setting.key} was already given ({first_source.text}){same}", hint="keep one of the two"
    )
