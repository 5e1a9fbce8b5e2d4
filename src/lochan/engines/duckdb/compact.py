"""The rows of several objects in new ones, in the order of the key.

Not all objects can be merged: rows that are text stay apart from rows in columns, and so do rows whose columns no one
layout holds. Each lot of objects that can is compacted by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.load.relation import follows
from lochan.engines.duckdb.objects_at import entries_at, placed, sessions, snapshot_of, stored
from lochan.engines.duckdb.rewrite import Rewriting
from lochan.formats.entry import Entry
from lochan.pools.forms import Form, Forms
from lochan.pools.layout import lay_out
from lochan.pools.snapshot import Snapshot
from lochan.query.sources.knowledge import Knowledge
from lochan.query.sources.object_selection import by_form as objects_by_form
from lochan.versioning.open_repository import OpenRepository


class Rewritten(NamedTuple):
    removed: list[Entry]
    added: list[Entry]


async def rewrite(
    repository: OpenRepository,
    snapshot: Snapshot,
    indices: Sequence[int],
    files: Files,
    mint: int,
    limits: Limits = STANDARD,
) -> Rewritten:
    """The rows of these objects in new ones, which nobody knows of yet."""
    by_form = objects_by_form(snapshot, np.array(indices, dtype=np.int64), Forms())
    with sessions(files, limits) as engines:
        paths = await placed(files, snapshot, indices, engines.main.folder)
        size = int(snapshot.sizes[np.array(indices)].sum())
        rewriting = Rewriting(*engines, snapshot.settings, Knowledge(by_form), size)
        for form, each in by_form.items():
            await engines.apart(partial(rewriting.add, form, [paths[index] for index in each]))
        added = await stored(repository, mint, rewriting.written(), engines.apart)
    return Rewritten(entries_at(snapshot, indices), added)


def lots(snapshot: Snapshot) -> list[list[int]]:
    """Objects that can be merged with each other, by their numbers: a plan is made of each lot by itself."""
    by_form = objects_by_form(snapshot, snapshot.all, Forms())
    texts = [index for form, indices in by_form.items() if form.body for index in indices]
    left = [form for form in by_form if not form.body]
    found = [texts] if texts else []
    while left:
        joined = _joinable(left)
        found.append([index for form in joined for index in by_form[form]])
        left = [form for form in left if form not in joined]
    return [sorted(lot) for lot in found]


def _joinable(forms: Sequence[Form]) -> list[Form]:
    """Those that one layout holds; at least one of them."""
    shapes = list(dict.fromkeys(shape for form in forms for shape in form.laid_out))
    layout = lay_out(shapes)
    following = [form for form in forms if not layout.body and follows(form.layout, layout)]
    return following or [forms[0]]


__all__ = ["Rewritten", "lots", "rewrite", "snapshot_of"]
