"""A column of ints and floats in which a double would round one of the ints: DECIMAL(38, 19), which holds every int of
64 bits, and every float below 10^19 that has no more than 19 digits after its point.

A column has this type if some int is beyond 2^53, and no float beyond 10^19, as far as is known before it is read;
otherwise it is DOUBLE. A float that has more digits ends the read, with the name of its field."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from lochan.errors import Refused
from lochan.pools.kinds import FLOAT, INT
from lochan.pools.shape import Path
from lochan.pools.snapshot import Snapshot
from lochan.query.dialects.decimals import REFUSAL
from lochan.query.dialects.spark_words import quote_text as text_sql
from lochan.query.sources.object_selection import number_bounds

DIGITS, SCALE = 38, 19
_SQL = f"DECIMAL({DIGITS}, {SCALE})"
_EXACT_MAX = 1 << 53  # every int up to this is exactly a double
_FLOAT_MAX = 10.0 ** (DIGITS - SCALE)
_LAST = Decimal(1).scaleb(-SCALE)
_CONTEXT = Context(prec=DIGITS + 2)


def is_wide(snapshot: Snapshot, path: Path) -> bool:
    """Returns whether the column is a decimal. `path` is that of a field that holds ints and floats."""
    ints, floats = (number_bounds(snapshot, path, kind) for kind in (INT, FLOAT))
    if ints is None or floats is None:
        return False
    large = ints.least < -_EXACT_MAX or ints.greatest > _EXACT_MAX
    return large and floats.least > -_FLOAT_MAX and floats.greatest < _FLOAT_MAX


def decimal_sql(name: str, whole: str, real: str) -> str:
    """Returns Spark's SQL. The digits of a float are those of its shortest text."""
    made = f"TRY_CAST(CAST({real} AS STRING) AS {_SQL})"
    failed = f"CAST(RAISE_ERROR(CONCAT({text_sql(f'{REFUSAL}{_too_long(name)}: ')}, {real})) AS {_SQL})"
    exact = f"CASE WHEN {real} IS NULL OR CAST({made} AS DOUBLE) = {real} THEN {made} ELSE {failed} END"
    return f"COALESCE(CAST({whole} AS {_SQL}), {exact})"


def decimals(name: str, whole: pa.Array, real: pa.Array) -> pa.Array:
    """Converts Arrow's columns to decimals. Raises Refused."""
    pairs = zip(whole.to_pylist(), real.to_pylist(), strict=True)
    return pa.array([_of_float(name, b) if a is None else Decimal(a) for a, b in pairs], pa.decimal128(DIGITS, SCALE))


def _of_float(name: str, number: float | None) -> Decimal | None:
    if number is None:
        return None
    made = Decimal(repr(number))
    if made.is_finite() and abs(number) < _FLOAT_MAX:
        made = made.quantize(_LAST, ROUND_HALF_UP, _CONTEXT)
        if float(made) == number:
            return made
    raise Refused(f"{_too_long(name)}: {number}")


def _too_long(name: str) -> str:
    return (
        f"`{name}` holds ints beyond 2^53 beside floats, and {_SQL} does not hold this float; take ndjson, or choose "
        f"one kind, such as int64({name}) or float64({name})"
    )
