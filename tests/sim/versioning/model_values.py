"""The values that the model's repository consists of."""

from collections.abc import Mapping
from dataclasses import dataclass

Content = Mapping[str, str]  # path -> the write that it holds


class Broken(Exception):
    """Something happened that the journal's events do not mean."""


@dataclass(frozen=True)
class Write:
    serial: int
    path: str
    value: str | None  # None: a delete


@dataclass(frozen=True)
class Branch:
    name: str
    incarnation: int
    head: str
    view: Content
    staged: tuple[Write, ...] = ()  # oldest first; all that was neither committed, stashed nor thrown away


@dataclass(frozen=True)
class Stash:
    head: str
    staged: tuple[Write, ...]


@dataclass(frozen=True)
class Workspace:
    branch: str
    incarnation: int
    fork: str
    changed: Mapping[str, str | None]
