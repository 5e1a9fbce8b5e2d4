"""The example of docs/api/python.md runs as printed, and the page names every verb."""

import asyncio
import re
from pathlib import Path

import pytest

from lochan.api.verbs import VERBS
from lochan.lake import Lake
from lochan.store.local import LocalStore

PAGE = Path(__file__).parents[2] / "docs" / "api" / "python.md"


async def _create(folder: Path) -> None:
    await (await Lake.create(LocalStore(str(folder), create=True))).close()


def test_the_example_prints_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    asyncio.run(_create(tmp_path / "lake"))
    exec(code.replace("path/to/lake", str(tmp_path / "lake")), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


def test_the_page_names_every_verb() -> None:
    words = set(re.findall(r"`(\w+)`", PAGE.read_text()))
    assert {verb.name for verb in VERBS} <= words
