"""Options of the data source as they were written: Spark hands them over in small letters, and what a commit carries
has names of its user's own (`metadata.Owner`).

Spark fills a dictionary of its own class, name by name, in the process that it starts for a source, once that was
imported. So the class is made to remember how each was written; it does all else as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import CaseInsensitiveDict

_AS_WRITTEN = "_lochan_as_written"


def remember() -> None:
    """May be called more than once."""
    if not hasattr(CaseInsensitiveDict, _AS_WRITTEN):
        setattr(CaseInsensitiveDict, _AS_WRITTEN, None)
        set_item = CaseInsensitiveDict.__setitem__

        def remembering(self: Any, key: str, value: Any) -> None:
            set_item(self, key, value)
            vars(self).setdefault(_AS_WRITTEN, {})[key.lower()] = key

        CaseInsensitiveDict.__setitem__ = remembering  # type: ignore[method-assign]


def as_written(options: Mapping[str, str]) -> dict[str, str]:
    """Small letters, where nothing else is known."""
    names = vars(options).get(_AS_WRITTEN) if hasattr(options, "__dict__") else None
    return {(names or {}).get(name, name): value for name, value in options.items()}
