"""History from the command line: log and its graph, blame, merge-base, bisect, diff by folders, rebase."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lochan import connect
from lochan.cli.root import cli
from lochan.config.find import system_user

LOCHAN = Path(sys.executable).parent / "lochan"


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fine("init")
    fine("repo", "create", "demo")


def lochan(*words: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, words, input=stdin, prog_name="lochan", catch_exceptions=False)


def fine(*words: str, stdin: bytes | None = None) -> str:
    result = lochan(*words, stdin=stdin)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def answer(*words: str) -> Any:
    return json.loads(fine(*words, "-f", "json"))


def wrong(code: int, *words: str) -> str:
    """Returns the error message."""
    result = lochan(*words)
    assert result.exit_code == code, (words, result.output)
    assert "lochan: " in result.stderr
    return result.stderr


def write(branch: str, message: str, **files: str) -> str:
    """Each as `name=text` in the folder data; returns the commit."""
    for name, text in files.items():
        fine("fs", "upload", "-", f"demo@{branch}/data/{name.replace('_', '/')}", stdin=text.encode())
    id: str = answer("commit", f"demo@{branch}", "-m", message)["id"]
    return id


def parted() -> None:
    """Two branches that have merged each other's first commit."""
    write("main", "base", a="0")
    fine("branch", "create", "demo@dev")
    write("main", "m1", m="1")
    write("dev", "d1", d="1")
    fine("branch", "create", "demo@m1", "--from", "main")
    fine("branch", "create", "demo@d1", "--from", "dev")
    fine("merge", "demo@d1", "demo@main", "-m", "d1 into main")
    fine("merge", "demo@m1", "demo@dev", "-m", "m1 into dev")


def test_a_log_by_time_path_and_number() -> None:
    parted()
    messages = [each["message"] for each in answer("log", "demo@main")]
    assert (messages[0], sorted(messages[1:3]), messages[3:]) == (
        "d1 into main",
        ["d1", "m1"],
        ["base", "Repository created"],
    )
    assert [each["message"] for each in answer("log", "demo", "-n", "1")] == ["d1 into main"]
    assert [each["message"] for each in answer("log", "demo", "--path", "data/d")] == ["d1"]
    assert [each["message"] for each in answer("log", "demo", "--first-parent", "--prefix", "data/")] == [
        "d1 into main",
        "m1",
        "base",
    ]
    assert answer("log", "demo", "--since", "2100-01-01") == []
    assert answer("log", "demo", "--until", "2000-01-01") == []
    lines = fine("log", "demo", "-n", "2").splitlines()
    assert lines[0].split() == ["ID", "DATE", "AUTHOR", "MESSAGE"]
    assert len(lines) == 3


def test_a_log_by_author_and_words_on_one_line() -> None:
    parted()
    assert [line.split(maxsplit=1)[1] for line in fine("log", "demo", "--oneline", "-n", "1").splitlines()] == [
        "d1 into main"
    ]
    assert [each["message"] for each in answer("log", "demo", "--grep", "INTO")] == ["d1 into main"]
    assert answer("log", "demo", "--author", "nobody-of-that-name") == []
    everything = answer("log", "demo")
    assert answer("log", "demo", "--since", "1 hour ago") == everything
    assert answer("log", "demo", "--until", "1 hour ago") == []


def test_a_drawn_log() -> None:
    parted()
    fine("merge", "demo@dev", "demo@main", "-m", "together")
    lines = fine("log", "demo", "--graph").splitlines()
    drawn = [line[: line.index("  20")][:-12] + line.split("  ")[-1] if "  20" in line else line for line in lines]
    assert drawn == [
        "* together",
        "|\\",
        "| * m1 into dev",
        "| |\\",
        "* | | d1 into main",
        "|\\| |",
        "|_|/",
        "| * d1",
        "* | m1",
        "|/",
        "* base",
        "* Repository created",
    ]
    assert [line.split("  ")[-1] for line in fine("log", "demo", "--graph", "--path", "data/d").splitlines()][-2:] == [
        "d1",
        "|/",
    ]
    assert len(fine("log", "demo", "--graph", "-n", "1").splitlines()) == 1
    assert lochan("log", "demo", "--graph", "-f", "json").exit_code == 2


