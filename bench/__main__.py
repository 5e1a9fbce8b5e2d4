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
    "companion",
    "engine_choice",
    "tree",
    "staging",
    "versioning",
    "commands",
    "growth",
    "imports",
    "retention",
    "checkout",
    "log",
    "collection",
    "load_pool",
    "load_formats",
    "pools",
    "pool_posts",
    "kafka_stream",
    "spark_bytes",
    "spark_landing",
    "spark_growth",
    "spark_load",
    "spark_query",
    "spark_source",
    "spark_stream",
    "spark_write",
    "rest",
    "gateway",
    "gateway_bucket",
    "gateway_latency",
    "gateway_list",
    "gateway_memory",
    "gateway_requests",
    "gateway_servers",
    "gateway_writes",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUBJECTS))
    parser.add_argument("--puts", type=int, metavar="N", help="gateway_memory: how many PUTs")
    parser.add_argument("--keys", metavar="N,…", help="gateway_requests: over how many keys")
    parser.add_argument("--requests", type=int, metavar="N", help="gateway_requests: how many of each kind")
    parser.add_argument(
        "--entries", metavar="N,…", help="tree, staging, versioning, commands, growth, collection: how many entries"
    )
    parser.add_argument("--rows", type=int, metavar="N", help="load_pool, load_formats, pools: how many rows")
    asked = parser.parse_args()
    wanted = [name for name in SUBJECTS if not asked.names or name.startswith(tuple(asked.names))]
    if not wanted:
        sys.exit(f"there is no such benchmark; there are {', '.join(SUBJECTS)}")
    if asked.puts is not None:
        os.environ["LOCHAN_BENCH_PUTS"] = str(asked.puts)
    if asked.keys is not None:
        os.environ["LOCHAN_BENCH_KEYS"] = asked.keys
    if asked.requests is not None:
        os.environ["LOCHAN_BENCH_REQUESTS"] = str(asked.requests)
    if asked.entries is not None:
        os.environ["LOCHAN_BENCH_ENTRIES"] = asked.entries
    if asked.rows is not None:
        os.environ["LOCHAN_BENCH_ROWS"] = str(asked.rows)
    for name in wanted:
        import_module(f"bench.{name}").main()


main()
