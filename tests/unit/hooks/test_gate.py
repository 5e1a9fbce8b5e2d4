"""Changes are judged before they land, through every verb, by the hooks that were there before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lochan
from lochan.errors import HookRefused, Invalid
from lochan.formats.record import Actor
from lochan.hooks.python_hook import PythonLimits, run_module
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore
from lochan.versioning.branches import create_branch
from lochan.versioning.gate import UNJUDGED, HeadMove, Judged, RefChange
from lochan.versioning.heads.commit import CommitRequest, commit

FILE = "_lochan/hooks/q.yaml"
EVERY_MOVE = """\
on: pre-move
if: {branches: [main]}
hooks:
  - {id: good, kind: query, query: 'from shop:entries | grep("bad", path)', message: no bad files}
"""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    async def made() -> None:
        await (await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))).close()

    asyncio.run(made())
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        yield found


@pytest.fixture
def shop(lake: lochan.Lake) -> lochan.Repository:
    made = lake.create_repository("shop")
    main = made.branch("main")
    main.put("a.txt", b"one")
    main.put(FILE, EVERY_MOVE.encode())
    main.commit("hooks")
    dev = made.create_branch("dev", "main")
    dev.put("bad.txt", b"two")
    dev.commit("bad")
    return made


def test_every_verb_that_moves_a_head_is_judged(shop: lochan.Repository) -> None:
    main, before = shop.branch("main"), shop.branch("main").show().head
    bad = shop.branch("dev").show().head
    attempts: dict[str, Callable[[], object]] = {
        "merge": lambda: main.merge("dev"),
        "cherry-pick": lambda: main.cherry_pick(bad),
        "reset": lambda: main.reset("dev"),
        "rebase": lambda: main.rebase("dev"),
    }
    for verb, attempt in attempts.items():
        with pytest.raises(HookRefused, match=f"refused the {verb}: good: no bad files"):
            attempt()
    with pytest.raises(HookRefused, match="refused the commit"), main.transaction("t") as work:
        work.put("bad.txt", b"x")
    main.put("bad.txt", b"x")
    with pytest.raises(HookRefused, match="refused the commit"):
        main.commit("bad")
    assert main.show().head == before
    runs = list(shop.hook_runs("main"))
    assert [run.event for run in runs] == [
        *("pre-commit", "pre-commit", "pre-rebase", "pre-reset", "pre-cherry-pick", "pre-merge")
    ]
    assert {run.state for run in runs} == {"failed"}
    assert "bad.txt" in shop.hook_run(runs[0].id).results[0].output


def test_a_change_is_judged_by_the_hooks_before_it(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    main.delete(FILE)
    main.put("bad.txt", b"x")
    with pytest.raises(HookRefused):
        main.commit("without the hook")
    main.reset()
    main.delete(FILE)
    main.commit("the hook goes by itself")
    main.put("bad.txt", b"x")
    main.commit("and nobody asks any more")


def test_a_wrong_file_is_refused_wherever_it_comes_from(shop: lochan.Repository) -> None:
    dev = shop.branch("dev")
    dev.put(FILE, b"on: pre-commit\nhooks: 3\n")
    with pytest.raises(Invalid, match=r"q\.yaml, line 2, column 8: hooks is a list"):
        dev.commit("wrong")


def test_branches_and_tags_are_judged_by_the_default_branch(shop: lochan.Repository) -> None:
    rule = "on: [pre-create-tag, pre-delete-branch]\nif: {branches: ['v*', dev]}\nhooks:\n" + (
        "  - {id: no, kind: query, query: 'from shop:entries', message: not now}\n"
    )
    main = shop.branch("main")
    main.put("_lochan/hooks/refs.yaml", rule.encode())
    main.commit("rules of refs")
    with pytest.raises(HookRefused, match="create-tag: no: not now"):
        shop.create_tag("v1", "dev")
    with pytest.raises(HookRefused, match="delete-branch"):
        shop.delete_branch("dev")
    with pytest.raises(HookRefused, match="delete-branch"):
        shop.branch("dev").rename("elsewhere")
    assert shop.create_tag("other", "main").resolve().id


def test_pull_requests_are_judged_by_the_default_branch(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    text = """\
on: [pre-open-pull, pre-update-pull, pre-close-pull, post-reopen-pull]
if: {branches: [main], paths: ["*.txt"]}
hooks: [{id: open, kind: query, query: 'from shop:entries | grep("bad", path)', message: no bad files}]
"""
    dev = shop.create_branch("fine", "main")
    dev.put("fine.txt", b"x")
    dev.commit("fine")
    wanted = shop.create_pull("dev", "main", title="opened before")
    main.put("_lochan/hooks/pulls.yaml", text.encode())
    main.commit("judge pull requests")
    shop.create_pull("dev", "fine", title="into another branch is not judged")
    shop.create_branch("dev2", "dev")
    with pytest.raises(HookRefused, match="refused the open-pull: open: no bad files"):
        shop.create_pull("dev2", "main", title="bad")
    made = shop.create_pull("fine", "main", title="fine")
    made.update(title="finer")
    made.close()
    made.reopen()
    with pytest.raises(HookRefused):
        wanted.update(title="x")
    with pytest.raises(HookRefused):
        wanted.close()
    assert wanted.show().status == "open"
    runs = [(each.event, each.state, each.branch) for each in shop.hook_runs()][:6]
    assert runs[:2] == [("pre-close-pull", "failed", "main"), ("pre-update-pull", "failed", "main")]
    assert runs[2:5] == [
        ("post-reopen-pull", "passed", "main"),
        ("pre-close-pull", "passed", "main"),
        ("pre-update-pull", "passed", "main"),
    ]


def test_what_hooks_say_is_plain_text(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    text = """\
on: pre-commit
hooks:
  - {id: a, kind: query, query: "from shop/x.csv | true", message: "\\e[2Jgone\\x9b1m"}
