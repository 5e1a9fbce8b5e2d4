"""The functions and aggregates that a query may call. One that is not here does not exist: each has a tested form in
every engine."""

from typing import NamedTuple


class Signature(NamedTuple):
    shown: str  # as it is called
    least: int
    most: int | None  # None: as many as one likes
    does: str


FUNCTIONS: dict[str, Signature] = {
    # presence and kind
    "has": Signature("has(e, …)", 1, None, "true where every one is there, be it null"),
    "missing": Signature("missing(e, …)", 1, None, "true where one of them is not there"),
    "coalesce": Signature("coalesce(e, …)", 1, None, "the first that is neither missing nor null; null where all are"),
    "is": Signature('is(e, "kind")', 2, 2, "true where the value is of that kind"),
    "typeof": Signature("typeof(e)", 1, 1, "the type in full, a record with its fields"),
    "kind": Signature("kind(e)", 1, 1, "null, bool, int, float, string, time, record, array …"),
    "is_error": Signature("is_error(cast)", 1, 1, "true where the cast fails on a value that is there"),
    # text
    "len": Signature("len(e)", 1, 1, "characters of a string, elements of an array, fields of a record"),
    "lower": Signature("lower(s)", 1, 1, "with small letters, A to Z only"),
    "upper": Signature("upper(s)", 1, 1, "with capital letters, a to z only"),
    "trim": Signature("trim(s)", 1, 1, "without the spaces at both ends"),
    "split": Signature("split(s, separator)", 2, 2, "an array of the parts"),
    "join": Signature("join(array, separator)", 2, 2, "the strings of an array as one"),
    "replace": Signature("replace(s, old, new)", 3, 3, "every occurrence of a text replaced"),
    "regexp": Signature("regexp(/re/, s)", 2, 2, "an array of the whole match and its groups; null without a match"),
    "regexp_replace": Signature("regexp_replace(s, /re/, new)", 3, 3, "every match replaced"),
    "grep": Signature("grep(pattern [, e])", 1, 2, "true where the text, /re/ or glob* is found in e, or in the row"),
    "substr": Signature("substr(s, start [, length])", 2, 3, "a part, counted from 0"),
    "levenshtein": Signature(
        "levenshtein(a, b)",
        2,
        2,
        "how many characters must be put in, taken out or changed to make the one of the other",
    ),
    # numbers
    "abs": Signature("abs(n)", 1, 1, "without the sign"),
    "ceil": Signature("ceil(n)", 1, 1, "the next whole number up"),
    "floor": Signature("floor(n)", 1, 1, "the next whole number down"),
    "round": Signature("round(n [, digits])", 1, 2, "to the nearest, halves away from zero"),
    "pow": Signature("pow(n, exponent)", 2, 2, "a power, as a float"),
    "sqrt": Signature("sqrt(n)", 1, 1, "the square root"),
    "log": Signature("log(n)", 1, 1, "the natural logarithm"),
    # time
    "now": Signature("now()", 0, 0, "when the query began"),
    "bucket": Signature("bucket(t, duration)", 2, 2, "the beginning of the time span that t lies in; also for numbers"),
    "every": Signature("every(duration)", 1, 1, "bucket of the field `ts`"),
    "strftime": Signature('strftime("%Y-%m-%d", t)', 2, 2, "a time as text"),
    "parse_time": Signature('parse_time(s [, "%d.%m.%Y"])', 1, 2, "text as a time"),
    # encodings
    "base64": Signature("base64(s)", 1, 1, "the UTF-8 bytes in Base64"),
    "hex": Signature("hex(s)", 1, 1, "the UTF-8 bytes in hexadecimal digits"),
    "parse_json": Signature("parse_json(s)", 1, 1, "the value that a JSON text stands for"),
    "to_json": Signature("to_json(e)", 1, 1, "a value as JSON text"),
    # networks
    "cidr_match": Signature("cidr_match(10.0.0.0/8, e)", 2, 2, "true where the address lies in the network"),
    # casts; one that fails gives null
    "int64": Signature("int64(e)", 1, 1, "as a whole number"),
    "float64": Signature("float64(e)", 1, 1, "as a float"),
    "string": Signature("string(e)", 1, 1, "as text"),
    "time": Signature("time(e)", 1, 1, "as a time"),
    "duration": Signature("duration(e)", 1, 1, "as a duration"),
    "bool": Signature("bool(e)", 1, 1, "as true or false"),
    "ip": Signature("ip(e)", 1, 1, "as an address, in canonical form"),
}

CONDITIONS = ("has", "missing", "is", "is_error", "grep", "cidr_match", "bool")  # they give true or false

CASTS = ("int64", "float64", "string", "time", "duration", "bool", "ip")

AGGREGATES: dict[str, Signature] = {
    "count": Signature("count([e])", 0, 1, "rows, or those where e is neither missing nor null"),
    "sum": Signature("sum(e)", 1, 1, "of the numbers"),
    "avg": Signature("avg(e)", 1, 1, "of the numbers"),
    "min": Signature("min(e)", 1, 1, "the least, of all kinds in the order of `sort`"),
    "max": Signature("max(e)", 1, 1, "the greatest, of all kinds in the order of `sort`"),
    "any": Signature("any(e)", 1, 1, "one of them, whichever"),
    "first": Signature("first(e)", 1, 1, "the first in the order of the rows, be it null; a missing one is skipped"),
    "last": Signature("last(e)", 1, 1, "the last in the order of the rows, be it null; a missing one is skipped"),
    "collect": Signature("collect(e)", 1, 1, "an array of all, nulls too, in the order of the rows"),
    "union": Signature("union(e)", 1, 1, "an array of the different ones, sorted"),
    "dcount": Signature("dcount(e)", 1, 1, "how many different ones, as countdistinct"),
    "countdistinct": Signature("countdistinct(e)", 1, 1, "exactly how many different ones"),
    "stddev": Signature("stddev(e)", 1, 1, "the standard deviation of a sample"),
    "quantile": Signature("quantile(e, 0.95)", 2, 2, "the value below which this share lies, interpolated"),
    "and": Signature("and(e)", 1, 1, "true where all are"),
    "or": Signature("or(e)", 1, 1, "true where one is"),
    "fuse": Signature("fuse(e)", 1, 1, "one type that fits all, as text"),
}
