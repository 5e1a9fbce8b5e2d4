"""Determines the kind of a column of texts, batch by batch, and proves it for all of its values in Arrow's own loops.

The proofs accept only texts that `text_kinds` accepts for that kind, but not all of them: 1e5 is a number, and is not
proven here. So a column that fails them may still have a kind, which must be found in another way."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lochan.ingest.text_kinds import STRINGS, kind_of_text
from lochan.pools.kinds import BOOL, FLOAT, INT, STRING

UNKNOWN = ""
_LOOKED_AT = 100  # the number of values of a batch that are inspected, to find one that is only a string
_PLAIN_INTS = 10**15  # ints below it have at most fifteen digits, so they are floats too
_PLAIN = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$"
_PLAIN_BYTES = 15  # such a text has at most fifteen digits, and a float represents any such decimal
_TYPES = {BOOL: pa.bool_(), INT: pa.int64(), FLOAT: pa.float64()}


class TextColumn:
    """The kind of a column of which `see` has seen some values.

    `kind` is the kind of all of them. It is None if there are none, and UNKNOWN if it must be found in another way.
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        self._plain = True  # all ints so far are below _PLAIN_INTS

    def see(self, texts: pa.Array) -> None:
        """Takes more values into account. REQUIRES: they are strings."""
        if self.kind in (STRING, UNKNOWN) or texts.null_count == len(texts):
            return
        texts = texts.drop_null()
        fitting = [kind for kind in _kinds_after(self.kind) if self._fits(kind, texts)]
        if fitting:
            self.kind = fitting[0]
        else:
            self.kind = STRING if _has_other(texts) else UNKNOWN

    def typed(self, texts: pa.Array) -> pa.Array:
        """Returns the values by their kind if that is known, otherwise the texts."""
        if self.kind in (None, STRING, UNKNOWN):
            return texts
        return pc.equal(texts, "true") if self.kind == BOOL else texts.cast(_TYPES[self.kind or STRING])

    def _fits(self, kind: str, texts: pa.Array) -> bool:
        if kind == BOOL:
            return bool(pc.all(pc.is_in(texts, pa.array(["true", "false"]))).as_py())
        if kind == FLOAT:
            return self._plain and are_floats(texts)
        found = as_ints(texts)
        if found is None:
            return False
        ends = pc.min_max(found).as_py()
        self._plain = self._plain and ends["min"] > -_PLAIN_INTS and ends["max"] < _PLAIN_INTS
        return True


def _kinds_after(kind: str | None) -> tuple[str, ...]:
    """Returns the kinds that all values may have, if those before have this one."""
    return {None: (BOOL, INT, FLOAT), BOOL: (BOOL,), INT: (INT, FLOAT)}.get(kind, (FLOAT,))


def _has_other(texts: pa.Array) -> bool:
    """Returns whether one of the first values is of no kind but a string."""
    return any((kind_of_text(each) or STRINGS) == STRINGS for each in texts[:_LOOKED_AT].to_pylist())


def as_ints(texts: pa.Array) -> pa.Array | None:
    """Returns the ints, or None if one of the texts is not written as an int of 64 bits."""
    try:
        found = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return found if pc.all(pc.equal(found.cast(pa.string()), texts)).as_py() else None


def are_floats(texts: pa.Array) -> bool:
    """Returns whether each has few digits, or is written as Arrow writes that float, without an exponent."""
    short = pc.less_equal(pc.binary_length(texts), _PLAIN_BYTES)
    few = texts.filter(short)
    if not pc.all(pc.match_substring_regex(few, _PLAIN)).as_py():
        return False
    return len(few) == len(texts) or _come_back(texts.filter(pc.invert(short)))


def _come_back(texts: pa.Array) -> bool:
    try:
        found = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    decimal = pc.and_(pc.match_substring(texts, "."), pc.invert(pc.match_substring(texts, "e")))
    return bool(pc.all(pc.and_(decimal, pc.equal(found.cast(pa.string()), texts))).as_py())
