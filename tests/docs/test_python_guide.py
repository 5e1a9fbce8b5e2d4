"""The examples of docs/python.md run, in their order, and print what they say; so do the cells of the notebook."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lochan.api.handles import close_shared_lakes
from lochan.lake import Lake
from lochan.store.local import LocalStore
from tests.run import run

DOCS = Path(__file__).parents[2] / "docs"


async def _create(folder: Path) -> None:
    await (await Lake.create(LocalStore(str(folder), create=True))).close()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[str]:
    run(_create(tmp_path / "lake"))
    yield str(tmp_path / "lake")
    close_shared_lakes()


def test_the_page_prints_what_it_says(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(), re.DOTALL))
    exec(code.replace("path/to/lake", lake), {"__name__": "guide"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


def test_the_notebook_runs_and_shows_html(lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCHAN_LAKE", lake)
    notebook = json.loads((DOCS / "notebook.ipynb").read_text())
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [_shown(_last_value("".join(each["source"]), names)) for each in cells]
    assert all(not each["outputs"] for each in cells), "what a cell shows is not kept: it has ids and times"
    tables, graphs = [each for each in shown if "<table>" in each], [each for each in shown if "<pre" in each]
    assert len(tables) >= 3 and len(graphs) >= 1


def _last_value(source: str, names: dict[str, Any]) -> Any:
    """As a notebook runs a cell: the value of its last line is shown."""
    body = ast.parse(source).body
    last = body[-1]
    if not isinstance(last, ast.Expr):
        exec(source, names)
        return None
    exec(compile(ast.Module(body[:-1], []), "a cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "a cell", "eval"), names)


def _shown(value: Any) -> str:
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    return html if isinstance(html, str) else repr(value)
