"""What an expression can see, and how a mistake in it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lochan.query.ast import Node
from lochan.query.compile.relations import Names
from lochan.query.compile.value import Value
from lochan.query.errors import QueryError
from lochan.query.leaves import Path


@dataclass(frozen=True)
class Query:
    """The same for all of a query."""

    text: str
    now: int | None  # microseconds since 1970
    names: Names


@dataclass(frozen=True)
class Scope:
    query: Query
    this: Value
    key: Path | None = None  # the first field of the pool's key
    lenient: bool = False  # a field that no row has is missing, and no mistake
    bound: Mapping[int, Value] = field(default_factory=dict)  # parts of expressions that are computed, by their ids

    def forgiving(self) -> Scope:
        return replace(self, lenient=True)


def refused(query: Query, at: Node, message: str, hint: str = "") -> QueryError:
    return QueryError(message, query.text, at.span, hint=hint)
