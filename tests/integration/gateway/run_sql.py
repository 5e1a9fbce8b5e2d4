"""Runs in another interpreter with another DuckDB: reads statements as JSON from standard input and prints the rows of
each as JSON.
"""

import json
import sys
from importlib.resources import files

import duckdb


def main() -> None:
    [extension] = files("duckdb_extension_httpfs").joinpath("extensions", f"v{duckdb.__version__}").iterdir()
    database = duckdb.connect()
    database.execute(f"LOAD '{extension}'")
    rows = [database.execute(statement).fetchall() for statement in json.load(sys.stdin)]
    json.dump(rows, sys.stdout, default=str)


if __name__ == "__main__":
    main()
