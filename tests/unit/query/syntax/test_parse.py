"""The meaning of each form."""

import pytest

from lochan.query import ast
from lochan.query.ast import Aggregate, Assigned, Binary, Call, Dot, Expr, Literal, Name, SortKey, Source, Term, Where
from lochan.query.syntax.parse import parse

A, B, C = Name("a"), Name("b"), Name("c")
COUNT = Call("count", ())


def one(text: str) -> ast.Operator:
    (operator,) = parse(text).operators
    return operator


def whole(value: int) -> Literal:
    return Literal("int", value)


def equal(left: Expr, right: Expr) -> Binary:
    return Binary("==", left, right)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("logs", Source("logs")),
        ("demo-repo", Source("demo-repo")),
        ("logs@dev", Source("logs", "dev")),
        ("logs@main~2", Source("logs", "main~2")),
        ("logs@1tRxi7zjT7oKxCBwwZ0rbaiLRxb", Source("logs", "1tRxi7zjT7oKxCBwwZ0rbaiLRxb")),
        ("logs@{2026-11-01T10:00Z}", Source("logs", "{2026-11-01T10:00Z}")),
        ("logs@dev@{2 hours ago}", Source("logs", "dev@{2 hours ago}")),
        ("logs range 10 to -20", Source("logs", low=whole(10), high=whole(-20))),
        ('logs range "a" to "b"', Source("logs", low=Literal("string", "a"), high=Literal("string", "b"))),
        ("logs.$nokey", Source("logs", no_key=True)),
        ("logs.$nokey@dev", Source("logs", "dev", no_key=True)),
        ("log*", Source(ast.Glob("log*"))),
        ("/log.*/", Source(ast.Regexp("log.*"))),
        ("sales@main/2026/*.parquet", Source("sales", "main", "2026/*.parquet")),
        ("sales/a:b.csv", Source("sales", path="a:b.csv")),
        ('sales@main/"a b.csv"', Source("sales", "main", "a b.csv")),
        ("'a name with spaces'@dev", Source("a name with spaces", "dev")),
        (":pools", Source(None, meta="pools")),
        (":pools@{2026-11-01}", Source(None, "{2026-11-01}", meta="pools")),
        ("logs:branches", Source("logs", meta="branches")),
        ("logs:branches@{2026-11-01}", Source("logs", "{2026-11-01}", meta="branches")),
        ("logs@live:objects", Source("logs", "live", meta="objects")),
        ("logs@live:objects tap", Source("logs", "live", meta="objects", tap=True)),
    ],
)
def test_sources(text: str, source: Source) -> None:
    assert one(f"from {text}") == ast.From((source,))
    assert parse(f"from a, {text}, b").operators == (ast.From((Source("a"), source, Source("b"))),)


