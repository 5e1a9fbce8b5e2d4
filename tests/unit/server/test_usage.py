"""The log of use as a file: rows come back unchanged, and Arrow needs no pandas for it."""

from __future__ import annotations

import io
import subprocess
import sys

import pyarrow.parquet as pq

from lochan.formats.usage import UsageRow, encode_rows

ROWS = [
    UsageRow(1_762_000_000_000_001, "ann", "GetObject", "demo", "main", "ä/b.csv", 2**40, 206),
    UsageRow(0, "", "PutObject", "", "", "", 0, 500),
]


def test_rows_come_back() -> None:
    table = pq.read_table(io.BytesIO(encode_rows(ROWS)))
    assert table.column_names == list(UsageRow.__struct_fields__)
    micros = table["time"].cast("int64").to_pylist()
    assert [UsageRow(*row.values()) for row in table.set_column(0, "time", [micros]).to_pylist()] == ROWS


def test_no_pandas() -> None:
    """In a separate process, where nothing else has imported it."""
    code = (
        "import sys; from lochan.formats.usage import UsageRow, encode_rows; "
        "encode_rows([UsageRow(1, 'ann', 'GetObject', 'demo', 'main', 'a', 2, 200)]); print('pandas' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "False\n"
