"""docs/architecture.md names files and layers that exist, and each file of a list imports the next one."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lochan"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def walks() -> dict[str, list[str]]:
    """The files of each request, by its heading."""
    found: dict[str, list[str]] = {}
    for line in PAGE.partition("## Following")[2].splitlines():
        if act := re.match(r"\*\*(.+?)\*\*", line):
            found[act[1]] = []
        elif file := re.match(r"\d+\. `(\S+\.py)`", line):
            found[list(found)[-1]].append(file[1])
    return found


def imported(file: str) -> set[str]:
    """Modules that it imports, wherever it does so."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((SOURCE / file).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def test_there_are_walks() -> None:
    assert {name: len(files) >= 4 for name, files in walks().items()} == {
        "A PUT over S3": True,
        "A commit": True,
        "A load": True,
        "A query": True,
    }


@pytest.mark.parametrize("act", walks())
def test_each_file_leads_to_the_next(act: str) -> None:
    files = walks()[act]
    for one, other in pairwise(files):
        module = "lochan." + other.removesuffix(".py").replace("/", ".")
        assert module in imported(one), f"{one} does not import {module}"


def test_every_room_is_drawn() -> None:
    drawn = PAGE.partition("```")[2].partition("```")[0]
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert {room for room in rooms if f"{room}/" not in drawn} == set()
    for name in re.findall(r"[a-z_/]+(?:/|\.py)", drawn):
        assert (SOURCE / name).exists(), name
