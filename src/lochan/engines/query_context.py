"""The context that all queries of a lake share."""

from __future__ import annotations

from dataclasses import dataclass

from lochan.clock import Clock
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.instances import Instances
from lochan.engines.spark.progress import Tell
from lochan.pools.snapshot import Snapshots
from lochan.query.sources.catalog import Catalog
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles


@dataclass(frozen=True)
class QueryContext:
    catalog: Catalog
    files: Files
    snapshots: Snapshots
    clock: Clock
    store: Store
    place: StoreLocation  # opens the same store in another process
    verified: VerifiedFiles  # the files that were checked
    instances: Instances  # instances of DuckDB, reused by queries
    tell: Tell | None = None  # records work that runs on Spark
