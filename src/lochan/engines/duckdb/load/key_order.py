"""The order of a pool's key in SQL. It equals the order of encoded keys (pools/keys.py): by kind, then by value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlglot import exp

from lochan.engines.duckdb.load.sql import name_sql
from lochan.formats.pool_settings import Path, PoolKey, PoolSettings
from lochan.pools import keys
from lochan.pools.forms import Form
from lochan.pools.keys import Instant
from lochan.pools.kinds import COMPOSITE, FLOAT, INT, JSON, NULL, OBJECT, PLACES, STRING, TIME
from lochan.pools.layout import BODY_COLUMN, Layout, Member
from lochan.pools.shape import Object, Type, kind_of, sure
from lochan.query.compile import moments
from lochan.query.compile.sql import Sql
from lochan.query.dialects import render
from lochan.query.leaves import LeafInfo as KnownLeaf
from lochan.query.sources.key_order import Texts
from lochan.query.sources.knowledge import Knowledge
from lochan.query.sources.values import value as value_of


class KeyColumn(NamedTuple):
    """One path of the key, with the columns that may hold it."""

    key: PoolKey
    kinds: dict[str, str]  # each kind, with an expression that is not NULL in rows of that kind
    original: str = ""  # the column of original texts, for times

    @property
    def is_there(self) -> str:
        if not self.key.path:
            return "true"  # the key is the whole row
        return " OR ".join(f"{sql} IS NOT NULL" for sql in self.kinds.values()) or "false"

    @property
    def finer(self) -> str:
        """The SQL for the digits of a time beyond microseconds. REQUIRES: there is a column of original texts."""
        return render(moments.finer(exp.Var(this=self.original)), "duckdb")


class Order:
    def __init__(self, layout: Layout, settings: PoolSettings, shapes: Mapping[int, Object]) -> None:
        self._settings = settings
        find = _kept_columns if layout.body else _columns
        self.parts = [KeyColumn(key, *find(layout, key.path, shapes)) for key in settings.keys]

    @property
    def has_key(self) -> str:
        """The SQL that is true for rows that have every part of the key."""
        return " AND ".join(f"({part.is_there})" for part in self.parts)

    def plain_column(self) -> tuple[str, str] | None:
        """Returns the kind and the column of the key, or None unless it is a single column that sorts in the order of
        the key."""
        if len(self.parts) != 1 or len(self.parts[0].kinds) != 1:
            return None
        [(kind, column)] = self.parts[0].kinds.items()
        return (kind, column) if kind in (INT, TIME, STRING) else None

    def by(self, *, backwards: bool = False) -> list[str]:
        return [term for part in self.parts for term in self._terms(part, backwards)]

    def _terms(self, part: KeyColumn, backwards: bool) -> Iterable[str]:
        turned = part.key.descending != backwards
        nulls = "FIRST" if self._settings.nulls_first != turned else "LAST"
        direction = f"{'DESC' if turned else 'ASC'} NULLS {nulls}"
        if len(part.kinds) > 1:
            arms = " ".join(f"WHEN {sql} IS NOT NULL THEN {PLACES[kind]}" for kind, sql in part.kinds.items())
            yield f"CASE {arms} END {direction}"
        if INT in part.kinds and FLOAT in part.kinds:
            # Rows are ordered by the nearest double, then by the difference to it.
            whole = part.kinds[INT]
            yield f"coalesce({part.kinds[FLOAT]}, {whole}::DOUBLE) {direction}"
            yield f"coalesce({whole}::HUGEINT - {whole}::DOUBLE::HUGEINT, 0) {direction}"
        for kind, sql in part.kinds.items():
            if kind not in (INT, FLOAT) or not {INT, FLOAT} <= part.kinds.keys():
                yield f"{sql} {direction}"
            if kind == TIME and part.original:
                yield f"{part.finer} {direction}"

    def values_sql(self) -> list[str]:
        """Returns the SQL of the values that `span` needs of a row."""
        return [
            f"epoch_us({sql})" if kind == TIME else "true" if kind in COMPOSITE and part.key.path else sql
            for part in self.parts
            for kind, sql in ((kind, f"({sql})") for kind, sql in part.kinds.items())
        ]

    def span(self, least: tuple[Any, ...], greatest: tuple[Any, ...]) -> keys.Span:
        """Returns the span of the keys of all rows between the first and the last one."""
        return keys.shorten_span(keys.Span(self._end(least, last=False), self._end(greatest, last=True)))

    def _end(self, values: tuple[Any, ...], *, last: bool) -> bytes:
        """Returns one end of the span. It stops before a part that may not be a scalar, because the engine may write
        the text of that part differently."""
        rest, made = iter(values), b""
        for number, part in enumerate(self.parts, 1):
            value = _value({kind: next(rest) for kind in part.kinds})
            if not part.key.path:
                made += keys.text_part(value, part.key)
            elif any(kind in COMPOSITE for kind in part.kinds):
                return made + keys.any_part(part.key, last=last)
            else:
                made += keys.part(value, part.key, self._settings)
                if part.original and isinstance(value, Instant) and number < len(self.parts):
                    # Rows are ordered by more digits of the time than the bytes have, before the next part counts.
                    return made + keys.REST_LAST if last else made
        return made


def _value(by_kind: dict[str, Any]) -> Any:
    for kind, value in by_kind.items():
        if value is not None:
            return Instant(value) if kind == TIME else value
    return None


Found = tuple[dict[str, str], str]  # the SQL of each kind, and the column of original texts


def _columns(layout: Layout, path: Path, shapes: Mapping[int, Object]) -> Found:
    if not path:
        return {JSON: _text(layout, path, shapes)}, ""
    members, of = layout.members, ""
    for name in path[:-1]:
        member = _find_member(members, name)
        inner = member.alternate(OBJECT) if member else None
        if inner is None:
            return {}, ""
        members, of = inner.members, f"{of}{name_sql(inner.column)}."
    found = _find_member(members, path[-1])
    if found is None:
        return {}, ""
    kinds = {each.kind: of + name_sql(each.column) for each in found.alternates if each.kind not in COMPOSITE}
    if len(kinds) < len(found.alternates):
        kinds[JSON] = _text(layout, path, shapes)
    return kinds, _original(found, of)


def _text(layout: Layout, path: Path, shapes: Mapping[int, Object]) -> str:
    """Returns the SQL of the text by which queries order the path (query/sources/key_order.py). It is NULL if there is
    a scalar at the path."""
    form = Form({id: shape for id, shape in shapes.items() if _holds(layout.members, shape)}, (), False, layout)
    if not path:
        form.see_all()
    known = Knowledge([form])

    def read(each: KnownLeaf) -> Sql:
        place = known.place(form, each.leaf)
        assert place is not None
        return value_of(place, each.leaf, "", known.element(each.leaf))

    texts = Texts(known.known, known.members, read)
    found = texts.of_key(path) if path else texts.of_row()
    return "NULL" if found is None else f"({render(found, 'duckdb')})"


def _holds(members: Iterable[Member], shape: Object) -> bool:
    """Returns whether these columns can hold rows of that shape. Some known shapes have no columns."""
    by_name = {member.name: member for member in members}
    return all(name in by_name and _takes(by_name[name], sure(type)) for name, type in shape.fields)


def _takes(member: Member, type: Type) -> bool:
    kind = kind_of(type)
    own = member.alternate(kind)
    if own is not None and isinstance(type, Object):
        return _holds(own.members, type)
    return own is not None or kind == NULL or member.alternate(JSON) is not None


def _original(member: Member, of: str) -> str:
    time = member.alternate(TIME)
    return of + name_sql(time.original) if time is not None and time.original else ""


def _kept_columns(layout: Layout, path: Path, _: Mapping[int, Object]) -> Found:
    """Returns the columns for rows that are kept as text."""
    if not path:
        return {JSON: name_sql(BODY_COLUMN)}, ""
    member = layout.member(".".join(path))
    scalars = {each.kind: name_sql(each.column) for each in member.alternates} if member else {}
    return {**scalars, JSON: name_sql(text_column(path))}, _original(member, "") if member else ""


def text_column(path: Path) -> str:
    """Returns the name of the column for a key that is not a scalar. Only tables of the session have it, not files."""
    return f"#key.{'.'.join(path)}"


def _find_member(members: Iterable[Member], name: str) -> Member | None:
    return next((each for each in members if each.name == name), None)
