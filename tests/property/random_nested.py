"""Random queries in which conditions stand outside of the queries that read the rows: WITH, queries in FROM, unions,
joins, groups and windows, and pipes with as many operators. Every LIMIT has an order without ties, so that there is one
right answer."""

from __future__ import annotations

from random import Random

POOLS = ("p", "q", "r")
FIELDS = ("k", "s", "n", "t", "x")  # k is the key; n is another in every row of a pool; t is only in some objects
_OPS = ("=", "=", "<", "<=", ">", ">=", "<>")
_JOINS = ("join", "left join", "right join", "full join", "semi join", "anti join")
_SETS = ("union all", "union all", "union", "intersect", "except")


def sql(random: Random) -> str:
    return _Sql(random).query()


def pipe(random: Random) -> str:
    steps = [_step(random, 0) for _ in range(random.randrange(1, 5))]
    return " | ".join((f"from {', '.join(random.sample(POOLS, random.choice((1, 1, 2))))}", *steps, _piped(random)))


def _literal(random: Random, field: str) -> str:
    if field in "ts" and random.random() < 0.8:
        return random.choice(("'a'", "'c'", "'e'", "'2026-11-02T10:00:00Z'"))
    return str(random.choice((0, 1, 3, 4, 7, 9, 11, 2.5, 5.0)))


