"""A lake as a user of a server has it: what is hidden leaves no trace, nothing leads around the wrappers, and what was
done is recorded."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lochan.access.policy import ACTIONS
from lochan.access.requester import Requester
from lochan.access.rights import Denied
from lochan.api import blocking
from lochan.api.imports import ImportSource
from lochan.api.lake import Lake
from lochan.api.options import EngineOptions
from lochan.api.session import Session
from lochan.api.verbs import VERBS, Kind, Verb
from lochan.api.wrappers.guard import RightsGuard
from lochan.api.wrappers.proxy import VerbCall, Wrapped, find_verb
from lochan.api.wrappers.records import AuditLine, Caller, Use, serve_lake
from lochan.errors import Dirty, Invalid, NotFound, Refused
from lochan.formats.record import Actor
from lochan.lake import Lake as OpenLake
from lochan.runtime import Runtime
from lochan.store.local import LocalStore

READS = ("fs:ListObjects", "fs:ReadObject", "fs:ListRepositories")


class Place(NamedTuple):
    lake: Lake
    bobs: Lake
    uses: list[Use]
    lines: list[AuditLine]


async def _place(folder: Path, *statements: tuple[str, str | list[str], str]) -> Place:
    """A lake with one repository, and the same as bob may use it."""
    opened = await OpenLake.create(LocalStore(str(folder / "lake"), create=True))
    lake = Lake(Session(opened, Actor("ann", "test", "here")))
    main = (await lake.create_repository("shop")).branch("main")
    for path in ("open/a", "open/b", "secret/c", "z"):
        await main.put(path, path.encode())
    await main.commit("first")
    await lake.access.create_user("bob")
    written = [{"effect": effect, "actions": actions, "resources": on} for effect, actions, on in statements]
    if written:
        await lake.access.put_policy("bobs", json.dumps({"statements": written}).encode())
        await lake.access.attach("bobs", "bob")
    uses: list[Use] = []
    lines: list[AuditLine] = []
    caller = Caller("bob", "test", "there", opened.clock.boot())
    return Place(lake, serve_lake(lake, caller, uses.append, lines.append).lake, uses, lines)


async def _error(work: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(Denied) as caught:
        await work
    return str(caught.value)


async def _listed(items: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in items]


ALLOW_OPEN = (
    ("allow", "fs:ListObjects", "repository/shop/object/*"),
    ("allow", "fs:ReadObject", "repository/shop/object/open/*"),
)


def test_a_denied_thing_and_an_absent_one_read_alike(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "fs:ReadObject", "repository/other/*"))
        shop, none = at.bobs.repository("shop"), at.bobs.repository("nope")
        for verb in ("show", "is_read_only", "delete"):
            there, absent = [await _error(getattr(each, verb)()) for each in (shop, none)]
            assert there.replace("shop", "nope") == absent
        there, absent = [await _error(each.ref("main").stat("z")) for each in (shop, none)]
        assert there.replace("shop", "nope") == absent
        assert await _error(shop.ref("main").stat("z")) == await _error(shop.ref("dev").stat("y"))
        await at.lake.close()

    asyncio.run(run())


def test_who_may_know_is_told_that_a_repository_is_not_there(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "fs:ListRepositories", "repository/*"))
        with pytest.raises(NotFound) as caught:
            await at.bobs.repository("shp").ref("main").stat("z")
        assert caught.value.among is None
        await at.lake.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "statements, told",
    [
        ([("allow", "*", "*")], True),
        ([("allow", "*", "*"), ("deny", "fs:ReadObject", "repository/other/*")], False),
        ([("allow", "fs:*", "*")], False),
    ],
)
def test_who_may_do_everything_is_told_names_that_are_near(
    tmp_path: Path, statements: list[tuple[str, str, str]], told: bool
) -> None:
    async def run() -> None:
        at = await _place(tmp_path, *statements)
        with pytest.raises(NotFound) as caught:
            await at.bobs.repository("shp").ref("main").stat("z")
        assert (caught.value.among is not None) is told
        await at.lake.close()

    asyncio.run(run())


def test_hidden_objects_and_folders_are_in_no_page(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, *ALLOW_OPEN)
        main = at.bobs.repository("shop").branch("main")
        page = await main.list_page(delimiter="/")
        assert (page.objects, page.prefixes, page.next) == ((), ("open/",), None)
        assert [each.path async for each in main.list()] == ["open/a", "open/b"]
        pages = [each async for each in main.list_pages()]
        assert [each.path for page in pages for each in page.objects] == ["open/a", "open/b"]
        await at.lake.close()

    asyncio.run(run())


def test_a_page_does_not_end_with_the_name_of_a_hidden_object(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, *ALLOW_OPEN)
        main = at.bobs.repository("shop").branch("main")
        found, after, markers = [], "", []
        for _ in range(10):
            page = await main.list_page(after=after, limit=1)
            found += [each.path for each in page.objects]
            if page.next is None:
                break
            after = page.next
            markers.append(after)
        assert found == markers + found[len(markers) :] == ["open/a", "open/b"]
        await at.lake.close()

    asyncio.run(run())


def test_a_statement_that_denies_lists_hides_what_may_be_read(tmp_path: Path) -> None:
    async def run() -> None:
        hidden = ("deny", "fs:ListObjects", "repository/shop/object/open/b")
        at = await _place(tmp_path, *ALLOW_OPEN, hidden)
        assert [each.path async for each in at.bobs.repository("shop").ref("main").list()] == ["open/a"]
        await at.lake.close()

    asyncio.run(run())


def test_counts_tell_nothing_of_what_is_hidden(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, *ALLOW_OPEN, ("allow", "fs:ReadBranch", "repository/*"))
        main = at.bobs.repository("shop").branch("main")
        await at.lake.repository("shop").branch("main").put("secret/d", b"d")
        await _error(main.status_count())
        assert (await main.status_count("open/")).added == 0
        assert [each async for each in main.status()] == []
        await at.lake.close()

    asyncio.run(run())


def test_nothing_leads_around_the_wrappers(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "*", "*"))
        shop = at.bobs.repository("shop")
        main = await shop.create_branch("dev")
        async with main.transaction("it") as workspace:
            handles = [at.bobs, shop, main, workspace, shop.ref("main"), at.bobs.access, at.bobs.pool("logs")]
            for handle in handles:
                assert isinstance(handle, Wrapped)
                for name in ("_session", "close", "_opened"):
                    with pytest.raises(AttributeError):
                        getattr(handle, name)
            await workspace.put("new", b"1")
        assert await main.read("new") == b"1"
        await at.lake.close()

    asyncio.run(run())


def test_a_workspace_is_judged_by_its_own_branch_whatever_it_is_called(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(
            tmp_path, ("allow", "*", "repository/shop/branch/dev"), ("allow", "*", "repository/shop/branch/dev/*")
        )
        shop = at.lake.repository("shop")
        await shop.create_branch("dev")
        hidden = await shop.branch("main").workspace("hidden")
        await hidden.put("secret/w", b"w")
        for name in (f"dev+{hidden.id}", hidden.id, hidden.name):
            seen = at.bobs.repository("shop").workspace(name)
            for work in (seen.show(), seen.commit("it"), seen.drop(), seen.put("x", b""), seen.read("secret/w")):
                await _error(work)
            await _error(at.bobs.repository("shop").ref(name).read("secret/w"))
        assert (await hidden.show()).branch == "main"
        await at.lake.close()

    asyncio.run(run())


def test_a_stash_is_judged_by_its_own_branch(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "fs:StashChanges", "repository/shop/branch/dev"))
        shop = at.lake.repository("shop")
        await shop.create_branch("dev")
        await shop.branch("main").put("secret/s", b"s")
        stash = await shop.branch("main").stash("aside")
        dev = at.bobs.repository("shop").branch("dev")
        await _error(dev.pop_stash(stash))
        await _error(dev.drop_stash(stash))
        assert [each.id async for each in shop.stashes()] == [stash]
        await at.lake.close()

    asyncio.run(run())


def test_a_handle_of_another_repository_does_not_stand_for_a_ref_of_this_one(tmp_path: Path) -> None:
    async def run() -> None:
        mine = ("allow", "*", "repository/mine/*"), ("allow", "*", "repository/shop/branch/dev")
        at = await _place(tmp_path, *mine)
        await at.lake.create_repository("mine")
        await at.lake.repository("shop").create_branch("dev")
        elsewhere = at.bobs.repository("mine").branch("main")
        dev = at.bobs.repository("shop").branch("dev")
        for work in (dev.merge(elsewhere), dev.rebase(elsewhere), dev.reset(elsewhere), dev.revert(elsewhere)):
            await _error(work)
        await _error(_listed(dev.diff(elsewhere)))
        await _error(elsewhere.copy(at.bobs.repository("shop").ref("main"), "z", "z"))
        await at.lake.close()

    asyncio.run(run())


def test_committing_what_is_staged_needs_its_own_right(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", ["fs:MergeBranch", "fs:ReadCommit"], "repository/shop/*"))
        shop = at.lake.repository("shop")
        dev = await shop.create_branch("dev")
        await dev.put("d", b"d")
        await dev.commit("d")
        await shop.branch("main").put("staged", b"s")
        main = at.bobs.repository("shop").branch("main")
        await _error(main.merge("dev", commit_staged="first"))
        with pytest.raises(Dirty):
            await main.merge("dev")
        await at.lake.close()

    asyncio.run(run())


def test_one_text_is_not_taken_for_several(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "*", "*"))
        with pytest.raises(Invalid, match="good is one text"):
            await at.bobs.repository("shop").bisect("ab", "main")
        await at.lake.close()

    asyncio.run(run())


def test_files_of_the_server_cannot_be_named(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "*", "*"))
        main = at.bobs.repository("shop").branch("main")
        with pytest.raises(Refused, match="of the machine that serves"):
            await main.put("a", Path("/etc/passwd"))
        pool = await at.bobs.create_pool("logs", key="n")
        for rows in ("/etc/passwd", ["/etc/passwd"], Path("/etc/passwd")):
            with pytest.raises(Refused, match="of the machine that serves"):
                await pool.load(rows)
        await at.lake.close()

    asyncio.run(run())


def test_a_query_only_reads(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "*", "*"))
        pool = await at.bobs.create_pool("logs", key="n")
        await pool.load([{"n": 1}])
        with pytest.raises(Refused, match="may only read"):
            await at.bobs.query("from logs | load logs")
        await at.lake.close()

    asyncio.run(run())


def test_what_was_done_is_recorded_and_what_was_denied_too(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, *ALLOW_OPEN)
        main = at.bobs.repository("shop").branch("main")
        assert await main.read("open/a") == b"open/a"
        assert b"".join([each async for each in main.stream("open/b")]) == b"open/b"
        await _error(main.put("open/a", b"secret bytes"))
        await _error(at.bobs.access.create_key("bob", secret="a secret text here"))
        read, streamed, denied = at.uses
        assert read == Use("Ref.read", "shop", "main", "open/a", 6, None)
        assert (streamed.operation, streamed.size) == ("Ref.stream", 6)
        assert isinstance(denied.error, Denied)
        assert [(each.verb, each.error is None) for each in at.lines] == [
            ("Ref.read", True),
            ("Ref.stream", True),
            ("WritableRef.put", False),
            ("Access.create_key", False),
        ]
        assert "open/a" in at.lines[2].about and "secret" not in "".join(each.about for each in at.lines)
        await at.lake.close()

    asyncio.run(run())


def test_the_events_of_a_user_bear_their_name(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "*", "*"))
        await at.bobs.repository("shop").branch("main").put("new", b"1")
        last = [each async for each in at.lake.events("shop", last=1)]
        assert [(each.user, each.client, each.source) for each in last] == [("bob", "test", "there")]
        await at.lake.close()

    asyncio.run(run())


def test_the_blocking_verbs_go_over_wrapped_ones_too(tmp_path: Path) -> None:
    runtime = Runtime()
    at = runtime.wait(_place(tmp_path, *ALLOW_OPEN))
    main = blocking.Lake(at.bobs, runtime).repository("shop").branch("main")
    assert main.read("open/a") == b"open/a"
    assert [each.path for each in main.list("open/")] == ["open/a", "open/b"]
    with pytest.raises(Denied):
        main.commit("it")
    runtime.wait(at.lake.close())
    runtime.stop()


def test_rows_name_actions_that_there_are() -> None:
    for verb in VERBS:
        for right in (*verb.needs, *verb.shows):
            action, _, resource = right.partition(" ")
            assert action in ACTIONS or action == "objects", verb
            assert resource
        assert verb.kind is Kind.HANDLE or verb.needs or verb.shows or verb.local == "*" or verb.own, (
            "it needs some right"
        )


def test_routes_are_unique_and_well_formed() -> None:
    served = [verb for verb in VERBS if verb.kind is not Kind.HANDLE and verb.local != "*"]
    routes = [verb.path for verb in served if verb.name != "transaction"]
    assert len(set(routes)) == len(routes)
    for route in routes:
        method, _, path = route.partition(" ")
        assert method in ("GET", "POST", "PUT", "DELETE")
        assert path.startswith("/api/v1") and not path.endswith("/") and "//" not in path
        assert all(part.strip("{}").replace("_", "").replace(".", "").isalnum() for part in path[1:].split("/"))
    for verb in VERBS:
        assert verb.kind in (Kind.WRITE, Kind.STREAM) or not verb.route.startswith(("PUT", "DELETE")), (
            "a read changes nothing"
        )
        assert verb.kind is not Kind.WRITE or not verb.route.startswith("GET")


def test_a_user_of_a_server_takes_spark_nowhere(tmp_path: Path) -> None:
    """A master of theirs would be sent whatever the server's own Spark is given: keys of the store, and code to run."""

    async def run() -> None:
        at = await _place(tmp_path, ("allow", "*", "*"))
        await at.lake.create_pool("logs")
        await at.lake.pool("logs").load([{"a": 1}])
        theirs = EngineOptions(engine="spark", master="spark://attacker.example:7077")
        sources = [ImportSource("s3://bucket/")]
        for work in (
            at.bobs.diff_rows("logs", "logs", theirs),
            at.bobs.explain("from logs", theirs),
            at.bobs.query("from logs", theirs),
            at.bobs.rebuild(check=True, engine="spark", master=str(theirs.master)),
            at.bobs.pool("logs").compact(engine=theirs),
            at.bobs.repository("shop").branch("main").import_files(sources, engine=theirs),
            at.bobs.repository("shop").gc.plan(engine=theirs),
        ):
            with pytest.raises(Refused, match="chosen by the server"):
                await work
        await at.lake.close()

    asyncio.run(run())


def test_a_user_of_a_server_gets_no_more_memory_than_the_server_gives(tmp_path: Path) -> None:
    async def run() -> None:
        at = await _place(tmp_path, ("allow", "*", "*"))
        await at.lake.create_pool("logs")
        huge = EngineOptions(memory_bytes=1 << 50, threads=1_000_000)
        at.lake._session.memory_bytes_max = 1 << 30
        call = VerbCall(_verb("diff_rows"), at.lake, inspect.signature(Lake.diff_rows), "logs", "logs", huge)
        bob = RightsGuard(at.lake._session.lake.open_access(), Requester("bob", ""), 0.0)
        async with bob.around(call):
            limits = call.arguments["options"].limits
        assert limits.memory_bytes == 1 << 30 and 1 <= limits.threads <= 4_096
        assert EngineOptions(memory_bytes=5, threads=1).within(None).limits[:3] == (5, None, 1)
        await at.lake.close()

    asyncio.run(run())


def _verb(name: str) -> Verb:
    found = find_verb(Lake, name)
    assert found is not None
    return found
