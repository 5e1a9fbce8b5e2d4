"""Reads a policy of upkeep from a YAML file:

    every: 5m
    defaults:
      compact: {overlapping: 4, small: 8}
    pools:
      "logs-*": {branches: [main, dev], compact: {size: 128MB}}
      scratch: {compact: false}

An unknown key is an error, which names its line and the most similar key.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lochan.config.kinds import LENGTH, SIZE, YES_OR_NO, SettingKind, ValueContext
from lochan.config.settings import did_you_mean
from lochan.config.yaml_file import compose, is_null, noun, where
from lochan.errors import Invalid, Refused
from lochan.pools.upkeep import STANDARD, Rule, Upkeep
from lochan.versioning.names import check_ref_name

_LATER = ("vacuum", "vacate", "purge", "index", "retention")


def read(path: Path, file: str) -> Upkeep:
    """Reads a policy. `file` is its name in messages. Raises NotFound, Invalid, or Refused if a section is not
    implemented yet."""
    root = compose(path, file, "policy")
    return STANDARD if root is None else _Reader(file).upkeep(root)


def _count(text: str, _: ValueContext) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= 1):
        raise ValueError
    return int(text)


_COUNT = SettingKind("a number, 1 or more", _count)
_COMPACT: Mapping[str, tuple[str, SettingKind]] = {
    "overlapping": ("overlapping_max", _COUNT),
    "small": ("small_max", _COUNT),
    "size": ("size_bytes", SIZE),
}


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file

    def upkeep(self, root: yaml.Node) -> Upkeep:
        top = self._section("the policy", root, ("every", "defaults", "pools"))
        defaults = self._rule("defaults", top["defaults"], Rule()) if "defaults" in top else Rule()
        pools = self._section("pools", top["pools"], None) if "pools" in top else {}
        rules = tuple((name, self._rule(f"pools.{name}", node, defaults)) for name, node in pools.items())
        every_s = self._value("every", top["every"], LENGTH) if "every" in top else STANDARD.every_s
        return Upkeep(defaults, rules, every_s)

    def _rule(self, name: str, node: yaml.Node, base: Rule) -> Rule:
        section = self._section(name, node, ("branches", "compact"))
        if "branches" in section:
            base = base._replace(branches=self._branches(f"{name}.branches", section["branches"]))
        return self._compact(f"{name}.compact", section["compact"], base) if "compact" in section else base

    def _compact(self, name: str, node: yaml.Node, base: Rule) -> Rule:
        if isinstance(node, yaml.ScalarNode):
            return base._replace(compact=self._value(name, node, YES_OR_NO))
        section = self._section(name, node, tuple(_COMPACT))
        fields = {_COMPACT[key][0]: self._value(f"{name}.{key}", at, _COMPACT[key][1]) for key, at in section.items()}
        if fields.get("size_bytes") == 0:
            raise self._error(section["size"], f"{name}.size is 0", hint="leave it out for the pool's own size")
        return base._replace(compact=True, **fields)

    def _branches(self, name: str, node: yaml.Node) -> tuple[str, ...]:
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not nodes:
            raise self._error(node, f"{name} names no branch", hint="`compact: false` leaves a pool alone")
        for each in nodes:
            if not isinstance(each, yaml.ScalarNode):
                raise self._error(each, f"{name} has {noun(each)} in it, where a branch should be named")
            try:
                check_ref_name(each.value)
            except Invalid as error:
                raise self._error(each, error.message, hint=error.hint) from None
        return tuple(dict.fromkeys(each.value for each in nodes))

    def _section(self, name: str, node: yaml.Node, known: tuple[str, ...] | None) -> dict[str, yaml.Node]:
        """Returns the values by key, without keys that have no value."""
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, f"{name} is {noun(node)}, but should be made of `key: value` lines")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, f"{noun(key)} cannot be a key")
            if key.value in found:
                raise self._error(key, f"{key.value!r} was already given in {name}", hint="keep one of the two")
            if known is not None and key.value not in known:
                raise self._unknown(name, key, known)
            found[key.value] = value
        return {key: value for key, value in found.items() if not is_null(value)}

    def _value(self, name: str, node: yaml.Node, kind: SettingKind) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, f"{name} is {noun(node)}, but should be {kind.expected}")
        try:
            return kind.parse(node.value, ValueContext(Path("/"), Path("/")))
        except ValueError:
            raise self._error(node, f"{name} is {node.value[:80]!r}, which is not {kind.expected}") from None

    def _unknown(self, name: str, key: yaml.ScalarNode, known: tuple[str, ...]) -> Invalid | Refused:
        if key.value in _LATER:
            at = where(self._file, key)
            return Refused(
                f"{at}: {key.value} is not implemented yet", hint="leave it out; only `compact` is supported"
            )
        near = did_you_mean(key.value, known)
        return self._error(key, f"there is no {key.value!r} in {name}{near}", hint=f"there are {', '.join(known)}")

    def _error(self, node: yaml.Node, message: str, *, hint: str = "") -> Invalid:
        return Invalid(f"{where(self._file, node)}: {message}", hint=hint)