# --- SQL --------------------------------------------------------------------------------------------------------------
class _Sql:
    """Every query within it has the columns of FIELDS, under these names."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._named: list[str] = []
        self._aliases = 0

    def query(self) -> str:
        random = self._random
        written = []
        for at in range(random.randrange(3)):
            written.append(f"w{at} as ({self._rows(2)})")
            self._named.append(f"w{at}")
        body = self._body()
        return f"with {', '.join(written)} {body}" if written else body

    def _body(self) -> str:
        rows, random = self._rows(3), self._random
        if random.random() < 0.3:
            return f"select count(*) as c, sum(n) as total, min(s) as least from ({rows}) z where {self._test('z')}"
        return f"select * from ({rows}) z where {self._test('z')}"

    def _rows(self, depth: int) -> str:
        forms = [self._plain, self._chosen, self._chosen]
        if depth > 0:
            forms += [self._joined, self._combined, self._grouped, self._windowed, self._cut, self._within]
        return self._random.choice(forms)(depth - 1)

    def _table(self, depth: int) -> str:
        """And its alias."""
        random = self._random
        self._aliases += 1
        alias = f"a{self._aliases}"
        if depth > 0 and random.random() < 0.5:
            return f"({self._rows(depth)}) {alias}"
        return f"{random.choice((*POOLS, *self._named, *self._named))} {alias}"

    def _shown(self, alias: str) -> str:
        """The fields of the table, now and then one in the place of another."""
        random = self._random
        if random.random() < 0.15:
            return ", ".join(f"{alias}.{random.choice(FIELDS)} as {name}" for name in FIELDS)
        return ", ".join(f"{alias}.{name} as {name}" for name in FIELDS)

    def _plain(self, depth: int) -> str:
        table = self._table(depth)
        return f"select {self._shown(table.split()[-1])} from {table}"

    def _chosen(self, depth: int) -> str:
        table = self._table(depth)
        alias = table.split()[-1]
        distinct = self._random.choice(("", "", "distinct "))
        return f"select {distinct}{self._shown(alias)} from {table} where {self._test(alias)}"

    def _joined(self, depth: int) -> str:
        random = self._random
        left, right = self._table(depth), self._table(depth)
        one, other = left.split()[-1], right.split()[-1]
        join = random.choice(_JOINS)
        on = f"{one}.{random.choice('nk')} = {other}.{random.choice('nk')}"
        if random.random() < 0.5:
            on += f" and {self._test(random.choice((one, other)))}"
        shown = [random.choice((one, other)) if join[:4] not in ("semi", "anti") else one for _ in FIELDS]
        columns = ", ".join(f"{alias}.{name} as {name}" for alias, name in zip(shown, FIELDS, strict=True))
        where = f" where {self._test(random.choice(shown))}" if random.random() < 0.6 else ""
        return f"select {columns} from {left} {join} {right} on {on}{where}"

    def _combined(self, depth: int) -> str:
        return f"{self._plain(depth)} {self._random.choice(_SETS)} {self._chosen(depth)}"

    def _grouped(self, depth: int) -> str:
        random = self._random
        table = self._table(depth)
        alias = table.split()[-1]
        keys = random.sample(FIELDS, random.randrange(1, 4))
        values = [f"{alias}.{name}" if name in keys else f"max({alias}.n)" for name in FIELDS]
        shown = ", ".join(f"{value} as {name}" for value, name in zip(values, FIELDS, strict=True))
        group = ", ".join(f"{alias}.{name}" for name in keys)
        having = random.choice(("", f" having {alias}.{keys[0]} > {_literal(random, keys[0])}", " having count(*) > 1"))
        return f"select {shown} from {table} group by {group}{having}"

    def _windowed(self, depth: int) -> str:
        random = self._random
        table = self._table(depth)
        alias = table.split()[-1]
        parts = ", ".join(f"{alias}.{name}" for name in random.sample(FIELDS, random.randrange(3)))
        over = f"over ({f'partition by {parts}' if parts else ''})"
        counted, rest = random.choice(("x", "t")), [each for each in FIELDS if each != "x"]
        names = FIELDS if counted == "t" else (*rest, "x")
        shown = ", ".join(
            f"{random.choice(('count(*)', f'max({alias}.n)'))} {over} as {name}"
            if name == counted
            else f"{alias}.{name} as {name}"
            for name in names
        )
        qualify = random.choice(("", "", f" qualify count(*) {over} > 1"))
        return f"select {', '.join(_in_order(shown))} from {table}{qualify}"

    def _cut(self, depth: int) -> str:
        """The rows before and behind the cut have different n, k and all else."""
        table = self._table(depth)
        alias = table.split()[-1]
        order = ", ".join(f"{alias}.{name}" for name in FIELDS)
        return f"(select {self._shown(alias)} from {table} order by {order} limit {self._random.choice((1, 3, 8))})"

    def _within(self, depth: int) -> str:
        random = self._random
        table = self._table(depth)
        alias = table.split()[-1]
        inner = self._table(depth)
        own = inner.split()[-1]
        test = random.choice(
            (
                f"{alias}.n in (select {own}.n from {inner} where {self._test(own)})",
                f"exists (select 1 from {inner} where {own}.n = {alias}.n and {self._test(own)})",
                f"not exists (select 1 from {inner} where {own}.k = {alias}.k and {self._test(own)})",
                f"{alias}.n > (select min({own}.n) from {inner} where {self._test(own)})",
            )
        )
        return f"select {self._shown(alias)} from {table} where {test}"

    def _test(self, alias: str, depth: int = 0) -> str:
        random = self._random
        field = random.choice("kkksnt")
        column = f"{alias}.{field}"
        chance = random.random()
        if depth < 2 and chance < 0.2:
            return f"({self._test(alias, depth + 1)} {random.choice(('and', 'or'))} {self._test(alias, depth + 1)})"
        if chance < 0.3:
            return f"{column} in ({_literal(random, field)}, {_literal(random, field)})"
        if chance < 0.4:
            return f"{column} between {_literal(random, field)} and {_literal(random, field)}"
        if chance < 0.5:
            return f"{column} is {random.choice(('', 'not '))}null"
        if chance < 0.55:
            return f"not ({self._test(alias, 2)})"
        return f"{column} {random.choice(_OPS)} {_literal(random, field)}"


def _in_order(shown: str) -> list[str]:
    """The columns in the order of FIELDS."""
    by_name = {each.rsplit(" as ", 1)[1]: each for each in shown.split(", ") if " as " in each}
    return [by_name[name] for name in FIELDS] if len(by_name) == len(FIELDS) else [shown]


# --- pipes ------------------------------------------------------------------------------------------------------------
def _step(random: Random, depth: int) -> str:
    forms = [
        _piped(random),
        "cut k, s, n, t",
        f"put {random.choice(('x := k', 's := t', 'x := n + 1', 'k := k'))}",
        random.choice(("rename z := k | rename k := z", "rename y := t", "drop t")),
        random.choice(("sort n", "sort -r k, n", "sort s, n")),
        f"sort k, n, s, t, x | {random.choice(('head 5', 'tail 6', 'uniq'))}",
        f"count() by {random.choice('kst')}",
        f"n := max(n), c := count() by {random.choice(('k', 'k, s'))}",
        "fuse",
    ]
    if depth < 2:
        inner = f"from {random.choice(POOLS)} | {_step(random, depth + 1)}"
        kind = random.choice(("", "left ", "right ", "anti "))
        taken = "" if kind == "anti " else random.choice((" t", " y := k", ""))
        forms += [
            f"union ({inner} | cut k, s, n, t)",
            f"{kind}join ({inner}) on {random.choice('nk')}{taken}",
            f"fork (=> {_step(random, depth + 1)} => {_piped(random)})",
            f"switch (case {_piped(random)} => put x := 1 default => {_step(random, depth + 1)})",
        ]
    return random.choice(forms)


def _piped(random: Random) -> str:
    field = random.choice("kkksnt")
    value = _literal(random, field).replace("'", '"')
    chance = random.random()
    if chance < 0.15:
        return f"{field} in [{value}, 4]"
    if chance < 0.25:
        return f"{field} between {value} and {_literal(random, field)}".replace("'", '"')
    if chance < 0.35:
        return f"({_piped(random)} or {_piped(random)})"
    if chance < 0.45:
        return random.choice((f"missing({field})", f"has({field})", f"not ({field} < {value})"))
    return f"{field} {random.choice(('==', '==', '<', '>=', '!=', '>'))} {value}"
