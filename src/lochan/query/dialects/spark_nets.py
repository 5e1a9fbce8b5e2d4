"""Addresses, as Spark computes with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lochan.query.dialects.addresses import IPV4, ipv6_digits, ipv6_text
from lochan.query.dialects.form import Forms
from lochan.query.dialects.spark_words import let, matches


def _ip_digits(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], _digits_of)


def _digits_of(text: str) -> str:
    parts = (f"TRY_CAST(SPLIT_PART({text}, '.', {at}) AS BIGINT)" for at in (1, 2, 3, 4))
    digits = ", ".join(f"LPAD(LOWER(HEX({part})), 2, '0')" for part in parts)
    four = f"CASE WHEN {matches([text], (IPV4,))} THEN CONCAT('4', {digits}) END"
    return f"COALESCE({four}, {ipv6_digits(text, _groups_of_four, lambda pattern: matches([text], (pattern,)))})"


def _groups_of_four(text: str) -> str:
    return f"ARRAY_JOIN(TRANSFORM(SPLIT(NULLIF({text}, ''), ':'), g -> LPAD(g, 4, '0')), '')"


def ip_text(arguments: Sequence[str], options: tuple[Any, ...]) -> str:
    return let(arguments[0], _address_of)


def _address_of(digits: str) -> str:
    parts = ", ".join(f"CONV(SUBSTRING({digits}, {at}, 2), 16, 10)" for at in (2, 4, 6, 8))
    six = ipv6_text(digits, lambda group: f"REGEXP_REPLACE({group}, '^0{{1,3}}', '')", _let_whole)
    return f"CASE WHEN {digits} LIKE '4%' THEN CONCAT_WS('.', {parts}) ELSE {six} END"


def _let_whole(value: str, body: Callable[[str], str]) -> str:
    return f"TRANSFORM(ARRAY({value}), whole -> {body('whole')})[0]"


FORMS: Forms = {"ip_digits": _ip_digits, "ip_text": ip_text}
