"""Finds names that occur twice in one object of a JSON text. A decoder takes the last value, but the writer may have
meant the first, so requests with such texts are refused."""

from __future__ import annotations

import json
from typing import Any


def repeated_name(data: bytes) -> str | None:
    """Returns the first repeated name, or None. REQUIRES: the text has been decoded before, so numbers need not be
    understood."""
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        names = {name for name, _ in pairs}
        for name, _ in pairs if len(names) < len(pairs) else ():
            if name not in names:
                found.append(name)
            names.discard(name)

    json.loads(data, object_pairs_hook=note, parse_int=str, parse_float=str)
    return found[0] if found else None
