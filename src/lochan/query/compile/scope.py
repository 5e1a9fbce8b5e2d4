"""What an expression can see, and how a mistake in it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lochan.pools.shape import Path
from lochan.query.ast import Node
from lochan.query.compile.relations import Names
from lochan.query.compile.value import Value
from lochan.query.errors import QueryError, UnknownField


@dataclass(frozen=True)
class Query:
    """The same for all of a query."""

    text: str
    now: int | None  # microseconds since 1970
    names: Names
    tolerant: bool = False  # a field that no row of a pool has yet is missing, and a warning
    warnings: list[str] = field(default_factory=list)

    def unknown(self, error: UnknownField, *, may_come: bool) -> None:
        """Raises the error, or notes it where the rows of tomorrow may have the field."""
        if not (self.tolerant and may_come):
            raise error
        said = f"{error.message} (line {error.line}, column {error.column}): no row has it, so it is missing"
        if said not in self.warnings:
            self.warnings.append(said)


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
