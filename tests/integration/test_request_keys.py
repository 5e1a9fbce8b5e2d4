"""Every command that changes something can be repeated with its key (rule J8): whichever answer was lost, it is carried
out once, and prints what it printed, or would have printed, the first time.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

import lochan as lochan_python
from lochan.cli.request_key import OPTION
from lochan.cli.root import cli
from lochan.errors import KeyReused, Unknown
from tests.integration.test_cli_versioning import fine, lochan, newcomer
from tests.lost_answer import lost_answer

__all__ = ["newcomer"]  # a fixture

KEY = "first-try"
# What only prepares a change, or tidies up: not counted.
PREPARING = {"sealed", "turned", "turn-over", "workspace-sealed", "repository-opened", "abandoned", "compacted"}
READS = """
auth actions, auth can, auth groups list, auth groups show, auth identities list, auth keys list, auth policies list,
auth policies show, auth sessions list,
auth tokens create,
audit, auth users list, auth users show,
bisect bad, bisect good, bisect reset, bisect run, bisect skip, bisect start, blame, branch list, branch protection,
companion start, companion status, companion stop,
completion, config show, diff, doctor, events, explain, export, fs cat, fs download, fs ls, fs presign, fs stat,
gc dangling,
gc jobs, gc report, gc rules check, gc rules show, hooks check, hooks list, hooks runs, hooks secret, hooks show,
ingest diff, jobs list, jobs show, lifecycle render, log, ls,
merge-base, policy render, pool list, pr checks, pr diff, pr list, pr show, repo list, repo show, show,
stash list, status,
subscription dead-letters, subscription list, tag list, top, upkeep status,
usage show, use, workspace diff, workspace list, workspace path, workspace show
"""
OTHERWISE = {
    "checkout": "it goes on where it was",
    "pull": "a second one finds nothing new",
    "login": "it notes the same again",
    "logout": "a second one finds no profile",
    "init": "a second one finds the lake",
    "serve": "it is no request",
    "mcp": "each call of a tool is a request of its own",
    "shell": "each query is a request of its own",
    "ingest stream": "its offsets say what has landed",
    "gc expire": "what has expired does not expire again",
    "gc plan": "a second one is refused while the first is under way",
    "gc sweep": "it goes on where it was",
    "gc abandon": "a second one finds no plan",
    "gc run": "it does what is due",
    "gc drop": "what was dropped is not there any more",
    "gc abandon-jobs": "a job is given up once",
    "gc repack": "what was rewritten is no longer sparse",
    "dedupe": "equal blocks are kept once already",
    "fs coalesce": "the object is one file already",
    "ingest watch": "its offsets say what has landed",
    "upkeep run": "it does what is due",
    "usage compact": "a day is compacted once",
    "fsck": "what was repaired is right",
    "rebuild": "what was made again is there",
    "scrub": "it goes on where it was",
    "backup": "it copies what is new",
    "restore": "the place must be empty",
}


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        found = group.get_command(ctx, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, (*words, name))
        else:
            yield " ".join((*words, name)), found


def test_every_command_that_changes_something_takes_a_key() -> None:
    reads = {words.strip() for words in READS.replace("\n", " ").split(",")}
    found = dict(commands(cli))
    assert reads <= found.keys()
    taking = {words for words, each in found.items() if any(OPTION in option.opts for option in each.params)}
    assert taking == found.keys() - reads - OTHERWISE.keys()


class Case(NamedTuple):
    command: str
    before: tuple[str, ...] = ()
    counts: bool = True  # what it says the second time has the same counts in it


STAGED = ("fs upload a.csv demo/data/new.csv",)
DEV = ("branch create demo@dev", "fs upload a.csv demo@dev/dev.csv", "commit demo@dev -m dev")
POOL = ("create logs --key k", "load logs rows.json")
WORKSPACE = ("workspace create demo",)
CASES = [
    Case("repo create other"),
    Case("repo delete demo --yes"),
    Case("repo read-only demo"),
    Case("gc rules set demo --keep *=9d"),
    Case("branch create demo@dev"),
    Case("branch delete demo@dev", DEV),
    Case("branch rename demo@dev new", DEV),
    Case("branch restore demo@dev", (*DEV, "branch delete demo@dev")),
    Case("branch protect demo ma*"),
    Case("branch unprotect demo ma*", ("branch protect demo ma*",)),
    Case("tag create demo@v1"),
    Case("tag delete demo@v1", ("tag create demo@v1",)),
    Case("commit demo -m second", STAGED),
    Case("merge demo@dev demo@main", DEV),
    Case("merge demo@dev demo@main --commit-staged first", (*DEV, *STAGED)),
    Case("revert demo main"),
    Case("cherry-pick demo dev", DEV),
    Case("rebase demo@dev demo@main", (*DEV, *STAGED, "commit demo -m more"), counts=False),
    Case("reset demo --yes", STAGED),
    Case("reset demo@main --hard main~1 --yes"),
    Case("stash push demo", STAGED),
    Case("stash pop demo", (*STAGED, "stash push demo")),
    Case("stash drop demo --yes", (*STAGED, "stash push demo")),
    Case("fs upload a.csv demo/x.csv"),
    Case("fs upload -r files demo/x/"),
    Case("fs rm demo/data/a.csv"),
    Case("fs rm -r demo/data/ --yes"),
    Case("fs cp demo/data/a.csv demo/b.csv"),
    Case("fs cp -r demo/data/ demo/b/"),
    Case("fs cp demo/data/a.csv second/b.csv", ("repo create second",)),
    Case("fs cp -r demo/data/ second/b/", ("repo create second",)),
    Case("fs mv demo/data/a.csv demo/b.csv"),
    Case("fs mv -r demo/data/ demo/b/"),
    Case("fs link FILES/one.csv demo/linked.csv"),
    Case("fs address demo/put.csv"),
    Case("import FILES demo/in/"),
    Case("ingest commit --from-path FILES --to-path demo/in/ -m in"),
    Case("workspace create demo"),
    Case("workspace add demo WORKSPACE **", WORKSPACE),
    Case("workspace drop demo WORKSPACE --yes", WORKSPACE),
    Case(
        "workspace revert demo WORKSPACE --yes",
        (*WORKSPACE, "fs cp demo/data/a.csv demo@main+WORKSPACE/b.csv"),
        counts=False,
    ),
    Case("workspace commit demo WORKSPACE --all -m w", (*WORKSPACE, "fs cp demo/data/a.csv demo@main+WORKSPACE/b.csv")),
    Case("create logs --key k"),
    Case("drop logs --yes", POOL),
    Case("rename logs lines", POOL),
    Case("load logs rows.json", POOL),
    Case("load new rows.json --key k"),
    Case("query 'from logs | load copy'", (*POOL, "create copy --key k")),
    Case("delete logs --where 'k == 1'", POOL),
    Case("compact logs", (*POOL, "load logs rows.json")),
    Case("auth users create ann"),
    Case("auth users delete ann --yes", ("auth users create ann",)),
    Case("auth keys create ann", ("auth users create ann",)),
    Case("auth keys revoke LKIAAAAAAAAAAAAAAAAA --yes", (
        "auth users create ann", "auth keys create ann --access-key-id LKIAAAAAAAAAAAAAAAAA")),
    Case("auth keys rotate LKIAAAAAAAAAAAAAAAAA", (
        "auth users create ann", "auth keys create ann --access-key-id LKIAAAAAAAAAAAAAAAAA")),
    Case("auth identities link ann oidc 7", ("auth users create ann",)),
    Case("auth identities unlink ann oidc 7 --yes", ("auth users create ann", "auth identities link ann oidc 7")),
    Case("auth sessions end --user ann --yes", ("auth users create ann",)),
    Case("auth users disable ann", ("auth users create ann",)),
    Case("auth users enable ann", ("auth users create ann", "auth users disable ann")),
    Case("auth groups create team"),
    Case("auth groups delete team --yes", ("auth groups create team",)),
    Case("auth groups add team ann", ("auth groups create team", "auth users create ann")),
    Case("auth groups remove team ann", (
        "auth groups create team", "auth users create ann", "auth groups add team ann")),
    Case("auth policies put p policy.json"),
    Case("auth policies delete p", ("auth policies put p policy.json",)),
    Case("auth attach ann p", ("auth users create ann", "auth policies put p policy.json")),
    Case("auth detach ann p", ("auth users create ann", "auth policies put p policy.json", "auth attach ann p")),
]  # fmt: skip


def words_of(command: str, workspace: str, place: Path) -> list[str]:
    import shlex

    text = command.replace("WORKSPACE", workspace or "WORKSPACE").replace("FILES", f"file://{place}/files")
    return shlex.split(text)


def prepared(place: Path, before: tuple[str, ...]) -> str:
    """A lake in `place`; the id of the workspace in it, if any."""
    (place / "files").mkdir()
    for name in ("a.csv", "files/one.csv", "files/two.csv"):
        (place / name).write_text("one\n")
    (place / "rows.json").write_text('{"k": 1, "v": "a"}\n{"k": 2, "v": "b"}\n')
    statement = {"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}
    (place / "policy.json").write_text(json.dumps({"statements": [statement]}))
    workspace = ""
    start = ("init", "repo create demo", "fs upload a.csv demo/data/a.csv", "commit demo -m one")
    for command in (*start, *before):
        output = fine(*words_of(command, workspace, place))
        if command.startswith("workspace create"):
            found = re.search(r"created workspace (\S+):", output)
            assert found is not None
            workspace = found[1]
    return workspace


def events(place: Path) -> Counter[str]:
    """The changes in all journals that have a name."""
    found: Counter[str] = Counter()
    names = [each["name"] for each in json.loads(fine("repo", "list", "-f", "json"))]
    for name in ("", *names):
        for line in fine("events", *([name] if name else []), "-f", "json").splitlines():
            found[json.loads(line)["type"]] += 1
    return Counter({kind: count for kind, count in found.items() if kind not in PREPARING})


def bare(output: str) -> str:
    """Without what differs each time: ids, tokens and secrets."""
    output = re.sub(r"/(once|lost-[0-9])/", "/LAKE/", output)
    return re.sub(r"[0-9a-zA-Z_\-.:=]{12,}", "ID", re.sub(r"\b[0-9]+-[0-9a-f]{8}\b", "ID", output))


@pytest.mark.parametrize("case", CASES, ids=[case.command for case in CASES])
def test_sent_again_it_is_done_once(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = tmp_path / "original"
    original.mkdir()
    monkeypatch.chdir(original)
    workspace = prepared(original, case.before)
    words = [*words_of(case.command, workspace, original), OPTION, KEY]

    def at(name: str) -> None:
        shutil.copytree(original, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)

    at("once")
    with lost_answer(0) as appends:
        first = fine(*words)
    once = events(tmp_path)
    assert appends
    again = fine(*words)
    assert bare(again) == bare(first) or not case.counts, "sent again after it was answered"
    assert events(tmp_path) == once
    for number in range(1, len(appends) + 1):
        at(f"lost-{number}")
        with lost_answer(number):
            broken = lochan(*words)
        assert broken.exit_code == 9, (broken.output, number)
        assert f"repeat the command with {OPTION} {KEY}" in broken.stderr
        again = fine(*words)
        assert bare(again) == bare(first) or not case.counts, number
        assert events(tmp_path) == once, number


def test_a_key_of_another_request_is_refused(tmp_path: Path) -> None:
    prepared(tmp_path, ())
    fine("branch", "create", "demo@dev", "--key", KEY)
    output = lochan("branch", "create", "demo@other", "--key", KEY)
    assert output.exit_code == 4
    assert "was used for another request" in output.stderr
    assert "take a new key" in output.stderr


@pytest.mark.parametrize("key", ["", "a b", "k" * 256, "schlüssel", "a\x1bb"])
def test_an_invalid_key_is_refused_before_anything_is_done(key: str, tmp_path: Path) -> None:
    output = lochan("repo", "create", "demo", "--key", key)
    assert (output.exit_code, output.stderr.split("\n")[0].endswith("is not an idempotency key")) == (6, True)


def test_a_key_is_made_and_printed_if_the_outcome_is_unknown(tmp_path: Path) -> None:
    prepared(tmp_path, POOL)
    with lost_answer(1):
        output = lochan("load", "logs", "rows.json")
    assert output.exit_code == 9
    drawn = re.search(rf"repeat the command with {OPTION} (\d{{16}}-[0-9a-f]+)", output.stderr)
    assert drawn is not None
    fine("load", "logs", "rows.json", OPTION, drawn[1])
    assert json.loads(fine("query", "from logs | count()"))["count"] == 4


def test_killed_behind_the_append_a_load_doubles_nothing(tmp_path: Path) -> None:
    prepared(tmp_path, POOL)
    code = (
        "import os\nfrom lochan.failpoints import arm\nfrom lochan.cli.main import main\n"
        "arm(lambda name: os._exit(9) if name == 'append.decided' else None)\nmain()"
    )
    words = ["load", "logs", "rows.json", OPTION, KEY]
    assert subprocess.run([sys.executable, "-c", code, *words], env=dict(os.environ), check=False).returncode == 9
    assert json.loads(fine("query", "from logs | count()"))["count"] == 4
    fine(*words)
    assert json.loads(fine("query", "from logs | count()"))["count"] == 4


def counted(lake: lochan_python.Lake, pool: str) -> int:
    [row] = lake.query(f"from {pool} | count()").rows()
    return int(row["count"])


def test_from_python(tmp_path: Path) -> None:
    prepared(tmp_path, (*POOL, "create copy --key k"))
    rows: list[dict[str, Any]] = [{"k": 3}]
    with lochan_python.connect(tmp_path / ".lochan") as lake:
        once = lochan_python.CommitOptions(key=lake.new_key())
        with lost_answer(1), pytest.raises(Unknown):
            lake.pool("logs").load(rows, options=once)
        first = lake.pool("logs").load(rows, options=once)
        assert lake.pool("logs").load(rows, options=once) == first
        assert counted(lake, "logs") == 3
        with pytest.raises(KeyReused):
            lake.pool("logs").load(rows, "another", once)
        copied = [list(lake.query("from logs | load copy", key="copy").rows()) for _ in range(2)]
        assert copied[0] == copied[1]
        assert counted(lake, "copy") == 3
