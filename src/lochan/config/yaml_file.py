"""A configuration file, read as the lines it is made of: name, text and place of each value. It imports yaml."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from lochan.config.names import BY_NAME, SECTIONS, no_such_setting
from lochan.config.yaml_nodes import compose, is_null, noun, where
from lochan.errors import Invalid


class Line(NamedTuple):
    name: str
    text: str
    where: str


def read(path: Path, file: str) -> Iterator[Line]:
    """The values in the file, in its order; `file` is what messages call it. A key without a value is not there."""
    root = compose(path, file, "configuration")
    if root is None:
        return
    if not isinstance(root, yaml.MappingNode):
        raise Invalid(f"{where(file, root)}: a configuration is made of `key: value` lines, not of {noun(root)}")
    yield from _section(file, "", root)


def _section(file: str, prefix: str, node: yaml.MappingNode) -> Iterator[Line]:
    seen: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise Invalid(f"{where(file, key)}: {noun(key)} cannot be a key")
        name = prefix + key.value
        if name in seen:
            raise Invalid(f"{where(file, key)}: {name} was already given in line {seen[name].start_mark.line + 1}")
        seen[name] = key
        if name not in BY_NAME and name not in SECTIONS:
            raise no_such_setting(where(file, key), name)
        yield from _value(file, name, value)


def _value(file: str, name: str, node: yaml.Node) -> Iterator[Line]:
    if isinstance(node, yaml.MappingNode) and name in SECTIONS:
        yield from _section(file, f"{name}.", node)
    elif isinstance(node, yaml.ScalarNode):
        if is_null(node):
            return
        if name not in BY_NAME:
            raise Invalid(f"{where(file, node)}: {name} is a section; its settings go on the lines below it, indented")
        yield Line(name, node.value, where(file, node))
    elif name in BY_NAME:
        raise Invalid(f"{where(file, node)}: {name} is {noun(node)}, but should be {BY_NAME[name].kind.expected}")
    else:
        raise Invalid(f"{where(file, node)}: {name} is {noun(node)}, but should be a section of `key: value` lines")
