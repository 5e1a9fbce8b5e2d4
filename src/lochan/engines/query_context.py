"""What all queries of one lake share."""

from __future__ import annotations

from dataclasses import dataclass

from lochan.clock import Clock
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.instances import Instances
from lochan.engines.spark.progress import Tell
from lochan.pools.snapshot import Snapshots
from lochan.query.sources.catalog import Catalog
from lochan.store.location import StoreLocation
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles


@dataclass(frozen=True)
class QueryContext:
    catalog: Catalog
    files: Files
    snapshots: Snapshots
    clock: Clock
    store: Store
    place: StoreLocation  # what opens the same store elsewhere
    verified: VerifiedFiles  # which files were checked
    instances: Instances  # of DuckDB, that one query after the other uses
    tell: Tell | None = None  # who keeps a record of what runs on Spark
