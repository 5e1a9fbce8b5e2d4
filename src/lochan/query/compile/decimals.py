"""Numbers of many digits where a source has them as decimals (pools/layout.py): the engine itself compares, sorts and
adds them exactly. Where a source has them only as texts, `numbers.py` does the same, but slowly.

An int becomes a decimal for that, or is beyond all decimals. A float counts as the number in its shortest text. Of two
numbers whose nearest floats differ, the floats decide which is greater. If they are the same, the float's text is no
longer than the decimal, so it is a decimal too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from sqlglot import exp

from lochan.pools.kinds import DECIMAL, EVERY_NUMBER, FLOAT, INT, STRING
from lochan.pools.layout import DIGITS_MAX
from lochan.query.compile.logic import COMPARISONS, all_of, any_of, case, coalesce, eq, is_set
from lochan.query.compile.sql import FALSE, TRUE, Sql, cast, decimal_type, number, op, text, try_cast
from lochan.query.compile.value import Exact, Value
from lochan.query.dialects.neutral import neutral
from lochan.query.leaves import Digits

_COMPUTED: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_WIDE = Context(prec=1_000)
_INT_DIGITS = 19  # digits of 64 bits
_COUNT_DIGITS = 12  # digits of the number of rows


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def decimal_text(exact: Exact) -> Sql:
    """Returns the text of the number, which is the same for equal numbers."""
    return neutral("decimal_text", exact.sql, options=(exact.digits.scale,))


def from_text(sql: Sql, digits: Digits) -> Exact:
    """Makes a decimal of the text of a number that is known to fit."""
    return Exact(exp.Cast(this=sql.copy(), to=decimal_type(digits.scale)), digits)


def from_texts(sql: Sql | None, arms: Iterable[Value]) -> Exact | None:
    """Makes a decimal of a text that comes from one of these values. Returns None if not all of them have their numbers
    as decimals, or if no decimal type holds them all."""
    some = [arm.exact for arm in arms if DECIMAL in arm.alts]
    digits_of = [each.digits for each in some if each is not None]
    digits = common(digits_of) if digits_of and len(digits_of) == len(some) else None
    return None if sql is None or digits is None else from_text(sql, digits)


def nearest(exact: Exact) -> Sql:
    """Returns the nearest float."""
    return neutral("decimal_float", exact.sql)


def negate_decimal(exact: Exact) -> Exact:
    """Negates a decimal, whose type has room for either sign."""
    turned = exp.Cast(this=exp.Neg(this=exp.Paren(this=exact.sql.copy())), to=decimal_type(exact.digits.scale))
    return Exact(turned, exact.digits)


# ── comparisons ──────────────────────────────────────────────────────────────────────────────────────────────────────


def compare_decimal(op_: str, exact: Exact, kind: str, value: Value) -> Sql | None:
    """Compares with the values of this kind. Returns None if no decimal type holds both."""
    constant = value.constant
    if isinstance(constant, int | float | Decimal) and not isinstance(constant, bool):
        return against(op_, exact, constant)
    if kind == DECIMAL:
        return None if value.exact is None else _with_decimal(op_, exact, value.exact)
    if kind == INT:
        return _with_int(op_, exact, value.alts[INT])
    return _with_float(op_, exact, value.alts[FLOAT])


def against(op_: str, exact: Exact, by: float | Decimal) -> Sql | None:
    """Compares with a number literal. Returns None if it is not finite."""
    value = Decimal(repr(by)) if isinstance(by, float) else Decimal(by)
    if not value.is_finite():
        return None
    scale, end = exact.digits.scale, Decimal(10) ** (DIGITS_MAX - exact.digits.scale)
    if abs(value) >= end:
        return all_of([is_set(exact.sql), TRUE if _holds(op_, -1 if value > 0 else 1) else FALSE])
    step = Decimal(1).scaleb(-scale)
    below, above = (value.quantize(step, way, _WIDE) for way in (ROUND_FLOOR, ROUND_CEILING))
    if below == above:
        return op(COMPARISONS[op_], exact.sql, literal(below, scale))
    if op_ in ("==", "!="):
        return all_of([is_set(exact.sql), TRUE if op_ == "!=" else FALSE])
    if op_[0] == "<":
        return FALSE if abs(below) >= end else op(exp.LTE, exact.sql, literal(below, scale))
    return FALSE if abs(above) >= end else op(exp.GTE, exact.sql, literal(above, scale))


def literal(value: Decimal, scale: int) -> Sql:
    return exp.Cast(this=text(f"{value:f}"), to=decimal_type(scale))


def _with_decimal(op_: str, one: Exact, other: Exact) -> Sql | None:
    both = common([one.digits, other.digits])
    if both is None:
        return None
    return op(COMPARISONS[op_], widen(one, both).sql, widen(other, both).sql)


def common(digits: Sequence[Digits]) -> Digits | None:
    """Returns the digits that hold all of them, or None if no decimal type does."""
    whole, scale = max(each.whole for each in digits), max(each.scale for each in digits)
    return Digits(whole, scale) if whole + scale <= DIGITS_MAX else None


def widen(exact: Exact, digits: Digits) -> Exact:
    if exact.digits.scale == digits.scale:
        return Exact(exact.sql, digits)
    return Exact(exp.Cast(this=exact.sql.copy(), to=decimal_type(digits.scale)), digits)


def _with_int(op_: str, exact: Exact, whole: Sql) -> Sql:
    same = neutral("try_decimal", whole, options=(exact.digits.scale,))
    return _or_beyond(op_, exact, op(COMPARISONS[op_], exact.sql, same), same, whole, number(0))


def _with_float(op_: str, exact: Exact, real: Sql) -> Sql:
    near = nearest(exact)
    tie = eq(near, real)
    same = neutral("float_decimal", real, options=(exact.digits.scale,))
    tied = _or_beyond(op_, exact, op(COMPARISONS[op_], exact.sql, same), same, real, number(0.0))
    if op_ == "==":
        return all_of([tie, tied])
    return case((tie, tied), other=op(COMPARISONS[op_], near, real))


def _or_beyond(op_: str, exact: Exact, test: Sql, same: Sql, by: Sql, zero: Sql) -> Sql:
    """Completes a comparison for values that do not fit a decimal of that scale: they are greater or less than all
    decimals."""
    if op_ == "==":
        return test
    above, below = _holds(op_, -1), _holds(op_, 1)
    sign = op(exp.GT, by, zero)
    beyond = TRUE if above and below else sign if above else op(exp.LT, by, zero)
    return case((is_set(same), test), (all_of([is_set(exact.sql), is_set(by)]), beyond))


def _holds(op_: str, sign: int) -> bool:
    """Returns whether a comparison holds for a number that is less (-1) or greater (1) than the other."""
    return op_ == "!=" or (op_[0] == "<" if sign < 0 else op_[0] == ">")


# ── arithmetic ───────────────────────────────────────────────────────────────────────────────────────────────────────


def compute(op_: str, one: str, left: Value, other: str, right: Value) -> Exact | None:
    """Computes with two kinds of numbers, one of them a decimal. Returns None if the result would not be exact, or no
    decimal type holds it."""
    mine, theirs = _operand(one, left), _operand(other, right)
    if mine is None or theirs is None:
        return None
    if op_ == "%":
        return _remainder(mine, theirs)
    if op_ not in _COMPUTED:
        return None
    (wholes, scales) = zip(mine.digits, theirs.digits, strict=True)
    digits = Digits(sum(wholes), sum(scales)) if op_ == "*" else Digits(max(wholes) + 1, max(scales))
    if sum(digits) + (op_ == "*") > DIGITS_MAX:  # for a product Spark needs one more digit
        return None
    made = op(_COMPUTED[op_], _cast_narrow(mine), _cast_narrow(theirs))
    return Exact(exp.Cast(this=made, to=decimal_type(digits.scale)), digits)


def _remainder(mine: Exact, theirs: Exact) -> Exact | None:
    """Returns the remainder, with the sign of the left side, as for ints. It is NULL where the right side is zero."""
    both = common([mine.digits, theirs.digits])
    if both is None:
        return None
    sides = [exp.Cast(this=each.sql.copy(), to=decimal_type(both.scale)) for each in (mine, theirs)]
    made = neutral("decimal_remainder", *sides)
    return Exact(exp.Cast(this=made, to=decimal_type(both.scale)), both)


def one_of(found: Sequence[Exact]) -> Exact | None:
    """Combines values of which at most one is set in any row. Returns None if no decimal type holds them all."""
    digits = common([each.digits for each in found]) if found else None
    return None if digits is None else Exact(coalesce(*(widen(each, digits).sql for each in found)), digits)


def round_decimal(exact: Exact, name: str, scale: int = 0) -> Exact:
    """Applies `round`, `ceil` or `floor`, without any other loss of digits."""
    if scale >= exact.digits.scale:
        return exact
    made = neutral(f"decimal_{name}", _cast_narrow(exact), options=(scale,))
    return Exact(exp.Cast(this=made, to=decimal_type(scale)), Digits(exact.digits.whole + 1, scale))


def _operand(kind: str, value: Value) -> Exact | None:
    """Returns the operand as a decimal. A float literal is the number that its text shows; other floats are not
    exact."""
    constant = value.constant
    if isinstance(constant, int | float) and not isinstance(constant, bool):
        number = Decimal(repr(constant))
        scale = max(-int(number.as_tuple().exponent), 0) if number.is_finite() else DIGITS_MAX
        whole = max(number.adjusted() + 1, 0)
        return Exact(literal(number, scale), Digits(whole, scale)) if whole + scale <= DIGITS_MAX else None
    if kind == INT:
        return Exact(exp.Cast(this=value.alts[INT].copy(), to=decimal_type(0)), Digits(_INT_DIGITS, 0))
    return value.exact if kind == DECIMAL else None


def _cast_narrow(exact: Exact) -> Sql:
    """Casts to the narrowest type that fits: with wider ones Spark's results lose digits after the point."""
    return exp.Cast(this=exact.sql.copy(), to=decimal_type(exact.digits.scale, max(sum(exact.digits), 1)))


