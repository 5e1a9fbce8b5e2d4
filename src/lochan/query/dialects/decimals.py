"""Numbers that neither 64 bits nor a double hold, as SQL over their JSON text. Both engines take the same steps, so
they return the same; nothing is rounded.

    number_key      a text with the order of the numbers, for all of them: see `numbers.py` in `query/compile`
    number_text     the reverse: the shortest text of that number
    whole_int       the part before the point, of 64 bits; NULL if it has more
    exact_float     the double whose shortest text is the same number; NULL if there is none
    json_merged     the fields of several JSON objects as one: the last of a name wins, in the place of the first.
                    Options: ("gone", names), with a test for each name after the texts: where it holds, the
                    field is removed;
                    ("renamed", a name, a new one)
    json_exact      the value at a path of a JSON text, with all digits of its numbers; json_exact_items similarly
    json_checked    a JSON text as the engine writes it, with all digits of its numbers; NULL if it is not JSON
    try_decimal     an int as DECIMAL(38, s); NULL if it has too many digits
    float_decimal   the same for the shortest text of a float
    decimal_float   the double next to a decimal
    decimal_round   rounds to a number of digits after the point, halves away from zero
    decimal_ceil    the next whole number above; `decimal_floor` the next one below
    decimal_text    the shortest text of a decimal, without a power of ten
    float_fits      whether a float has at most 38 digits before the point and 38 after it, so that it can be added
    float_plain     such a float without a power of ten; NULL for others
    plain_whole     the digits before the point of a text without a power of ten, DECIMAL(38, 0)
    plain_rest      the 27 digits after it, DECIMAL(37, 27)
    plain_tail      the 27 digits after those
    decimal_whole   the digits before the point, DECIMAL(38, 0); a number that does not fit ends the query
    decimal_rest    the 27 digits after it, DECIMAL(37, 27)
    decimal_tail    the 27 digits after those
    decimal_total   three such sums as one number's text"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.query.dialects.neutral import Forms, Words, plain
from lochan.query.dialects.shared_texts import json_merged, merged_parts

WHOLE_DIGITS, REST_DIGITS = 38, 27  # digits of the parts that are summed
MIDDLE = 4_000_000_000_000_000_000  # added to a power of ten, so that powers have 19 digits and order as texts
REFUSAL = "lochan refuses: "  # the beginning of the message of an error that the query raises; `refusal` finds it
_DIGITS, _TURNED = "0123456789", "9876543210"


def number_key(words: Words) -> Callable[[str], str]:
    return _Made(words).key


def forms(words: Words) -> Forms:
    made = _Made(words)
    return {
        "number_key": lambda arguments, options: made.key(arguments[0]),
        "number_text": lambda arguments, options: made.text(arguments[0]),
        "exact_float": lambda arguments, options: made.float(arguments[0]),
        "whole_int": lambda arguments, options: made.int(arguments[0]),
        "finite": lambda arguments, options: (
            f"CASE WHEN ABS({arguments[0]}) <= 1.7976931348623157e308 THEN {arguments[0]} END"
        ),
        "decimal_whole": made.whole,
        "decimal_rest": made.rest,
        "decimal_tail": made.tail,
        "decimal_total": lambda arguments, options: made.total(*arguments),
        "refuse": made.refuse,
        "try_decimal": plain("TRY_CAST({0} AS DECIMAL(38, {o0}))"),
        "float_decimal": lambda arguments, options: (
            f"TRY_CAST({words.shortest(arguments[0])} AS DECIMAL(38, {options[0]}))"
        ),
        "decimal_float": plain(f"CAST(CAST({{0}} AS {words.text}) AS DOUBLE)"),  # from its digits, so to the nearest
        "decimal_text": made.decimal_text,
        "decimal_round": plain("ROUND({0}, {o0})"),
        "decimal_ceil": plain("CEIL({0})"),
        "decimal_floor": plain("FLOOR({0})"),
        "float_fits": lambda arguments, options: _float_fits(arguments[0]),
        "float_plain": lambda arguments, options: made.float_plain(arguments[0]),
        "plain_whole": lambda arguments, options: f"CAST(SPLIT_PART({arguments[0]}, '.', 1) AS {_LARGE})",
        "plain_rest": lambda arguments, options: _plain_part(arguments[0], 1),
        "plain_tail": lambda arguments, options: _plain_part(arguments[0], REST_DIGITS + 1),
        "json_exact": lambda arguments, options: made.exact(arguments[0], options),
        "json_merged": lambda arguments, options: made.merged(arguments, options),
        "json_exact_items": lambda arguments, options: made.exact_items(arguments[0]),
        "json_checked": lambda arguments, options: made.checked(arguments[0]),
    }


def refusal(message: str) -> str | None:
    """Returns the message with which the query itself ended an engine, or None for any other error."""
    _, found, message = message.partition(REFUSAL)
    return message.partition("\n")[0].partition(" SQLSTATE")[0].strip() if found else None


class _Made:
    def __init__(self, words: Words) -> None:
        self._words = words

    def key(self, number: str) -> str:
        turned = f"TRANSLATE(d.s, '{_DIGITS}', '{_TURNED}')"
        special = "WHEN 'Infinity' THEN '3' WHEN '-Infinity' THEN '0' WHEN 'NaN' THEN '4'"
        of_digits = (
            f"CASE WHEN d.s = '' THEN '1' "
            f"WHEN d.n THEN '0' || {self._as_text(f'{MIDDLE} - d.p')} || {turned} || '~' "
            f"ELSE '2' || {self._as_text(f'{MIDDLE} + d.p')} || d.s END"
        )
        return self._let("t", number, f"CASE t {special} ELSE {self._take_apart('t', of_digits)} END")

    def _as_text(self, sql: str) -> str:
        return f"CAST({sql} AS {self._words.text})"

    def _let(self, name: str, value: str, body: str) -> str:
        return self._words.let(name, value, body)

    def _take_apart(self, number: str, body: str) -> str:
        """Returns `body` with the struct d: n is whether the number is negative; s has its digits without zeros around
        them; p is such that the number is 0.s times ten to the p."""
        words = self._words
        power = f"REGEXP_EXTRACT({number}, {words.quoted('[eE][+]?(-?[0-9]+)')}, 1)"
        pieces = {
            "n": f"{number} LIKE '-%'",
            "m": f"REGEXP_EXTRACT({number}, {words.quoted('[0-9]+([.][0-9]+)?')}, 0)",
            "e": f"COALESCE(CAST(NULLIF({power}, '') AS BIGINT), 0)",
        }
        digits = words.left_trim("REPLACE(c.m, '.', '')", "0")
        before = f"LENGTH(SPLIT_PART(c.m, '.', 1)) - LENGTH(REPLACE(c.m, '.', '')) + LENGTH({digits})"
        parts = {"n": "c.n", "s": words.right_trim(digits, "0"), "p": f"{before} + c.e"}
        return self._let("c", words.members(pieces), self._let("d", words.members(parts), body))

    def text(self, key: str) -> str:
        negative = "k LIKE '0%'"
        power = f"CAST(SUBSTRING(k, 2, 19) AS BIGINT) - {MIDDLE}"
        turned = f"TRANSLATE({self._words.right_trim('SUBSTRING(k, 21)', '~')}, '{_TURNED}', '{_DIGITS}')"
        parts = {
            "n": negative,
            "s": f"CASE WHEN {negative} THEN {turned} ELSE SUBSTRING(k, 21) END",
            "p": f"CASE WHEN {negative} THEN -({power}) ELSE {power} END",
        }
        far = (
            f"CASE WHEN LENGTH(d.s) > 1 THEN '.' || SUBSTRING(d.s, 2) ELSE '' END || 'e' || {self._as_text('d.p - 1')}"
        )
        small = "CAST(LEAST(GREATEST(d.p, -40), 40) AS INT)"
        written = (
            "CASE WHEN d.n THEN '-' ELSE '' END || CASE "
            f"WHEN d.p BETWEEN LENGTH(d.s) AND 40 THEN RPAD(d.s, {small}, '0') "
            f"WHEN d.p > 0 AND d.p < LENGTH(d.s) "
            f"THEN SUBSTRING(d.s, 1, {small}) || '.' || SUBSTRING(d.s, {small} + 1) "
            f"WHEN d.p BETWEEN -20 AND 0 THEN '0.' || REPEAT('0', -{small}) || d.s "
            f"ELSE SUBSTRING(d.s, 1, 1) || {far} END"
        )
        some = self._let("d", self._words.members(parts), written)
        return self._let("k", key, f"CASE WHEN LENGTH(k) = 1 THEN '0' ELSE {some} END")

    def decimal_text(self, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        text = self._as_text(arguments[0])
        return self._words.right_trim(self._words.right_trim(text, "0"), ".") if options[0] else text

    def float(self, number: str) -> str:
        """Returns the exact double. Numbers of up to fifteen digits are always exact."""
        near = "TRY_CAST(j AS DOUBLE)"
        same = f"{self.key('j')} = {self.key(self._words.float_text(near))}"
        short = self._words.matches("j", r"^-?[0-9.]{1,16}\z")
        return self._let("j", number, f"CASE WHEN {short} THEN {near} WHEN {same} THEN {near} END")

    def int(self, number: str) -> str:
        digits = "CASE WHEN d.p <= 0 THEN '0' ELSE RPAD(SUBSTRING(d.s, 1, CAST(d.p AS INT)), CAST(d.p AS INT), '0') END"
        signed = f"CASE WHEN d.n THEN '-' ELSE '' END || {digits}"
        small = self._take_apart("t", f"CASE WHEN d.p <= 19 THEN TRY_CAST({signed} AS BIGINT) END")
        return self._let("t", number, f"CASE WHEN t IS NOT NULL THEN {small} END")

    def float_plain(self, real: str) -> str:
        """Returns the float without an exponent. Seventeen digits identify a float, so these types hold them all."""
        types = [(f"ABS({real}) >= 1e17", 0), (f"ABS({real}) >= 1e-3", 20), ("TRUE", 38)]
        arms = " ".join(
            f"WHEN {test} THEN {self._as_text(f'CAST(s AS DECIMAL(38, {scale}))')}" for test, scale in types
        )
        text = self._let("s", self._words.shortest(real), f"CASE {arms} END")
        return f"CASE WHEN {_float_fits(real)} THEN {text} END"

    def whole(self, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        small = f"CAST(GREATEST(LEAST(d.p, {WHOLE_DIGITS}), 0) AS INT)"
        digits = f"CASE WHEN d.p <= 0 THEN '0' ELSE RPAD(SUBSTRING(d.s, 1, {small}), {small}, '0') END"
        return self._part(arguments[0], options[0], digits, _LARGE)

    def rest(self, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        return self._part(arguments[0], options[0], f"'0.' || SUBSTRING({_BEHIND}, 1, {REST_DIGITS})", _SMALL)

    def tail(self, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        return self._part(arguments[0], options[0], f"'0.' || SUBSTRING({_BEHIND}, {REST_DIGITS + 1})", _SMALL)

    def _part(self, number: str, what: str, digits: str, type: str) -> str:
        signed = f"CASE WHEN d.n THEN '-' ELSE '' END || {digits}"
        failed = self._fail(what, "t")
        body = f"CASE WHEN d.s = '' OR ({_FITS}) THEN CAST({signed} AS {type}) ELSE CAST({failed} AS {type}) END"
        return self._let("t", number, f"CASE WHEN t IS NOT NULL THEN {self._take_apart('t', body)} END")

    def exact(self, json: str, options: tuple[Any, ...]) -> str:
        """Returns the JSON at a path with all digits. Engines write numbers with a double's digits, so longer ones are
        marked as strings while an engine handles the text."""
        return self._let("g", self._words.json_get([self._mark_numbers(json)], options), self._unmarked("g"))

    def exact_items(self, json: str) -> str:
        items = self._let("m", self._mark_numbers(json), self._words.json_items(["m"], ()))
        return self._words.each(items, "g", self._unmarked("g"))

    def checked(self, text: str) -> str:
        read = self._let("m", self._mark_numbers(text), self._words.json_checked(["m"], ()))
        return self._let("g", read, self._unmarked("g"))

    def merged(self, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        texts, gone = merged_parts(arguments, options)
        found = json_merged(self._words, [*map(self._mark_numbers, texts), *gone.values()], options)
        return self._let("g", found, self._unmarked("g"))

    def _mark_numbers(self, json: str) -> str:
        """Marks long numbers as strings. Only valid numbers are marked: 0123 stays as wrong as it is."""
        words = self._words
        long = f"LENGTH(w) > {_DOUBLE_DIGITS} OR w LIKE '%e%' OR w LIKE '%E%'"
        piece = f"CASE WHEN ({long}) AND {words.matches('w', _NUMBER)} THEN CONCAT('\"{_MARK}', w, '\"') ELSE w END"
        marked = words.joined(words.each(words.found("j", words.quoted(_TOKEN)), "w", piece), "''")
        return self._let("j", json, f"CASE WHEN {words.matches('j', _MAY_BE_LONG)} THEN {marked} ELSE j END")

    def _unmarked(self, text: str) -> str:
        bare = self._words.first_group(text, self._words.quoted(f'"{_MARK}([^"]*)"'))
        return f"CASE WHEN CONTAINS({text}, '{_MARK}') THEN {bare} ELSE {text} END"

    def refuse(self, arguments: Sequence[str], options: tuple[Any, ...]) -> str:
        """Ends the query if a number's text is not NULL. `options` are the message and the type."""
        message, type = options
        value = arguments[0]
        return f"CASE WHEN {value} IS NOT NULL THEN CAST({self._fail(message, value)} AS {type}) END"

    def _fail(self, message: str, number: str) -> str:
        return self._words.fail(f"{self._words.quoted(f'{REFUSAL}{message}: ')} || {number}")

    def total(self, whole: str, rest: str, tail: str) -> str:
        """Joins the sums of the parts. A part's sum may exceed one unit of the part before it, and have another
        sign."""
        least = f"CAST('1e-{REST_DIGITS}' AS {_SMALL})"
        units = self._as_text(f"ABS({_cut('a.t')})")
        moved = f"CAST('0.' || LPAD(SPLIT_PART({units}, '.', 1), {REST_DIGITS}, '0') AS {_SMALL})"
        steps = [
            ("a", {"w": whole, "r": f"CAST({rest} AS {_SMALL})", "t": f"CAST({tail} AS {_SMALL})"}),
            (
                "b",
                {
                    "w": "a.w",
                    "r": f"CAST(a.r + CASE WHEN a.t < 0 THEN -{moved} ELSE {moved} END AS {_SMALL})",
                    "t": f"CAST(a.t - {_cut('a.t')} AS {_SMALL})",
                },
            ),
            (
                "c",
                {
                    "w": f"CAST(b.w + CAST({_cut('b.r')} AS {_LARGE}) AS {_LARGE})",
                    "r": f"CAST(b.r - {_cut('b.r')} AS {_SMALL})",
                    "t": "b.t",
                },
            ),
            (
                "d",
                {
                    "n": "(c.w < 0 OR (c.w = 0 AND (c.r < 0 OR (c.r = 0 AND c.t < 0))))",
                    "w": "c.w",
                    "r": "c.r",
                    "t": "c.t",
                },
            ),
            ("e", {"n": "d.n", **{name: f"CASE WHEN d.n THEN -d.{name} ELSE d.{name} END" for name in "wrt"}}),
            (
                "f",
                {
                    "n": "e.n",
                    "w": "e.w",
                    "r": f"CAST(CASE WHEN e.t < 0 THEN e.r - {least} ELSE e.r END AS {_SMALL})",
                    "t": f"CAST(CASE WHEN e.t < 0 THEN e.t + 1 ELSE e.t END AS {_SMALL})",
                },
            ),
            (
                "g",
                {
                    "n": "f.n",
                    "w": f"CAST(CASE WHEN f.r < 0 THEN f.w - 1 ELSE f.w END AS {_LARGE})",
                    "r": f"CAST(CASE WHEN f.r < 0 THEN f.r + 1 ELSE f.r END AS {_SMALL})",
                    "t": "f.t",
                },
            ),
        ]
        behind = " || ".join(f"SPLIT_PART({self._as_text(f'g.{name}')}, '.', 2)" for name in "rt")
        made = f"CASE WHEN g.n THEN '-' ELSE '' END || {self._as_text('g.w')} || '.' || {behind}"
        for name, members in reversed(steps):
            made = self._let(name, self._words.members(members), made)
        return self._words.right_trim(self._words.right_trim(made, "0"), ".")


