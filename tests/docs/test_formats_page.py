"""Every event that can be in a journal is on the formats' page."""

from pathlib import Path

import pytest

from lochan.access.state import AccessState
from lochan.formats.events import Event
from lochan.versioning.repositories import Repositories
from lochan.versioning.state.refs import Refs

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "journal.md"


@pytest.mark.parametrize(
    "event", [*Repositories.events, *AccessState.events, *Refs.events], ids=lambda event: event.type
)
def test_an_event_has_one_row(event: type[Event]) -> None:
    rows = [row for row in PAGE.read_text().splitlines() if f"| `{event.type}` |" in row]
    assert len(rows) == 1
