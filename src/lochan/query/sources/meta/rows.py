"""What a kind of metadata gives: its rows, or a table of very many, and the names of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa


class MetaRows(NamedTuple):
    fields: Sequence[str]
    rows: Sequence[Mapping[str, Any]] = ()
    table: pa.Table | None = None