"""
    main.put("_lochan/hooks/q.yaml", text.encode())
    main.commit("hooks")
    main.put("x.csv", "n\n\x9b31mred\x7f\n".encode())
    with pytest.raises(HookRefused) as refused:
        main.commit("x")
    [run] = [each for each in shop.hook_runs() if each.state == "failed"]
    shown = f"{refused.value.message}{run.results[0].reason}{run.results[0].output}"
    assert "gone" in shown and "red" in shown
    assert all(each.isprintable() or each == "\n" for each in shown)


def test_a_pool_has_its_hooks_elsewhere(lake: lochan.Lake) -> None:
    rules = lake.create_repository("rules")
    text = (
        "on: pre-commit\nhooks: [{id: known, kind: query, query: from logs | host==null, message: hosts are known}]\n"
    )
    rules.branch("main").put(FILE, text.encode())
    rules.branch("main").commit("rules")
    logs = lake.create_pool("logs", key="n")
    logs.set_metadata({"lochan.hooks": "rules"})
    logs.load([{"n": 1, "host": "a"}])
    with pytest.raises(HookRefused, match=r"hosts are known \(1 row\)"):
        logs.load([{"n": 2, "host": None}])
    assert lake.query("from logs | count()").to_arrow().to_pylist() == [{"count": 1}]
    rules.delete()
    with pytest.raises(HookRefused, match="which does not exist"):
        logs.load([{"n": 3, "host": "b"}])


@pytest.mark.parametrize(
    "query", ["from secret/x.csv", "from :users", "from :usage", "from :repositories | name==`secret`"]
)
def test_a_hook_reads_its_own_repository_alone(shop: lochan.Repository, lake: lochan.Lake, query: str) -> None:
    secret = lake.create_repository("secret").branch("main")
    secret.put("x.csv", b"a\n1\n")
    secret.commit("hidden")
    dev = shop.branch("dev")
    dev.put("_lochan/hooks/spy.yaml", f"on: pre-move\nhooks: [{{id: spy, kind: query, query: '{query}'}}]\n".encode())
    dev.commit("spy")
    run = shop.run_hooks("pre-commit", "dev")
    [spy] = [each for each in run.results if each.hook == "spy"]
    assert spy.state in ("failed", "passed") and spy.output == ""


def test_what_was_judged_is_what_lands(tmp_path: Path) -> None:
    """Somebody else moves the branch while hooks judge: the move is computed and judged again."""

    async def play() -> None:
        lake = await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))
        actor = Actor("ann", "test", "")
        await lake.create_repository("shop", actor=actor)
        repository, other = [await lake.open_repository("shop") for _ in range(2)]
        judged: list[str] = []

        class Slow:
            async def judge_move(self, move: HeadMove, actor: Actor) -> Judged:
                judged.append(move.commit_id)
                if len(judged) == 1:
                    other.gate = None
                    await commit(other, "main", CommitRequest("quick", allow_empty=True), actor=actor)
                return UNJUDGED

            async def judge_ref(self, change: RefChange, actor: Actor) -> Judged:
                return UNJUDGED

        repository.gate = Slow()
        id, _ = await commit(repository, "main", CommitRequest("slow", allow_empty=True), actor=actor)
        assert judged[-1] == id and len(judged) == 2
        await create_branch(repository, "dev", "main", actor=actor)
        for each in (repository, other, lake):
            await each.close()

    asyncio.run(play())


def _module(folder: Path, text: str) -> PythonLimits:
    (folder / "checks.py").write_text(text)
    return PythonLimits(str(folder), 256 << 20)


_LEAVES = """
import os, time
def check(event):
    if os.fork() == 0:
        os.setsid()
        time.sleep(120)  # it holds the pipe open meanwhile
        os._exit(0)
    return "left"
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("def check(event): return f'no {event[\"branch\"]}'", "no main", id="it refuses"),
        pytest.param("def check(event): return None", None, id="it passes"),
        pytest.param("def check(event):\n  while True: pass", "not ended within", id="it never ends"),
        pytest.param("def check(event):\n  while True: print('x' * 9999)", "not ended within", id="it prints for ever"),
        pytest.param(_LEAVES, "left", id="what it starts in a session of its own is not waited for"),
        pytest.param("def check(event): return 'x' * (1 << 31)", "without an answer", id="it eats memory"),
        pytest.param("def check(event): raise ValueError('a')", "without an answer", id="it fails"),
        pytest.param("import os\ndef check(event): return str(dict(os.environ))", "PATH", id="it has no secrets"),
    ],
)
def test_a_module_is_bounded(tmp_path: Path, text: str, says: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "canary-secret")
    said = run_module(_module(tmp_path, text), "checks", "check", {"branch": "main"}, 4.0)
    found = said.refusal or said.failed or None
    assert (found is None) == (says is None) and (says or "") in (found or "")
    assert "canary-secret" not in str(said) and len(said.output) <= 16 << 10
