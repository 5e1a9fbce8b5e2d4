"""The functions and aggregates that a query may call. Every one of them has a tested form in each engine; there are no
others."""

from typing import NamedTuple


class Signature(NamedTuple):
    shown: str  # as it is written in a query
    least: int
    most: int | None  # None for any number
    does: str


FUNCTIONS: dict[str, Signature] = {
    # presence and kind
    "has": Signature("has(e, …)", 1, None, "true if every value is there, even if it is null"),
    "missing": Signature("missing(e, …)", 1, None, "true if one of the values is not there"),
    "coalesce": Signature(
        "coalesce(e, …)", 1, None, "the first value that is neither missing nor null; null if there is none"
    ),
    "is": Signature('is(e, "kind")', 2, 2, "true if the value is of that kind"),
    "typeof": Signature("typeof(e)", 1, 1, "the type in full, a record with its fields"),
    "kind": Signature("kind(e)", 1, 1, "null, bool, int, float, string, time, record, array …"),
    "is_error": Signature("is_error(cast)", 1, 1, "true if the cast fails on a value that is there"),
    # text
    "len": Signature("len(e)", 1, 1, "characters of a string, elements of an array, fields of a record"),
    "lower": Signature("lower(s)", 1, 1, "in lower case, A to Z only"),
    "upper": Signature("upper(s)", 1, 1, "in upper case, a to z only"),
    "trim": Signature("trim(s)", 1, 1, "without the spaces at both ends"),
    "split": Signature("split(s, separator)", 2, 2, "an array of the parts"),
    "join": Signature("join(array, separator)", 2, 2, "the strings of an array as one string"),
    "replace": Signature("replace(s, old, new)", 3, 3, "every occurrence of a text replaced"),
    "regexp": Signature("regexp(/re/, s)", 2, 2, "an array of the whole match and its groups; null without a match"),
    "regexp_replace": Signature("regexp_replace(s, /re/, new)", 3, 3, "every match replaced"),
    "grep": Signature("grep(pattern [, e])", 1, 2, "true if the text, /re/ or glob* is found in e, or in the row"),
    "substr": Signature("substr(s, start [, length])", 2, 3, "a part, counted from 0"),
    "levenshtein": Signature(
        "levenshtein(a, b)",
        2,
        2,
        "how many characters must be inserted, deleted or replaced to get b from a",
    ),
    # numbers
    "abs": Signature("abs(n)", 1, 1, "the absolute value"),
    "ceil": Signature("ceil(n)", 1, 1, "the next whole number up"),
    "floor": Signature("floor(n)", 1, 1, "the next whole number down"),
    "round": Signature("round(n [, digits])", 1, 2, "to the nearest, halves away from zero"),
    "pow": Signature("pow(n, exponent)", 2, 2, "a power, as a float"),
    "sqrt": Signature("sqrt(n)", 1, 1, "the square root"),
    "log": Signature("log(n)", 1, 1, "the natural logarithm"),
    # time
    "now": Signature("now()", 0, 0, "when the query began"),
    "bucket": Signature("bucket(t, duration)", 2, 2, "the start of the time span that contains t; also for numbers"),
    "every": Signature("every(duration)", 1, 1, "bucket of the field `ts`"),
    "strftime": Signature('strftime("%Y-%m-%d", t)', 2, 2, "a time as text"),
    "parse_time": Signature('parse_time(s [, "%d.%m.%Y"])', 1, 2, "text as a time"),
    # encodings
    "base64": Signature("base64(s)", 1, 1, "the UTF-8 bytes in Base64"),
    "hex": Signature("hex(s)", 1, 1, "the UTF-8 bytes in hexadecimal digits"),
    "parse_json": Signature("parse_json(s)", 1, 1, "the value that a JSON text stands for"),
    "to_json": Signature("to_json(e)", 1, 1, "a value as JSON text"),
    # networks
    "cidr_match": Signature("cidr_match(10.0.0.0/8, e)", 2, 2, "true if the address is in the network"),
    # casts; one that fails gives null
    "int64": Signature("int64(e)", 1, 1, "as a whole number"),
    "float64": Signature("float64(e)", 1, 1, "as a float"),
    "string": Signature("string(e)", 1, 1, "as text"),
    "time": Signature("time(e)", 1, 1, "as a time"),
    "duration": Signature("duration(e)", 1, 1, "as a duration"),
    "bool": Signature("bool(e)", 1, 1, "as true or false"),
    "ip": Signature("ip(e)", 1, 1, "as an address, in canonical form"),
}

CONDITIONS = ("has", "missing", "is", "is_error", "grep", "cidr_match", "bool")  # they return true or false


AGGREGATES: dict[str, Signature] = {
    "count": Signature("count([e])", 0, 1, "the number of rows, or of those where e is neither missing nor null"),
    "sum": Signature("sum(e)", 1, 1, "the sum of the numbers"),
    "avg": Signature("avg(e)", 1, 1, "the average of the numbers"),
    "min": Signature("min(e)", 1, 1, "the least value, of all kinds in the order of `sort`"),
    "max": Signature("max(e)", 1, 1, "the greatest value, of all kinds in the order of `sort`"),
    "any": Signature("any(e)", 1, 1, "any one of the values"),
    "first": Signature(
        "first(e)", 1, 1, "the first value in the order of the rows, even if it is null; missing values are skipped"
    ),
    "last": Signature(
        "last(e)", 1, 1, "the last value in the order of the rows, even if it is null; missing values are skipped"
    ),
    "collect": Signature("collect(e)", 1, 1, "an array of all values, nulls too, in the order of the rows"),
    "union": Signature("union(e)", 1, 1, "an array of the distinct values, sorted"),
    "dcount": Signature("dcount(e)", 1, 1, "the number of distinct values, as countdistinct"),
    "countdistinct": Signature("countdistinct(e)", 1, 1, "the exact number of distinct values"),
    "stddev": Signature("stddev(e)", 1, 1, "the standard deviation of a sample"),
    "quantile": Signature(
        "quantile(e, 0.95)", 2, 2, "the value below which this share of the values lies, interpolated"
    ),
    "and": Signature("and(e)", 1, 1, "true if all values are true"),
    "or": Signature("or(e)", 1, 1, "true if one value is true"),
    "fuse": Signature("fuse(e)", 1, 1, "one type that fits all, as text"),
}
