"""Who may query what: by key and secret, and by policies, for everything that a query can name."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from lochan.access import policies, users
from lochan.access import users as keys
from lochan.formats.lake_events import Statement
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.server.api.routes import OPEN, ROUTES
from lochan.store.local import LocalStore
from tests.integration.api.client import QUERY, Client
from tests.integration.cli import fine
from tests.run import run
from tests.servers.lochan import LochanServer

ADMIN = Actor("admin", "test", "here")
DENIED = "there is no `{}` that you may read"
READ, LIST = "fs:ReadObject", "fs:ListObjects"
LOGS, DEMO = "repository/logs", "repository/demo"
Made = Callable[..., Client]
_names = count()


@pytest.fixture(scope="module")
def person(server: LochanServer) -> Made:
    """Creates a user with these rights: pairs of actions and resources, with ! in front of what is denied."""

    def made(*pairs: tuple[str, str]) -> Client:
        statements = [Statement("deny" if on[0] == "!" else "allow", (a,), (on.lstrip("!"),)) for a, on in pairs]

        async def create() -> Client:
            lake = await Lake.open(LocalStore(server.lake))
            access, name = lake.open_access(), f"user-{next(_names)}"
            await users.create_user(access, name, actor=ADMIN)
            if statements:
                await policies.put_policy(access, f"For-{name}", statements, actor=ADMIN)
                await policies.attach(access, f"For-{name}", f"user/{name}", actor=ADMIN)
            key = await keys.create_key(access, name, actor=ADMIN)
            await lake.close()
            return Client(server.api, key.access_key_id, key.secret_access_key)

        return run(create())

    return made


def test_credentials(admin: Client, person: Made) -> None:
    wrong = [
        admin._replace(secret="guessed-guessed-guessed").query("from logs"),
        admin._replace(key="NOBODY").query("from logs"),
    ]
    assert [each.status for each in wrong] == [401, 401] and wrong[0].body == wrong[1].body
    anonymous = admin._replace(key="")
    for answer in (anonymous.query("from logs"), anonymous.ask("GET", QUERY), anonymous.ask("DELETE", f"{QUERY}/x")):
        assert (answer.status, answer.headers["www-authenticate"].split()[0]) == (401, "Basic")
    for header in ("Bearer x", "Basic", "Basic ???", "Basic " + base64.b64encode(b"no colon").decode(), "Basic /w=="):
        assert anonymous.ask("GET", QUERY, authorization=header).status == 401
    assert person().ask("GET", QUERY).status == 200  # a new key can be used at once


def test_every_route_except_the_open_ones_needs_authentication(admin: Client) -> None:
    for row in ROUTES:
        answer = admin._replace(key="").ask(row.method, row.path.replace("{id}", "x"))
        assert (answer.status == 401) == (row.action != OPEN), row


def test_a_revoked_key(admin: Client, person: Made, server: LochanServer) -> None:
    client = person(("*", "*"))
    assert client.query("from logs | head 1").status == 200

    async def revoke() -> None:
        lake = await Lake.open(LocalStore(server.lake))
        await keys.revoke_key(lake.open_access(), client.key, actor=ADMIN)
        await lake.close()

    run(revoke())
    assert client.query("from logs | head 1").status == 401


# What is asked, and what it takes: with all of it the query is answered, and without any one of it, it is not.
NEEDS = [
    ("from logs | count()", [(READ, f"{LOGS}/branch/main/object/*")]),
    ("select count(*) as n from logs", [(READ, f"{LOGS}/branch/main/object/*")]),
    ("from logs@dev | count()", [(READ, f"{LOGS}/branch/dev/object/*")]),
    ("from logs@main~1 | count()", [(READ, f"{LOGS}/commit/*/object/*")]),
    ("from logs@{now} | count()", [(READ, f"{LOGS}/commit/*/object/*")]),
    ("from logs.$nokey | count()", [(READ, f"{LOGS}/branch/main/object/*")]),
    ("from log* | count()", [("fs:ListRepositories", LOGS), (READ, f"{LOGS}/branch/main/object/*")]),
    ("from demo@main/open/a.csv", [(READ, f"{DEMO}/branch/main/object/open/a.csv")]),
    ("from demo@v1/open/a.csv", [(READ, f"{DEMO}/tag/v1/object/open/*")]),
    (
        "from demo@main/open/*.csv",
        [(LIST, f"{DEMO}/branch/main/object/open/*"), (READ, f"{DEMO}/branch/main/object/open/*")],
    ),
    ("from demo@main:entries | count()", [(LIST, f"{DEMO}/branch/main/object/*")]),
    ("from demo@main:ranges | count()", [(LIST, f"{DEMO}/branch/main/object/*")]),
    ("from demo@main:staged | count()", [("fs:ReadBranch", f"{DEMO}/branch/main")]),
    ("from logs@main:objects | count()", [(READ, f"{LOGS}/branch/main/object/*")]),
    ("from logs@main:partitions | count()", [(READ, f"{LOGS}/branch/main/object/*")]),
    ("from logs@main:indexes | count()", [(READ, f"{LOGS}/branch/main/object/*")]),
    *(
        (f"from logs@main:{meta} | count()", [("fs:ReadCommit", f"{LOGS}/branch/main")])
        for meta in ("log", "rawlog", "changes", "sizes", "growth")
    ),
    ("from logs:branches | count()", [("fs:ListBranches", LOGS)]),
    ("from logs:tags | count()", [("fs:ListTags", LOGS)]),
    ("from logs:settings | count()", [("fs:ReadRepository", LOGS)]),
    ("from logs:indexrules | count()", [("fs:ReadRepository", LOGS)]),
    ("from logs:journal | count()", [("fs:ReadEvents", LOGS)]),
    ("from logs:branchlog | count()", [("fs:ReadEvents", LOGS)]),
    ("from logs:plans | count()", [("fs:ReadEvents", LOGS)]),
    ("from logs:planned | count()", [("fs:CollectGarbage", LOGS)]),
    ("from logs:unreferenced | count()", [("fs:CollectGarbage", LOGS)]),
    (
        "select count(*) as n from logs where k in (select k from secrets)",
        [(READ, f"{LOGS}/branch/main/object/*"), (READ, "repository/secrets/branch/main/object/*")],
    ),
    (
        "from logs | head 1 | join (from secrets) on k=k",
        [(READ, f"{LOGS}/branch/main/object/*"), (READ, "repository/secrets/branch/main/object/*")],
    ),
]


def test_what_each_source_takes(person: Made) -> None:
    for text, needs in NEEDS:
        assert person(*needs).query(text).status == 200, text
        for missing in needs:
            rest = [each for each in needs if each != missing]
            assert person(*rest).query(text).status in (401, 404), (text, missing)
            against = person(("*", "*"), (missing[0], f"!{missing[1]}")).query(text)
            assert against.status in (401, 404), (text, missing)


def test_what_may_not_be_read_is_in_no_metadata(server: LochanServer, person: Made, tmp_path: Path) -> None:
    """This includes commits, staged changes, ranges and events."""
    (tmp_path / "b").write_text("b")
    fine("--lake", server.lake, "branch", "create", "demo@rights")
    for folder in ("open", "shut"):
        fine("--lake", server.lake, "fs", "upload", str(tmp_path / "b"), f"demo@rights/{folder}/b")
    hidden = [(READ, f"!{DEMO}/object/closed/*"), (READ, f"!{DEMO}/object/shut/*")]
    everybody, reader = person(("*", "*")), person(("*", "*"), *hidden)
    for text, path in (
        ("from demo@rights:entries", "path"),
        ("from demo@rights:changes", "path"),
        ("from demo@rights:rawlog | has(path)", "path"),
        ("from demo@rights:staged", "path"),
    ):
        every = {row[path] for row in everybody.query(text).rows}
        seen = {row[path] for row in reader.query(text).rows}
        assert any(each.startswith(("closed/", "shut/")) for each in every), text
        assert seen == {each for each in every if not each.startswith(("closed/", "shut/"))}, text
    assert b"closed/" in everybody.query("from demo:journal").body
    answer = reader.query("from demo:journal")
    assert answer.status == 200
    assert b"closed/" not in answer.body and b"shut/" not in answer.body
    assert len(answer.rows) == len(everybody.query("from demo:journal").rows)
    assert b"closed/" not in reader.query("from demo@rights:ranges").body


def test_what_is_not_there_is_like_what_may_not_be_read(person: Made) -> None:
    nobody, lister = person(), person(("fs:ListRepositories", "*"))
    for form in ("from {}", "from {}@main/a.csv", "from {}:journal", "select * from {}"):
        answers = [nobody.query(form.format(name)) for name in ("secrets", "nothing")]
        assert [each.status for each in answers] == [401, 401]
        assert [each.message.partition(" (")[0] for each in answers] == [
            DENIED.format(n) for n in ("secrets", "nothing")
        ]
        assert [lister.query(form.format(name)).status for name in ("secrets", "nothing")] == [401, 404]
    refs = [nobody.query(f"from secrets@{ref}").body for ref in ("main", "nothing")]
    assert refs[0] == refs[1]
    only_logs = person(("fs:ListRepositories", LOGS), ("fs:ListRepositories", "repository/secret"))
    assert "secrets" not in only_logs.query("from secret").message  # nothing hidden is offered for a typo
    assert person(("*", "repository/logs*"), ("fs:ListRepositories", "*")).query("from *").status == 401


def test_metadata_show_what_may_be_seen(person: Made, admin: Client) -> None:
    seen = person(
        ("fs:*", f"{LOGS}"), ("fs:*", f"{LOGS}/*"), ("fs:ListRepositories", "*"), ("auth:*", "user/admin"),
    )  # fmt: skip
    for meta, field in (
        ("pools", "name"),
        ("repositories", "name"),
        ("branches", "repository"),
        ("jobs", "repository"),
    ):
        for at in ("", "@{now}"):
            everything = admin.query(f"from :{meta}{at}").rows
            assert seen.query(f"from :{meta}{at}").rows == [row for row in everything if row[field] == "logs"], meta
    assert len(admin.query("from :repositories").rows) == 3
    assert [row["name"] for row in seen.query("from :users").rows] == ["admin"]
    assert person(("*", "repository/*")).query("from :users").rows == []
    closed = person(("*", "*"), (READ, f"!{DEMO}/object/closed/*"))
    assert [row["path"] for row in closed.query("from demo:entries").rows] == ["open/a.csv"]
    assert [row["where"] for row in closed.query("from demo@main/open/*.csv").rows] == ["open"]
    assert closed.query("from demo@main/**").status == 401
    assert closed.query("from demo@v1/closed/a.csv").status == 401


def test_what_was_is_judged_by_the_name_it_has_now(person: Made, server: LochanServer) -> None:
    """A name that is free again does not lead to what had it before."""
    fine("--lake", server.lake, "repo", "create", "first-name")
    before = f"from :repositories@{{{datetime.now(UTC).isoformat()}}} | name == 'first-name'"
    fine("--lake", server.lake, "rename", "first-name", "second-name")
    rights = "fs:ListRepositories", "fs:ReadRepository"
    old, new = (person(*((each, f"repository/{name}") for each in rights)) for name in ("first-name", "second-name"))
    assert old.query(before).rows == []
    assert [row["name"] for row in new.query(before).rows] == ["first-name"]
    fine("--lake", server.lake, "repo", "delete", "second-name", "--yes")


def test_the_queries_of_others(person: Made, admin: Client) -> None:
    reader, other = person((READ, f"{LOGS}/*")), person(("fs:*", "*"))
    id = reader.query("from logs | head 1").headers["x-query-id"]
    path = f"{QUERY}/{id}"
    assert (reader.ask("GET", path).status, admin.ask("GET", path).status) == (200, 200)
    assert (other.ask("GET", path).status, other.ask("DELETE", path).status) == (404, 404)


def test_the_usage_log_shows_what_one_may_read(admin: Client, person: Made, server: LochanServer) -> None:
    for path in ("open/a.csv", "closed/a.csv"):
        fine("--lake", server.lake, "fs", "cat", f"demo@main/{path}")
    fine("--lake", server.lake, "query", "from secrets | count()")
    text = (
        "from :usage | where status < 400 | count() by repository, path | cut repository, path | sort repository, path"
    )
    everything = {(row["repository"], row["path"]) for row in admin.query(text).rows}
    assert {("demo", "open/a.csv"), ("demo", "closed/a.csv"), ("secrets", "")} <= everything
    events = ("fs:ListRepositories", "*"), ("fs:ReadEvents", DEMO)
    some = person(*events, (READ, f"{DEMO}/branch/main/object/open/*"))
    shown = {(row["repository"], row["path"]) for row in some.query(text).rows}
    asked_before = {("demo", "open/*.csv")}  # by other tests, whose notes may have been written by now or not
    assert shown - asked_before == {("demo", "open/a.csv")}
    assert person(*events).query(text).rows == []
    assert person((READ, "*")).query(text).rows == [], "not without the events"
    assert person().query(text).rows == []
