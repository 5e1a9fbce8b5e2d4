"""Every query of the corpus over HTTP: what the same query gives in this process."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lochan.api.queries import write_rows
from lochan.engines.run_query import RunOptions
from lochan.errors import LochanError
from lochan.lake import Lake
from lochan.store.local import LocalStore
from tests.corpus.cases import Case, cases
from tests.corpus.compare import differences
from tests.corpus.lake import ANN, fill
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server

MEDIA = {
    "ndjson": "application/x-ndjson",
    "json": "application/json",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
}
# They tell the time, or show jobs, users and events, of which a server has more.
NOT_THE_SAME = ("now()", ":events", ":jobs", ":users", ":usage", "uuid(")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    async def work(url: str) -> None:
        await fill(await Lake.open(LocalStore(url)))

    with lochan_server(tmp_path_factory.mktemp("corpus-http") / "lake") as running:
        asyncio.run(work(running.lake))
        yield running


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.thorough)])
def test_the_same_output_as_in_process(server: LochanServer, step: int) -> None:
    admin = Client(server.api, server.access_key, server.secret_key)
    differ: list[str] = []
    compared = 0
    with asyncio.Runner() as runner:
        lake = runner.run(Lake.open(LocalStore(server.lake)))
        for number, case in list(enumerate(cases()))[::step]:
            if any(word in case.query for word in NOT_THE_SAME):
                continue
            form = list(MEDIA)[number % len(MEDIA)]
            answer = admin.query(case.query, MEDIA[form])
            here = runner.run(_here(lake, case, form))
            compared += 1
            if (answer.status == 200) != (here is not None):
                differ.append(f"{case.id} as {form}: {answer.status} {answer.body[:200]!r}")
            elif here is not None and differences(rows_of(here, form), rows_of(answer.body, form)) != ([], []):
                differ.append(f"{case.id} as {form}: {answer.body[:200]!r} is not {here[:200]!r}")
        runner.run(lake.close())
    assert not differ, "\n".join(differ)
    assert compared > 600 // step


def rows_of(body: bytes, form: str) -> list[Any]:
    """In whatever order: most queries ask for none."""
    match form:
        case "ndjson":
            return [json.loads(line) for line in body.splitlines()]
        case "json":
            found: list[Any] = json.loads(body)
            return found
        case "csv":
            return ["".join(sorted(line)) for line in body.decode().split("\r\n")]
    table: list[Any] = pa.ipc.open_stream(body).read_all().to_pylist()
    return table


async def _here(lake: Lake, case: Case, form: str) -> bytes | None:
    """None: the query fails."""
    from lochan.api.queries import run_query

    pieces: list[bytes] = []
    try:
        with await run_query(lake, case.query, RunOptions(actor=ANN, engine="auto")) as result:
            write_rows(result, form, None, pieces.append, lambda _: None)
    except LochanError:
        return None
    return b"".join(pieces)
