"""Every verb in one story. With `-f json` standard output is JSON and nothing else, of one shape; tables are no wider
than the terminal; and times are of one form in both."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click.testing
import pytest
from click.testing import Result
from rich.cells import cell_len

from tests.integration.cli import lochan
from tests.unit.cli.invoke import lochan as piped
from tests.unit.cli.invoke import verbs

OTHER = {"completion", "fs cat", "serve"}  # a script, bytes, and what never ends
LINES = {"events", "manage", "ingest stream", "scrub", "upkeep run"}  # one object a line
OF_ROWS = {"query", "sql", "diff", "status"}  # whose values are shown as they were loaded
_TIME_LIKE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")

# All verbs, in an order in which each has something to do. $0 is what the last `workspace create`, `pr create` or
# `subscription create` has made.
STORY = """
config show
repo create demo
repo create spare
repo show demo
repo list
ls
ls demo
fs upload -r files demo/data/
status demo
diff demo
commit demo -m first
fs ls demo/data/
fs stat demo/data/a.csv
fs download demo/data/a.csv got.csv
fs cp demo/data/a.csv demo/b.csv
fs mv demo/b.csv demo/c.csv
fs rm demo/c.csv
fs link files/a.csv demo/linked.csv
fs address demo/later.csv
stash push demo
stash list demo
stash pop demo
stash push demo
stash drop demo --yes
branch create demo@dev
branch list demo
import files demo@dev/more/
ingest diff --from-path files --to-path demo@dev/more/
ingest commit --from-path other --to-path demo@dev/other/ -m in
cherry-pick demo dev
diff demo@main demo@dev
diff demo@main demo@dev --summary
merge demo@dev demo@main
merge-base demo@main demo@dev
revert demo main --parent 1
log demo
show demo
blame demo/data/
rebase demo@dev demo@main
branch rename demo@dev new
branch delete demo@new
branch restore demo@new
branch protect demo ma*
branch protection demo
branch unprotect demo ma*
branch create demo@pears
fs upload rows.ndjson demo@pears/rows.ndjson
hooks check demo hook.yaml
hooks list demo@pears
hooks run demo@pears --dry-run
commit demo@pears -m pears
pr create demo --from pears --title pears
pr list demo
pr edit demo $0 --description why
pr comment demo $0 -m fine
pr check demo $0 quality success
pr checks demo $0
pr diff demo $0
pr close demo $0
pr reopen demo $0
pr resolve demo $0
pr show demo $0
pr merge demo $0
hooks runs demo
hooks secret demo https://example.org/hook
subscription create https://example.org/events
subscription list
subscription dead-letters $0
subscription redeliver $0
subscription delete $0
tag create demo@v1
tag list demo
tag delete demo@v1
fs upload files/a.csv demo/new.csv
reset demo --yes
workspace create demo
workspace list demo
workspace show demo $0
workspace path demo@main+$0/x.csv
fs cp demo/data/a.csv demo@main+$0/x.csv
workspace diff demo $0
workspace add demo $0 **
workspace revert demo $0 --yes
fs cp demo/data/a.csv demo@main+$0/x.csv
workspace commit demo $0 --all -m in
workspace create demo
workspace drop demo $0 --yes
bisect start demo@main~4 demo@main
bisect skip demo
bisect good demo
bisect bad demo
bisect reset demo
bisect run demo@main~2 demo@main -- echo tried
repo read-only spare
repo read-only spare --off
repo delete spare --yes
repo restore spare
create logs --key ts:time
use logs
load logs rows.ndjson
load logs rows.ndjson
status logs
query 'from logs | count()'
sql 'select * from logs'
explain 'from logs'
diff logs@main~1 logs@main --rows
compact logs
manage --once
delete logs --where 'v == 1'
rename logs lines
ingest stream lines --from folder inbox --once
drop lines --yes
pool list --deleted
pool restore lines
auth users create ann
auth users list
auth users show ann
auth policies list
auth policies put p policy.json
auth policies show p
auth attach ann p
auth can ann fs:ReadObject repository/demo/branch/main/object/a.csv
auth detach ann p
auth policies delete p
auth keys create ann --access-key-id LKIAAAAAAAAAAAAAAAAA
auth keys list ann
auth tokens create LKIAAAAAAAAAAAAAAAAA
auth keys rotate LKIAAAAAAAAAAAAAAAAA --grace 1d
auth groups create team
auth groups add team ann
auth groups list
auth groups show team
auth groups remove team ann
auth groups delete team --yes
auth identities link ann 'oidc https://id.example' 7
auth identities list
auth identities unlink ann 'oidc https://id.example' 7 --yes
auth sessions list
auth sessions end --user ann --yes
auth users disable ann
auth users enable ann
auth keys revoke LKIAAAAAAAAAAAAAAAAA --yes
auth users delete ann --yes
auth actions
jobs list
repo describe demo --metadata team=search
gc rules set demo --keep *=90d
gc rules show demo
gc rules check demo
gc expire demo
gc plan demo --dry-run
gc plan demo
gc abandon demo
gc plan demo --grace 0
gc sweep demo --grace 0
gc run demo --grace 0
gc report demo
gc jobs demo
gc abandon-jobs demo
gc drop demo
gc dangling demo
gc repack demo
dedupe demo
fs coalesce demo/data/
export demo@main out
upkeep status
upkeep run trim
usage show
usage compact
audit
fsck
rebuild --check
scrub
backup copy
restore copy restored
events
doctor
"""
# Below; what needs a server, Spark or a bucket; and what never ends.
ELSEWHERE = {
    *("init", "shell", "ingest stream", "jobs show", "lifecycle render", "policy render", "ingest watch"),
    *("companion start", "companion status", "companion stop", "checkout", "pull", "login", "logout", "fs presign"),
    *("pr review", "hooks show", "mcp", "top"),
}
MAKING = {
    "workspace": ["workspace", "list", "demo"],
    "pr": ["pr", "list", "demo"],
    "subscription": ["subscription", "list"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith("LOCHAN_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, text in {"files/a.csv": "1,a\n", "files/b.csv": "2,b\n", "other/o.csv": "3,c\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "rows.ndjson").write_text('{"ts":"2026-11-01T10:00:00Z","v":1}\n{"ts":"2026-11-01T10:01:00Z","v":2}\n')
    policy = {"statements": [{"effect": "allow", "actions": ["fs:ReadObject"], "resources": ["*"]}]}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    (tmp_path / "hook.yaml").write_text(
        "on: pre-commit\nhooks:\n  - {id: q, kind: query, query: from demo/data/*.csv}\n"
    )
    return tmp_path


def story() -> Iterator[list[str]]:
    for line in STORY.strip().splitlines():
        yield shlex.split(line)


def verb_of(words: list[str]) -> str:
    known = {" ".join(name) for name, _ in verbs()}
    return next(" ".join(words[:count]) for count in (3, 2, 1) if " ".join(words[:count]) in known)


def test_the_story_has_every_verb() -> None:
    played = {verb_of(words) for words in story()}
    assert played == {" ".join(name) for name, _ in verbs()} - OTHER - (ELSEWHERE - played)


def test_every_verb_answers_in_json(folder: Path) -> None:
    for words, result in played_story("-f", "json"):
        check_shape(words, result.stdout)


def test_a_new_lake_answers_in_json(folder: Path) -> None:
    check_shape(["init"], lochan("init", "-f", "json").stdout)


def test_the_shell_answers_in_json(folder: Path) -> None:
    assert lochan("init").exit_code == 0
    answered = piped("shell", "-f", "json", stdin="select 1 as n\n")
    assert json.loads(answered.stdout) == [{"n": 1}]


def check_shape(words: list[str], text: str) -> None:
    """It is one object or a list of them; or one object a line."""
    try:
        answer = [json.loads(line) for line in text.splitlines()] if verb_of(words) in LINES else json.loads(text)
    except ValueError:
        pytest.fail(f"{words}: {text}")
    assert isinstance(answer, dict) or all(isinstance(each, dict) for each in answer), (words, text)
    for found in strings(answer) if verb_of(words) not in OF_ROWS else ():
        assert not _TIME_LIKE.match(found) or _TIME.fullmatch(found), (words, found)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def test_no_table_is_wider_than_the_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences and SQL may be; a terminal breaks them where it ends."""
    for name, value in {"COLUMNS": "60", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
    for words, result in played_story():
        lines = result.stdout.splitlines()
        if len(lines) > 1 and words[0] not in ("explain", "bisect", "events", "fsck", "backup", "restore"):
            assert max(map(cell_len, lines)) <= 60, (words, result.stdout)


def test_every_table_has_times_of_the_same_form(folder: Path) -> None:
    for words, result in played_story():
        if verb_of(words) not in OF_ROWS:
            for found in re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[0-9:.]*\S*", result.stdout):
                assert _TIME.match(found), (words, found)


def played_story(*options: str) -> Iterator[tuple[list[str], Result]]:
    """The story, and what each of its commands has answered."""
    assert lochan("init").exit_code == 0
    made = ""
    for words in story():
        if verb_of(words) in ELSEWHERE:
            continue
        if words[:2] == ["workspace", "create"] and not options:
            words = [*words, "--quiet"]
        given = [word.replace("$0", made) for word in words]
        split = given.index("--") if "--" in given else len(given)
        result = lochan(*given[:split], *options, *given[split:])
        assert result.exit_code == 0, (words, result.output)
        if words[0] in MAKING and words[1] == "create":
            (only,) = json.loads(lochan(*MAKING[words[0]], "-f", "json").stdout)
            made = only["id"]
        yield words, result
