"""Answers that are shown while they are found."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lochan.cli.output.record_stream import show_lines, show_page, show_stream


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


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_page_is_shown_as_a_stream(count: int, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    columns, cells = ("number", "text"), {"number": lambda number: f"#{number}"}
    asyncio.run(show_stream(numbers(count), form, columns=columns, cells=cells))
    streamed = capsys.readouterr().out
    show_page([{"number": n, "text": f"t{n}\n"} for n in range(count)], form, columns=columns, cells=cells)
    assert capsys.readouterr().out == streamed


def test_lines_come_as_they_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    async def words() -> AsyncIterator[dict[str, Any]]:
        for word in ("one", "eleven", "two"):
            yield {"word": word, "rest": "x\n"}
            seen.append(capsys.readouterr().out)

    assert asyncio.run(show_lines(words(), "table", columns=("word", "rest"))) == 3
    assert seen == ["WORD  REST\none   x\\x0a\n", "eleven  x\\x0a\n", "two     x\\x0a\n"]


def test_no_lines_are_a_heading_or_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    for form, expected in (("table", "NUMBER  TEXT\n"), ("json", "[]\n")):
        asyncio.run(show_lines(numbers(0), form, columns=("number", "text")))
        assert capsys.readouterr().out == expected
