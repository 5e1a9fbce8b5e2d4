"""Reads a YAML file as nodes, which have their lines, and a configuration file as lines with the name, text and place
of each value. It imports yaml.

No objects are constructed: the reader of a value decides its type, not YAML."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from lochan.config.settings import BY_NAME, SECTIONS, no_such_setting
from lochan.errors import Invalid, NotFound, Refused

_SIZE_BYTES_MAX = 1 << 20  # what people write is a page or two; a file this large is something else


def compose(path: Path, file: str, what: str) -> yaml.Node | None:
    """Returns the root of the file, or None if it is empty. Messages call the file `file`, and what it should be
    `what`. Raises NotFound, Invalid or Refused."""
    return _compose(file, _text(path, file, what), what)


def where(file: str, node: yaml.Node) -> str:
    return f"{file}, line {node.start_mark.line + 1}"


def noun(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a section"
    return "a list" if isinstance(node, yaml.SequenceNode) else "a single value"


def is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


def _text(path: Path, file: str, what: str) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_SIZE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise NotFound(f"{file}: there is no such {what} file") from None
    except IsADirectoryError:
        raise Invalid(f"{file}: this is a folder, not a {what} file") from None
    except PermissionError:
        raise Refused(f"{file}: the {what} file may not be read by this user") from None
    except OSError as error:
        raise Invalid(f"{file}: the {what} file cannot be read: {error.strerror}") from None
    except ValueError:
        raise Invalid(f"{file!r}: this cannot be the name of a {what} file") from None
    if len(data) > _SIZE_BYTES_MAX:
        raise Invalid(f"{file}: larger than {_SIZE_BYTES_MAX} bytes, so not a {what} file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{file}, line {line}: not UTF-8 text") from None


def _compose(file: str, text: str, what: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)  # type: ignore[no-any-return]
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(file, error) from None
    except yaml.YAMLError as error:
        raise Invalid(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise Invalid(f"{file}: not a {what}: nested too deeply") from None


def _not_yaml(file: str, error: yaml.MarkedYAMLError) -> Invalid:
    mark = error.problem_mark or error.context_mark
    at = file if mark is None else f"{file}, line {mark.line + 1}"
    if error.problem is not None and r"'\t'" in error.problem:
        return Invalid(f"{at}: a tab, where YAML takes only spaces", hint="indent with spaces")
    return Invalid(f"{at}: not YAML: {error.problem or error.context}")


class ConfigLine(NamedTuple):
    name: str
    text: str
    where: str


def read(path: Path, file: str) -> Iterator[ConfigLine]:
    """Yields the values in the file, in its order. Messages call the file `file`. A key without a value is skipped."""
    root = compose(path, file, "configuration")
    if root is None:
        return
    if not isinstance(root, yaml.MappingNode):
        raise Invalid(f"{where(file, root)}: a configuration is made of `key: value` lines, not of {noun(root)}")
    yield from _section(file, "", root)


def _section(file: str, prefix: str, node: yaml.MappingNode) -> Iterator[ConfigLine]:
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


def _value(file: str, name: str, node: yaml.Node) -> Iterator[ConfigLine]:
    if isinstance(node, yaml.MappingNode) and name in SECTIONS:
        yield from _section(file, f"{name}.", node)
    elif isinstance(node, yaml.ScalarNode):
        if is_null(node):
            return
        if name not in BY_NAME:
            raise Invalid(f"{where(file, node)}: {name} is a section; its settings go on the lines below it, indented")
        yield ConfigLine(name, node.value, where(file, node))
    elif name in BY_NAME:
        raise Invalid(f"{where(file, node)}: {name} is {noun(node)}, but should be {BY_NAME[name].kind.expected}")
    else:
        raise Invalid(f"{where(file, node)}: {name} is {noun(node)}, but should be a section of `key: value` lines")
