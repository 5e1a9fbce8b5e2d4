"""The process that answers Spark's catalog, without Spark: requests and answers are lines of JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lochan.errors import Unavailable
from lochan.pools.settings import parse
from lochan.spark.catalog_server import CatalogTables, serve
from tests.run import run
from tests.unit.engines.lake import ANN, query_lake

TABLE = {"namespace": [], "name": "logs"}
THREE = {"op": "=", "column": "n", "value": {"int": 3}}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")

    async def made() -> None:
        async with query_lake(folder) as lake:
            rows = [{"n": n, "host": f"h{n}"} for n in range(1, 7)]
            await lake.pool("logs", rows[:3], rows[3:], settings=parse(["n"]))
            await lake.lake.create_repository("files", actor=ANN)

    run(made())
    return folder / "lake"


def answers(lake: Path, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    lines = [{"verb": "open", "options": {"lake": str(lake)}}, *requests]
    written = io.StringIO()
    serve(io.StringIO("".join(f"{json.dumps(each)}\n" for each in lines)), written)
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_tables_and_their_columns(lake: Path) -> None:
    tables, loaded = answers(lake, {"verb": "tables", "namespace": []}, {"verb": "load", **TABLE})
    assert tables == {"tables": ["logs"]}
    assert [(each["name"], each["type"]) for each in json.loads(loaded["schema"])["fields"]] == [
        ("n", "long"),
        ("host", "string"),
    ]
    assert (loaded["key"], loaded["target"], loaded["uri"].partition("@")[0]) == (["n"], "logs", "logs")


def test_a_plan_names_the_objects_that_filters_leave(lake: Path) -> None:
    [loaded] = answers(lake, {"verb": "load", **TABLE})
    plan = {"verb": "plan", "uri": loaded["uri"]}
    whole, few, none = answers(
        lake,
        {**plan, "filters": []},
        {**plan, "filters": [THREE]},
        {**plan, "filters": [{"op": "=", "column": "n", "value": {"int": 99}}]},
    )
    counts = [sum(len(scan["files"]) for scan in each["scans"]) for each in (whole, few, none)]
    assert counts == [2, 1, 0]
    for path, size, _ in whole["scans"][0]["files"]:
        assert Path(path).stat().st_size == size
    sizes = [(each["size"]["objects"], each["size"]["rows"]) for each in (whole, few, none)]
    assert sizes == [(2, 6), (1, 3), (0, 0)]


def test_a_plan_tells_where_rows_are_from_if_it_is_asked(lake: Path) -> None:
    [loaded] = answers(lake, {"verb": "load", **TABLE})
    plan = {"verb": "plan", "uri": loaded["uri"], "filters": []}
    without, identified = answers(lake, plan, {**plan, "metadata": ["_object"]})
    assert "#row" not in without["sql"] and not without["identity"]
    assert identified["identity"] and "`#row` AS _row" in identified["sql"]
    assert all(object.endswith(".parquet") for *_, object in identified["scans"][0]["files"])


def test_filters_become_a_test_only_if_they_mean_the_same(lake: Path) -> None:
    [loaded] = answers(lake, {"verb": "load", **TABLE})
    wrong = {"op": "=", "column": "host", "value": {"int": 3}}
    exact, other = answers(
        lake,
        {"verb": "where", "at": loaded["uri"], "filters": [THREE]},
        {"verb": "where", "at": loaded["uri"], "filters": [THREE, wrong]},
    )
    assert (exact, other) == ({"where": "(n == 3)"}, {"where": None})


def test_repositories_of_files_are_namespaces(lake: Path) -> None:
    there, tables, missing, refused = answers(
        lake,
        {"verb": "namespaces"},
        {"verb": "tables", "namespace": ["files"]},
        {"verb": "load", "namespace": ["files"], "name": "orders"},
        {"verb": "drop", "namespace": ["files"], "name": "orders"},
    )
    assert (there, tables) == ({"namespaces": ["files"]}, {"tables": []})
    assert (
        missing["error"]["kind"] == "NotFound" and "files/orders/ has no Parquet files" in missing["error"]["message"]
    )
    assert refused["error"]["kind"] == "Refused" and "lochan fs rm" in refused["error"]["message"]


def test_mistakes_are_answers_and_the_process_goes_on(lake: Path) -> None:
    missing, wrong, bug, fine = answers(
        lake,
        {"verb": "load", "namespace": [], "name": "nothing"},
        {"verb": "load", "namespace": [], "name": "logs/x"},
        {"verb": "plan", "filters": []},
        {"verb": "tables", "namespace": []},
    )
    assert missing["error"]["kind"] == "NotFound"
    assert wrong["error"]["kind"] == "Invalid" and "path of files" in wrong["error"]["message"]
    assert bug["error"]["kind"] == "Internal"
    assert fine == {"tables": ["logs"]}


def test_a_lake_that_is_not_there_is_the_answer_to_everything(tmp_path: Path) -> None:
    [first, second] = answers(tmp_path / "none", {"verb": "tables", "namespace": []}, {"verb": "namespaces"})
    assert first == second
    assert first["error"]["kind"] == "NotFound" and "no lake at" in first["error"]["message"]


def test_a_lake_that_can_be_opened_later(tmp_path: Path) -> None:
    """Whatever was wrong with it, such as keys that had expired, the next request tries again."""
    written = io.StringIO()

    async def made() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [{"n": 1}])

    def requests() -> Iterator[str]:
        yield json.dumps({"verb": "open", "options": {"lake": str(tmp_path / "lake")}})
        yield json.dumps({"verb": "tables", "namespace": []})
        with ThreadPoolExecutor(1) as thread:
            thread.submit(run, made()).result()
        yield json.dumps({"verb": "tables", "namespace": []})

    serve(requests(), written)
    first, second = (json.loads(line) for line in written.getvalue().splitlines())
    assert first["error"]["kind"] == "NotFound"
    assert second == {"tables": ["logs"]}


def test_a_lake_that_could_not_be_reached_is_opened_anew(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    own = CatalogTables.at

    def at(options: Mapping[str, str]) -> CatalogTables:
        opened.append(own(options))
        return opened[-1]

    def refused(self: CatalogTables, request: Any) -> Any:
        raise Unavailable("ExpiredToken", hint="get new credentials")

    monkeypatch.setattr(CatalogTables, "at", at)
    monkeypatch.setattr(CatalogTables, "on_namespaces", refused)
    tables = {"verb": "tables", "namespace": []}
    _, expired, fine, _ = answers(lake, tables, {"verb": "namespaces"}, tables, tables)
    assert expired["error"] == {"kind": "Unavailable", "message": "ExpiredToken (get new credentials)"}
    assert fine == {"tables": ["logs"]}
    assert len(opened) == 2
