"""Random syntax trees of the pipe language, for Hypothesis."""

from collections.abc import Collection

from hypothesis import strategies as st

from lochan.query import ast, functions
from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.syntax.sources import LAKE_META, POOL_META

NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "ts", "by", "where", "every", "case", "desc", "from", "count", "in", "OR", "über", "a b", "`", ""]
    ),
    st.text(min_size=1, max_size=4),
)
POOLS = NAMES.filter(bool)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
WORDS = st.text("abcXYZ09_-.:@", min_size=1, max_size=5)

LITERALS = st.one_of(
    st.just(ast.Literal("null", None)),
    st.builds(ast.Literal, st.just("bool"), st.booleans()),
    st.builds(ast.Literal, st.just("int"), st.integers(-(2**63), 2**63 - 1)),
    st.builds(ast.Literal, st.just("float"), st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(ast.Literal, st.just("string"), st.text(max_size=6)),
    st.builds(ast.Literal, st.just("time"), st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)),
    st.builds(ast.Literal, st.just("duration"), st.integers(-(2**63) + 1, 2**63 - 1)),
    st.builds(ast.Literal, st.just("ip"), st.ip_addresses().map(str)),
    st.sampled_from([ast.Literal("net", text) for text in ("10.0.0.0/8", "1.2.3.4/32", "fe80::/10")]),
)
FIELDS = PATHS.map(lambda path: _dotted(path))
REGEXPS = st.builds(ast.Regexp, st.text("ab/.*[] ", min_size=1, max_size=5).filter(lambda text: text[0] != "*"))
GLOBS = st.builds(ast.Glob, st.tuples(WORDS, WORDS).map("*".join).filter(lambda text: text[0] not in "-*"))
COMPARED = ["==", "!=", "<", "<=", ">", ">=", "in", "like"]
PATTERN_TAKERS = ("grep", "regexp", "regexp_replace")


def _dotted(path: tuple[str, ...]) -> ast.Expr:
    value: ast.Expr = ast.Name(path[0])
    for name in path[1:]:
        value = ast.Dot(value, name)
    return value


