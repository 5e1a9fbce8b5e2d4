"""Parquet files of a repository as a table: their own claims are not believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lochan.engines.spark.frames.table_files import FileReading, file_schema
from lochan.errors import Invalid
from lochan.ingest.hive_path import path_columns
from lochan.versioning.objects import put
from tests.hostile_files import Hostile, parquet
from tests.run import run
from tests.unit.engines.lake import ANN, query_lake
from tests.unit.pools.place import once

FOOTERS = ("magic.parquet", "footer-2147483647.parquet", "footer-0.parquet", "cut.parquet", "no-footer.parquet")
VALUES = ("not-utf8.parquet", "value-length.parquet")
FILES = {each.path: each for each in parquet() if each.path in (*FOOTERS, *VALUES)}


@pytest.mark.parametrize("each", FILES.values(), ids=lambda each: each.id)
def test_a_file_that_lies_is_refused_by_its_name(each: Hostile, tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.lake.create_repository("files", actor=ANN)
            repository = await lake.lake.open_repository("files")
            try:
                entry = await put(repository, "main", each.path, once(each.data), actor=ANN)
                if each.path in FOOTERS:
                    with pytest.raises(Invalid, match=each.path):
                        await file_schema(repository.reader, entry)
                    return
                schema = (await file_schema(repository.reader, entry)).schema
                reading = FileReading(lake.lake.place, schema, path_columns([]))
                file = tmp_path / "rows.parquet"
                file.write_bytes(each.data)
                with pytest.raises(Invalid, match=each.path):
                    list(reading._rows(entry, file))
            finally:
                await repository.close()

    run(play())