# ── sums ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def summable(value: Value) -> Digits | None:
    """Returns the digits with which the engine can add up any number of rows as decimals, or None if the value has too
    many digits or is also a float."""
    if value.exact is None or FLOAT in value.alts:
        return None
    digits = value.exact.digits
    digits = digits._replace(whole=max(digits.whole, _INT_DIGITS)) if INT in value.alts else digits
    return digits if sum(digits) + _COUNT_DIGITS <= DIGITS_MAX else None


def addend(exact: Exact, value: Value) -> Sql:
    """Returns the decimal to add for a value that is `summable`."""
    if INT not in value.alts:
        return exact.sql
    return coalesce(exact.sql, exp.Cast(this=value.alts[INT].copy(), to=decimal_type(exact.digits.scale)))


def plain_text(exact: Exact, value: Value) -> Sql:
    """Returns the text of the value's number without an exponent, or NULL for a float that is too large or too small
    for that."""
    texts: list[Sql] = [cast(exact.sql, STRING)]
    if INT in value.alts:
        texts.append(cast(value.alts[INT], STRING))
    if FLOAT in value.alts:
        texts.append(neutral("float_plain", value.alts[FLOAT]))
    return coalesce(*texts)


# ── order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def keys(value: Value) -> list[Sql] | None:
    """Returns columns that order all numbers of the value, or None if its texts are needed for that."""
    exact = value.exact
    if exact is None:
        return None
    others = [kind for kind in EVERY_NUMBER if kind in value.alts and kind != DECIMAL]
    if not others:
        return [exact.sql]
    if sum(exact.digits) >= DIGITS_MAX:  # besides 9.9 there may be 10.0, which has one more digit
        return None
    scale = exact.digits.scale
    reals, decimals, wholes = [nearest(exact)], [exact.sql], []
    if INT in others:
        whole = value.alts[INT]
        reals.append(cast(whole, FLOAT))
        decimals.append(neutral("try_decimal", whole, options=(scale,)))
        wholes.append(whole)
    if FLOAT in others:
        real = value.alts[FLOAT]
        reals.append(real)
        decimals.append(neutral("float_decimal", real, options=(scale,)))
        wholes.append(try_cast(real, INT))
    found = [coalesce(*reals), coalesce(*decimals)]
    return [*found, coalesce(*wholes)] if INT in others else found


def best(exact: Exact, others: Sequence[tuple[str, Sql]], *, least: bool) -> Sql:
    """Tests whether the decimal comes before each of the others that are set."""
    tests = [is_set(exact.sql)]
    for kind, sql in others:
        found = compare_decimal("<=" if least else ">=", exact, kind, Value({kind: sql}))
        assert found is not None
        tests.append(any_of([exp.Is(this=exp.Paren(this=sql.copy()), expression=exp.Null()), coalesce(found, FALSE)]))
    return all_of(tests)
