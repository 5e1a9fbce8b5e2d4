"""Runs all benchmarks, or those whose name begins with an argument: `python -m bench journal ref`."""

import argparse
import os
import sys
from importlib import import_module

SUBJECTS = (
    "journal_append",
    "journal_fold",
    "rebuild",
    "ref_lookup",
    "cli_start",
    "engine_choice",
    "tree",
    "staging",
    "versioning",
    "imports",
    "retention",
    "log",
    "collection",
    "load_pool",
    "pools",
    "kafka_stream",
    "spark_bytes",
    "spark_landing",
    "spark_growth",
    "spark_load",
    "spark_query",
    "spark_source",
    "spark_stream",
    "spark_write",
    "gateway",
    "gateway_latency",
    "gateway_list",
    "gateway_memory",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUBJECTS))
    parser.add_argument("--puts", type=int, metavar="N", help="gateway_memory: how many PUTs")
    parser.add_argument("--entries", metavar="N,…", help="tree, staging, versioning, collection: how many entries")
    parser.add_argument("--rows", type=int, metavar="N", help="load_pool, pools: how many rows")
    asked = parser.parse_args()
    wanted = [name for name in SUBJECTS if not asked.names or name.startswith(tuple(asked.names))]
    if not wanted:
        sys.exit(f"there is no such benchmark; there are {', '.join(SUBJECTS)}")
    if asked.puts is not None:
        os.environ["LOCHAN_BENCH_PUTS"] = str(asked.puts)
    if asked.entries is not None:
        os.environ["LOCHAN_BENCH_ENTRIES"] = asked.entries
    if asked.rows is not None:
        os.environ["LOCHAN_BENCH_ROWS"] = str(asked.rows)
    for name in wanted:
        import_module(f"bench.{name}").main()


main()