def test_a_source_is_optional() -> None:
    assert parse("head 3").operators == (ast.Head(3),)
    assert parse("from logs | head 3").operators == (ast.From((Source("logs"),)), ast.Head(3))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", whole(1)),
        ("-9223372036854775808", whole(-(2**63))),
        ("1.5", Literal("float", 1.5)),
        ("1.5e3", Literal("float", 1500.0)),
        ("1e3", Literal("float", 1000.0)),
        ('"s"', Literal("string", "s")),
        ("'s'", Literal("string", "s")),
        (r'"\"\\\n\u00e9\u{1f600}"', Literal("string", '"\\\né😀')),
        ("true", Literal("bool", True)),
        ("null", Literal("null", None)),
        ("2026-11-01T10:00:00Z", Literal("time", 1_793_527_200_000_000)),
        ("2026-11-01T12:00:00.000001+02:00", Literal("time", 1_793_527_200_000_001)),
        ("2026-11-01", Literal("time", 1_793_491_200_000_000)),
        ("1h30m", Literal("duration", 5_400_000_000)),
        ("1.5s", Literal("duration", 1_500_000)),
        ("10.0.0.1", Literal("ip", "10.0.0.1")),
        ("2001:DB8:0::1", Literal("ip", "2001:db8::1")),
        ("10.1.2.3/8", Literal("net", "10.0.0.0/8")),
        ("[1, a]", ast.ListOf((whole(1), A))),
        ("{a: 1, b, a.c, ...c, `x y`: 2}", None),
        ("this", ast.This()),
        ("this.a", A),
        ("`odd name`", Name("odd name")),
        ("a.b.c", Dot(Dot(A, "b"), "c")),
        ("a[0]", ast.Index(A, whole(0))),
        ("a[1:]", ast.Slice(A, whole(1), None)),
        ("a[:-1].b", Dot(ast.Slice(A, None, whole(-1)), "b")),
    ],
)
def test_values(text: str, value: Expr | None) -> None:
    found = one(f"yield {text}")
    assert isinstance(found, ast.Yield)
    if value is None:
        value = ast.RecordOf((("a", whole(1)), ("b", B), ("c", Dot(A, "c")), (None, C), ("x y", whole(2))))
    assert found.values == (value,)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a + b == c * 2", "(a + b) == (c * 2)"),
        ("not a == b", "not (a == b)"),
        ("not a and b", "(not a) and b"),
        ("!a == b", "(not a) == b"),
        ("a or b and c", "a or (b and c)"),
        ("a == 1 ? b : c ? 1 : 2", "(a == 1) ? b : (c ? 1 : 2)"),
        ("-a.b", "-(a.b)"),
        ("a between 1 and 2 and b", "(a between 1 and 2) and b"),
        ("a not in [1] or a not like 'x'", "(not (a in [1])) or (not (a like 'x'))"),
        ("a in (1, 2)", "a in [1, 2]"),
        ("a in (1)", "a in [1]"),
        ("a in (b)", "a in b"),
        ("a ~ /x/", "grep(/x/, a)"),
        ("a ~ x*", "grep(x*, a)"),
        ("a -- to the end\n == /* within */ 1", "a == 1"),
    ],
)
def test_precedence(text: str, same_as: str) -> None:
    assert parse(f"where {text}") == parse(f"where {same_as}")


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("error", Term("error")),
        ('"two words"', Term("two words")),
        ("web-1.example.com", Term("web-1.example.com")),
        ("404", Term("404")),
        ("web*", Term(ast.Glob("web*"))),
        ("/ti.*out/", Term(ast.Regexp("ti.*out"))),
        ("a b", Binary("and", Term("a"), Term("b"))),
        ("a and b", Binary("and", Term("a"), Term("b"))),
        ("a or not b", Binary("or", Term("a"), ast.Unary("not", Term("b")))),
        ("a (b or c)", Binary("and", Term("a"), Binary("or", Term("b"), Term("c")))),
        ("a /b/", Binary("and", Term("a"), Term(ast.Regexp("b")))),
        ("a* b", Binary("and", Term(ast.Glob("a*")), Term("b"))),
        ("a == 1", equal(A, whole(1))),
        ("a == 1 error", Binary("and", equal(A, whole(1)), Term("error"))),
        ("(a + b) * 2 == 4", equal(Binary("*", Binary("+", A, B), whole(2)), whole(4))),
        ("has(a)", Call("has", (A,))),
        ("not has(a)", ast.Unary("not", Call("has", (A,)))),
        ("true", Literal("bool", True)),
        ("a ? b : c", ast.Conditional(A, B, C)),
        ("head == 1", equal(Name("head"), whole(1))),
        ("from.a == 1", equal(Dot(Name("from"), "a"), whole(1))),
        ('join(a, ",") == "x"', equal(Call("join", (A, Literal("string", ","))), Literal("string", "x"))),
    ],
)
def test_what_stands_alone_is_a_condition_or_a_search(text: str, test: Expr) -> None:
    assert one(text) == Where(test)
    if not isinstance(test, Literal | ast.Conditional):
        assert one(f"search {text}") == Where(test)


