"""One value out of several, each where its test holds. Of the tests at most one holds in any row."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lochan.pools.shape import ARRAY, JSON, NULL, OBJECT, TIME, Type
from lochan.query.compile.decimals import from_texts
from lochan.query.compile.sql import DECIMAL, FALSE, TRUE, Sql, case, flag, number
from lochan.query.compile.texts import json_text
from lochan.query.compile.value import GONE, MISSING, Format, Order, Record, Value, with_null


def chosen(arms: Sequence[tuple[Sql, Value]]) -> Value:
    arms = [(test, with_null(value)) for test, value in arms if test != FALSE]
    if len(arms) == 1 and arms[0][0] == TRUE:
        return arms[0][1]
    element, arms = agreed(arms)
    kinds = dict.fromkeys(kind for _, value in arms for kind in value.alts)
    alts = {
        kind: case(*((test, value.alts[kind]) for test, value in arms if kind in value.alts))
        for kind in kinds
        if kind not in (NULL, OBJECT)
    }
    for kind in (NULL, OBJECT):
        if kind in kinds:
            alts[kind] = flag(case(*((test, value.alts[kind]) for test, value in arms if kind in value.alts)))
    nothing = MISSING if any(value.nothing for _, value in arms) else ""
    record = _record([(test, value) for test, value in arms if value.record is not None]) if OBJECT in alts else None
    texts = [(test, value.original) for test, value in arms if value.original is not None]
    original = case(*texts) if texts and TIME in alts else None
    exact = from_texts(alts.get(DECIMAL), [value for _, value in arms])
    format = _format(arms) if TIME in alts else None
    return Value(alts, nothing, element, record, format, original=original, exact=exact)


def agreed(arms: Sequence[tuple[Sql, Value]]) -> tuple[Type | None, list[tuple[Sql, Value]]]:
    """Arrays of one element type; where they differ, all as JSON texts."""
    elements = [value.element for _, value in arms if ARRAY in value.alts]
    if not elements:
        return None, list(arms)
    if len(set(map(repr, elements))) == 1:
        return elements[0], list(arms)
    return None, [(test, _as_json(value)) for test, value in arms]


def _as_json(value: Value) -> Value:
    if ARRAY not in value.alts:
        return value
    rest = {kind: sql for kind, sql in value.alts.items() if kind not in (ARRAY, JSON)}
    both = json_text(Value({k: v for k, v in value.alts.items() if k in (ARRAY, JSON)}, MISSING, value.element))
    return Value({**rest, JSON: both}, value.nothing, None, value.record, value.format, exact=value.exact)


def _record(arms: Sequence[tuple[Sql, Value]]) -> Record:
    records = [(test, value.record) for test, value in arms if value.record is not None]
    names = list(dict.fromkeys(name for _, record in records for name in record.names))

    def get(name: str) -> Value:
        return chosen([(test, record.get(name) if name in record else GONE) for test, record in records])

    grows = any(record.grows for _, record in records)
    return Record(names, get, combined_order(names, records), grows=grows)


def combined_order(names: Sequence[str], records: Sequence[tuple[Sql, Record]]) -> Order | None:
    if one_order(names, [record for _, record in records]):
        return None
    by_number, numbers = renumbered([record for _, record in records])
    return Order(case(*((test, sql) for (test, _), sql in zip(records, numbers, strict=True))), by_number)


def one_order(names: Sequence[str], records: Sequence[Record]) -> bool:
    """Whether the order of these names is that of all."""
    return all(
        record.order is None and record.names == tuple(each for each in names if each in record) for record in records
    )


def renumbered(records: Sequence[Record]) -> tuple[dict[int, tuple[str, ...]], list[Sql]]:
    """One numbering for the orders of all, and the number in terms of each: those of a source keep theirs as long as
    they agree, the others get new ones."""
    numbers: dict[int, tuple[str, ...]] = {}
    sqls: list[Sql] = []
    for record in records:
        own = {} if record.order is None else record.order.names()
        if record.order is None:
            sqls.append(number(_free(numbers, record.names)))
        elif all(numbers.get(at, each) == each for at, each in own.items()):
            numbers |= own
            sqls.append(record.order.number)
        else:
            ifs = [exp.If(this=number(at), true=number(_free(numbers, each))) for at, each in own.items()]
            sqls.append(exp.Case(this=record.order.number.copy(), ifs=ifs))
    return numbers, sqls


def _free(numbers: dict[int, tuple[str, ...]], names: tuple[str, ...]) -> int:
    for at, each in numbers.items():
        if each == names:
            return at
    at = -1 - len(numbers)  # shapes are never negative
    numbers[at] = names
    return at


def _format(arms: Sequence[tuple[Sql, Value]]) -> Format | None:
    formats = {value.format.constant for _, value in arms if value.format is not None and TIME in value.alts}
    return Format(constant=formats.pop()) if len(formats) == 1 else None
