"""Random SQL over the tables of `test_as_duckdb`, made of what both DuckDB and Lochan know."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hypothesis import strategies as st

Text = st.SearchStrategy[str]
_COLUMNS = {"int": ("id", "status"), "float": ("took",), "string": ("host",), "bool": ("ok",), "time": ("ts",)}
_LITERALS: dict[str, list[str]] = {
    "int": ["0", "1", "200", "500", "-3", "null"],
    "float": ["0.5", "1.5", "-2.25"],
    "string": ["''", "'web-1'", "'web'", "'B'"],
    "bool": ["true", "false"],
    "time": ["timestamp '2026-11-01 10:15:00'", "timestamp '2025-01-31 23:59:59'"],
}


@cache
def expression(kind: str, alias: str, depth: int) -> Text:
    columns = st.sampled_from([f"{alias}.{name}" if alias else name for name in _COLUMNS[kind]])
    leaf = columns | columns | st.sampled_from(_LITERALS[kind])
    if depth == 0:
        return leaf

    def of(kind: str) -> Text:
        return expression(kind, alias, depth - 1)

    any_kind = st.one_of(
        _made("coalesce({}, {})", of(kind), of(kind)),
        _made("case when {} then {} else {} end", of("bool"), of(kind), of(kind)),
        _made("case when {} then {} when {} then {} end", of("bool"), of(kind), of("bool"), of(kind)),
        _made("nullif({}, {})", of(kind), of(kind)),
    )
    return leaf | any_kind | st.one_of(_OWN[kind](of))


def _ints(of: Callable[[str], Text]) -> list[Text]:
    both = [_made(f"({{}} {op} {{}})", of("int"), of("int")) for op in "+-*"]
    return [
        *both,
        _made("abs({})", of("int")),
        _made("length({})", of("string")),
        _made("(-{})", of("int")),
        _made("hour({})", of("time")),
    ]


def _floats(of: Callable[[str], Text]) -> list[Text]:
    both = [_made(f"({{}} {op} {{}})", of("float"), of("int")) for op in "+-*"]
    return [*both, _made("({} / 4)", of("int")), _made("floor({})", of("float")), _made("abs({})", of("float"))]


def _strings(of: Callable[[str], Text]) -> list[Text]:
    return [
        _made("lower({})", of("string")),
        _made("upper({})", of("string")),
        _made("({} || {})", of("string"), of("string")),
        _made("substring({}, 2, 3)", of("string")),
        _made("replace({}, 'web', 'x')", of("string")),
        _made("cast({} as varchar)", of("int")),
        _made("left({}, 2)", of("string")),
    ]


def _bools(of: Callable[[str], Text]) -> list[Text]:
    kinds = ("int", "float", "string", "time")
    compared = [_made(f"({{}} {op} {{}})", of(kind), of(kind)) for kind in kinds for op in ("=", "<>", "<", ">=")]
    return [
        *compared,
        _made("({} < {})", of("int"), of("float")),
        _made("({} <> {})", of("int"), of("float")),
        _made("({} and {})", of("bool"), of("bool")),
        _made("({} or {})", of("bool"), of("bool")),
        _made("(not {})", of("bool")),
        _made("({} is null)", of("string")),
        _made("({} is not null)", of("int")),
        _made("({} in ({}, {}))", of("int"), of("int"), of("int")),
        _made("({} not in ('web-1', {}))", of("string"), of("string")),
        _made("({} between {} and {})", of("int"), of("int"), of("int")),
        _made("({} not between {} and {})", of("float"), of("float"), of("float")),
        _made("({} like 'web%')", of("string")),
        _made("({} not like '%-_')", of("string")),
        _made("({} is distinct from {})", of("int"), of("int")),
        _made("({} is true)", of("bool")),
        _made("({} is not false)", of("bool")),
        _made("({} in (select rack from hosts))", of("int")),
        _made("({} not in (select host from hosts where rack > 1))", of("string")),
    ]


def _times(of: Callable[[str], Text]) -> list[Text]:
    return [
        _made("date_trunc('hour', {})", of("time")),
        _made("({} + interval 1 day)", of("time")),
    ]


_OWN: dict[str, Callable[[Callable[[str], Text]], list[Text]]] = {
    "int": _ints,
    "float": _floats,
    "string": _strings,
    "bool": _bools,
    "time": _times,
}


def _made(form: str, *parts: Text) -> Text:
    return st.tuples(*parts).map(lambda each: form.format(*each))


@cache
def _some(alias: str, depth: int) -> Text:
    return st.one_of([expression(kind, alias, depth) for kind in _COLUMNS])


@st.composite
def plain_selects(draw: st.DrawFn) -> str:
    items = draw(st.lists(_some("", 2), min_size=1, max_size=3))
    distinct = draw(st.sampled_from(["", "distinct "]))
    where = draw(st.just("") | _made(" where {}", expression("bool", "", 3)))
    return f"select {distinct}{', '.join(items)} from logs{where}"


@st.composite
def grouped_selects(draw: st.DrawFn) -> str:
    keys = draw(st.lists(_some("", 1), min_size=0, max_size=2))
    values = draw(st.lists(_aggregates(), min_size=1, max_size=3))
    shown = ", ".join([*keys, *values])
    where = draw(st.just("") | _made(" where {}", expression("bool", "", 2)))
    numbers = ", ".join(str(at + 1) for at in range(len(keys)))
    group = f" group by {numbers}" if keys else ""
    having = draw(st.just("") | _made(" having {} > 1", _aggregates())) if keys else ""
    return f"select {shown} from logs{where}{group}{having}"


@cache
def _aggregates() -> Text:
    def of(kind: str) -> Text:
        return expression(kind, "", 1)

    return st.one_of(
        st.just("count(*)"),
        _made("count({})", of("string")),
        _made("count(distinct {})", of("int")),
        _made("sum({})", of("int")),
        _made("sum({})", of("float")),
        _made("avg({})", of("int")),
        _made("max({})", of("float")),
        _made("count(*) filter (where {})", of("bool")),
        _made("sum({}) filter (where {})", of("int"), of("bool")),
    )


@st.composite
def joined_selects(draw: st.DrawFn) -> str:
    side = draw(st.sampled_from(["", "left ", "right ", "full "]))
    more = draw(st.just("") | st.sampled_from([" and h.rack > 1", " and l.status = 200", " and l.id > h.rack"]))
    where = draw(st.just("") | _made(" where {}", expression("bool", "l", 2)))
    shown = draw(st.lists(_some("l", 1) | st.just("h.rack"), min_size=1, max_size=3))
    return f"select {', '.join(shown)} from logs l {side}join hosts h on l.host = h.host{more}{where}"


@st.composite
def windowed_selects(draw: st.DrawFn) -> str:
    """Ordered by the id, so that no two answers are right."""
    part = draw(st.just("") | _made("partition by {} ", _some("", 1)))
    order = draw(st.sampled_from(["order by id", "order by id desc"]))
    function = draw(
        st.sampled_from(["row_number()", "sum(id)", "count(status)", "lag(host)", "lead(took, 2)", "max(status)"])
    )
    test = draw(st.just("") | st.sampled_from([" qualify row_number() over (partition by status order by id) = 1"]))
    return f"select id, {function} over ({part}{order}) from logs{test}"


@st.composite
def nested_selects(draw: st.DrawFn) -> str:
    first = draw(_some("", 1))
    where = draw(_made(" where {}", expression("bool", "", 1)))
    both = draw(st.sampled_from(["union", "union all", "intersect", "except"]))
    one, other = (f"select {draw(expression('int', '', 1))}, host from logs{where}" for _ in "ab")
    forms = [
        f"select count(*) from (select {first} as a from logs{where}) t where a is not null",
        f"with t as (select {first} as a, id from logs{where}) select x.a from t x join t y on x.id = y.id",
        f"{one} {both} {other}",
    ]
    return draw(st.sampled_from(forms))


SELECTS = st.one_of(plain_selects(), grouped_selects(), joined_selects(), windowed_selects(), nested_selects())
