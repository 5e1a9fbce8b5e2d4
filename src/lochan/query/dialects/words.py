"""What the engines call differently, for forms that take the same steps on both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lochan.query.dialects.neutral import Form

_SHORT = 80  # letters: what is shorter is written again wherever it is needed

Text = Callable[[str], str]


class Words(NamedTuple):
    types: Mapping[str, str]  # the type of each kind
    text: str  # the type of texts
    quoted: Text
    pattern: Text  # a regular expression, in quotes
    fail: Text
    # lists and structs
    let: Callable[[str, str, str], str]  # a name, its value, what is made of it
    members: Callable[[Mapping[str, str]], str]  # a struct
    list_of: Callable[[Sequence[str]], str]
    size: str  # the function that counts elements
    each: Callable[[str, str, str], str]  # a list, a name for its elements, what is made of each
    kept: Callable[[str, str, str], str]  # the same, and a test
    some: Callable[[str, str, str], str]  # whether the test holds for an element
    firsts: Text  # a list without what comes again
    last: Text  # the last element
    joined: Callable[[str, str], str]  # a list of texts as one, and what stands between them
    # text
    left_trim: Callable[[str, str], str]
    right_trim: Callable[[str, str], str]
    matches: Callable[[str, str], str]
    found: Callable[[str, str], str]  # a text and a pattern in quotes: a list of all that it matches
    first_group: Callable[[str, str], str]  # a text and a pattern: its first group in the place of all that it matches
    split: Callable[[str, str], str]
    # numbers, times, addresses
    divided: Callable[[str, int], str]  # towards zero
    float_text: Text
    shortest: Text  # of a float: the fewest digits that say which it is, in any notation
    micros: str  # the function that counts the microseconds of a time
    time_text: Text
    ipv4_digits: Text
    ipv4_text: Text
    # JSON
    json_text: Text  # of a string
    json_string: Form
    json_get: Form
    json_items: Form
    json_fields: Text  # of an object's text: a list of structs of a name k and a text v
    json_checked: Form

    def once(self, value: str, body: Text) -> str:
        return once(self.let, value, body)


def once(let: Callable[[str, str, str], str], value: str, body: Text) -> str:
    """A value that stands in a text many times is written once, unless it is short."""
    return body(value) if len(value) <= _SHORT else let("it", value, body("it"))
