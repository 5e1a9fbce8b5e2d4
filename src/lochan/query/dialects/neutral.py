"""Parts of a plan for which the engines have no common syntax; each dialect has a form for them.

A plan is a sqlglot tree of comparisons, connectives, CASE, casts and the plain aggregates, which both engines read
alike; everything else is a Neutral with a name that `dialects/duckdb.py` and `dialects/spark.py` have a form for. None
of these forms raises an error while a query runs: a result that cannot be computed is NULL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from lochan.pools.times import MICROS_MAX, MICROS_MIN


class Neutral(exp.Expression):
    """A neutral part. `this` is its name; `options` are constants that are not SQL, such as a pattern. They are a
    tuple, because in a list sqlglot would compare texts without regard to case."""

    arg_types = {"this": True, "expressions": False, "options": False}  # noqa: RUF012  sqlglot's own way

    @property
    def options(self) -> tuple[Any, ...]:
        return self.args.get("options") or ()


# Names that compute one value from many rows, even if no column is in them.
AGGREGATES = frozenset(
    ("row_number", "quantile", "sum_of", "collect", "collect_distinct", "collect_keyed", "first_by", "last_by")
)


def neutral(name: str, *arguments: exp.Expr, options: tuple[Any, ...] = ()) -> Neutral:
    return Neutral(this=name, expressions=[each.copy() for each in arguments], options=options)


# ── how a neutral part is written ────────────────────────────────────────────────────────────────────────────────────

# A form converts the texts of the arguments and the options to a text that needs no parentheses.
Form = Callable[[Sequence[str], tuple[Any, ...]], str]
Forms = dict[str, Form]

# Texts that may be times, in any year from 1 on. Whether the day exists is found out by the cast.
YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
RFC3339 = (
    rf"^{YEAR}-[0-9]{{2}}-[0-9]{{2}}"
    r"([Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?\z"
)
CAPITALS, SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def plain(template: str) -> Form:
    """Returns a form from a template. `{0}`, `{1}` … are the arguments, `{o0}`, `{o1}` … the options, unchanged."""

    def form(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        return template.format(*arguments, **{f"o{at}": each for at, each in enumerate(options)})

    return form


def call_form(name: str) -> Form:
    """Returns the form of a function of all arguments."""
    return lambda arguments, options: f"{name}({', '.join(arguments)})"


def by_option(forms: dict[Any, Form]) -> Form:
    """Returns a form that the first option chooses."""
    return lambda arguments, options: forms[options[0]](arguments, options)


def fold_case(word: str) -> str:
    """Converts ASCII letters to lower case, and leaves all others unchanged."""
    return word.translate(str.maketrans(CAPITALS, SMALL))


def folds_alike(word: str) -> bool:
    """Returns whether an engine that folds all of Unicode finds nothing else by this word: two letters beyond ASCII
    fold to k and i."""
    return word.isascii() and not set(fold_case(word)) & set("ki")


def like_pattern(word: str) -> str:
    return "%" + "".join(f"\\{letter}" if letter in "%_\\" else letter for letter in word) + "%"


def round_half_away(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Rounds halves away from zero, by the same steps on both engines, whose own functions differ in the last digit."""
    value, scale = arguments[0], f"1e{options[0]}"
    moved = f"(ABS({value}) * {scale} + 5e-1)"
    whole = f"(({moved} - {moved} % 1e0) / {scale})"
    return f"CASE WHEN ABS({value}) >= 1e15 THEN {value} WHEN {value} < 0 THEN -{whole} + 0e0 ELSE {whole} END"


def within_years(micros: str) -> str:
    """Returns the moment, or NULL if it is not in the years 1 to 9999."""
    return f"CASE WHEN {micros} BETWEEN {MICROS_MIN} AND {MICROS_MAX} THEN {micros} END"


def in_years(time: str, text: str, micros: str) -> str:
    """Does the same for a time that was read from this text: only on the first and the last day can an offset lead out
    of these years. `micros` is the function that returns its microseconds."""
    edge = f"SUBSTRING({text}, 1, 10) IN ('0001-01-01', '9999-12-31')"
    return f"CASE WHEN {edge} AND {micros}({time}) NOT BETWEEN {MICROS_MIN} AND {MICROS_MAX} THEN NULL ELSE {time} END"


def slice_ends(start: int | None, stop: int | None, length: str) -> tuple[str, str]:
    """Returns both ends, counted from 1 and included. Negative ends count from the end."""
    low = "1" if start is None else str(start + 1) if start >= 0 else f"GREATEST({length} - {-start - 1}, 1)"
    high = length if stop is None else str(stop) if stop >= 0 else f"({length} - {-stop})"
    return low, high


# ── what the engines call differently ────────────────────────────────────────────────────────────────────────────────


_SHORT = 80  # letters; shorter values are repeated where they are needed

Text = Callable[[str], str]


class Words(NamedTuple):
    """The words of an engine, for forms that take the same steps on both engines."""

    types: Mapping[str, str]  # the type of each kind
    text: str  # the type of texts
    quoted: Text
    pattern: Text  # a regular expression, in quotes
    fail: Text
    # lists and structs
    let: Callable[[str, str, str], str]  # gets a name, its value, and the expression that uses it
    members: Callable[[Mapping[str, str]], str]  # a struct
    list_of: Callable[[Sequence[str]], str]
    size: str  # the function that counts elements
    each: Callable[[str, str, str], str]  # gets a list, a name for its elements, and the result for each
    kept: Callable[[str, str, str], str]  # gets the same, and a test
    some: Callable[[str, str, str], str]  # tests whether the test holds for an element
    firsts: Text  # a list without repeated elements
    last: Text  # the last element
    joined: Callable[[str, str], str]  # joins a list of texts, with a separator
    # text
    left_trim: Callable[[str, str], str]
    right_trim: Callable[[str, str], str]
    matches: Callable[[str, str], str]
    found: Callable[[str, str], str]  # gets a text and a pattern in quotes, and returns a list of all matches
    first_group: Callable[[str, str], str]  # gets a text and a pattern, and replaces each match by its first group
    split: Callable[[str, str], str]
    # numbers, times, addresses
    divided: Callable[[str, int], str]  # towards zero
    float_text: Text
    shortest: Text  # for a float: the fewest digits that identify it, in any notation
    micros: str  # the function that counts the microseconds of a time
    time_text: Text
    ipv4_digits: Text
    ipv4_text: Text
    # JSON
    json_text: Text  # for a string
    json_string: Form
    json_get: Form
    json_items: Form
    json_fields: Text  # for an object's text: a list of structs of a name k and a text v
    json_checked: Form

    def once(self, value: str, body: Text) -> str:
        return once(self.let, value, body)


def once(let: Callable[[str, str, str], str], value: str, body: Text) -> str:
    """Writes a value that occurs many times in a text only once, unless it is short."""
    return body(value) if len(value) <= _SHORT else let("it", value, body("it"))
