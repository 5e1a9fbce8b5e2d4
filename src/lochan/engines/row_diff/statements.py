"""Compares rows in SQL that DuckDB and Spark both understand.

    rows           side (0 left, 1 right) · ident · line         a table or view
    differences    change · times · key · before · after · lefts · rights

Without a key, a row that occurs three times on the left and once on the right is removed twice. With a key, a row whose
key is on both sides is changed. Aggregates keep texts only of rows that differ; equal rows need only a count.
"""

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
KEYLESS, REPEATED = "keyless", "repeated"  # for rows that the key does not identify
FIRST = ("change", "times", "key", "before", "after")
SHOWN = (*FIRST, "lefts", "rights")

_COUNTS = "count(*) FILTER (WHERE side = 0) AS l, count(*) FILTER (WHERE side = 1) AS r"


def differences(rows: str, *, keyed: bool) -> str:
    return _by_key(rows) if keyed else _by_line(rows)


def counts(differences: str) -> str:
    """Returns a query for each change with its number of rows."""
    return f"SELECT change, CAST(sum(times) AS BIGINT) AS times FROM {differences} GROUP BY change"


def first(differences: str, limit: int) -> str:
    """Returns a query for the first changes, in an order that does not depend on the execution."""
    return f"SELECT {', '.join(FIRST)} FROM {differences} ORDER BY coalesce(key, before, after), change LIMIT {limit}"


def wrong(differences: str) -> str:
    """Returns a query for a key that is missing or not unique, if there is one."""
    return (
        f"SELECT change, key, before, lefts, rights FROM {differences} "
        f"WHERE change IN ('{KEYLESS}', '{REPEATED}') ORDER BY change, key LIMIT 1"
    )


def _by_line(rows: str) -> str:
    return (
        f"SELECT CASE WHEN l > r THEN '{REMOVED}' ELSE '{ADDED}' END AS change, abs(l - r) AS times, "
        "CAST(NULL AS STRING) AS key, CASE WHEN l > r THEN line END AS before, CASE WHEN l < r THEN line END AS after, "
        f"l AS lefts, r AS rights FROM (SELECT line, {_COUNTS} FROM {rows} GROUP BY line) AS counted WHERE l <> r"
    )


def _by_key(rows: str) -> str:
    """Compares by key. A line that both sides have is not a difference, whatever else has its key. The counts show
    whether a key is repeated."""
    grouped = f"SELECT ident, line, {_COUNTS} FROM {rows} GROUP BY ident, line"
    keys = (
        "SELECT ident AS key, CAST(sum(l) AS BIGINT) AS lefts, CAST(sum(r) AS BIGINT) AS rights, "
        "max(CASE WHEN r = 0 OR ident IS NULL THEN line END) AS before, max(CASE WHEN l = 0 THEN line END) AS after "
        f"FROM ({grouped}) AS counted GROUP BY ident"
    )
    change = (
        f"CASE WHEN key IS NULL THEN '{KEYLESS}' WHEN lefts > 1 OR rights > 1 THEN '{REPEATED}' "
        f"WHEN lefts = 0 THEN '{ADDED}' WHEN rights = 0 THEN '{REMOVED}' ELSE '{CHANGED}' END"
    )
    return (
        f"SELECT {change} AS change, CAST(1 AS BIGINT) AS times, key, before, after, lefts, rights "
        f"FROM ({keys}) AS keys "
        "WHERE key IS NULL OR lefts > 1 OR rights > 1 OR before IS NOT NULL OR after IS NOT NULL"
    )
