"""A class name is unique in the project, so a search for it finds one thing."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lochan"

# Names that more than one class has still. The list only ever gets shorter.
SHARED = {
    "Block",
    "Commit",
    "Conflict",
    "Lake",
    "Order",
    "Record",
    "Repository",
    "Result",
    "Rows",
    "Side",
    "Source",
    "Span",
}


def _public_classes() -> Counter[str]:
    """A noun of the verbs and its waiting twin in `blocking.py` have one name, and count once."""
    twins = SOURCE / "api" / "blocking.py"
    names = Counter(name for file in SOURCE.rglob("*.py") if file != twins for name in _classes(file))
    nouns = {name for file in (SOURCE / "api").glob("*.py") if file != twins for name in _classes(file)}
    return names + Counter(name for name in _classes(twins) if name not in nouns)


def _classes(file: Path) -> list[str]:
    nodes = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef))
    return [node.name for node in nodes if not node.name.startswith("_")]


@pytest.mark.thorough
def test_a_new_class_has_a_name_of_its_own() -> None:
    found = {name for name, count in _public_classes().items() if count > 1}
    assert found - SHARED == set(), "another class has this name: take one that says of what"


@pytest.mark.thorough
def test_the_list_of_shared_names_gets_shorter() -> None:
    found = {name for name, count in _public_classes().items() if count > 1}
    assert SHARED - found == set(), "these are unique now: take them off the list"
