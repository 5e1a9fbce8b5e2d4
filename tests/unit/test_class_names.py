"""A class name is unique in the project, so a search for it finds one thing."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lochan"

# Names that more than one class has still. The list only ever gets shorter.
SHARED = {
    "Access",
    "Block",
    "Branch",
    "Commit",
    "Conflict",
    "Lake",
    "Order",
    "Pool",
    "Record",
    "Ref",
    "Repository",
    "Result",
    "Rows",
    "Side",
    "Source",
    "Span",
    "Words",
    "Workspace",
}


def _public_classes() -> Counter[str]:
    trees = (ast.parse(file.read_text()) for file in SOURCE.rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return Counter(node.name for node in nodes if not node.name.startswith("_"))


@pytest.mark.thorough
def test_a_new_class_has_a_name_of_its_own() -> None:
    found = {name for name, count in _public_classes().items() if count > 1}
    assert found - SHARED == set(), "another class has this name: take one that says of what"


@pytest.mark.thorough
def test_the_list_of_shared_names_gets_shorter() -> None:
    found = {name for name, count in _public_classes().items() if count > 1}
    assert SHARED - found == set(), "these are unique now: take them off the list"