def _plain_part(text: str, start: int) -> str:
    digits = f"SUBSTRING(SPLIT_PART({text}, '.', 2) || '{'0' * (start + 1)}', {start}, {REST_DIGITS})"
    return f"CAST(CASE WHEN {text} LIKE '-%' THEN '-0.' ELSE '0.' END || {digits} AS {_SMALL})"


def _float_fits(real: str) -> str:
    return f"({real} = 0 OR (ABS({real}) >= 1e-21 AND ABS({real}) < 1e38))"


def _cut(sql: str) -> str:
    """Cuts towards zero, to so few digits that Spark takes them from the number without rounding."""
    return f"CAST(CASE WHEN {sql} < 0 THEN CEIL({sql}) ELSE FLOOR({sql}) END AS DECIMAL(10, 0))"


# Strings, numbers, and all other pieces of a JSON text. Strings are matched without a repetition of a choice, because
# Java would recurse for each of their letters.
_TOKEN = r'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|[^"0-9-]+'
_NUMBER = r"^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?\z"
_DOUBLE_DIGITS = 15  # every number with so many digits is the double nearest to it
_MAY_BE_LONG = "[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}"  # in a text: it may contain such a number, though not certainly
_MARK = "\ue000lochan-number:"  # no real string begins with it
_LARGE, _SMALL = f"DECIMAL({WHOLE_DIGITS}, 0)", f"DECIMAL(37, {REST_DIGITS})"  # so that Spark adds two without rounding
_BEHIND = (  # the digits after the point, and zeros after those
    f"(REPEAT('0', CAST(GREATEST(LEAST(-d.p, {2 * REST_DIGITS}), 0) AS INT)) || "
    f"SUBSTRING(d.s, CAST(GREATEST(LEAST(d.p, {WHOLE_DIGITS}), 0) AS INT) + 1) || '{'0' * (REST_DIGITS + 1)}')"
)
_FITS = f"d.p <= {WHOLE_DIGITS} AND LENGTH(d.s) - d.p <= {2 * REST_DIGITS}"
