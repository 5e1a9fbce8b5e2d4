"""What a load would make of a file, before it is loaded."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lochan
from lochan.errors import Invalid
from tests.unit.cli.invoke import lochan as command


@pytest.fixture
def place(tmp_path: Path) -> Path:
    assert command("init", str(tmp_path / "lake")).exit_code == 0
    return tmp_path / "lake"


def test_texts_tell_their_format_and_a_key(place: Path) -> None:
    rows = b'{"ts":"2026-11-01T10:00:00Z","user":{"id":7}}\n{"ts":"2026-11-01T10:01:00Z","n":1.50}\n{"ts":"2026'
    with lochan.connect(place) as lake:
        found = lake.preview_load(rows)
        assert (found.format, found.packing, found.key) == ("ndjson", "", "ts:time")
        assert found.fields == ("ts", "user.id", "n")
        assert found.rows[0] == {"ts": "2026-11-01T10:00:00Z", "user": {"id": 7}}
        packed = lake.preview_load(gzip.compress(b"when,n\n2026-11-01,1\n2026-11-02,2\n"), name="a.csv.gz", rows=1)
        assert (packed.format, packed.packing, packed.key) == ("csv", "gzip", "when:time")
        assert packed.rows == ({"when": "2026-11-01", "n": "1"},)
        assert lake.preview_load(b"one\ntwo\n", name="a.log").rows == ({"line": "one"}, {"line": "two"})
        assert lake.preview_load(b"a|b\n1|2\n", format="lines").key == ""


def test_a_table_is_decoded(place: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"at": [datetime(2026, 11, 1, tzinfo=UTC)], "n": [1]}), sink)
    with lochan.connect(place) as lake:
        found = lake.preview_load(sink.getvalue(), name="a.parquet")
        assert (found.format, found.key, found.fields) == ("parquet", "at:time", ("at", "n"))
        assert found.rows == ({"at": "2026-11-01T00:00:00Z", "n": 1},)
        odd = io.BytesIO()
        pq.write_table(pa.table({"raw": [b"\x00\xff"], "n": [1]}), odd)
        assert lake.preview_load(odd.getvalue()).fields == ("raw", "n")


def test_what_is_no_rows_is_refused(place: Path) -> None:
    with lochan.connect(place) as lake:
        with pytest.raises(Invalid, match="cannot be detected"):
            lake.preview_load(b"\x00\x01\x02")
        with pytest.raises(Invalid, match="no format 'xls'"):
            lake.preview_load(b"a", format="xls")
        with pytest.raises(Invalid, match="8 MiB at most"):
            lake.preview_load(b"x" * (9 << 20))
        with pytest.raises(Invalid, match="number of rows"):
            lake.preview_load(b"{}", rows=0)
