"""Objects of a lake as files of fsspec: `lochan://repository/ref/path`, for pandas, Polars, DuckDB, Dask and others.

    pd.read_parquet("lochan://shop/main/sales.parquet")
    pd.read_csv("lochan://shop/v1/raw/fruit.csv", storage_options={"lake": "s3://bucket/lake"})

fsspec finds the protocol by itself once this package is installed.
"""

from __future__ import annotations

from lochan.fsspec.filesystem import LochanFileSystem as LochanFileSystem

__all__ = ["LochanFileSystem", "register"]


def register(protocol: str = "lakefs", *, replace: bool = False) -> None:
    """Lets another protocol name the files of a lake too, so that programs written for lakeFS need not be changed. This
    is not done for `lakefs` when this package is installed: if lakefs-spec is installed too, the order of the two
    packages on the path would decide which lake a program reads. Raises ValueError for a protocol that another package
    serves, unless it is to be replaced."""
    import fsspec

    if protocol not in LochanFileSystem.protocol:
        raise ValueError(f"{protocol!r} cannot name a lake: take one of {', '.join(LochanFileSystem.protocol)}")
    if not replace and (other := _other_package(protocol)):
        raise ValueError(f"{protocol}:// is served by {other}; register({protocol!r}, replace=True) replaces it")
    fsspec.register_implementation(protocol, LochanFileSystem, clobber=True)


def _other_package(protocol: str) -> str:
    """Returns the package that serves the protocol, or an empty text if it is Lochan, if there is none, or if it is not
    installed."""
    from importlib.util import find_spec

    from fsspec import registry
    from fsspec.registry import known_implementations

    found = registry.get(protocol)
    if found is not None:
        return "" if found is LochanFileSystem else found.__module__
    named: str = known_implementations.get(protocol, {}).get("class", "").replace(":", ".")
    package = named.partition(".")[0]
    return "" if not package or package == "lochan" or find_spec(package) is None else package
