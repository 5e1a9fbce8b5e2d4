"""Reads the rows of an XML file: the elements with one name, or those right below the root.

    <order id="7"><item>a</item><item>b</item><paid>true</paid><note/></order>
    {"_id": 7, "item": ["a", "b"], "paid": true, "note": null}

Attributes get a leading underscore, and text beside attributes or children becomes `_VALUE`. An element that occurs
twice in any row is a list in all rows. As in CSV, *all* texts at one place decide its kind (bools, ints, numbers or
strings), so the file is read twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from lochan.errors import Invalid
from lochan.ingest.text_kinds import NONE, common_kind, kind_of_text, value_of
from lochan.pools.json_row import Row

_BATCH = 10_000
_DEPTH_MAX = 200
_TEXT = "_VALUE"

Place = tuple[str, ...]


def xml_rows(name: str, file: Path, row_tag: str = "") -> Iterator[list[Row]]:
    """Yields the rows. Raises Invalid if the file is not XML, or has no element with that name."""
    learned = _Learned()
    count = 0
    for element in _elements(name, file, row_tag):
        learned.look((), element)
        count += 1
    if not count and row_tag:
        raise Invalid(f"{name}: there is no element <{row_tag}>", hint="--row-tag names the elements that are rows")
    rows: list[Row] = []
    for element in _elements(name, file, row_tag):
        value = learned.value((), element)
        rows.append(value if isinstance(value, dict) else {} if value is None else {_TEXT: value})
        if len(rows) == _BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


@dataclass
class _Learned:
    """For each place, the kind of its texts and whether it occurs more than once in a row."""

    kinds: dict[Place, int] = field(default_factory=dict)
    lists: set[Place] = field(default_factory=set)

    def look(self, place: Place, element: ElementTree.Element) -> None:
        seen = set()
        for child in element:
            below = (*place, _name(child.tag))
            if below in seen:
                self.lists.add(below)
            seen.add(below)
            self.look(below, child)
        for name, text in _texts(element):
            below = (*place, name) if name else place
            self.kinds[below] = common_kind(self.kinds.get(below, NONE), kind_of_text(text))

    def value(self, place: Place, element: ElementTree.Element) -> Any:
        texts = dict(_texts(element))
        if list(texts) in ([], [""]) and not len(element):
            return self._scalar(place, texts.get("", ""))
        row: dict[str, Any] = {name: self._scalar((*place, name), text) for name, text in texts.items()}
        for child in element:
            name = _name(child.tag)
            below = (*place, name)
            value = self.value(below, child)
            if below in self.lists:
                row.setdefault(name, []).append(value)
            else:
                row[name] = value
        return row

    def _scalar(self, place: Place, text: str) -> Any:
        if not text:
            return None
        return value_of(self.kinds[place], text)


def _texts(element: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yields attributes and the element's own text, by name. The text has no name if nothing is beside it."""
    for name, text in element.attrib.items():
        yield f"_{_name(name)}", text
    text = (element.text or "").strip() if not len(element) else _own_text(element)
    if text:
        yield _TEXT if len(element) or element.attrib else "", text


def _own_text(element: ElementTree.Element) -> str:
    pieces = [element.text, *(child.tail for child in element)]
    return " ".join(piece.strip() for piece in pieces if piece and piece.strip())


def _elements(name: str, file: Path, row_tag: str) -> Iterator[ElementTree.Element]:
    """Yields one element at a time. Elements that were returned are freed."""
    above: list[ElementTree.Element] = []
    inside = 0  # the depth below a row's element
    try:
        for event, element in ElementTree.iterparse(file, ("start", "end")):
            if event == "start":
                if len(above) == _DEPTH_MAX:
                    raise Invalid(f"{name}: elements are nested more than {_DEPTH_MAX} deep", hint="nothing was loaded")
                inside += 1 if inside or _is_row(element, len(above), row_tag) else 0
                above.append(element)
                continue
            above.pop()
            if inside == 1:
                yield element
            if inside <= 1 and above:
                above[-1].remove(element)
            inside -= 1 if inside else 0
    except ElementTree.ParseError as error:
        line, column = error.position
        raise Invalid(
            f"{name}:{line}:{column + 1}: {error.msg.partition(':')[0]}", hint="nothing was loaded"
        ) from error
    except (ValueError, LookupError) as error:  # its encoding is wrong
        raise Invalid(f"{name}: {error}", hint="nothing was loaded") from error


def _is_row(element: ElementTree.Element, depth: int, row_tag: str) -> bool:
    return _name(element.tag) == row_tag if row_tag else depth == 1


def _name(tag: str) -> str:
    """Returns the name without its namespace."""
    return tag.rpartition("}")[2]
