"""A value in a plan: one SQL expression for each kind that it may have.

    alts       {int: t."x:int", string: t."x:string"}     in any row at most one of them is not NULL
    nothing    the meaning if all are NULL: the value is missing, or null; empty if that never happens

So kinds are decided while a query is compiled, and a field that has one kind is one plain column. An object has its
flag among the alternates (TRUE where it is one) and its members beside them, each a value of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lochan.pools.kinds import ARRAY, BOOL, DECIMAL, ERROR, FLOAT, INT, IP, JSON, NULL, OBJECT, SIMPLE, STRING, TIME
from lochan.pools.shape import Type
from lochan.query.compile.logic import all_of, any_of, case, flag, flag_test, is_null, is_set, negate
from lochan.query.compile.sql import FALSE, TRUE, Sql, moment, number, text
from lochan.query.leaves import Digits

MISSING = "missing"
NUMBERS = (INT, FLOAT)
KINDS = (*SIMPLE, OBJECT, ARRAY, JSON, ERROR, NULL)


@dataclass(frozen=True)
class Format:
    """The format in which a time was written: the same in all rows, or by the shape of the row."""

    number: Sql | None = None
    by_number: Mapping[int, str] = field(default_factory=dict)
    constant: str = ""


@dataclass(frozen=True)
class Exact:
    """A number of many digits as a decimal of the engine, if a source has it so (`decimals.py`)."""

    sql: Sql
    digits: Digits


@dataclass(frozen=True)
class Value:
    alts: Mapping[str, Sql]
    nothing: str = ""
    element: Type | None = None  # only for an array; None if it is empty
    record: Record | None = None  # only for an object
    format: Format | None = None  # only for a time
    constant: Any = None  # its value, if it is a literal of the query
    text: Sql | None = None  # a JSON text of the same value, if there is one
    shaped: Shaped | None = None  # only for a field of a source
    original: Sql | None = None  # the text of a time, if microseconds do not reproduce it (`moments.py`)
    exact: Exact | None = None  # only for a decimal: NULL where there is none
    there: Sql | None = None  # a test of whether the value exists that is shorter than one made of its alternates

    @property
    def kinds(self) -> set[str]:
        return set(self.alts)

    def only(self, kinds: Iterable[str]) -> Value:
        """Returns this value where it has one of these kinds; it is missing where it has another."""
        kept = {kind: self.alts[kind] for kind in self.alts if kind in set(kinds)}
        same = len(kept) == len(self.alts) or self.nothing
        return replace(
            self,
            alts=kept,
            nothing=self.nothing if same else MISSING,
            constant=None,
            text=None,
            shaped=None,
            exact=self.exact if DECIMAL in kept else None,
            there=self.there if len(kept) == len(self.alts) else None,
        )


class Record:
    """The members of an object. They are made when they are first used, because a row may have a thousand."""

    def __init__(
        self,
        names: Iterable[str],
        get: Callable[[str], Value],
        order: Order | None = None,
        shaped: Shaped | None = None,
        body: Body | None = None,
        grows: bool = False,
    ) -> None:
        """Describes a record. It `grows` if other rows of its source may have other names later."""
        self.grows = grows
        self.names = tuple(dict.fromkeys(names))
        self.order = order  # None for the order of `names`
        self.shaped = shaped
        self.body = body
        self._known = frozenset(self.names)
        self._get = get
        self._made: dict[str, Value] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def get(self, name: str) -> Value:
        if name not in self._made:
            self._made[name] = self._get(name)
        return self._made[name]

    def items(self) -> Iterable[tuple[str, Value]]:
        return ((name, self.get(name)) for name in self.names)


@dataclass(frozen=True)
class Order:
    """The order of a row's fields where it differs from row to row: a number, and the names that each number stands
    for. The names may include some that the row does not have."""

    number: Sql
    by_number: Mapping[int, tuple[str, ...]]
    edits: tuple[Edit, ...] = ()

    def edited(self, edit: Edit) -> Order:
        return replace(self, edits=(*self.edits, edit))

    def names(self) -> dict[int, tuple[str, ...]]:
        return {each: apply_edits(names, self.edits) for each, names in self.by_number.items()}


Edit = Callable[[tuple[str, ...]], tuple[str, ...]]


def apply_edits(names: tuple[str, ...], edits: Iterable[Edit]) -> tuple[str, ...]:
    for edit in edits:
        names = edit(names)
    return names


@dataclass(frozen=True)
class Shaped:
    """The type of a field of a source, by the shape of its row."""

    number: Sql
    by_number: Mapping[int, Type]
    sure: bool = True  # False if an object around it may be null in rows of such a shape


@dataclass(frozen=True)
class Body:
    """The text of a row, in sources where some rows are stored as text. It holds all members except those that the
    query made."""

    text: Sql
    names: frozenset[str] = frozenset()  # members that are columns too
    made: frozenset[str] = frozenset()


# ── literals ─────────────────────────────────────────────────────────────────────────────────────────────────────────

GONE = Value({}, MISSING)
NOTHING = Value({NULL: TRUE}, constant=None)


def boolean(test: Sql) -> Value:
    return Value({BOOL: test})


def literal(kind: str, value: Any) -> Value:
    if kind == NULL:
        return NOTHING
    if kind == BOOL:
        return Value({BOOL: TRUE if value else FALSE}, constant=value)
    if kind == TIME:
        return Value({TIME: moment(value)}, constant=value)
    if kind == IP:
        return Value({IP: text(address_digits(value))}, constant=value)
    if kind == DECIMAL:
        return Value({DECIMAL: text(str(value))}, constant=value)
    sql = text(value) if isinstance(value, str) else number(float(value) if kind == FLOAT else value)
    return Value({kind: sql}, constant=value)


def address_digits(address: str) -> str:
    """Returns an address in digits that have the same order as addresses: `4` and 8 hexadecimal digits, or `6` and
    32."""
    import ipaddress

    found = ipaddress.ip_address(address)
    return f"{found.version}{found.packed.hex()}"


def fixed_object(members: Mapping[str, Value], test: Sql = TRUE) -> Value:
    """Returns an object of exactly these members, where the test holds."""
    nothing = "" if test == TRUE else MISSING
    return Value({OBJECT: flag(test)}, nothing, record=Record(members, members.__getitem__))


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def present(value: Value) -> Sql:
    """Tests whether there is a value, which may be null or an error."""
    if value.nothing != MISSING:
        return TRUE
    return value.there if value.there is not None else any_of(is_set(each) for each in value.alts.values())


def absent(value: Value) -> Sql:
    if value.nothing != MISSING:
        return FALSE
    return negate(value.there) if value.there is not None else all_of(is_null(each) for each in value.alts.values())


def is_explicit_null(value: Value) -> Sql:
    """Tests whether the value is an explicit null."""
    tests = [flag_test(value.alts[NULL])] if NULL in value.alts else []
    if NULL in value.alts and value.alts[NULL] == TRUE:
        return TRUE
    if value.nothing == NULL:
        tests.append(all_of(is_null(each) for each in value.alts.values()))
    return any_of(tests)


def has_value(value: Value, kinds: Iterable[str] | None = None) -> Sql:
    """Tests whether there is a value that is neither null nor an error; of these kinds, if they are given."""
    counted = set(kinds) if kinds is not None else set(KINDS) - {NULL, ERROR}
    found = [each for kind, each in value.alts.items() if kind in counted]
    if found and len(found) == len(value.alts) and not value.nothing:
        return TRUE
    return any_of(is_set(each) for each in found)


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def value_where(value: Value, test: Sql) -> Value:
    """Returns this value where the test holds; it is missing elsewhere."""
    if test == TRUE:
        return value
    return map_expressions(
        replace(value, nothing=MISSING, constant=None, there=None),
        lambda each, kind: case((test, each)),
        _with_null(value),
    )


def map_expressions(value: Value, change: Callable[[Sql, str], Sql], alts: Mapping[str, Sql] | None = None) -> Value:
    """Returns the value with every expression changed, in all members too."""
    return replace(
        value,
        alts=change_alternatives(value.alts if alts is None else alts, change),
        record=value.record and mapped_record(value.record, change),
        format=_mapped_format(value.format, change),
        constant=None,
        text=None if value.text is None else change(value.text, JSON),
        shaped=value.shaped and replace(value.shaped, number=change(value.shaped.number, INT)),
        original=None if value.original is None else change(value.original, STRING),
        exact=value.exact and replace(value.exact, sql=change(value.exact.sql, DECIMAL)),
        there=None if value.there is None else change(value.there, BOOL),
    )


def change_alternatives(alts: Mapping[str, Sql], change: Callable[[Sql, str], Sql]) -> Mapping[str, Sql]:
    """Returns the alternates, changed. That of an error is made only when it is needed."""
    made = {kind: change(alts[kind], kind) for kind in alts if kind != ERROR}
    return Alternates(made, {ERROR: lambda: change(alts[ERROR], ERROR)}) if ERROR in alts else made


def mapped_record(record: Record, change: Callable[[Sql, str], Sql]) -> Record:
    order, shaped, body = record.order, record.shaped, record.body
    return Record(
        record.names,
        lambda name: map_expressions(record.get(name), change),
        order and replace(order, number=change(order.number, INT)),
        shaped and replace(shaped, number=change(shaped.number, INT)),
        body and replace(body, text=change(body.text, JSON)),
        record.grows,
    )


def _mapped_format(format: Format | None, change: Callable[[Sql, str], Sql]) -> Format | None:
    if format is None or format.number is None:
        return format
    return replace(format, number=change(format.number, INT))


def _with_null(value: Value) -> Mapping[str, Sql]:
    """Returns the alternates, with a column for null if all being NULL meant null."""
    if value.nothing != NULL:
        return value.alts
    return {**value.alts, NULL: flag(is_explicit_null(value))}


def with_null(value: Value) -> Value:
    return replace(value, alts=_with_null(value), nothing="" if value.nothing == NULL else value.nothing)


def errors_as_null(value: Value) -> Value:
    """Returns the value with null in place of every error."""
    if ERROR not in value.alts:
        return value
    alts = {kind: value.alts[kind] for kind in value.alts if kind not in (ERROR, NULL)}
    if value.nothing != MISSING:
        return replace(value, alts=alts, nothing=NULL)
    null = any_of([is_explicit_null(value), is_set(value.alts[ERROR])])
    return replace(value, alts={**alts, NULL: flag(null)})


# ── alternates that are made later ───────────────────────────────────────────────────────────────────────────────────


class Alternates(Mapping[str, Sql]):
    """Alternates, some of which are made only when they are needed. Most queries never use the error of a sum, and the
    SQL of that error is longer than the sum."""

    def __init__(self, made: Mapping[str, Sql], later: Mapping[str, Callable[[], Sql]]) -> None:
        self._made = dict(made)
        self._later = later
        self._kinds = dict.fromkeys([*made, *later])

    def __getitem__(self, kind: str) -> Sql:
        if kind not in self._made and kind in self._later:
            self._made[kind] = self._later[kind]()
        return self._made[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)