def test_what_is_printed_by_a_log_can_be_cut_off() -> None:
    parted()
    ran = subprocess.run(f"{LOCHAN} log demo@main | head -n 1", shell=True, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["ID", "DATE", "AUTHOR", "MESSAGE"]
    assert ran.stderr == ""


def test_blame_and_merge_base() -> None:
    parted()
    found = {each["path"]: each["message"] for each in answer("blame", "demo@main/data/")}
    assert found == {"data/a": "base", "data/d": "d1", "data/m": "m1"}
    assert [each["message"] for each in answer("blame", "demo/data/d")] == ["d1"]
    assert [each["path"] for each in answer("blame", "demo")] == ["data/a", "data/d", "data/m"]
    assert "data/a" in fine("blame", "demo@main/data/a")
    assert "'data/x' is committed" in wrong(3, "blame", "demo@main/data/x")
    both = {each["message"] for each in answer("merge-base", "demo@main", "demo@dev", "--all")}
    assert both == {"m1", "d1"}
    assert len(answer("merge-base", "demo@main", "demo@dev")) == 1
    assert [each["message"] for each in answer("merge-base", "demo@m1", "demo@d1")] == ["base"]
    assert "different repositories" in wrong(6, "merge-base", "demo@main", "other@dev")


def test_a_diff_by_folders() -> None:
    write("main", "base", x_1="1", x_2="22", y="1")
    fine("branch", "create", "demo@dev")
    write("dev", "dev", x_1="11", x_sub_3="333", z="1")
    write("main", "main", w="1")
    assert answer("diff", "demo@main", "demo@dev", "--roll-up", "--prefix", "data/") == [
        {"path": "data/w", "added": 0, "removed": 1, "changed": 0, "bytes_added": 0, "bytes_removed": 1},
        {"path": "data/x/", "added": 1, "removed": 0, "changed": 1, "bytes_added": 5, "bytes_removed": 1},
        {"path": "data/z", "added": 1, "removed": 0, "changed": 0, "bytes_added": 1, "bytes_removed": 0},
    ]
    three = answer("diff", "demo@main", "demo@dev", "--depth", "2", "--three-dot")
    assert [each["path"] for each in three] == ["data/x/", "data/z"]
    assert answer("diff", "demo@main", "demo@dev", "--three-dot", "--stat") == {
        "added": 2,
        "removed": 0,
        "changed": 1,
        "bytes_added": 6,
        "bytes_removed": 1,
    }
    fine("fs", "upload", "-", "demo@dev/data/x/1", stdin=b"4444")
    assert answer("diff", "demo@dev", "--delimiter", "a/") == [
        {"path": "data/", "added": 0, "removed": 0, "changed": 1, "bytes_added": 4, "bytes_removed": 2}
    ]
    table = fine("diff", "demo@dev", "--roll-up").splitlines()
    assert table[0].split() == ["ADDED", "REMOVED", "CHANGED", "BYTES_ADDED", "BYTES_REMOVED", "PATH"]
    assert table[1].split() == ["0", "0", "1", "4", "B", "2", "B", "data/"]
    assert lochan("diff", "demo@dev", "--delimiter", "").exit_code == 2


def commits(count: int) -> list[str]:
    return [write("main", f"c{number}", n=str(number)) for number in range(count)]


def test_a_bisection_by_hand(tmp_path: Path) -> None:
    ids = commits(9)
    step = answer("bisect", "start", f"demo@{ids[0]}", "demo@main")
    assert (step["candidates"], step["rounds"]) == (8, 3)
    assert "under way" in wrong(4, "bisect", "start", f"demo@{ids[0]}", "demo@main")
    tests = 0
    while step["test"]:
        tests += 1
        number = int(fine("fs", "cat", f"{step['test']}/data/n"))
        step = answer("bisect", "bad" if number >= 6 else "good", "demo")
    assert step["first_bad"]["message"] == "c6"
    assert tests == 3
    assert list((tmp_path / ".local/state/lochan/bisect").iterdir())
    assert "there is nothing left to test" in wrong(6, "bisect", "good", "demo")
    fine("bisect", "reset", "demo")
    assert "no bisection" in wrong(3, "bisect", "good", "demo")
    assert not list((tmp_path / ".local/state/lochan/bisect").iterdir())


def test_marks_that_make_no_sense_are_not_kept(tmp_path: Path) -> None:
    ids = commits(5)
    assert "swapped" in wrong(6, "bisect", "start", "demo@main", f"demo@{ids[0]}")
    step = answer("bisect", "start", f"demo@{ids[0]}", "demo@main")
    assert "swapped" in wrong(6, "bisect", "bad", f"demo@{ids[0]}")
    assert step["test"] == f"demo@{ids[2]}"
    assert answer("bisect", "skip", "demo@main~2")["test"] in (f"demo@{ids[1]}", f"demo@{ids[3]}")
    assert "test demo@" in fine("bisect", "good", f"demo@{ids[1]}")
    [file] = (tmp_path / ".local/state/lochan/bisect").iterdir()
    file.write_text("{}")
    assert "bisect reset demo" in wrong(6, "bisect", "good", "demo")


def test_only_skipped_ones_are_left() -> None:
    ids = commits(3)
    fine("bisect", "start", f"demo@{ids[0]}", "demo@main")
    assert "only skipped commits are left" in fine("bisect", "skip", "demo")


def test_a_bisection_by_a_command() -> None:
    ids = commits(9)
    script = f'n=$({LOCHAN} fs cat "$LOCHAN_BISECT_URI/data/n"); echo "$n"; test "$n" != 4 || exit 125; test "$n" -lt 6'
    words = ("bisect", "run", f"demo@{ids[0]}", "demo@main")
    found = json.loads(fine(*words, "-f", "json", "--", "sh", "-c", script))
    assert found["first_bad"]["message"] == "c6"
    assert "the first bad commit is" in fine(*words, "--", "sh", "-c", 'test "$LOCHAN_BISECT_REF"; exit 1')
    assert "one of 8, and all between were skipped" in wrong(6, *words, "--", "sh", "-c", "exit 125")
    assert "no command 'no-such-command'" in wrong(3, *words, "--", "no-such-command")
    stopped = lochan(*words, "--", "sh", "-c", "kill -9 $$")
    assert (stopped.exit_code, "was stopped" in stopped.stderr) == (1, True)
    assert lochan("bisect", "run", "demo@main~1", "demo@main").exit_code == 2


def test_the_command_finds_the_lake_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = commits(3)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    script = f'test "$({LOCHAN} fs cat "$LOCHAN_BISECT_URI/data/n")" -lt 2'
    words = ("bisect", "run", f"demo@{ids[0]}", "demo@main", "--lake", str(tmp_path / ".lochan"))
    assert "c2" in fine(*words, "--", "sh", "-c", script)


def test_a_rebase() -> None:
    write("main", "base", a="0", b="0")
    fine("branch", "create", "demo@dev")
    write("dev", "one", a="1")
    write("dev", "two", c="1")
    write("main", "on main", m="1")
    done = answer("rebase", "demo@dev", "demo@main")
    assert (done["replayed"], done["dropped"]) == (2, 0)
    assert [each["message"] for each in answer("log", "demo@dev")][:3] == ["two", "one", "on main"]
    assert "already" in wrong(6, "rebase", "demo@dev", "demo@main")
    assert "itself" in wrong(6, "rebase", "demo@dev", "demo@dev")
    write("main", "clash", c="9")
    result = lochan("rebase", "demo@dev", "demo@main", "-f", "json")
    assert result.exit_code == 4
    assert [each["path"] for each in json.loads(result.stdout)] == ["data/c"]
    assert "(two): 1 path was changed on both sides" in result.stderr
    assert answer("log", "demo@dev", "-n", "1")[0]["id"] == done["head"]
    fine("fs", "upload", "-", "demo@dev/data/x", stdin=b"x")
    assert "uncommitted" in wrong(5, "rebase", "demo@dev", "demo@main")
    fine("reset", "demo@dev", "--yes")
    fine("reset", "demo@dev", "--hard", "dev~1", "--yes")
    assert "1 commit replayed" in fine("rebase", "demo@dev", "demo@main")


def test_time_travel() -> None:
    write("main", "first", a="one")
    between = datetime.now(UTC).isoformat()
    write("main", "second", a="two", b="new")
    past = f"demo@main@{{{between}}}"
    assert fine("fs", "cat", f"{past}/data/a") == "one"
    assert [each["path"] for each in answer("fs", "ls", f"{past}/data/")] == ["data/a"]
    assert [each["path"] for each in answer("diff", past, "demo@main")] == ["data/a", "data/b"]
    assert answer("log", past, "-n", "1")[0]["message"] == "first"
    fine("branch", "create", "demo@old", "--from", f"main@{{{between}}}")
    assert fine("fs", "cat", "demo@old/data/a") == "one"
    assert fine("fs", "cat", "demo@main@{now}/data/a") == "two"
    assert fine("fs", "cat", "demo@main@{now}~1/data/a") == "one"
    assert "was created later" in wrong(3, "fs", "cat", "demo@main@{2 hours ago}/data/a")
    assert "never was a branch" in wrong(3, "log", "demo@nobody@{now}")
    assert "is not a time" in wrong(6, "log", "demo@main@{soon}")
    fine("branch", "delete", "demo@old")
    assert "had been deleted" in wrong(3, "fs", "cat", "demo@old@{now}/data/a")


def test_an_author_may_be_claimed_but_not_a_committer(tmp_path: Path) -> None:
    """With every verb that makes a commit, and from Python."""
    own = system_user()
    claim = ("-s", "user=somebody-else")
    fine("fs", "upload", "-", "demo/b", *claim, stdin=b"x")
    made = answer("commit", "demo", "-m", "claimed", *claim)
    assert (made["author"], made["committer"]) == ("somebody-else", own)
    fine("revert", "demo", "main", *claim)
    fine("create", "logs", "--key", "k")
    fine("load", "logs", "-", *claim, stdin=b'{"k": 1}')
    with connect(tmp_path / ".lochan", user="somebody-else") as lake:
        lake.pool("logs").load([{"k": 2}])
    for name, count in (("demo", 2), ("logs", 2)):
        log = answer("log", name)
        assert {(each["author"], each["committer"]) for each in log[:count]} == {("somebody-else", own)}
        for options in ((), ("--graph",)):
            lines = [line for line in fine("log", name, *options).splitlines() if "  somebody-else  " in line]
            assert len(lines) == count and all(line.endswith(f"  (committed by {own})") for line in lines)
        events = [json.loads(line) for line in fine("events", name, "-f", "json").splitlines()]
        assert {each["user"] for each in events} == {own}
        assert events[-1]["author"] == "somebody-else"
