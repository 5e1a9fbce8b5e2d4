"""The policies that every lake has from the beginning. Nobody changes them.

They are part of the fold: their names are taken in every lake there is, and a fourth one would take a new event.
"""

from collections.abc import Mapping

from lochan.access.actions import READING, WRITING
from lochan.formats.lake_events import Statement

ADMIN = "Admin"

READY: Mapping[str, tuple[Statement, ...]] = {
    ADMIN: (Statement("allow", ("*",), ("*",)),),
    "Developer": (Statement("allow", READING + WRITING, ("repository/*",)),),
    "Analyst": (Statement("allow", READING, ("repository/*",)),),
}
