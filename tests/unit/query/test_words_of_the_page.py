"""The words that the page's editor colours and offers are those of the language."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lochan.query.functions import AGGREGATES, CONDITIONS, FUNCTIONS
from lochan.query.syntax.parse import OPERATORS

APP = Path(__file__).parents[3] / "ui" / "src" / "app"


def test_functions() -> None:
    shown = {
        "functions": {name: [each.shown, each.does] for name, each in FUNCTIONS.items()},
        "aggregates": {name: [each.shown, each.does] for name, each in AGGREGATES.items()},
        "conditions": list(CONDITIONS),
    }
    assert json.loads((APP / "query_functions.json").read_text()) == shown


def test_operators() -> None:
    """A filter is what begins with none of these, and that is what the histogram over a query counts."""
    found = re.search(r'STEP_WORDS = list\(\s*"([^"]+)"', (APP / "query_language.ts").read_text())
    assert found is not None
    assert set(found[1].split()) | {"where", "search"} == set(OPERATORS)
