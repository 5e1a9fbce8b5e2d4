"""Answers that are shown as they are found."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lochan.cli.stream import show_stream


async def numbers(count: int) -> AsyncIterator[dict[str, Any]]:
    for number in range(count):
        yield {"number": number, "text": f"t{number}\n"}


@pytest.mark.parametrize("count", [0, 1, 1_000, 2_001])
def test_a_table_in_pages(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    cells = {"number": lambda number: f"#{number}"}
    shown = asyncio.run(show_stream(numbers(count), "table", columns=("number", "text"), cells=cells))
    lines = capsys.readouterr().out.splitlines()
    assert shown == count
    assert [line.split() for line in lines] == [["NUMBER", "TEXT"], *([f"#{n}", f"t{n}\\x0a"] for n in range(count))]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json_is_one_document(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(show_stream(numbers(count), "json", columns=("number",)))
    assert json.loads(capsys.readouterr().out) == [{"number": n, "text": f"t{n}\n"} for n in range(count)]