def _larger(below: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    return st.one_of(
        st.builds(ast.Dot, below.filter(lambda value: value != ast.This()), NAMES),
        st.builds(ast.Index, below, below),
        st.builds(ast.Slice, below, st.none() | below, st.none() | below),
        st.builds(ast.Unary, st.sampled_from(["-", "not"]), below),
        st.builds(ast.Binary, st.sampled_from([*COMPARED, "and", "or", *"+-*/%"]), below, below),
        st.builds(ast.Between, below, below, below),
        st.builds(ast.Conditional, below, below, below),
        st.builds(ast.ListOf, st.lists(below, max_size=3).map(tuple)),
        st.builds(ast.RecordOf, st.lists(st.tuples(st.none() | NAMES, below), max_size=3).map(tuple)),
        st.builds(ast.Call, st.just("grep"), st.tuples(REGEXPS | GLOBS, below)),
        st.builds(ast.Call, st.just("regexp_replace"), st.tuples(below, REGEXPS, below)),
        _calls(below),
    )


@st.composite
def _calls(draw: st.DrawFn, below: st.SearchStrategy[ast.Expr], names: Collection[str] = tuple(FUNCTIONS)) -> ast.Call:
    name = draw(st.sampled_from(sorted(set(names) - set(PATTERN_TAKERS))))
    least, most = FUNCTIONS[name].least, FUNCTIONS[name].most
    return ast.Call(name, tuple(draw(st.lists(below, min_size=least, max_size=3 if most is None else most))))


EXPRESSIONS: st.SearchStrategy[ast.Expr] = st.recursive(LITERALS | FIELDS | st.just(ast.This()), _larger, max_leaves=8)

CONDITIONS = st.one_of(
    st.builds(ast.Binary, st.sampled_from(COMPARED), EXPRESSIONS, EXPRESSIONS),
    st.builds(ast.Between, EXPRESSIONS, EXPRESSIONS, EXPRESSIONS),
    _calls(EXPRESSIONS, functions.CONDITIONS),
)
TERMS = st.builds(ast.Term, st.text(min_size=1, max_size=5) | REGEXPS | GLOBS)
SEARCHES = st.recursive(
    TERMS | CONDITIONS,
    lambda below: (
        st.builds(ast.Binary, st.sampled_from(["and", "or"]), below, below)
        | st.builds(ast.Unary, st.just("not"), below)
    ),
    max_leaves=5,
)

ASSIGNED = st.one_of(
    st.builds(ast.Assigned, PATHS, EXPRESSIONS),
    st.builds(ast.Assigned, st.just(()), FIELDS | _calls(EXPRESSIONS)),
)
NAMED = st.builds(ast.Assigned, PATHS, EXPRESSIONS)
SORT_KEYS = st.lists(st.builds(ast.SortKey, EXPRESSIONS, st.booleans(), st.booleans()), min_size=1, max_size=2).map(
    tuple
)
COUNTS = st.integers(0, 10**6)


@st.composite
def _aggregated(draw: st.DrawFn) -> ast.Assigned:
    name = draw(st.sampled_from(sorted(AGGREGATES)))
    signature = AGGREGATES[name]
    arguments = draw(st.lists(EXPRESSIONS, min_size=signature.least, max_size=signature.most))
    distinct = bool(arguments) and draw(st.booleans())
    call = ast.Call(name, tuple(arguments), draw(st.none() | EXPRESSIONS), distinct)
    return ast.Assigned(draw(st.just(()) | PATHS), call)


@st.composite
def _aggregates(draw: st.DrawFn) -> ast.Aggregate:
    values = tuple(draw(st.lists(_aggregated(), max_size=2)))
    keys = tuple(draw(st.lists(ASSIGNED, max_size=2)))
    every = draw(st.none() | st.integers(1, 10**12)) if values or keys else 1
    return ast.Aggregate(values, keys, every)


@st.composite
def _sources(draw: st.DrawFn) -> ast.Source:
    ref = draw(st.sampled_from(["", "dev", "main~2", "{2026-11-01T10:00Z}", "dev@{2 hours ago}", "1tRxi7zj"]))
    match draw(st.sampled_from(["rows", "many", "files", "meta", "lake"])):
        case "lake":
            return ast.Source(None, draw(st.sampled_from(["", "{2026-11-01}"])), meta=draw(st.sampled_from(LAKE_META)))
        case "meta":
            return ast.Source(draw(POOLS), ref, meta=draw(st.sampled_from(POOL_META)), tap=draw(st.booleans()))
        case "files":
            return ast.Source(draw(POOLS), ref, path=draw(st.sampled_from(["a/*.parquet", "a b.csv", "'", "x:y"])))
        case "many":
            return ast.Source(draw(st.builds(ast.Glob, st.sampled_from(["log*", "?og"])) | REGEXPS), ref)
    low, high = draw(st.tuples(LITERALS, LITERALS) | st.just((None, None)))
    return ast.Source(draw(POOLS), ref, no_key=draw(st.booleans()), low=low, high=high)


SIMPLE = st.one_of(
    st.builds(ast.Where, EXPRESSIONS),
    st.builds(ast.Where, SEARCHES),
    st.builds(ast.Cut, st.lists(ASSIGNED, min_size=1, max_size=2).map(tuple)),
    st.builds(ast.Put, st.lists(NAMED, min_size=1, max_size=2).map(tuple)),
    st.builds(ast.Drop, st.lists(PATHS, min_size=1, max_size=2).map(tuple)),
    st.builds(ast.Rename, st.lists(st.tuples(PATHS, PATHS), min_size=1, max_size=2).map(tuple)),
    st.builds(ast.Sort, SORT_KEYS),
    st.builds(ast.Sort, st.just(()), st.booleans()),
    st.builds(ast.Head, COUNTS),
    st.builds(ast.Tail, COUNTS),
    st.builds(ast.Sample, COUNTS),
    st.builds(ast.Top, COUNTS, SORT_KEYS),
    st.builds(ast.Uniq, st.booleans()),
    _aggregates(),
    st.builds(ast.Yield, st.lists(EXPRESSIONS, min_size=1, max_size=2).map(tuple)),
    st.builds(ast.Over, st.lists(EXPRESSIONS, min_size=1, max_size=2).map(tuple)),
    st.just(ast.Fuse()),
    st.builds(ast.Load, POOLS, st.sampled_from(["", "dev"]), st.text(max_size=5)),
)


def _branching(arms: st.SearchStrategy[ast.Pipe]) -> st.SearchStrategy[ast.Operator]:
    joins = st.builds(
        ast.Join,
        st.sampled_from(["inner", "left", "right", "anti"]),
        _begun(arms),
        EXPRESSIONS,
        EXPRESSIONS,
        st.lists(ASSIGNED, max_size=2).map(tuple),
    )
    cases = st.lists(st.tuples(EXPRESSIONS, arms), min_size=1, max_size=2)
    default = st.lists(st.tuples(st.none(), arms), max_size=1)
    return st.one_of(
        joins,
        st.builds(ast.Union, _begun(arms)),
        st.builds(ast.Fork, st.lists(arms, min_size=1, max_size=3).map(tuple)),
        st.builds(
            ast.Switch, st.none() | EXPRESSIONS, st.tuples(cases, default).map(lambda both: tuple(both[0] + both[1]))
        ),
    )


def _begun(arms: st.SearchStrategy[ast.Pipe]) -> st.SearchStrategy[ast.Pipe]:
    froms = st.builds(ast.From, st.lists(_sources(), min_size=1, max_size=2).map(tuple))
    return st.tuples(froms, arms).map(lambda both: ast.Pipe((both[0], *both[1].operators)))


ARMS = st.recursive(
    st.lists(SIMPLE, max_size=2).map(lambda operators: ast.Pipe(tuple(operators))),
    lambda below: st.lists(_branching(below), max_size=1).map(lambda operators: ast.Pipe(tuple(operators))),
    max_leaves=3,
)
PIPES = _begun(ARMS) | ARMS
