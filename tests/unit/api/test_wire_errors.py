"""Every error goes to another process, and comes out as the same class with the same words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from lochan import errors
from lochan.access.rights import Denied
from lochan.api.conditions import ConditionFailed
from lochan.api.wire.errors import ErrorBody, error_body, error_of
from lochan.engines.duckdb.limits import LimitReached, OutOfTime
from lochan.errors import LochanError, NotFound, PathsInTheWay, QueryError
from lochan.query.errors import UnknownField


def _classes(kind: type[LochanError]) -> Iterator[type[LochanError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from _classes(each)


PLAIN = [each for each in _classes(LochanError) if not issubclass(each, PathsInTheWay | QueryError)]


def told(error: LochanError) -> LochanError:
    data = msgspec.json.encode(asyncio.run(error_body(error)))
    return error_of(msgspec.json.decode(data, type=ErrorBody), 400)


@pytest.mark.parametrize("kind", [*PLAIN, Denied, LimitReached, OutOfTime], ids=lambda each: each.__name__)
def test_an_error_comes_out_as_it_went_in(kind: type[LochanError]) -> None:
    found = told(kind("it went wrong", hint="do it otherwise"))
    assert (type(found), found.message, found.hint, found.kind) == (kind, "it went wrong", "do it otherwise", kind.kind)


def test_what_an_error_says_besides() -> None:
    way = told(PathsInTheWay("two", paths=["a", "b"], count=7, keys=[{"id": 1}]))
    assert isinstance(way, PathsInTheWay) and (way.paths, way.count, way.keys) == (("a", "b"), 7, ({"id": 1},))
    condition = told(ConditionFailed("no", "match", "abc", of_source=True))
    assert isinstance(condition, ConditionFailed)
    assert (condition.condition, condition.etag, condition.of_source) == ("match", "abc", True)
    query = told(UnknownField("no field", "from a\n| b", (9, 10), hint="another"))
    assert isinstance(query, UnknownField) and (query.line, query.column, query.length) == (2, 3, 1)
    assert str(query) == str(UnknownField("no field", "from a\n| b", (9, 10), hint="another"))
    missing = told(NotFound("nothing").named("x", lambda: ["secret"]))
    assert isinstance(missing, NotFound) and (missing.name, missing.among) == ("x", None)
    near = told(NotFound("nothing").named("mian", lambda: ["main", "other"]))
    assert isinstance(near, NotFound) and near.among is not None and list(near.among()) == ["main"]


def test_an_answer_that_names_no_class() -> None:
    assert type(error_of(ErrorBody("busy"), 503)) is errors.Transient
    assert type(error_of(ErrorBody("who"), 401)) is Denied
    assert type(error_of(ErrorBody("what", error="NobodyKnowsThis"), 409)) is errors.Conflict
    assert type(error_of(ErrorBody("what", error="os"), 500)) is LochanError
