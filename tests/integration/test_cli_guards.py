"""Stashes, protected branches, read-only repositories, renames and dry-run merges from the command line."""

from pathlib import Path

import pytest

from lochan.cli.exit_codes import CONFLICT, INVALID, NOT_FOUND, REFUSED
from tests.integration.test_cli_versioning import answer, demo, fine, lochan, newcomer, wrong

__all__ = ["demo", "newcomer"]  # fixtures

pytestmark = pytest.mark.usefixtures("demo")


def upload(path: str, data: bytes = b"new\n", branch: str = "main") -> None:
    fine("fs", "upload", "-", f"demo@{branch}/{path}", stdin=data)


def staged(branch: str = "main") -> list[str]:
    return [each["path"] for each in answer("status", f"demo@{branch}")["staged"]]


def test_what_is_staged_is_put_aside_and_taken_up_again() -> None:
    assert "nothing is staged" in wrong(INVALID, "stash", "push", "demo")
    upload("data/b.csv")
    fine("fs", "rm", "demo@main/data/a.csv")
    id = answer("stash", "push", "demo", "-m", "half done")["id"]
    assert staged() == []
    [listed] = answer("stash", "list", "demo")
    assert (listed["id"], listed["branch"], listed["changes"], listed["message"]) == (id, "main", 2, "half done")
    assert answer("stash", "list", "demo@main") == [listed]
    upload("data/other.csv")
    assert "uncommitted" in wrong(REFUSED, "stash", "pop", "demo")
    fine("commit", "demo", "-m", "other")
    assert answer("stash", "pop", "demo", id) == {"id": id}
    assert sorted(staged()) == ["data/a.csv", "data/b.csv"]
    assert answer("stash", "list", "demo") == []
    assert "no stash" in wrong(NOT_FOUND, "stash", "pop", "demo@main", id)


def test_a_stash_is_not_laid_over_what_others_changed() -> None:
    upload("data/a.csv", b"mine\n")
    fine("stash", "push", "demo")
    upload("data/a.csv", b"theirs\n")
    fine("commit", "demo", "-m", "theirs")
    assert "1 of the stashed paths" in wrong(CONFLICT, "stash", "pop", "demo")
    fine("branch", "create", "demo@before", "--from", "main~1")
    fine("stash", "pop", "demo@before", answer("stash", "list", "demo")[0]["id"])
    assert fine("fs", "cat", "demo@before/data/a.csv") == "mine\n"


def test_a_stash_is_dropped_after_confirmation() -> None:
    upload("data/b.csv")
    id = answer("stash", "push", "demo")["id"]
    assert "--yes" in wrong(REFUSED, "stash", "drop", "demo")
    assert id in fine("stash", "drop", "demo", "--yes")
    assert "nothing was stashed" in wrong(NOT_FOUND, "stash", "drop", "demo", "--yes")


def test_a_protected_branch_takes_merges_only() -> None:
    fine("branch", "create", "demo@dev")
    blocked = ["stage", "commit", "revert", "rewrite"]
    none = {"mergers": [], "linear": False, "pull": False, "approvals": 0, "checks": [], "keep_stale": False}
    assert answer("branch", "protect", "demo", "ma*") == [{"pattern": "ma*", "blocked": blocked, **none}]
    refused = lochan("fs", "upload", "-", "demo@main/x", stdin=b"x")
    assert refused.exit_code == REFUSED
    assert "protected" in refused.stderr
    wrong(REFUSED, "commit", "demo", "-m", "no", "--allow-empty")
    wrong(REFUSED, "reset", "demo", "--hard", "main~1", "--yes")
    upload("x", branch="dev")
    fine("commit", "demo@dev", "-m", "x")
    fine("merge", "demo@dev", "demo@main")
    assert fine("fs", "cat", "demo@main/x") == "new\n"
    wrong(NOT_FOUND, "branch", "unprotect", "demo", "main")
    assert answer("branch", "unprotect", "demo", "ma*") == []
    assert answer("branch", "protection", "demo") == []
    upload("y")
    assert answer("branch", "protect", "demo", "main", "--block", "rewrite")[0]["blocked"] == ["rewrite"]
    fine("commit", "demo", "-m", "y")
    assert "PATTERN" in fine("branch", "protection", "demo")


def test_a_read_only_repository_is_read() -> None:
    upload("b")
    fine("repo", "read-only", "demo")
    assert "read-only" in wrong(REFUSED, "commit", "demo", "-m", "no")
    wrong(REFUSED, "branch", "create", "demo@dev")
    wrong(REFUSED, "tag", "create", "demo@v1")
    assert fine("fs", "cat", "demo@main/b") == "new\n"
    assert answer("repo", "read-only", "demo", "--off") == {"name": "demo", "read_only": False}
    fine("commit", "demo", "-m", "yes")


