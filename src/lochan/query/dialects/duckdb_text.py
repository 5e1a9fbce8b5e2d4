"""Forms of texts, as DuckDB writes and matches them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lochan.query.dialects.neutral import CAPITALS, SMALL, Forms, fold_case, folds_alike, like_pattern, plain

_BYTES_MAX = 125  # characters of one byte, except 0 and two that represent all others


def quote_text(value: str) -> str:
    if "\0" in value:
        return "(" + " || CHR(0) || ".join("'" + part.replace("'", "''") + "'" for part in value.split("\0")) + ")"
    return "'" + value.replace("'", "''") + "'"


def matches(text: str, pattern: str) -> str:
    return f"REGEXP_MATCHES({_wrap_in_try(text)}, {quote_text(pattern)})"


def _wrap_in_try(text: str) -> str:
    """Wraps the text in a TRY. DuckDB 2.0 keeps too many rows for `CASE WHEN a THEN 'x' END LIKE 'x%'` in a WHERE,
    because it tests a IS NOT NULL. The same holds for CONTAINS, REGEXP_MATCHES and IN; it does not rewrite what is in a
    TRY. A TRY must not contain anything that may end the query; for that a list element is used, which is not rewritten
    either."""
    if not text.startswith("CASE"):
        return text
    return f"[{text}][1]" if "ERROR(" in text else f"TRY({text})"


def _contains_folded(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, word = _wrap_in_try(arguments[0]), fold_case(options[0])
    escape = " ESCAPE '\\'" if set(word) & set("%_\\") else ""
    test = f"{text} ILIKE {quote_text(like_pattern(word))}{escape}"
    if folds_alike(word):
        return f"({test})"
    return f"({test} AND CONTAINS(TRANSLATE({text}, '{CAPITALS}', '{SMALL}'), {quote_text(word)}))"


def _like(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    escape = " ESCAPE '\\'" if "\\" in options[0] else ""
    return f"({_wrap_in_try(arguments[0])} LIKE {quote_text(options[0])}{escape})"


def _substr(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    text, start, *length = arguments
    if not length:
        return f"CASE WHEN {start} >= 0 THEN SUBSTRING({text}, {start} + 1) END"
    return f"CASE WHEN {start} >= 0 AND {length[0]} >= 0 THEN SUBSTRING({text}, {start} + 1, {length[0]}) END"


def _replace_matches(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return f"REGEXP_REPLACE({arguments[0]}, {quote_text(options[0])}, {quote_text(options[1])}, 'g')"


def _levenshtein(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    """Counts characters, because DuckDB 2.0 counts bytes. If a character may have several bytes, each that both texts
    have gets a byte of its own; all that only one of them has get the same byte, because they equal nothing in the
    other."""
    one, other = arguments
    common = f"LIST_INTERSECT({_characters('pair.one')}, {_characters('pair.other')})"
    message = f"`levenshtein` of texts with more than {_BYTES_MAX} different characters in common; run it on spark"
    edits = f"LEVENSHTEIN({_in_bytes('pair.one', _BYTES_MAX + 1)}, {_in_bytes('pair.other', _BYTES_MAX + 2)})"
    counted = f"CASE WHEN LEN(common) > {_BYTES_MAX} THEN CAST(ERROR({quote_text(message)}) AS BIGINT) ELSE {edits} END"
    inner = f"LIST_TRANSFORM([{common}], LAMBDA common: {counted})[1]"
    characters = f"LIST_TRANSFORM([{{'one': {one}, 'other': {other}}}], LAMBDA pair: {inner})[1]"
    ascii = " AND ".join(f"STRLEN({text}) = LENGTH({text})" for text in arguments)
    return f"CAST(CASE WHEN {ascii} THEN LEVENSHTEIN({one}, {other}) ELSE {characters} END AS BIGINT)"


def _characters(text: str) -> str:
    return f"LIST_TRANSFORM(RANGE(1, LENGTH({text}) + 1), LAMBDA n: SUBSTRING({text}, n, 1))"


def _in_bytes(text: str, other: int) -> str:
    code = f"CHR(CAST(COALESCE(LIST_POSITION(common, letter), {other}) AS INTEGER))"
    return f"ARRAY_TO_STRING(LIST_TRANSFORM({_characters(text)}, LAMBDA letter: {code}), '')"


FORMS: Forms = {
    "matches": lambda arguments, options: matches(arguments[0], options[0]),
    "contains_folded": _contains_folded,
    "contains": lambda arguments, options: f"CONTAINS({_wrap_in_try(arguments[0])}, {arguments[1]})",
    "like": _like,
    "trim": plain("TRIM({0}, ' ')"),
    "split": plain("STR_SPLIT({0}, {1})"),
    "levenshtein": _levenshtein,
    "substr": _substr,
    "replace_matches": _replace_matches,
    "base64": plain("TO_BASE64(ENCODE({0}))"),
    "hex": plain("LOWER(HEX(ENCODE({0})))"),
}
