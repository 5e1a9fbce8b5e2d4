"""Objects as earlier versions wrote them: if a timestamp could not reproduce a declared time, it was a string."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lochan.engines.duckdb.load import objects
from lochan.pools import times
from lochan.pools.facts import Facts


@contextmanager
def earlier_version() -> Iterator[None]:
    """For loads: it only changes what is written."""

    def facts(**fields: Any) -> Facts:
        del fields["times"], fields["strings"]
        return Facts(**fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(times, "micros_in", lambda text: None)
        patch.setattr(objects, "Facts", facts)
        yield
