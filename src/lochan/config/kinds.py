"""The kinds of values that a setting can have. Each has a type, which msgspec checks, and a description of what is
expected.

All values arrive as text, from YAML too, so that `access_key_id: 0123` or `level: NONE` mean what they look like. A
kind with a syntax of its own (sizes, lengths of time, paths) parses the text before msgspec checks the value."""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from os.path import normpath
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from lochan.config.group_map import parse_group_list, parse_group_map
from lochan.config.schedule import parse_schedule

MB, GB = 10**6, 10**9
GIB = 1 << 30


class ValueContext(NamedTuple):
    """The place where a value was written, as far as its meaning depends on it."""

    folder: Path  # what a relative path is relative to
    home: Path  # what ~ stands for


class SettingKind(NamedTuple):
    expected: str  # ends the sentence "… is not …"
    parse: Callable[[str, ValueContext], object] = lambda text, _: text  # raises ValueError
    write: Callable[[Any], str] = str  # the text that is parsed to this value
    secret: bool = False  # shown as stars, everywhere


def one_of(*choices: str, **synonyms: str) -> SettingKind:
    """Returns a kind for one of a few words, in upper or lower case. A synonym stands for the word it names."""
    words = {choice.lower(): choice for choice in choices} | synonyms
    return SettingKind(f"one of {', '.join([*choices, *synonyms])}", lambda text, _: words.get(text.lower(), text))


def _yes_or_no(text: str, _: ValueContext) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if text.lower() not in words:
        raise ValueError
    return words[text.lower()]


def _path(text: str, place: ValueContext) -> str:
    """Returns an absolute path. `~` is the user's home, and a relative path starts where the value was written."""
    if not text or (text.startswith("~") and text != "~" and not text.startswith("~/")):
        raise ValueError
    return normpath(place.home / text[2:] if text.startswith("~") else place.folder / text)


def _output(text: str, place: ValueContext) -> str:
    return text if text == "-" else _path(text, place)


def _location(text: str, place: ValueContext) -> str:
    """Returns a folder, or a URL of a scheme for which there is a store. file:///folder is that folder."""
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator:
        return _path(text, place)
    if scheme == "file":
        return _file_path(rest)
    if scheme in SERVER_SCHEMES and rest.strip("/"):
        return f"{scheme}://{rest.rstrip('/')}"
    if scheme not in SCHEMES or (scheme != "memory" and not rest.strip("/")):
        raise ValueError
    return f"{scheme}://{rest}"


def _file_path(rest: str) -> str:
    from urllib.parse import unquote

    path = unquote(rest.removeprefix("localhost"))
    if not path.startswith("/"):
        raise ValueError
    return normpath(path)


def _address(text: str, _: ValueContext) -> str:
    host, separator, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not separator or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError
    if re.search(r"[\s/@\[\]]", bare) or (":" in bare and bare == host):
        raise ValueError
    return text


def _length(text: str, _: ValueContext) -> float:
    number = text.rstrip("hms")
    seconds = float(number) * _LENGTHS.get(text[len(number) :] or "s", 0.0)
    if not isfinite(seconds) or seconds <= 0:
        raise ValueError
    return seconds


def _schedule(text: str, _: ValueContext) -> str:
    parse_schedule(text)
    return text.strip().lower()


def _map(text: str, _: ValueContext) -> str:
    parse_group_map(text)
    return text


def _list(text: str, _: ValueContext) -> str:
    parse_group_list(text)
    return text


def _size(text: str, _: ValueContext) -> int:
    match = re.fullmatch(r"([0-9]{1,19}(?:\.[0-9]{1,9})?)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError
    size = int(float(match[1]) * _UNITS[match[2]]) if "." in match[1] else int(match[1]) * _UNITS[match[2]]
    if size >= 1 << 63:
        raise ValueError
    return size


def size_text(size_bytes: int) -> str:
    """Returns a size for people, such as `1.5 MB`."""
    number = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} PB"


