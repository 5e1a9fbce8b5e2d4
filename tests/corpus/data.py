"""The rows of the corpus: pools of clean rows, of two shapes, and of every shape there is.

They follow rules, not chance, so a failure today is a failure tomorrow.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

Row = dict[str, Any]

HOSTS = ("alpha", "beta", "Gamma", "delta-1")
PATHS = ("/", "/index.html", "/api/v1/users", "/api/v1/orders?id=7", "/Static/Logo.png")
LEVELS = ("debug", "info", "warn", "ERROR")


class Pool(NamedTuple):
    name: str
    keys: tuple[str, ...]  # as `lochan create --key` takes them
    rows: tuple[Row, ...]


def pools() -> list[Pool]:
    return [
        Pool("logs", ("ts:time",), tuple(_logs())),
        Pool("logs-old", ("ts:time:desc",), tuple(_old_logs())),
        Pool("mixed", ("k",), tuple(_mixed())),
        Pool("people", ("id",), tuple(_people())),
        Pool("cities", ("city",), tuple(_cities())),
        Pool("nets", ("n",), tuple(_nets())),
        Pool("words", (), tuple(_words())),
        Pool("sparse", ("k",), tuple(_sparse())),
        Pool("nothing", ("k",), ()),
        Pool("dollars", ("k",), tuple(_dollars())),
        Pool("numbers", ("k",), tuple(_numbers())),
        Pool("moments", ("ts:time",), tuple(_moments())),
        Pool("in-quotes", ("k",), ({"k": 1}, {"k": 2, "v": "two"})),
    ]


def _logs() -> list[Row]:
    """A web server's log; every tenth row is of another shape."""
    rows: list[Row] = []
    for number in range(200):
        ts = f"2026-11-01T{10 + number // 60:02d}:{number % 60:02d}:00.{number % 10}00Z"
        if number % 10 == 9:
            rows.append({"ts": ts, "level": LEVELS[number // 10 % 4], "msg": f"job {number} done in {number % 7} s"})
            continue
        row: Row = {
            "ts": ts,
            "host": HOSTS[number % 4],
            "path": PATHS[number * 7 % 5],
            "status": (200, 200, 301, 404, 500)[number * 3 % 5],
            "bytes": number * 37 % 1000,
            "ms": number * 13 % 400 / 8,
            "tags": [["a", "b"], ["b"], [], ["a", "c", "b"]][number % 4],
        }
        if number % 3:
            row["user"] = {"id": number % 5, "name": f"user-{number % 5}"}
        rows.append(row)
    return rows


def _old_logs() -> list[Row]:
    return [
        {"ts": f"2026-10-0{day + 1}T00:00:00Z", "host": HOSTS[day % 4], "status": 200 + day, "bytes": 10 * day}
        for day in range(9)
    ]


def _moments() -> list[Row]:
    """Times in many ways of writing them, and strings that say none."""
    texts = (
        "2026-11-01T10:00:00Z",
        "2026-11-01T11:00:00+01:00",
        "2026-11-01T10:00:00.000001+00:00",
        "2026-11-01t10:00:01z",
        "2026-11-01 04:30:01.5-05:30",
        "2026-10-31T23:59:59.999-00:01",
        "2026-11-02",
        "2026-02-30T10:00:00Z",
        "soon",
    )
    return [{"ts": text, "n": number, "g": number % 3} for number, text in enumerate(texts)]


def _mixed() -> list[Row]:
    """One field of every kind, by itself and nested; keys of mixed kinds; rows without one."""
    values: list[Any] = [
        1,
        2,
        -7,
        2**53 + 1,
        2**63 - 1,
        1.5,
        2.0,
        -0.25,
        1e300,
        "1",
        "one",
        "One",
        "",
        "2026-11-01T10:00:00Z",
        True,
        False,
        None,
        [1, 2, 3],
        ["x", "y"],
        [],
        [1, "x", None],
        {"y": 1},
        {"y": "s", "z": None},
        {"z": {"deep": [1, 2]}},
    ]
    rows: list[Row] = []
    for number, value in enumerate(values):
        rows.append({"k": number, "x": value})
        rows.append({"k": f"s{number}", "x": value, "n": {"x": value, "i": number}})
    rows += [{"k": 100 + number} for number in range(3)]
    rows += [{"x": 1}, {"x": "no key"}, {"k": None, "x": 2}]
    rows += [{"b": 1, "a": 2, "k": 200}, {"a": 2, "b": 1, "k": 201}, {"a": None, "k": 202}]
    return rows


def _numbers() -> list[Row]:
    """Numbers that neither 64 bits nor a double hold, beside others: as fields, nested, in lists, and as keys."""
    long = Decimal("33.33333333333333333333")
    hair = Decimal("0.1000000000000000055")  # its digits begin with those of the nearest float
    rows: list[Row] = [
        {"k": 1, "x": 10.5, "u": 7, "n": {"x": long}},
        {"k": 2, "x": long, "u": 18446744073709551615, "id": 9007199254740993},
        {"k": 3, "x": 20, "u": 9223372036854775807, "id": 9007199254740992.0},
        {"k": 4, "x": Decimal("0.1000000000000000055511151231257827"), "u": 9223372036854775808},
        {"k": 5, "x": 0.1, "u": 5, "many": [1, long, "x"]},
        {"k": 6, "x": -7, "u": 18446744073709551615, "g": "a"},
        {"k": 7, "x": long, "g": "a", "n": {"x": 1}},
        {"k": 8, "x": "33.33333333333333333333", "g": "b"},
        {"k": 9, "x": None, "g": "b", "many": [18446744073709551616, 2]},
        {"k": 10, "x": [1, "x"], "g": "b"},
        {"k": 18446744073709551615, "big": Decimal("1e400")},
        {"k": Decimal("-1e400"), "big": Decimal("-2.5e-400")},
        {"k": Decimal("2.5000000000000000000001"), "big": 7},
        {"k": 2.5, "big": 0.5},
        {"k": "text", "big": "text"},
        {"k": 12, "deep": {"a": [1, "x", {"z": hair, "y": 0.1}], "s": f"{hair}"}},
        {"k": 13, "deep": {"a": [{"z": 0.1}, hair, [0.1, hair, f'"{hair}"']]}, "many": ["x", 0.1, hair]},
        {"k": 14, "deep": Decimal("1e400")},
    ]
    return rows


def _people() -> list[Row]:
    return [
        {"id": 1, "name": "Ada Lovelace", "city": "London", "age": 36, "score": 9.5, "born": "1815-12-10T00:00:00Z"},
        {"id": 2, "name": "Alan Turing", "city": "London", "age": 41, "score": 9.0, "born": "1912-06-23T00:00:00Z"},
        {"id": 3, "name": "Grace Hopper", "city": "New York", "age": 85, "score": 8.75, "born": "1906-12-09T00:00:00Z"},
        {"id": 4, "name": "Edsger Dijkstra", "city": "Rotterdam", "age": 72, "score": None},
        {"id": 5, "name": "Barbara Liskov", "city": "Los Angeles", "age": 86},
        {"id": 6, "name": "Donald Knuth", "city": None, "age": 87, "score": 9.75, "likes": ["organ", "tex"]},
        {"id": 7, "name": "Margaret Hamilton", "age": 88, "score": 9.25, "likes": []},
    ]


def _cities() -> list[Row]:
    return [
        {"city": "London", "country": "UK", "people": 8_900_000},
        {"city": "New York", "country": "US", "people": 8_300_000},
        {"city": "Rotterdam", "country": "NL", "people": 650_000},
        {"city": "Paris", "country": "FR", "people": 2_100_000},
    ]


def _nets() -> list[Row]:
    return [
        {"n": 1, "from": "10.0.0.1", "to": "192.168.1.77"},
        {"n": 2, "from": "10.1.2.3", "to": "10.0.0.9"},
        {"n": 3, "from": "172.16.5.4", "to": "8.8.8.8"},
        {"n": 4, "from": "not an address", "to": "10.0.0.1"},
        {"n": 5, "to": "127.0.0.1"},
    ]


def _sparse() -> list[Row]:
    """A table of columns that may be null, by themselves and nested. Some rows lack one; one column is of two kinds."""
    rows: list[Row] = []
    for number in range(60):
        user: Row = {"id": _unless(number % 4, number % 5), "home": {"city": _unless(number % 5, HOSTS[number % 4])}}
        row: Row = {
            "k": number,
            "host": _unless(number % 3, HOSTS[number % 4]),
            "ms": _unless(number % 7, number / 8),
            "ok": _unless(number % 2, number % 6 == 1),
            "user": None if number % 6 == 2 else {**user, "home": None} if number % 6 == 3 else user,
            "tags": (None, [], ["a"], ["a", None, "b"])[number % 4],
            "both": (number, "x", None)[number * 5 % 3],
            "any": (None, {}, {"y": None}, {"y": 1}, [1, "x"])[number % 5],
            "never": None,
        }
        if number % 10 == 9:
            del row["host"]
        if number % 12 == 11:
            row["late"] = _unless(number % 8 == 3, number)
        rows.append(row)
    return rows


def _dollars() -> list[Row]:
    """Texts and names that an engine may take for something to be put in their place, or for the end of a text."""
    texts = ("${env:HOME}", "${system:user.home}", "${spark:spark.app.name}", "${hivevar:x}", "${HOME}", "$HOME", "$")
    odd = ("\\${env:HOME}", "\\u0024{env:HOME}", "it's", "'; SELECT 1 --", "/*+ BROADCAST(a) */", "`x`", "{0}", "%s")
    rows: list[Row] = [{"k": number, "t": text} for number, text in enumerate(texts + odd)]
    rows += [{"k": 100, "${env:HOME}": "by name", "o": {"${env:PATH}": 1, "${k}": [1, 2]}}]
    rows += [{"k": 101, "`t`": 1, "a'b": 2, "a--b": 3, "/*+ x */": 4, "read_text('/etc/hostname')": 5}]
    return rows


def _unless(test: Any, value: Any) -> Any:
    return value if test else None


def _words() -> list[Row]:
    """Rows without a key: the whole row is the key."""
    texts = ("apple", "Banana", "cherry pie", "  padded  ", "a-b-c", "kitten", "sitting", "x=1;y=2", "100", "", "été")
    return [{"text": text, "n": number} for number, text in enumerate(texts)] + [{"text": "apple", "n": 0}]
