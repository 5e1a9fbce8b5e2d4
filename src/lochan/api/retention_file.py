"""Reads retention rules from a YAML file:

    keep:
      - {branch: main, forever: true}
      - {branch: "tmp-*", days: 7, commits: 100}
    hold: [main]
    drop:
      - {name: old-tmp, branch: main, prefix: tmp/, unwritten: 30d}
      - {branch: main, prefix: raw/, unread: 90d}
      - {branch: main, from: 2020-01-01, to: 2020-12-31, older: 90d}    # of a pool
    undo: 30d
    uploads: 7d
    workspaces: 90d
    stashes: 90d
    blocks: 3d
    readers: noted

An unknown key is an error, which names the most similar one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from lochan.api.retention import KeepRule, LiveRule, RetentionInfo, parse_days
from lochan.config.settings import did_you_mean
from lochan.errors import Invalid, NotFound

_TOP = ("keep", "hold", "drop", "undo", "uploads", "workspaces", "stashes", "blocks", "readers")
_KEEP = ("branch", "days", "commits", "forever")
_DROP = ("name", "branch", "prefix", "from", "to", "unwritten", "unread", "older", "never")


def read_rules(file: str) -> RetentionInfo:
    """Reads rules from a file. Raises NotFound, Invalid."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}") from error
    try:
        # The loader makes only texts, lists and dictionaries.
        root = yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise Invalid(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    return _Rules(file).rules(root or {})


class _Rules:
    def __init__(self, file: str) -> None:
        self._file = file

    def rules(self, root: Any) -> RetentionInfo:
        top = self._section(root, "the rules", _TOP)
        ages = {
            name: self._value(top, key, parse_days, 0.0)
            for name, key in (
                ("uploads_days", "uploads"),
                ("workspaces_days", "workspaces"),
                ("stashes_days", "stashes"),
                ("blocks_days", "blocks"),
            )
        }
        return RetentionInfo(
            rules=tuple(self._keep(each) for each in self._list_of(top, "keep")),
            undo_days=self._value(top, "undo", parse_days, 30.0),
            drops=tuple(self._drop(each) for each in self._list_of(top, "drop")),
            holds=tuple(map(str, self._list_of(top, "hold"))),
            readers=str(top.get("readers", "server")),
            **ages,
        )

    def _keep(self, node: Any) -> KeepRule:
        found = self._section(node, "a rule of keep", _KEEP)
        return KeepRule(
            pattern=str(found.get("branch", "")),
            days=self._value(found, "days", float, 0.0),
            commits=self._value(found, "commits", int, 0),
            forever=self._value(found, "forever", _yes_or_no, False),
        )

    def _drop(self, node: Any) -> LiveRule:
        found = self._section(node, "a rule of drop", _DROP)
        return LiveRule(
            name=str(found.get("name", "")),
            pattern=str(found.get("branch", "")),
            prefix=str(found.get("prefix", "")),
            low=str(found.get("from", "")),
            high=str(found.get("to", "")),
            unwritten_days=self._value(found, "unwritten", parse_days, 0.0),
            unread_days=self._value(found, "unread", parse_days, 0.0),
            older_days=self._value(found, "older", parse_days, 0.0),
            never=self._value(found, "never", _yes_or_no, False),
        )

    def _section(self, node: Any, what: str, allowed: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(node, dict):
            raise Invalid(f"{self._file}: {what} has names and values, and {node!r} has none")
        for name in node:
            if name not in allowed:
                raise Invalid(f"{self._file}: there is no {name!r} in {what}{did_you_mean(name, allowed)}")
        return node

    def _list_of(self, top: Mapping[str, Any], name: str) -> list[Any]:
        found = top.get(name) or []
        if not isinstance(found, list):
            raise Invalid(f"{self._file}: {name} is a list", hint="begin each item with a dash")
        return found

    def _value(self, found: Mapping[str, Any], name: str, read: Callable[[str], Any], default: Any) -> Any:
        if name not in found:
            return default
        try:
            return read(str(found[name]))
        except (ValueError, Invalid) as error:
            hint = error.hint if isinstance(error, Invalid) else ""
            raise Invalid(f"{self._file}: {name}: {found[name]!r} is not understood", hint=hint) from None


def _yes_or_no(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError
    return text == "true"