_LENGTHS: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}
_SIZES: Mapping[str, int] = {
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGTP", start=1)},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTP", start=1)},
}
_UNITS: Mapping[str, int] = {"": 1, "b": 1, **{unit.lower(): size for unit, size in _SIZES.items()}}
SCHEMES = ("memory", "s3", "gs", "az")
SERVER_SCHEMES = ("http", "https", "http+unix")  # of a lake behind a server


def _largest_unit(value: float, units: Mapping[str, float]) -> str:
    """Returns the value in the largest unit that divides it: `10GB`, `1GiB`, `1h`."""
    whole = [(size, unit) for unit, size in units.items() if value and value % size == 0]
    size, unit = max(whole, default=(1, ""))
    return f"{value / size:.0f}{unit}"


YES_OR_NO = SettingKind("true or false", _yes_or_no, lambda value: str(value).lower())
LENGTH = SettingKind(
    "a length of time, such as 30s, 5m or 500ms", _length, lambda value: _largest_unit(value, _LENGTHS)
)
SIZE = SettingKind("a size, such as 256MB, 10GB or 1.5GiB", _size, lambda value: _largest_unit(value, _SIZES))

_ONE_LINE = Meta(pattern=r"^[^\x00-\x1f\x7f]*\Z")
_FINITE = 1e300

Text = Annotated[str, _ONE_LINE, SettingKind("one line of text")]
Secret = Annotated[str, _ONE_LINE, SettingKind("one line of text", secret=True)]
LocalPath = Annotated[
    str, _ONE_LINE, SettingKind("a path (~ is your home folder; other users' are not looked up)", _path)
]
Output = Annotated[str, _ONE_LINE, SettingKind('"-" or a path', _output)]
Location = Annotated[
    str,
    _ONE_LINE,
    SettingKind("a folder or a URL such as s3://bucket/prefix, gs://…, az://…, memory://, https://server", _location),
]
Address = Annotated[str, SettingKind("host:port, such as 127.0.0.1:8000 or [::1]:8000", _address)]
HttpUrl = Annotated[
    str,
    Meta(pattern=r"^(?i:https?)://[^\x00-\x1f\x7f]+\Z"),
    SettingKind("a URL that begins with http:// or https://"),
]
PostgresUrl = Annotated[
    str,
    Meta(pattern=r"^(?i:postgres(ql)?)://[^\x00-\x1f\x7f]+\Z"),
    SettingKind("a URL that begins with postgres:// or postgresql://", secret=True),
]
LdapUrl = Annotated[
    str,
    Meta(pattern=r"^(?i:ldaps?)://[^\x00-\x1f\x7f]+\Z"),
    SettingKind("a URL that begins with ldap:// or ldaps://"),
]
SparkUrl = Annotated[str, Meta(pattern=r"^(?i:sc)://[^\x00-\x1f\x7f]+\Z"), SettingKind("a URL that begins with sc://")]
YesNo = Annotated[bool, YES_OR_NO]
Count = Annotated[int, Meta(ge=1, lt=10**6), SettingKind("a whole number, 1 or more")]
_number = "{:g}".format
Milliseconds = Annotated[
    float, Meta(ge=0, le=_FINITE), SettingKind("a number of milliseconds, 0 or more", write=_number)
]
Seconds = Annotated[float, Meta(gt=0, le=_FINITE), SettingKind("a number of seconds, more than 0", write=_number)]
Days = Annotated[float, Meta(gt=0, le=_FINITE), SettingKind("a number of days, more than 0", write=_number)]
Minutes = Annotated[float, Meta(gt=0, le=_FINITE), SettingKind("a number of minutes, more than 0", write=_number)]
Hours = Annotated[float, Meta(ge=0, le=_FINITE), SettingKind("a number of hours, 0 or more", write=_number)]
Length = Annotated[float, LENGTH]
When = Annotated[
    str,
    SettingKind("off, a length of time such as 15m, 1h or 7d, or a time of day such as 03:00 (UTC)", _schedule),
]
Size = Annotated[int, SIZE]
GroupMap = Annotated[
    str,
    SettingKind("groups of a provider and of the lake, such as engineers -> developers, analysts; staff -> all", _map),
]
GroupList = Annotated[str, SettingKind("names of groups, with semicolons between", _list)]
