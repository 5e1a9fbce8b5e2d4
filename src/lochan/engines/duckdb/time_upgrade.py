"""Rewrites rows of earlier versions as they are written now: strings in fields declared as times become times, if they
are written as one, with their texts beside them.

This applies only to top-level fields; strings within objects stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from sqlglot import exp

from lochan.engines.duckdb.load.sql import name_sql, text_sql
from lochan.formats.pool_settings import Path
from lochan.pools import times
from lochan.pools.forms import Form
from lochan.pools.kinds import STRING, TIME
from lochan.pools.layout import SHAPE_COLUMN, Alternate, Layout, Member, column_of, columns, lay_out
from lochan.pools.shape import TEXT_TIME, Object, encode, shape_id, sure
from lochan.query.dialects import render
from lochan.query.dialects.neutral import neutral
from lochan.query.sources.knowledge import Knowledge

_FIELDS_MAX = 3  # fields of a form: each doubles its shapes


class FormLayout(NamedTuple):
    """The new layout of the rows of a form."""

    layout: Layout
    shapes: tuple[Object, ...]  # the shapes of the layout
    fields: tuple[str, ...] = ()  # the fields whose strings become times


class TimeUpgrade:
    """Upgrades all forms that are rewritten. `numbers` are the numbers of their shapes, and depend on the forms
    alone."""

    def __init__(self, knowledge: Knowledge, times: Collection[Path]) -> None:
        self._knowledge = knowledge
        self._times = times
        self._laid = {form: _form_layout(form, times) for form in knowledge.forms if not form.body}
        if any(laid.fields for laid in self._laid.values()) and lay_out(self._all()).body:
            # With the additional columns, no single layout would hold them all.
            self._laid = {form: FormLayout(form.layout, form.laid_out) for form in self._laid}
        self.numbers = dict(knowledge.shapes)
        fresh = set(self._all()).difference(self.numbers.values())
        for shape in sorted(fresh, key=encode):
            self.numbers[shape_id(shape, self.numbers)] = shape

    def laid(self, form: Form) -> FormLayout:
        return self._laid[form]

    def split(self, forms: Iterable[Form]) -> list[Path]:
        """Returns the fields declared as times in which no string of these forms is a time after the upgrade."""
        every = list(forms)
        return [path for path in self._times if not any(self._may_say(form, path) for form in every)]

    def selected(self, form: Form) -> Iterator[tuple[str, str]]:
        """Yields the SQL and the name of each column, `_shape` first."""
        laid = self._laid[form]
        parsed = {field: _time_sql(_string(form, field)) for field in laid.fields}
        yield self._shape(form, parsed), SHAPE_COLUMN
        old = {member.name: member for member in form.layout.members}
        for member in laid.layout.members:
            if member.name in parsed:
                yield from _split(member, old[member.name], parsed[member.name])
            else:
                yield from ((name_sql(name), name) for name, _ in columns(Layout((member,))))

    def _all(self) -> list[Object]:
        return list(dict.fromkeys(shape for laid in self._laid.values() for shape in laid.shapes))

    def _may_say(self, form: Form, path: Path) -> bool:
        return form.may_say_times(path) and path not in {(field,) for field in self._laid[form].fields}

    def _shape(self, form: Form, parsed: dict[str, str]) -> str:
        renumbered = self._knowledge.renumbered(form)
        ids = {shape: id for id, shape in self.numbers.items()}
        arms = []
        for there, shape in form.shapes.items():
            here = renumbered.get(there, there)
            cases = [
                f"WHEN {' AND '.join(f'{parsed[field]} IS NOT NULL' for field in fields)} THEN {ids[variant]}"
                for fields, variant in _variants(shape, tuple(parsed))
                if fields
            ]
            if cases:
                arms.append(f"WHEN {there} THEN CASE {' '.join(cases)} ELSE {here} END")
            elif here != there:
                arms.append(f"WHEN {there} THEN {here}")
        if not arms:
            return SHAPE_COLUMN
        return f"(CASE {SHAPE_COLUMN} {' '.join(arms)} ELSE {SHAPE_COLUMN} END)::INTEGER"


def _form_layout(form: Form, times: Collection[Path]) -> FormLayout:
    fields = [path[0] for path in times if len(path) == 1 and form.may_say_times(path)]
    own = tuple(field for field in fields if column_of(form.layout, (field,), STRING))[:_FIELDS_MAX]
    if not own:
        return FormLayout(form.layout, form.laid_out)
    shapes = tuple(dict.fromkeys(variant for shape in form.laid_out for _, variant in _variants(shape, own)))
    layout = lay_out(shapes)
    return FormLayout(form.layout, form.laid_out) if layout.body else FormLayout(layout, shapes, own)


def _variants(shape: Object, fields: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Object]]:
    """Yields the shapes with times in some of these fields instead of strings: those with the most first, the shape
    itself last."""
    strings = [name for name, type in shape.fields if name in fields and sure(type) == STRING]
    for chosen in product((True, False), repeat=len(strings)):
        some = tuple(name for name, is_time in zip(strings, chosen, strict=True) if is_time)
        yield some, Object(tuple((name, TEXT_TIME if name in some else type) for name, type in shape.fields))


def _split(to: Member, source: Member, parsed: str) -> Iterator[tuple[str, str]]:
    text = name_sql(_alternate_of(source, STRING).column)
    time = source.alternate(TIME)
    for alternate in to.alternates:
        if alternate.kind == TIME:
            yield _first(time.column if time else "", parsed), alternate.column
            yield (
                _first(time.original if time else "", f"CASE WHEN {parsed} IS NOT NULL THEN {text} END"),
                alternate.original,
            )
        elif alternate.kind == STRING:
            yield f"CASE WHEN {parsed} IS NULL THEN {text} END", alternate.column
        else:
            yield name_sql(_alternate_of(source, alternate.kind).column), alternate.column


def _first(column: str, other: str) -> str:
    return f"coalesce({name_sql(column)}, {other})" if column else other


def _alternate_of(member: Member, kind: str) -> Alternate:
    found = member.alternate(kind)
    assert found is not None, f"{member.name} has no column for {kind}"
    return found


def _string(form: Form, field: str) -> str:
    found = column_of(form.layout, (field,), STRING)
    assert found is not None, f"{field} has no column for strings"
    return name_sql(found[0])


def _time_sql(text: str) -> str:
    """Returns SQL for the time that a load would parse, NULL if the text is not a time."""
    time = render(neutral("rfc3339", exp.Var(this=text)), "duckdb")
    return f"(CASE WHEN regexp_full_match({text}, {text_sql(times.RFC3339)}) THEN {time} END)"
