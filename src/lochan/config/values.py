"""A configuration: the value of every setting, and where it came from. It never changes once it is made."""

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from lochan.config.kinds import POSTGRES_URL
from lochan.config.settings import SETTINGS, Setting


class ConfigLayer(IntEnum):
    """Where values come from; the later wins."""

    DEFAULT = 0
    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3


class ValueSource(NamedTuple):
    layer: ConfigLayer
    text: str  # `default`, `lochan.yaml, line 3`, `LOCHAN_LAKE`, `--lake`


class ConfigValue(NamedTuple):
    value: object  # text, a number, or None where nothing is set
    written: str  # as the user wrote it
    source: ValueSource


class Config:
    """`config["api.listen"]` by the setting's key; the typed forms below say what they expect."""

    def __init__(self, values: Mapping[str, ConfigValue]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> object:
        return self._values[key].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def text(self, key: str) -> str:
        """A setting that always has a value."""
        value = self[key]
        assert isinstance(value, str), key
        return value

    def optional_text(self, key: str) -> str | None:
        return None if self[key] is None else self.text(key)

    def number(self, key: str) -> float:
        value = self[key]
        assert isinstance(value, float), key
        return value

    def count(self, key: str) -> int:
        value = self[key]
        assert isinstance(value, int), key
        return value

    def flag(self, key: str) -> bool:
        value = self[key]
        assert isinstance(value, bool), key
        return value

    def optional_size(self, key: str) -> int | None:
        """In bytes."""
        return None if self[key] is None else self.size(key)

    def size(self, key: str) -> int:
        """In bytes."""
        value = self[key]
        assert isinstance(value, int), key
        return value

    def address(self, key: str) -> tuple[str, int] | None:
        """Host and port; an empty host means every interface."""
        text = self.optional_text(key)
        if text is None:
            return None
        host, _, port = text.rpartition(":")
        return host.strip("[]"), int(port)

    def source(self, key: str) -> ValueSource:
        return self._values[key].source

    def is_set(self, key: str) -> bool:
        """Whether somebody gave a value, rather than leaving the default."""
        return self.source(key).layer is not ConfigLayer.DEFAULT

    def without_secrets(self) -> "Config":
        """For other processes: whoever opens a store there is given what opens it."""
        secrets = {key: value for key, value in self._values.items() if _BY_KEY[key].secret}
        unset = {key: value._replace(value=None, written="") for key, value in secrets.items()}
        return Config({**self._values, **unset})

    def shown(self, key: str) -> str:
        """The value as it may be displayed: secrets masked, empty where nothing is set."""
        value, written, _ = self._values[key]
        if value is None:
            return ""
        return masked(_BY_KEY[key], value if isinstance(value, str) else written)


_BY_KEY = {setting.key: setting for setting in SETTINGS}
_STARS = "********"


def masked(setting: Setting, text: str) -> str:
    """A secret becomes stars; of a URL only its password does, so that the host can still be read."""
    if setting.secret and setting.kind is not POSTGRES_URL:
        return _STARS if text else ""
    return without_password(text)


def without_password(url: str) -> str:
    url = re.sub(r"(://[^:/@]*:).*@", rf"\1{_STARS}@", url)
    return re.sub(r"(?i)(password=)[^&\s]*", rf"\1{_STARS}", url)
