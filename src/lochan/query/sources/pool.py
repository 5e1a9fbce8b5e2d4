"""The rows of a pool at one commit, as a plan sees them: see `query/leaves.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from sqlglot import exp

from lochan.pools.forms import Form
from lochan.pools.kinds import DECIMAL, INT, JSON, STRING
from lochan.pools.layout import BODY_COLUMN, SHAPE_COLUMN
from lochan.pools.pruning import Skipped
from lochan.pools.row_tests import ANY_ROW, Test
from lochan.pools.shape import Leaf, Object, Path
from lochan.pools.snapshot import Indices, Snapshot
from lochan.query.compile.logic import case, coalesce, eq
from lochan.query.compile.sql import Sql, null_of, number
from lochan.query.leaves import Digits, KeyPart, LeafInfo, ScanRequest
from lochan.query.sources import key_order, key_range, scans, values
from lochan.query.sources import key_order as whole_row
from lochan.query.sources.key_range import ALL_KEYS, KeyRange
from lochan.query.sources.knowledge import Knowledge
from lochan.query.sources.object_selection import Choice
from lochan.query.sources.scans import FileScan, ScanGroup, ScanPart, Scans, group_parts
from lochan.query.sources.sql_bounds import of_sql

PRESORTED = "presorted"  # marks an order that rows have already if the files are read one after the other


class PoolSource:
    """A pool at one commit. `test` and `first` define which rows matter: rows that pass, and the first so many of the
    whole pool. Objects that cannot hold such rows are left out from the start."""

    grows = True

    def __init__(
        self,
        snapshot: Snapshot,
        scans: Scans,
        *,
        range: KeyRange = ALL_KEYS,
        test: Test = ANY_ROW,
        first: int | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._settings = snapshot.settings
        self._scans = scans
        self._range = range
        self._choice = Choice(snapshot, range, test, first)
        self._scanned: Indices | None = None  # the objects of all selections so far
        self.read = self._choice.by_form(self._choice.kept)
        # The objects whose fields are all known: with none of them, every field would be unknown.
        self._wide = None if self.read else snapshot
        self.knowledge = Knowledge(self.read or self._choice.forms(snapshot))

    def widen(self, all: Snapshot | None = None) -> bool:
        """Extends the known fields to those of all objects, including those that are not read; `all` has those that the
        snapshot leaves out. Returns False if that was already done."""
        whole = all or self.snapshot
        if self._wide is whole or (whole is self.snapshot and len(self._choice.kept) == whole.count):
            return False
        self._wide = whole
        self.knowledge = Knowledge(self._choice.forms(whole))
        return True

    # --- known properties ---
    @property
    def objects(self) -> Indices:
        """The objects that are read, by their number in the snapshot."""
        return self._choice.kept if self._scanned is None else self._scanned

    @property
    def skipped(self) -> list[Skipped]:
        return self._choice.skipped(self.objects)

    @property
    def shapes(self) -> Mapping[int, Object]:
        return self.knowledge.shapes

    @property
    def has_body(self) -> bool:
        return any(form.body for form in self.knowledge.forms)

    @property
    def text_shapes(self) -> Collection[int]:
        return self.knowledge.text_shapes

    @property
    def key(self) -> Path | None:
        return self._settings.keys[0].path or None

    @property
    def key_parts(self) -> Sequence[KeyPart]:
        settings = self._settings
        keys = [each for each in settings.keys if each.path] if self.snapshot.in_order else []
        return [KeyPart(each.path, each.descending, settings.nulls_first != each.descending) for each in keys]

    def kinds_of_key(self) -> list[str]:
        return [known.leaf.kind for known in self.known(self.key)] if self.key else []

    def _digits_of_key(self) -> Digits | None:
        return next((each.digits for each in self.known(self.key or ()) if each.leaf.kind == DECIMAL), None)

    def known(self, path: Path) -> Sequence[LeafInfo]:
        found = self.knowledge.known(path)
        if path not in self._settings.times:
            return found
        timed = self.knowledge.may_say_times(path)
        return [each._replace(timed=timed) if each.leaf.kind == STRING else each for each in found]

    def members(self, path: Path) -> Sequence[str]:
        """Returns the fields at a path. Fields that the pool declares are included, whether a row has them or not."""
        found = dict.fromkeys(self.knowledge.members(path))
        if not path:
            found.update(dict.fromkeys(each[0] for each in self._declared()))
        return list(found)

    def _declared(self) -> Iterator[Path]:
        yield from (key.path for key in self._settings.keys if key.path)
        yield from self._settings.times
        yield from self._settings.primary_key

    # --- reading ---
    def select(self, request: ScanRequest) -> exp.Query:
        keys = key_order.key_leaves(self._settings, self.known, self.members)
        limited = not self._range.is_all
        read = self._narrow_objects(request)
        by_row = request.ordered and self.key is None and self.snapshot.in_order and len(self.objects) > 1
        within = request._replace(body=request.body or (by_row and self.has_body))
        if by_row:
            for form in self.knowledge.forms:
                form.see_all()
            keys = list(whole_row.leaves(self.known, self.members))
        leaves = list(dict.fromkeys([*request.leaves, *(keys if request.ordered or limited else [])]))
        groups = group_parts([self._part(form, leaves) for form in read], body=within.body)
        scanned = [self._scan(group, read, leaves, within) for group in groups]
        query = union_all(scanned or [self._nothing(leaves, within)])
        terms = key_order.order(self._settings, self.known, self.members) if request.ordered and not by_row else []
        if by_row:
            terms = [self._by_row()]
        if len(leaves) == len(request.leaves) and not limited and not terms:
            return query
        return self._wrap_query(query, request, keys, terms, one_scan=len(groups) == 1)

    def _by_row(self) -> exp.Ordered:
        """Returns the order by the whole row. Rows that are text are sorted by that."""
        row = whole_row.Texts(self.known, self.members).of_row()
        row = coalesce(_name(BODY_COLUMN), row) if self.has_body else row
        return exp.Ordered(this=row, desc=self._settings.keys[0].descending, nulls_first=False)

    def _wrap_query(
        self, query: exp.Query, request: ScanRequest, keys: list[Leaf], terms: list[exp.Ordered], *, one_scan: bool
    ) -> exp.Query:
        """Returns the query for the rows of the range, in order."""
        shown = [_name(name) for name in _names(request.leaves, request)] or [exp.Literal.number(1).as_("_")]
        outer = exp.select(*shown, copy=False).from_(query.subquery("pool", copy=False), copy=False)
        if not self._range.is_all:
            timed = any(each.timed for each in self.known(self.key or ()))
            inside = key_range.test(self._range, self._settings, keys, self._digits_of_key(), timed=timed)
            outer = outer.where(inside, copy=False)
        if terms:
            ordered = exp.Order(expressions=terms)
            ordered.meta[PRESORTED] = one_scan and self._lies_in_order()
            outer.set("order", ordered)
        return outer

    def _narrow_objects(self, request: ScanRequest) -> dict[Form, list[int]]:
        """Returns the objects that may hold rows which pass the plan's own test."""
        test = ANY_ROW if request.test is None else of_sql(request.test)
        kept = self._choice.kept if test is ANY_ROW else self._choice.narrowed(test)
        self._scanned = kept if self._scanned is None else np.union1d(self._scanned, kept)
        return self._choice.by_form(kept)

    def _part(self, form: Form, leaves: Sequence[Leaf]) -> ScanPart:
        places = {leaf: self.knowledge.place(form, leaf) for leaf in leaves}
        return ScanPart(form, places, self.knowledge.renumbered(form))

    def _scan(
        self, group: ScanGroup, read: Mapping[Form, list[int]], leaves: Sequence[Leaf], request: ScanRequest
    ) -> exp.Select:
        objects = sorted(index for form in group.forms for index in read[form])
        columns = dict(group.columns.values())
        files = FileScan(self.snapshot.objects(objects), columns, group.uniform, group.with_gaps)
        table = self._scans.add_files(files)
        made: list[Sql] = []
        for leaf in leaves:
            place, element = group.places[leaf], self.knowledge.element(leaf)
            made.append(values.value(place, leaf, table, element) if place else values.absent(leaf, element))
        if request.shape:
            made.append(_shape(group.renumbered))
        if request.body:
            made.append(values.column([BODY_COLUMN], table) if group.body else null_of(JSON))
        return _select(made, _names(leaves, request)).from_(scans.table(table), copy=False)

    def _nothing(self, leaves: Sequence[Leaf], request: ScanRequest) -> exp.Select:
        made = [values.absent(leaf, self.knowledge.element(leaf)) for leaf in leaves]
        made += [null_of(INT)] * request.shape + [null_of(JSON)] * request.body
        return _select(made, _names(leaves, request)).where(exp.false(), copy=False)

    def _lies_in_order(self) -> bool:
        """Returns whether the rows are in order if the objects are read one after the other."""
        kept = self._choice.kept
        if key_order.is_composite(self._settings, self.known):  # spans do not show where these lie
            return False
        if not self.snapshot.are_sorted(kept):
            return False
        if len(kept) < 2:
            return True
        if self.snapshot.keyless[kept].any():
            return False
        spans = self.snapshot.spans.take(kept)
        least, greatest = spans["min"].to_pylist(), spans["max"].to_pylist()
        pairs = zip(greatest, least[1:], strict=False)
        if key_order.has_originals(self._settings, self.known):  # rows of one microsecond may lie on both sides
            return all(high < low for high, low in pairs)
        return all(high <= low for high, low in pairs)


def union_all(queries: Sequence[exp.Query]) -> exp.Query:
    """Joins the queries in a balanced tree, so that a thousand are ten levels."""
    if len(queries) == 1:
        return queries[0]
    middle = len(queries) // 2
    return exp.Union(this=union_all(queries[:middle]), expression=union_all(queries[middle:]), distinct=False)


def _select(made: Sequence[Sql], names: Sequence[str]) -> exp.Select:
    named = [each.as_(name, quoted=True) for each, name in zip(made, names, strict=True)]
    return exp.select(*named or [exp.Literal.number(1).as_("_")], copy=False)


def _names(leaves: Sequence[Leaf], request: ScanRequest) -> list[str]:
    return [*(leaf.column for leaf in leaves), *[SHAPE_COLUMN] * request.shape, *[BODY_COLUMN] * request.body]


def _name(name: str) -> Sql:
    return exp.column(name, quoted=True)


def _shape(renumbered: Mapping[int, int]) -> Sql:
    column = _name(SHAPE_COLUMN)
    arms = [(eq(column, number(there)), number(here)) for there, here in renumbered.items()]
    return case(*arms, other=column)
