"""The kinds of values that a setting can have: each turns text into a value, or says what it expects instead.

All values arrive as text, from YAML too, so that `access_key_id: 0123` or `level: NONE` mean what they look like.
"""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from os.path import normpath
from pathlib import Path
from typing import NamedTuple


class ValueContext(NamedTuple):
    """Where a value was written, as far as its meaning depends on it."""

    folder: Path  # what a relative path is relative to
    home: Path  # what ~ stands for


class SettingKind(NamedTuple):
    expected: str  # ends the sentence "… is not …"
    parse: Callable[[str, ValueContext], object]  # raises ValueError


def one_of(*choices: str, **synonyms: str) -> SettingKind:
    """One of a few words, in any case; a synonym stands for the word it names."""
    words = {choice.lower(): choice for choice in choices} | synonyms

    def parse(text: str, _: ValueContext) -> str:
        if text.lower() not in words:
            raise ValueError
        return words[text.lower()]

    return SettingKind(f"one of {', '.join([*choices, *synonyms])}", parse)


def _yes_or_no(text: str, _: ValueContext) -> bool:
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise ValueError
    return words[text.lower()]


def _text(text: str, _: ValueContext) -> str:
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise ValueError
    return text


def _path(text: str, place: ValueContext) -> str:
    """An absolute path; `~` is the user's home, and a relative one starts where the value was written."""
    _text(text, place)
    if not text or (text.startswith("~") and text != "~" and not text.startswith("~/")):
        raise ValueError
    return normpath(place.home / text[2:] if text.startswith("~") else place.folder / text)


def _output(text: str, place: ValueContext) -> str:
    return text if text == "-" else _path(text, place)


def _location(text: str, place: ValueContext) -> str:
    """A folder, or a URL of a scheme that a store is opened by; file:///folder is that folder."""
    scheme, separator, rest = _text(text, place).partition("://")
    scheme = scheme.lower()
    if not separator:
        return _path(text, place)
    if scheme == "file":
        return _file_path(rest)
    if scheme not in SCHEMES or (scheme != "memory" and not rest.strip("/")):
        raise ValueError
    return f"{scheme}://{rest}"


def _file_path(rest: str) -> str:
    from urllib.parse import unquote

    path = unquote(rest.removeprefix("localhost"))
    if not path.startswith("/"):
        raise ValueError
    return normpath(path)


def _url(*schemes: str) -> SettingKind:
    def parse(text: str, place: ValueContext) -> str:
        scheme, separator, rest = text.partition("://")
        if scheme.lower() not in schemes or not separator or not rest:
            raise ValueError
        return _text(text, place)

    return SettingKind(f"a URL that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}", parse)


def _address(text: str, _: ValueContext) -> str:
    host, separator, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not separator or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError
    if re.search(r"[\s/@\[\]]", bare) or (":" in bare and bare == host):
        raise ValueError
    return text


def _milliseconds(text: str, _: ValueContext) -> float:
    number = float(text)
    if not isfinite(number) or number < 0:
        raise ValueError
    return number


def _more_than_nothing(text: str, _: ValueContext) -> float:
    number = float(text)
    if not isfinite(number) or number <= 0:
        raise ValueError
    return number


def _length(text: str, _: ValueContext) -> float:
    number = text.rstrip("hms")
    seconds = float(number) * _LENGTHS.get(text[len(number) :] or "s", 0.0)
    if not isfinite(seconds) or seconds <= 0:
        raise ValueError
    return seconds


def _count(text: str, _: ValueContext) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 7 and int(text)):
        raise ValueError
    return int(text)


def _size(text: str, _: ValueContext) -> int:
    match = re.fullmatch(r"([0-9]{1,19}(?:\.[0-9]{1,9})?)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError
    size = int(float(match[1]) * _UNITS[match[2]]) if "." in match[1] else int(match[1]) * _UNITS[match[2]]
    if size >= 1 << 63:
        raise ValueError
    return size


def size_text(size_bytes: int) -> str:
    """As people read it: `1.5 MB`."""
    number = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} PB"


_LENGTHS: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}
_UNITS: Mapping[str, int] = {
    "": 1,
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgtp", start=1)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgtp", start=1)},
}
SCHEMES = ("memory", "s3", "gs", "az")

YES_OR_NO = SettingKind("true or false", _yes_or_no)
TEXT = SettingKind("one line of text", _text)
PATH = SettingKind("a path (~ is your home folder; other users' are not looked up)", _path)
OUTPUT = SettingKind('"-" or a path', _output)
LOCATION = SettingKind("a folder or a URL such as s3://bucket/prefix, gs://…, az://…, memory://", _location)
ADDRESS = SettingKind("host:port, such as 127.0.0.1:8000 or [::1]:8000", _address)
MILLISECONDS = SettingKind("a number of milliseconds, 0 or more", _milliseconds)
SECONDS = SettingKind("a number of seconds, more than 0", _more_than_nothing)
DAYS = SettingKind("a number of days, more than 0", _more_than_nothing)
LENGTH = SettingKind("a length of time, such as 30s, 5m or 500ms", _length)
COUNT = SettingKind("a whole number, 1 or more", _count)
SIZE = SettingKind("a size, such as 256MB, 10GB or 1.5GiB", _size)
HTTP_URL = _url("http", "https")
POSTGRES_URL = _url("postgres", "postgresql")
SPARK_URL = _url("sc")
