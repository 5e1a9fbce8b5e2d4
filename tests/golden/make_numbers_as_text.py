"""Writes the lake in `numbers-as-text.tar.gz`: pools as they were stored when numbers that neither 64 bits nor a double
hold were kept as JSON text alone, and times that do not re-render as strings. It was run with the code of that time;
later code may store other bytes, so it is kept to show what these are made of.

    python -m tests.golden.make_numbers_as_text FOLDER
"""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from lochan.api.pool import load_rows
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore

ANN = Actor("ann", "test", "here")

NUMBERS: list[dict[str, Any]] = [
    {"k": 1, "x": 10.5, "u": 7},
    {"k": 2, "x": Decimal("33.33333333333333333333"), "u": 18446744073709551615},
    {"k": 3, "x": 20, "u": 5},
    {"k": Decimal("-1e400"), "x": "text"},
    {"k": 18446744073709551615, "x": [1, "a"]},
]
TIMES: list[dict[str, Any]] = [
    *({"ts": f"2026-11-01T10:00:{at:02}.5Z", "n": at} for at in range(5)),
    *({"ts": f"2026-11-01T11:00:{at:02}.123456789Z", "n": at} for at in range(6)),
    {"ts": "2026-11-01T14:00:00+02:00", "n": 20},
    {"ts": "not a time", "n": 21},
]


async def make(folder: Path) -> None:
    lake = await Lake.create(LocalStore(str(folder), create=True))
    try:
        for name, keys, rows in (("numbers", ("k",), NUMBERS), ("times", ("ts:time",), TIMES)):
            await lake.create_pool(name, parse(keys), actor=ANN)
            for begin in range(0, len(rows), 3):
                await load_rows(lake, name, rows[begin : begin + 3], actor=ANN)
    finally:
        await lake.close()


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1])))
