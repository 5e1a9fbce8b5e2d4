"""What all queries of one lake share."""

from __future__ import annotations

from dataclasses import dataclass

from lochan.clock import Clock
from lochan.engines.duckdb.files import Files
from lochan.query.sources.catalog import Catalog
from lochan.query.sources.snapshot import Snapshots


@dataclass(frozen=True)
class Surroundings:
    catalog: Catalog
    files: Files
    snapshots: Snapshots
    clock: Clock
