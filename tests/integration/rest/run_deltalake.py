"""A Delta table in a repository, by the package of others: python run_deltalake.py URL KEY SECRET TABLE"""

import os
import sys

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake


def main(url: str, key: str, secret: str, table: str) -> None:
    options = {"endpoint": url, "access_key_id": key, "secret_access_key": secret, "allow_http": "true"}
    write_deltalake(table, pa.table({"id": [1, 2], "name": ["a", "b"]}), storage_options=options)
    write_deltalake(table, pa.table({"id": [3], "name": ["c"]}), mode="append", storage_options=options)
    found = DeltaTable(table, storage_options=options)
    assert found.version() == 1
    assert sorted(found.to_pyarrow_table().column("id").to_pylist()) == [1, 2, 3]
    found.delete("id = 2")
    again = DeltaTable(table, storage_options=options)
    assert again.version() == 2
    assert sorted(again.to_pyarrow_table().column("id").to_pylist()) == [1, 3]
    assert DeltaTable(table, version=1, storage_options=options).to_pyarrow_table().num_rows == 3
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:5])
    sys.stdout.flush()
    os._exit(0)  # its threads may abort the process when the interpreter ends
