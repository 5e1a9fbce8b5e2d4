"""A hook file: when its hooks run, and what they do. Mistakes are reported with their line and column.

name: quality of sales
on: [pre-commit, pre-merge]
if: {branches: [main, release-*], paths: [data/*]}
hooks:
  - id: prices
    kind: query
    query: from shop/data/*.csv | price==null
    message: every price is known
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import msgspec

from lochan.errors import Invalid, QueryError
from lochan.hooks.templates import TEMPLATES, TemplateError

if TYPE_CHECKING:
    import yaml

FOLDER = "_lochan/hooks/"
SIZE_BYTES_MAX = 1 << 16
QUERY, WEBHOOK, PYTHON = "query", "webhook", "python"
MOVE = "move"  # every move of a head, by any verb
HEAD_VERBS = ("commit", "merge", "revert", "cherry-pick", "rebase", "reset", MOVE)
PULL_VERBS = ("open-pull", "update-pull", "review-pull", "close-pull", "reopen-pull")
REF_VERBS = ("create-branch", "delete-branch", "create-tag", "delete-tag", *PULL_VERBS)
EVENTS = tuple(f"{when}-{verb}" for verb in (*HEAD_VERBS, *REF_VERBS) for when in ("pre", "post"))
_HOOKS_MAX = 50
_VALUES_MAX = 10_000  # in a file, each counted as often as aliases repeat it
_LETTERS = 16  # of a text, which count as one value more
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|ms)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_TIMEOUT_S, _TIMEOUT_MAX_S = 30.0, 600.0
_RETRIES, _RETRIES_MAX = 2, 5
# Headers that identify the sender or the receiver; and a file in a repository is no place for a password.
_HEADERS_REFUSED = ("host", "content-length", "transfer-encoding", "connection", "authorization", "cookie")
_FIELDS = {
    QUERY: ("query", "template", "source", "message", "timeout"),
    WEBHOOK: ("url", "headers", "timeout", "retries"),
    PYTHON: ("module", "function", "arguments", "timeout"),
}


class HookConditions(NamedTuple):
    """The conditions of a hook, all of which must hold. Patterns have * and ?."""

    branches: tuple[str, ...] = ()  # one of them matches the branch or the tag
    paths: tuple[str, ...] = ()  # one of them matches a path that changes
    metadata: tuple[tuple[str, str], ...] = ()  # of the commit


class Hook(NamedTuple):
    id: str
    kind: str
    conditions: HookConditions
    timeout_s: float = _TIMEOUT_S
    query: str = ""
    message: str = ""
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    retries: int = _RETRIES
    module: str = ""
    function: str = "check"
    arguments: Mapping[str, object] = {}


class HookFile(NamedTuple):
    path: str
    name: str
    events: Mapping[str, HookConditions]
    conditions: HookConditions
    hooks: tuple[Hook, ...]


class HookFileError(Invalid):
    """A mistake in a hook file. `line` and `column` count from 1."""

    def __init__(self, message: str, path: str, line: int, column: int, *, hint: str = "") -> None:
        super().__init__(f"{path}, line {line}, column {column}: {message}", hint=hint)
        self.path = path
        self.line = line
        self.column = column


def is_hook_file(path: str) -> bool:
    return path.startswith(FOLDER) and path.endswith((".yaml", ".yml"))


def parse_hook_file(data: bytes, path: str) -> HookFile:
    """Parses a hook file. Raises HookFileError."""
    return _Reader(path).file(data)


class _Reader:
    def __init__(self, path: str) -> None:
        self._path = path

    def file(self, data: bytes) -> HookFile:
        root = self._fields(self._root(data), ("name", "on", "if", "hooks", "description"), "a hook file")
        events = self._events(self._needed(root, "on"))
        conditions = self._conditions(root.get("if"))
        hooks = self._hooks(self._needed(root, "hooks"))
        name = self._text(root["name"]) if "name" in root else self._path.removeprefix(FOLDER).rpartition(".")[0]
        return HookFile(self._path, name, events, conditions, hooks)

    def _root(self, data: bytes) -> yaml.Node:
        if len(data) > SIZE_BYTES_MAX:
            raise HookFileError(f"a hook file has at most {SIZE_BYTES_MAX} bytes", self._path, 1, 1)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start)
            raise HookFileError("not UTF-8 text", self._path, line + 1, 1) from None
        import yaml

        try:
            node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
            raise HookFileError(f"not YAML: {error.problem or error.context}", self._path, *at) from None
        except (yaml.YAMLError, RecursionError) as error:
            raise HookFileError(f"not YAML: {' '.join(str(error).split())}", self._path, 1, 1) from None
        if node is None:
            raise HookFileError("the file is empty", self._path, 1, 1, hint="it needs `on` and `hooks`")
        self._node = node
        self._check_size(node)
        return node

    def _check_size(self, root: yaml.Node) -> None:
        """Limits the number of values: a few lines with aliases of aliases can stand for more values than any memory
        holds. Raises HookFileError."""
        sizes: dict[int, int] = {}  # 0: what is inside is being counted

        def size(node: yaml.Node) -> int:
            if id(node) not in sizes:
                sizes[id(node)] = 0
                text = len(node.value) // _LETTERS if _is_scalar(node) else 0
                sizes[id(node)] = 1 + text + sum(map(size, _inside(node)))
            elif not sizes[id(node)]:
                raise self._error(node, "a value contains itself")
            return sizes[id(node)]

        if size(root) > _VALUES_MAX:
            hint = "aliases are counted as written out"
            raise self._error(root, f"the file has more than {_VALUES_MAX:,} values", hint)

    def _error(self, node: yaml.Node, message: str, hint: str = "") -> HookFileError:
        mark = node.start_mark
        return HookFileError(message, self._path, mark.line + 1, mark.column + 1, hint=hint)

    def _fields(self, node: yaml.Node, known: Sequence[str], what: str) -> dict[str, yaml.Node]:
        if not _is_mapping(node):
            raise self._error(node, f"{what} is made of `name: value` lines")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if _is_scalar(key) else ""
            # YAML 1.1 reads a bare `on` as true; nodes keep what was written.
            if known and name not in known:
                raise self._error(key, f"{what} has no {name!r}", hint=f"it may have {', '.join(known)}")
            if name in found:
                raise self._error(key, f"{name} is given twice")
            found[name] = value
        return found

    def _needed(self, fields: Mapping[str, yaml.Node], name: str, at: yaml.Node | None = None) -> yaml.Node:
        if name not in fields:
            raise self._error(at or self._node, f"{name} is missing")
        return fields[name]

    def _text(self, node: yaml.Node) -> str:
        if not _is_scalar(node):
            raise self._error(node, "a text is expected here")
        return str(node.value)

    def _texts(self, node: yaml.Node) -> tuple[str, ...]:
        if _is_sequence(node):
            return tuple(self._text(each) for each in node.value)
        return (self._text(node),)

    # --- when --------------------------------------------------------------------------------------------------------
    def _events(self, node: yaml.Node) -> dict[str, HookConditions]:
        if _is_mapping(node):
            fields = self._fields(node, (), "on")
            found = {}
            for (key, value), name in zip(node.value, fields, strict=True):
                self._check_event(key, name)
                is_empty = _is_scalar(value) and not value.value
                found[name] = HookConditions() if is_empty else self._conditions(value)
            return found
        items = node.value if _is_sequence(node) else [node]
        if not items:
            raise self._error(node, "on names no event", hint=f"one of {', '.join(EVENTS)}")
        for item in items:
            self._check_event(item, self._text(item))
        return {self._text(item): HookConditions() for item in items}

    def _check_event(self, node: yaml.Node, name: str) -> None:
        if name not in EVENTS:
            raise self._error(node, f"there is no event {name!r}", hint=f"one of {', '.join(EVENTS)}")

    def _conditions(self, node: yaml.Node | None) -> HookConditions:
        if node is None:
            return HookConditions()
        fields = self._fields(node, ("branches", "paths", "metadata"), "a condition")
        metadata: tuple[tuple[str, str], ...] = ()
        if "metadata" in fields:
            wanted = self._fields(fields["metadata"], (), "metadata")
            metadata = tuple((name, self._text(value)) for name, value in wanted.items())
        branches, paths = (self._texts(fields[each]) if each in fields else () for each in ("branches", "paths"))
        return HookConditions(branches, paths, metadata)

    # --- what --------------------------------------------------------------------------------------------------------
    def _hooks(self, node: yaml.Node) -> tuple[Hook, ...]:
        if not _is_sequence(node) or not node.value:
            raise self._error(node, "hooks is a list of at least one hook")
        if len(node.value) > _HOOKS_MAX:
            raise self._error(node, f"a file has at most {_HOOKS_MAX} hooks")
        found: dict[str, Hook] = {}
        for item in node.value:
            hook = self._hook(item)
            if hook.id in found:
                raise self._error(item, f"two hooks have the id {hook.id!r}")
            found[hook.id] = hook
        return tuple(found.values())

    def _hook(self, node: yaml.Node) -> Hook:
        fields = self._fields(node, (), "a hook")
        kind_node = self._needed(fields, "kind", node)
        kind = self._text(kind_node)
        if kind not in _FIELDS:
            raise self._error(kind_node, f"there is no kind {kind!r}", hint=f"one of {', '.join(_FIELDS)}")
        template = self._text(fields["template"]) if kind == QUERY and "template" in fields else ""
        extra = TEMPLATES[template].settings if template in TEMPLATES else ()
        fields = self._fields(node, ("id", "kind", "if", "description", *_FIELDS[kind], *extra), f"a {kind} hook")
        id_node = self._needed(fields, "id", node)
        if not _ID.fullmatch(self._text(id_node)):
            raise self._error(id_node, "an id has letters, digits, dots and dashes, at most 64")
        hook = Hook(self._text(id_node), kind, self._conditions(fields.get("if")), self._seconds(fields))
        return {QUERY: self._query, WEBHOOK: self._webhook, PYTHON: self._python}[kind](hook, fields, node)

    def _query(self, hook: Hook, fields: Mapping[str, yaml.Node], node: yaml.Node) -> Hook:
        if ("query" in fields) == ("template" in fields):
            raise self._error(node, "a query hook has either query or template")
        message = self._text(fields["message"]) if "message" in fields else ""
        if "query" in fields:
            text = self._text(fields["query"])
            self._check_query(fields["query"], text)
            return hook._replace(query=text, message=message)
        name = self._text(fields["template"])
        if name not in TEMPLATES:
            raise self._error(fields["template"], f"no template {name!r}", hint=f"one of {', '.join(TEMPLATES)}")
        template = TEMPLATES[name]
        given = {each: self._value(fields[each]) for each in ("source", *template.settings) if each in fields}
        try:
            return hook._replace(query=template.query(given), message=message or template.words(given))
        except TemplateError as error:
            raise self._error(fields.get(error.setting, node), error.message) from None

    def _check_query(self, node: yaml.Node, text: str) -> None:
        """Raises HookFileError if the query cannot be parsed. The names in it are looked up when it runs."""
        from lochan.query.sql.query import read
        from lochan.query.syntax.parse import parse
        from lochan.query.syntax.tokens import is_sql

        if not text.strip():
            raise self._error(node, "the query is empty")
        try:
            _ = read(text) if is_sql(text) else parse(text)
        except QueryError as error:
            raise self._error(node, f"the query is wrong: {error.message}", error.hint) from None

    def _webhook(self, hook: Hook, fields: Mapping[str, yaml.Node], node: yaml.Node) -> Hook:
        from lochan.hooks.webhook import check_url

        url_node = self._needed(fields, "url", node)
        try:
            check_url(self._text(url_node))
        except Invalid as error:
            raise self._error(url_node, error.message, error.hint) from None
        headers = self._fields(fields["headers"], (), "headers") if "headers" in fields else {}
        for name, value in headers.items():
            if name.lower() in _HEADERS_REFUSED or name.lower().startswith("x-lochan-"):
                raise self._error(value, f"the header {name} cannot be set", hint="requests are signed: see the docs")
            if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", name) or not self._text(value).isprintable():
                raise self._error(value, f"{name!r} is no header")
        retries = self._value(fields["retries"]) if "retries" in fields else _RETRIES
        if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= _RETRIES_MAX:
            raise self._error(fields["retries"], f"retries is a number from 0 to {_RETRIES_MAX}")
        texts = tuple((name, self._text(value)) for name, value in headers.items())
        return hook._replace(url=self._text(url_node), headers=texts, retries=retries)

    def _python(self, hook: Hook, fields: Mapping[str, yaml.Node], node: yaml.Node) -> Hook:
        names = []
        for field, default in (("module", ""), ("function", "check")):
            text = self._text(fields[field]) if field in fields else default
            if not _MODULE.fullmatch(text):
                raise self._error(fields.get(field, node), f"{field} is a name of Python's")
            names.append(text)
        given = self._value(fields["arguments"]) if "arguments" in fields else {}
        if not isinstance(given, dict):
            raise self._error(fields["arguments"], "arguments are `name: value` lines")
        return hook._replace(module=names[0], function=names[1], arguments=given)

    def _seconds(self, fields: Mapping[str, yaml.Node]) -> float:
        if "timeout" not in fields:
            return _TIMEOUT_S
        found = _SECONDS.fullmatch(self._text(fields["timeout"]).strip())
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not 0 < seconds <= _TIMEOUT_MAX_S:
            raise self._error(fields["timeout"], f"a timeout is at most {_TIMEOUT_MAX_S:g}s, such as 30s")
        return seconds

    def _value(self, node: yaml.Node) -> object:
        """Returns a value that JSON has too: it is sent as JSON, and used in queries."""
        import yaml

        loader = yaml.SafeLoader("")
        try:
            found: object = loader.construct_document(node)
            msgspec.json.encode(found)
            return found
        except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
            raise self._error(node, f"not a value: {' '.join(str(error).split())}") from None
        finally:
            loader.dispose()


def _inside(node: yaml.Node) -> Iterator[yaml.Node]:
    if _is_mapping(node):
        for pair in node.value:
            yield from pair
    elif _is_sequence(node):
        yield from node.value


# YAML is imported only when there is a file: most repositories have none.
def _is_mapping(node: yaml.Node) -> TypeGuard[yaml.MappingNode]:
    import yaml

    return isinstance(node, yaml.MappingNode)


def _is_sequence(node: yaml.Node) -> TypeGuard[yaml.SequenceNode]:
    import yaml

    return isinstance(node, yaml.SequenceNode)


def _is_scalar(node: yaml.Node) -> TypeGuard[yaml.ScalarNode]:
    import yaml

    return isinstance(node, yaml.ScalarNode)