def test_a_branch_gets_another_name() -> None:
    fine("branch", "create", "demo@dev")
    upload("b", branch="dev")
    fine("branch", "rename", "demo@dev", "work")
    assert staged("work") == ["b"]
    wrong(NOT_FOUND, "status", "demo@dev")
    assert "default" in wrong(REFUSED, "branch", "rename", "demo@main", "trunk")
    wrong(CONFLICT, "branch", "rename", "demo@work", "main")
    wrong(INVALID, "branch", "rename", "demo@work", "a/b")


def test_a_rehearsed_merge_changes_nothing() -> None:
    fine("branch", "create", "demo@dev")
    upload("b", b"12345", branch="dev")
    fine("fs", "rm", "demo@dev/data/a.csv")
    fine("commit", "demo@dev", "-m", "dev")
    before = answer("branch", "list", "demo")
    dry_run = answer("merge", "demo@dev", "demo@main", "--dry-run")
    assert dry_run == {"added": 1, "removed": 1, "changed": 0, "bytes_added": 5, "bytes_removed": 4}
    assert "would merge" in fine("merge", "demo@dev", "demo@main", "--dry-run")
    assert answer("branch", "list", "demo") == before
    upload("data/a.csv", b"ours")
    fine("commit", "demo", "-m", "ours")
    refused = lochan("merge", "demo@dev", "demo@main", "--dry-run")
    assert refused.exit_code == CONFLICT
    assert "data/a.csv" in refused.stdout


def test_strategies_by_prefix(tmp_path: Path) -> None:
    upload("raw/x", b"base")
    fine("commit", "demo", "-m", "base")
    fine("branch", "create", "demo@dev")
    for branch in ("main", "dev"):
        for path in ("raw/x", "data/a.csv"):
            upload(path, branch.encode(), branch)
        fine("commit", f"demo@{branch}", "-m", branch)
    wrong(INVALID, "merge", "demo@dev", "demo@main", "--strategy-for", "raw/=fastest")
    wrong(INVALID, "merge", "demo@dev", "demo@main", "--strategy-for", "a=dest-wins", "--strategy-for", "a=dest-wins")
    stopped = lochan("merge", "demo@dev", "demo@main", "--strategy-for", "raw/=source-wins")
    assert stopped.exit_code == CONFLICT
    assert "raw/x" not in stopped.stdout
    fine("merge", "demo@dev", "demo@main", "--strategy", "dest-wins", "--strategy-for", "raw/=source-wins")
    assert fine("fs", "cat", "demo@main/raw/x") == "dev"
    assert fine("fs", "cat", "demo@main/data/a.csv") == "main"


def test_what_is_staged_is_committed_with_the_merge() -> None:
    fine("branch", "create", "demo@dev")
    upload("theirs", branch="dev")
    fine("commit", "demo@dev", "-m", "theirs")
    upload("ours")
    wrong(REFUSED, "merge", "demo@dev", "demo@main")
    fine("merge", "demo@dev", "demo@main", "--commit-staged", "ours first")
    assert [each["message"] for each in answer("log", "demo", "--first-parent")][:2] == [
        "Merge 'dev' into 'main'",
        "ours first",
    ]
    upload("later")
    fine("revert", "demo", "main~1", "--commit-staged", "later too")
    assert staged() == []
    upload("more", branch="dev")
    wrong(REFUSED, "merge", "demo@dev", "demo@main")
    wrong(INVALID, "merge", "demo@dev", "demo@main", "--leave-staged")  # nothing new is committed there
    wrong(INVALID, "merge", "demo@main", "demo@main")


@pytest.mark.parametrize("verb", ["merge", "rebase"])
def test_every_conflict_is_listed_however_many(tmp_path: Path, verb: str) -> None:
    """More than come with the error itself."""
    import json

    count = 1_203
    for branch in ("dev", "main"):
        if branch == "dev":
            fine("branch", "create", "demo@dev")
        folder = tmp_path / branch
        folder.mkdir()
        for number in range(count):
            (folder / f"{number:05d}").write_text(branch)
        fine("fs", "upload", "-r", str(folder), f"demo@{branch}/many/")
        fine("commit", f"demo@{branch}", "-m", branch)
    words = ("merge", "demo@dev", "demo@main") if verb == "merge" else ("rebase", "demo@dev", "demo@main")
    refused = lochan(*words, "-f", "json")
    assert refused.exit_code == CONFLICT
    assert "1203 paths" in refused.stderr
    listed = json.loads(refused.stdout)
    assert [each["path"] for each in listed] == [f"many/{number:05d}" for number in range(count)]
    assert all(each["base"] is None and each["ours"] != each["theirs"] for each in listed)
    table = lochan(*words).stdout.splitlines()
    assert len(table) == count + 1
    assert table[-1].startswith("many/01202")
