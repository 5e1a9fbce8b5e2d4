"""union, fork, switch, join, and several sources: operators over rows of more than one pipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from lochan.pools.kinds import COMPOSITE, DECIMAL, EVERY_NUMBER, FLOAT, INT, JSON, NULL, OBJECT, SIMPLE, STRING, TIME
from lochan.query import ast
from lochan.query.compile.comparison import total
from lochan.query.compile.constructors import choose_arm, common_type, one_order, record_of, renumber_orders
from lochan.query.compile.decimals import from_texts
from lochan.query.compile.expressions import test_of, value_of
from lochan.query.compile.fields import member
from lochan.query.compile.logic import all_of, case, coalesce, eq, is_set, negate, surely
from lochan.query.compile.numbers import key as number_key
from lochan.query.compile.operators.projection import as_object, assign_fields, path_of
from lochan.query.compile.relations import Joined, Picked, Rows, Stacked
from lochan.query.compile.scope import Query, Scope
from lochan.query.compile.sql import FALSE, TRUE, Sql, cast, concat, sql_type, text, try_cast
from lochan.query.compile.texts import order_text
from lochan.query.compile.value import GONE, MISSING, NUMBERS, Format, Order, Record, Value, map_expressions, with_null
from lochan.query.dialects.neutral import neutral

Run = Callable[[ast.Pipe, Rows], Rows]


def stack_arms(arms: Sequence[Rows], query: Query) -> Rows:
    """Returns all rows of the arms, one arm after the other."""
    if len(arms) == 1:
        return arms[0]
    picked = [Picked(arm.relation, query.names.next(), arm.tests, arm.order) for arm in arms]
    relation = Stacked(tuple(picked), query.names.next())
    key = arms[0].key if len({arm.key for arm in arms}) == 1 else None
    return Rows(relation, _stack_values(relation, [arm.this for arm in arms]), key=key)


def fork(operator: ast.Fork, rows: Rows, query: Query, run: Run) -> Rows:
    return stack_arms([run(arm, rows) for arm in operator.arms], query)


def switch(operator: ast.Switch, rows: Rows, scope: Scope, run: Run) -> Rows:
    """Sends each row to the first case that it matches, and drops rows that match none."""
    arms: list[Rows] = []
    before: list[Sql] = []
    of = None if operator.of is None else value_of(operator.of, scope)
    defaults = [pipe for value, pipe in operator.cases if value is None]
    for value, pipe in operator.cases:
        if value is None:
            continue
        test = surely(test_of(value, scope)) if of is None else total("==", of, value_of(value, scope))
        arms.append(run(pipe, rows.where(all_of([*before, test]))))
        before.append(negate(test))
    arms.extend(run(pipe, rows.where(all_of(before)) if before else rows) for pipe in defaults)
    return stack_arms(arms, scope.query)


def join(operator: ast.Join, rows: Rows, other: Rows, scope: Scope) -> Rows:
    """Returns pairs whose values are equal and of one kind. A row keeps its fields, and gets those of the other
    side."""
    query = scope.query
    theirs = Scope(query, other.this, other.key)
    left_key, right_key = value_of(operator.left, scope), value_of(operator.right, theirs)
    kinds = _shared_kinds(left_key, right_key)
    left = Picked(rows.relation, query.names.next(), rows.tests)
    right = Picked(other.relation, query.names.next(), other.tests)
    on: Sql = FALSE  # no value on one side can equal one on the other now
    if kinds:
        on = eq(_column(left, _match_key(left_key, kinds)), _column(right, _match_key(right_key, kinds)))
    joined = Joined(left, right, operator.kind, on, query.names.next())
    row = _side(rows.this, left, joined, operator.kind == "right")
    if operator.kind == "anti":
        return Rows(joined, row)
    pair = as_object(row)
    if JSON in other.this.alts and not operator.fields:  # only its rows show which fields it has
        theirs_there = _side(other.this, right, joined, operator.kind == "left")
        pair = record_of([(None, pair), (None, theirs_there), (None, pair)])
    else:
        added = _added_fields(operator, rows.this, other.this, theirs)
        sides = [(path, _side(value, right, joined, operator.kind == "left")) for path, value in added]
        pair = assign_fields(pair, sides)
    if operator.kind == "left" and (row.nothing or row.kinds != {OBJECT}):  # without a partner it stays unchanged
        met = surely(joined.column(_force(right, TRUE)))
        return Rows(joined, choose_arm([(met, pair), (negate(met), row)]))
    return Rows(joined, pair)


def _added_fields(operator: ast.Join, mine: Value, theirs: Value, scope: Scope) -> list[tuple[tuple[str, ...], Value]]:
    if operator.fields:
        return [(path_of(each, scope), value_of(each.value, scope)) for each in operator.fields]
    record = theirs.record
    if record is None:
        return []
    has = mine.record.names if mine.record is not None else ()
    return [((name,), member(theirs, name)) for name in record.names if name not in has]


def _shared_kinds(left: Value, right: Value) -> list[str]:
    """Returns the kinds whose values can be equal. JSON stands for all arrays and records."""
    found = [kind for kind in SIMPLE if kind in left.alts and kind in right.alts]
    if left.kinds & COMPOSITE and right.kinds & COMPOSITE:
        found.append(JSON)
    numbers = set(EVERY_NUMBER)
    if DECIMAL in left.kinds | right.kinds and left.kinds & numbers and right.kinds & numbers:
        return [*(kind for kind in found if kind not in numbers), *EVERY_NUMBER]
    numbers = set(NUMBERS)
    if left.kinds & numbers and right.kinds & numbers and (left.kinds | right.kinds) >= numbers:
        found = [*(kind for kind in found if kind not in numbers), *NUMBERS]
    return found


def _match_key(value: Value, kinds: list[str]) -> Sql:
    """Returns one column that is equal where the values are: the value itself, or a text if there are several kinds."""
    composite = value.only(COMPOSITE)
    if JSON in kinds:
        simple = _match_key(value, [kind for kind in kinds if kind != JSON]) if len(kinds) > 1 else None
        nested = [concat(text(f"{JSON}:"), order_text(composite))] if composite.alts else []
        return coalesce(*([] if simple is None else [concat(text("simple:"), simple)]), *nested)
    if len(kinds) == 1:
        return value.alts[kinds[0]]
    if DECIMAL in kinds:  # one key for all numbers
        numbers = value.only(EVERY_NUMBER)
        keys = [concat(text("number:"), number_key(numbers))] if numbers.alts else []
        others = [kind for kind in kinds if kind not in EVERY_NUMBER and kind in value.alts]
        return coalesce(*keys, *(_match_text(value.alts[kind], kind) for kind in others))
    arms = [(is_set(value.alts[kind]), _match_text(value.alts[kind], kind)) for kind in kinds if kind in value.alts]
    return case(*arms)


def _match_text(sql: Sql, kind: str) -> Sql:
    """Returns the text of a key. A float that is a whole number is written as an int."""
    plain = concat(text(f"{kind}:"), neutral("scalar_json", sql, options=(kind,)))
    if kind != FLOAT:
        return plain
    whole = try_cast(neutral("truncate", sql), INT)
    same = coalesce(eq(cast(whole, FLOAT), sql), FALSE)
    return case((same, concat(text(f"{INT}:"), neutral("scalar_json", whole, options=(INT,)))), other=plain)


def _column(picked: Picked, value: Sql) -> Sql:
    return picked.column(value)


def _side(value: Value, picked: Picked, joined: Joined, outer: bool) -> Value:
    """Returns a value of one side as a value of the pairs. After an outer join it may be missing, so none of its parts
    may be a constant, and all being NULL must not mean null."""
    if not outer:
        return map_expressions(value, lambda sql, kind: _through(sql, picked, joined))
    return _outer(value, picked, joined)


def _outer(value: Value, picked: Picked, joined: Joined) -> Value:
    there = joined.column(_force(picked, TRUE))

    def change(sql: Sql, kind: str) -> Sql:
        column = picked.column(sql)
        if column is sql:  # a constant
            return case((there, sql))
        return joined.column(column)

    made = map_expressions(with_null(value), change)
    record = made.record
    if record is not None and value.record is not None:
        inner = value.record
        record = Record(
            inner.names,
            lambda name: _outer(inner.get(name), picked, joined),
            record.order,
            body=record.body,
            grows=inner.grows,
        )
    return replace(made, nothing=MISSING, record=record)


def _force(picked: Picked, value: Sql) -> Sql:
    picked.columns.setdefault("there", value)
    return exp.column("there", picked.alias, quoted=True)


def _through(sql: Sql, picked: Picked, joined: Joined) -> Sql:
    column = picked.column(sql)
    return column if column is sql else joined.column(column)


# ── rows one after the other ─────────────────────────────────────────────────────────────────────────────────────────


def _stack_values(relation: Stacked, values: Sequence[Value]) -> Value:
    """Combines the values that the arms have in this place."""
    element, pairs = common_type([(TRUE, with_null(value)) for value in values])
    arms = [value for _, value in pairs]
    kinds = dict.fromkeys(kind for value in arms for kind in value.alts)
    alts = {
        kind: relation.column([value.alts.get(kind) for value in arms], kind, sql_type(kind, element)) for kind in kinds
    }
    only = len(alts) == 1 and all(not value.nothing for value in arms)
    if only and next(iter(kinds)) in (OBJECT, NULL) and all(value.alts[next(iter(kinds))] == TRUE for value in arms):
        alts = {next(iter(kinds)): TRUE}
    nothing = "" if only or all(not value.nothing for value in arms) else MISSING
    record = _stacked_record(relation, [value.record for value in arms]) if OBJECT in alts else None
    original = None
    if TIME in alts and any(value.original is not None for value in arms):
        original = relation.column([value.original for value in arms], STRING, sql_type(STRING))
    format = _stacked_format(relation, arms) if TIME in alts else None
    exact = from_texts(alts.get(DECIMAL), arms)
    return Value(alts, nothing, element, record, format, original=original, exact=exact)


def _stacked_record(relation: Stacked, records: Sequence[Record | None]) -> Record:
    names = list(dict.fromkeys(name for record in records if record is not None for name in record.names))

    def get(name: str) -> Value:
        return _stack_values(
            relation, [record.get(name) if record is not None and name in record else GONE for record in records]
        )

    grows = any(record is not None and record.grows for record in records)
    return Record(names, get, _stacked_order(relation, names, records), grows=grows)


def _stacked_order(relation: Stacked, names: list[str], records: Sequence[Record | None]) -> Order | None:
    present_records = [record for record in records if record is not None]
    if one_order(names, present_records):
        return None
    by_number, sqls = renumber_orders(present_records)
    numbers = iter(sqls)
    columns = [None if record is None else next(numbers) for record in records]
    return Order(relation.column(columns, INT, sql_type(INT)), by_number)


def _stacked_format(relation: Stacked, arms: Sequence[Value]) -> Format | None:
    formats = {arm.format for arm in arms if arm.format is not None and arm.format.number is None}
    same = {format.constant for format in formats}
    plain = all(arm.format is None or arm.format.number is None for arm in arms if TIME in arm.alts)
    return Format(constant=same.pop()) if plain and len(same) == 1 else None
