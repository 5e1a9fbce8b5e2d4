"""A verb as a request: the place of each of its arguments, and the shape of its answer.

path      names in the route, such as {branch}; `-` stands for an empty name, which means the default branch
query     of a verb that is read by GET, deletes by DELETE, or has a body of bytes
body      of all others: a JSON object, with a field for each argument
bytes     the body itself: of an object, of rows, of a policy
header    the idempotency key
none      an argument that exists only in a process, such as a function that reports progress"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from typing import Any, NamedTuple

from lochan.api.verbs import VERBS, Kind, Verb
from lochan.api.wire.annotations import resolve

EMPTY_NAME = "-"  # no ref, repository or user can have this name
KEY_HEADER = "Idempotency-Key"
AUTHOR_HEADER = "X-Lochan-Author"  # the person represented, percent-encoded: the author of commits that name none
LINEAGE_HEADER = "X-Lochan-Lineage"  # in a request, where a commit's data come from; in an answer, what was read
OPTIONS = "options"


class ArgumentPlace(StrEnum):
    PATH = "path"
    QUERY = "query"
    BODY = "body"
    BYTES = "bytes"
    HEADER = "header"
    NONE = "none"


class ArgumentForm(StrEnum):
    """The form of an argument in a query string."""

    TEXT = "text"
    PLAIN = "plain"  # a number, a truth value, a time
    SEVERAL = "several"  # once for each item
    JSON = "json"


class Shape(StrEnum):
    """The form of an answer."""

    NOTHING = "nothing"
    VALUE = "value"  # JSON
    LINES = "lines"  # a JSON value on each line
    HANDLE = "handle"  # its names, as JSON
    OPENED = "opened"  # an object that was opened: its details, as JSON
    BYTES = "bytes"
    TABLE = "table"  # an Arrow stream
    ROWS = "rows"  # the rows of a query: an Arrow stream
    ROW_DIFF = "row diff"  # counts and rows in one Arrow stream


_NOUNS = {
    "Lake": "lochan.api.lake",
    "Repository": "lochan.api.repository",
    "GarbageCollection": "lochan.api.collection",
    "Storage": "lochan.api.storage",
    "DeletedCollection": "lochan.api.deleted",
    "Pool": "lochan.api.pool",
    "Ref": "lochan.api.ref",
    "WritableRef": "lochan.api.writable",
    "Branch": "lochan.api.branch",
    "Workspace": "lochan.api.workspace",
    "Upload": "lochan.api.parts",
    "PullRequest": "lochan.api.pull_request",
    "Access": "lochan.api.access",
    "Frames": "lochan.api.frames",
}
HANDLES = frozenset(("Repository", "Pool", "Branch", "Ref", "Workspace", "PullRequest", "Upload"))
_IN_QUERY = {"Upload": ("object",)}  # names of a handle in the query: the path of an object has slashes
_OF_THE_PROCESS = ("Listener | None", "Progress | None", "imports.Progress | None", "Report")
_BODIES = ("Body | SizedBody", "Body", "Any", "bytes")
_FORMS: Mapping[str, ArgumentForm] = {
    **dict.fromkeys(("str", "str | None", "NamedRef | str", "NamedRef | str | None"), ArgumentForm.TEXT),
    **dict.fromkeys(("int", "int | None", "float", "float | None", "bool", "bool | None"), ArgumentForm.PLAIN),
    **dict.fromkeys(("datetime", "datetime | None"), ArgumentForm.PLAIN),
    **dict.fromkeys(("Sequence[str]", "str | Sequence[str]"), ArgumentForm.SEVERAL),
}
_SHAPES: Mapping[str, Shape] = {
    "None": Shape.NOTHING,
    "AsyncIterator[bytes]": Shape.BYTES,
    "bytes": Shape.BYTES,
    "Table": Shape.TABLE,
    "OpenObject": Shape.OPENED,
    "Result": Shape.ROWS,
    "RowDiff": Shape.ROW_DIFF,
    **dict.fromkeys(HANDLES, Shape.HANDLE),
}


class Argument(NamedTuple):
    name: str
    place: ArgumentPlace
    annotation: str
    form: ArgumentForm
    required: bool
    several: bool  # whether it takes any number of values: `delete("a", "b")`
    function: Callable[..., Any]

    @property
    def type(self) -> Any:
        return list[str] if self.several else resolve(self.annotation, self.function)


class WireCall:
    """One row of the table of verbs that has a route."""

    def __init__(self, verb: Verb) -> None:
        self.verb = verb
        self.method, _, self.path = verb.path.partition(" ")

    @property
    def id(self) -> str:
        return f"{self.verb.noun}.{self.verb.name}"

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The method of the local noun, whose signature and docstring are those of the verb."""
        found: Callable[..., Any] = getattr(noun_class(self.verb.noun), self.verb.name)
        return found

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def arguments(self) -> Mapping[str, Argument]:
        given = list(self.signature.parameters.values())[1:]
        has_bytes = any(each.annotation in _BODIES for each in given)
        rest = ArgumentPlace.QUERY if has_bytes or self.method in ("GET", "DELETE") else ArgumentPlace.BODY
        return {each.name: self._argument(each, rest) for each in given}

    @cached_property
    def key(self) -> str:
        """The name of the argument that is the idempotency key. It is empty if there is none, or if the key is in the
        options of a commit."""
        names = self.signature.parameters
        return "" if self.verb.kind is not Kind.WRITE else next((n for n in ("request_key", "key") if n in names), "")

    @property
    def has_commit_options(self) -> bool:
        found = self.signature.parameters.get(OPTIONS)
        return found is not None and found.annotation == "CommitOptions"

    @cached_property
    def shape(self) -> Shape:
        annotation = str(self.signature.return_annotation)
        if annotation.startswith("AsyncIterator[") and annotation not in _SHAPES:
            return Shape.LINES
        return _SHAPES.get(annotation, Shape.VALUE)

    @cached_property
    def result(self) -> Any:
        """The type of the JSON of its answer, or of each line."""
        annotation = str(self.signature.return_annotation)
        if self.shape is Shape.LINES:
            annotation = annotation.removeprefix("AsyncIterator[").removesuffix("]")
        return resolve(annotation, self.function)

    def _argument(self, given: inspect.Parameter, rest: ArgumentPlace) -> Argument:
        several = given.kind is inspect.Parameter.VAR_POSITIONAL
        form = ArgumentForm.SEVERAL if several else _FORMS.get(given.annotation, ArgumentForm.JSON)
        required = given.default is inspect.Parameter.empty and not several
        return Argument(given.name, self._place(given, rest), given.annotation, form, required, several, self.function)

    def _place(self, given: inspect.Parameter, rest: ArgumentPlace) -> ArgumentPlace:
        if given.name == self.key:
            return ArgumentPlace.HEADER
        if given.annotation in _OF_THE_PROCESS:
            return ArgumentPlace.NONE
        if given.annotation in _BODIES:
            return ArgumentPlace.BYTES
        return ArgumentPlace.PATH if given.name in self.names else rest

    @property
    def query_names(self) -> tuple[str, ...]:
        """Names of the handle that are parameters of the query string."""
        return _IN_QUERY.get(self.verb.noun, ())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the path: first those of the handle, then arguments."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))


def noun_class(noun: str) -> type:
    found: type = getattr(import_module(_NOUNS[noun]), noun)
    return found


@cache
def wire_calls() -> Mapping[tuple[str, str], WireCall]:
    """Returns all verbs that have a route, by noun and name."""
    return {(verb.noun, verb.name): WireCall(verb) for verb in VERBS if verb.route and verb.local != "*"}
