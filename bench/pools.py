"""Pools as a whole: loading, queries, the start of a command, and what a long history or many objects cost.

Two million rows unless `--rows` says otherwise; histories and objects shrink with them.
"""

import asyncio
import tempfile
from pathlib import Path

from bench import load_pool, pool_heads, pool_process, pool_queries


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as text:
        folder = Path(text)
        lake = load_pool.compare(folder)
        asyncio.run(pool_queries.compare(lake))
        pool_process.compare(folder)
        pool_heads.compare(folder, load_pool.ROWS / 2_000_000)
