"""The number of entries of a benchmark, if it can be chosen: `python -m bench versioning --entries 10000000`."""

import os
from collections.abc import Sequence


def sizes(otherwise: Sequence[int]) -> list[int]:
    told = os.environ.get("LOCHAN_BENCH_ENTRIES")
    return list(otherwise) if told is None else [int(text) for text in told.split(",")]