def test_where_takes_fields_where_a_search_takes_words() -> None:
    assert one("where ok and a == 1") == Where(Binary("and", Name("ok"), equal(A, whole(1))))
    assert one("ok and a == 1") == Where(Binary("and", Term("ok"), equal(A, whole(1))))


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("cut a, b.c, d:=a+1", "select a, b.c, d := a + 1"),
        ("put d:=1", "d := 1"),
        ("yield a", "values a"),
        ("over a, b", "unnest a, b"),
        ("summarize count() by a", "count() by a"),
        ("aggregate count(), sum(b) by a every 1h", "count(), sum(b) every 60m by a"),
        ("by a, c:=lower(b)", "summarize by a, c:=lower(b)"),
        ("count(*)", "count()"),
        ("head", "head 1"),
        ("sort -r a, b asc", "sort a desc, b"),
        ("join (from b) on id", "inner join (from b) on id == id"),
        ("union(from b)", "union (from b)"),
    ],
)
def test_synonyms(text: str, operator: str) -> None:
    assert parse(text) == parse(operator)


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("cut a, b.c, d:=e", ast.Cut((Assigned((), A), Assigned((), Dot(B, "c")), Assigned(("d",), Name("e"))))),
        ("put a.b:=1", ast.Put((Assigned(("a", "b"), whole(1)),))),
        ("drop a, b.c", ast.Drop((("a",), ("b", "c")))),
        ("rename a.x:=a.y", ast.Rename(((("a", "x"), ("a", "y")),))),
        ("sort", ast.Sort(())),
        ("sort -r", ast.Sort((), reverse=True)),
        ("sort a desc nulls first, b", ast.Sort((SortKey(A, True, True), SortKey(B)))),
        ("tail 5", ast.Tail(5)),
        ("top 5 a, b asc", ast.Top(5, (SortKey(A, True), SortKey(B, False)))),
        ("uniq", ast.Uniq(False)),
        ("uniq -c", ast.Uniq(True)),
        ("sample", ast.Sample(1)),
        ("sample 3", ast.Sample(3)),
        ("fuse", ast.Fuse()),
        ("count()", Aggregate((Assigned((), COUNT),), ())),
        ("every 1h", Where(Binary("and", Term("every"), Term("1h")))),
        ("n:=count() by a every 1h", Aggregate((Assigned(("n",), COUNT),), (Assigned((), A),), 3_600_000_000)),
        (
            "sum(a) where b > 1, c:=count(distinct a)",
            Aggregate(
                (
                    Assigned((), Call("sum", (A,), Binary(">", B, whole(1)))),
                    Assigned(("c",), Call("count", (A,), distinct=True)),
                ),
                (),
            ),
        ),
        ("union(a) by b", Aggregate((Assigned((), Call("union", (A,))),), (Assigned((), B),))),
        ("and(a), or(b)", Aggregate((Assigned((), Call("and", (A,))), Assigned((), Call("or", (B,)))), ())),
        ("load logs", ast.Load("logs")),
        ('load logs@dev message "why"', ast.Load("logs", "dev", "why")),
        (
            "anti join (from b | a==1) on a=b.c x, y:=z",
            ast.Join(
                "anti",
                ast.Pipe((ast.From((Source("b"),)), Where(equal(A, whole(1))))),
                A,
                Dot(B, "c"),
                (Assigned((), Name("x")), Assigned(("y",), Name("z"))),
            ),
        ),
        (
            "fork (=> head 1 => error | tail 1 => pass)",
            ast.Fork(
                (
                    ast.Pipe((ast.Head(1),)),
                    ast.Pipe((Where(Term("error")), ast.Tail(1))),
                    ast.Pipe(()),
                )
            ),
        ),
        (
            "switch (case a == 1 => error default => sort)",
            ast.Switch(
                None,
                ((equal(A, whole(1)), ast.Pipe((Where(Term("error")),))), (None, ast.Pipe((ast.Sort(()),)))),
            ),
        ),
        (
            'switch kind(a) (case "int" => put b:=1 case "string" => pass)',
            ast.Switch(
                Call("kind", (A,)),
                (
                    (Literal("string", "int"), ast.Pipe((ast.Put((Assigned(("b",), whole(1)),)),))),
                    (Literal("string", "string"), ast.Pipe(())),
                ),
            ),
        ),
    ],
)
def test_operators(text: str, operator: ast.Operator) -> None:
    assert one(text) == operator


def test_a_node_knows_its_place() -> None:
    text = "from logs |\n  status >= 500"
    source, where = parse(text).operators
    assert isinstance(source, ast.From) and isinstance(where, Where) and isinstance(where.test, Binary)
    assert [text[slice(*node.span)] for node in (source, source.sources[0], where.test, where.test.right)] == [
        "from logs",
        "logs",
        "status >= 500",
        "500",
    ]
