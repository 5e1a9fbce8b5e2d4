"""Resolves the annotations of verbs, which are texts, to types. Types that a module imports for type checkers alone are
found by the table below when they are needed, so that a client that lists branches does not import an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec

_PLACES = {
    "lochan.api.deleted": ("DeletedInfo",),
    "lochan.api.hooks": ("HookInfo", "HookRunInfo"),
    "lochan.api.load_preview": ("LoadPreview",),
    "lochan.api.overview": ("BranchComparison", "RepositoryOverview"),
    "lochan.api.recovery": ("BackupResult", "FsckResult", "RebuildResult", "ScrubResult"),
    "lochan.api.saved_queries": ("SavedQueryInfo",),
    "lochan.api.schedule": ("TaskStatus",),
    "lochan.api.sign_ins": ("IdentityInfo", "LoginSessionInfo"),
    "lochan.api.subscriptions": ("DeadLetter", "SubscriptionInfo", "SubscriptionSecret"),
    "lochan.api.retention": ("RetentionInfo",),
    "lochan.api.audit": ("AuditPage",),
    "lochan.api.usage": ("UsageCompactResult", "UsageStatus"),
    "lochan.journal.feed": ("EventLine",),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}
_RENAMED = {"UpkeepPolicy": ("lochan.pools.upkeep", "Upkeep")}


class RefName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ref of any repository, for a verb that takes a handle."""

    repository_name: str
    name: str


# The types of arguments in a request, for verbs that take objects of a process.
_ON_THE_WIRE: Mapping[str, Any] = {"NamedRef": RefName}


def resolve(annotation: str, function: Callable[..., Any]) -> Any:
    """Resolves the annotation of a parameter or a result of that function."""
    text = annotation.replace("NamedRef | str", "str")
    return eval(text, {}, _Names(vars(import_module(function.__module__))))


class _Names(Mapping[str, Any]):
    def __init__(self, module: Mapping[str, Any]) -> None:
        self._module = module

    def __getitem__(self, name: str) -> Any:
        if name in _ON_THE_WIRE:
            return _ON_THE_WIRE[name]
        if name in self._module:
            return self._module[name]
        if name in _MODULES:
            return getattr(import_module(_MODULES[name]), name)
        if name in _RENAMED:
            module, other = _RENAMED[name]
            return getattr(import_module(module), other)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module)

    def __len__(self) -> int:
        return len(self._module)
