"""Objects from the command line: folders copied, moved and removed, other repositories, links, missing bytes."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from lochan.cli.exit_codes import CONFLICT, GONE, INVALID, NOT_FOUND, REFUSED
from tests.integration.test_cli_versioning import answer, demo, fine, lochan, newcomer, sample, wrong

__all__ = ["demo", "newcomer"]  # fixtures

pytestmark = pytest.mark.usefixtures("demo")


def upload(where: str, data: bytes = b"new\n", *options: str) -> None:
    fine("fs", "upload", "-", where, *options, stdin=data)


def listed(where: str = "demo") -> list[str]:
    return [each["path"] for each in answer("fs", "ls", "-r", where)]


def assert_gone(where: str) -> None:
    assert lochan("fs", "ls", "-r", where).exit_code == NOT_FOUND


def files_of(where: str) -> list[Path]:
    """The files with the bytes of an object."""
    return [Path(".lochan") / each["address"] for each in answer("fs", "stat", where)["blocks"]]


def test_folders_are_copied_moved_and_removed_whole(tmp_path: Path) -> None:
    fine("fs", "upload", "-r", str(sample(tmp_path / "in")), "demo/in")
    names = [path.removeprefix("in/") for path in listed("demo/in/")]
    assert answer("fs", "cp", "-r", "demo/in", "demo/out/")["objects"] == 4
    assert listed("demo/out/") == [f"out/{name}" for name in names]
    assert "moved demo/out/ to demo/new/: 4 objects" in fine("fs", "mv", "-r", "demo/out", "demo/new")
    assert_gone("demo/out/")
    assert fine("fs", "cat", "demo/new/a.csv") == "one\n"
    assert answer("fs", "rm", "-r", "demo/new", "--yes") == {"removed": 4}
    assert_gone("demo/new/")
    events = answer_lines("events", "demo")
    assert [event["type"] for event in events][-3:] == ["staged"] * 3


def answer_lines(*words: str) -> list[dict[str, Any]]:
    import json

    return [json.loads(line) for line in fine(*words, "-f", "json").splitlines()]


def test_a_copy_onto_itself_has_other_notes() -> None:
    assert "are the same" in wrong(INVALID, "fs", "cp", "demo/data/a.csv", "demo/data/a.csv")
    fine("fs", "cp", "demo/data/a.csv", "demo/data/a.csv", "--metadata", "owner=ada", "--content-type", "text/plain")
    stat = answer("fs", "stat", "demo/data/a.csv")
    assert (stat["metadata"], stat["content_type"]) == ({"owner": "ada"}, "text/plain")
    assert lochan("fs", "cp", "-r", "demo/data", "demo/d", "--metadata", "a=b").exit_code == 2


def test_another_repository_gets_bytes_of_its_own(tmp_path: Path) -> None:
    fine("repo", "create", "other")
    upload("demo/data/b.csv", b"two\n", "--metadata", "owner=ada")
    assert answer("fs", "cp", "demo/data/b.csv", "other@main/b.csv")["metadata"] == {"owner": "ada"}
    assert answer("fs", "cp", "-r", "demo@main/data", "other/in") == {"objects": 2, "bytes": 8}
    assert listed("other") == ["b.csv", "in/a.csv", "in/b.csv"]
    mine, theirs = files_of("demo/data/b.csv"), files_of("other/in/b.csv")
    assert mine[0].parts[1] != theirs[0].parts[1]
    mine[0].unlink()
    assert fine("fs", "cat", "other/in/b.csv") == "two\n"
    assert "in different repositories" in wrong(INVALID, "fs", "mv", "demo/data/a.csv", "other/a.csv")
    assert "no objects in 'none/' at main" in wrong(NOT_FOUND, "fs", "cp", "-r", "demo/none", "other")


def test_vanished_bytes_are_gone_whatever_is_asked(tmp_path: Path) -> None:
    fine("repo", "create", "other")
    upload("demo/big", bytes(70 << 20))
    upload("demo/small", b"x")
    files_of("demo/small")[0].unlink()
    last = files_of("demo/big")[-1]
    last.unlink()
    for name in ("small", "big"):
        for words in (
            ("fs", "cat", f"demo/{name}"),
            ("fs", "download", f"demo/{name}", "out"),
            ("fs", "cp", f"demo/{name}", "demo/copy"),
            ("fs", "cp", f"demo/{name}", "other/copy"),
        ):
            result = lochan(*words)
            assert result.exit_code == GONE, (words, result.stderr)
            assert "gone" in result.stderr
    assert lochan("fs", "cp", "-r", "demo", "demo@main/all").exit_code == GONE
    assert lochan("fs", "download", "-r", "demo", "out").exit_code == GONE
    assert listed() == ["big", "data/a.csv", "small"]
    assert listed("other") == []
    assert [file.name for file in tmp_path.rglob(".lochan-part*")] == []
    assert answer("fs", "stat", "demo/small")["size"] == 1  # what is known stays known
    fine("fs", "rm", "demo/small")


def test_stat_shows_where_the_bytes_lie() -> None:
    upload("demo/big", bytes(70 << 20))
    shown = fine("fs", "stat", "demo/big", "--blocks")
    for block in answer("fs", "stat", "demo/big")["blocks"]:
        assert block["address"] in shown
        assert block["sha256"] in shown
    assert "ADDRESS" not in fine("fs", "stat", "demo/big")


def test_bytes_are_put_by_another_program_and_linked(tmp_path: Path) -> None:
    given = answer("fs", "address", "demo@main/linked.csv", "--expires", "1")
    assert given["url"].startswith("file://")
    place = Path(given["url"].removeprefix("file://"))
    assert place == tmp_path / ".lochan" / given["address"]
    words = ("fs", "link", "--token", given["token"])
    assert "put the bytes there first" in wrong(NOT_FOUND, *words, "demo/linked.csv")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"linked\n")
    assert "is for the path 'linked.csv'" in wrong(REFUSED, *words, "demo/else.csv")
    assert "7 bytes were put there, not 8" in wrong(INVALID, *words, "demo/linked.csv", "--size", "8")
    assert "MD5" in wrong(INVALID, *words, "demo/linked.csv", "--checksum", "0" * 32)
    md5 = hashlib.md5(b"linked\n").hexdigest()
    assert answer(*words, "demo/linked.csv", "--checksum", md5)["checksum"] == md5
    assert fine("fs", "cat", "demo/linked.csv") == "linked\n"
    assert "was used already" in wrong(REFUSED, *words, "demo/linked.csv")
    key = (tmp_path / ".lochan" / "_lake" / "keys" / "address-tokens").read_bytes()[:32]
    assert key.hex() not in fine("events", "demo", "-f", "json") + fine("events", "-f", "json")


def test_a_file_outside_is_linked(tmp_path: Path) -> None:
    (tmp_path / "100% é.csv").write_bytes(b"outside\n")
    assert answer("fs", "link", "100% é.csv", "demo/out.csv", "--content-type", "text/csv")["size"] == 8
    assert fine("fs", "cat", "demo/out.csv") == "outside\n"
    fine("commit", "demo", "-m", "linked")
    fine("fs", "download", "demo/out.csv", "copy")
    assert (tmp_path / "copy").read_bytes() == b"outside\n"
    fine("fs", "cp", "demo/out.csv", "demo/again.csv")
    fine("repo", "create", "other")
    fine("fs", "cp", "demo/out.csv", "other/out.csv")
    (tmp_path / "100% é.csv").write_bytes(b"another\n!")
    assert "has changed since" in wrong(CONFLICT, "fs", "cat", "demo/out.csv")
    (tmp_path / "100% é.csv").unlink()
    assert "gone" in wrong(GONE, "fs", "cat", "demo/out.csv")
    assert "gone" in wrong(GONE, "fs", "cp", "demo/out.csv", "demo/third.csv")
    assert fine("fs", "cat", "other/out.csv") == "outside\n"


@pytest.mark.parametrize(
    "words, code, message",
    [
        ("fs link none.csv demo/a", NOT_FOUND, "none.csv"),
        ("fs link http://x/y demo/a", INVALID, "is not a place to read from"),
        ("fs link s3:// demo/a", INVALID, "is not a place to read from"),
        ("fs link . demo/a", NOT_FOUND, "is not in"),
        ("fs link .lochan/lake.json demo/a", REFUSED, "is in this lake"),
        ("fs link file demo", INVALID, "the path is missing"),
        ("fs link file demo/a --size 3", INVALID, "give its --token too"),
        ("fs link --token x demo/a", REFUSED, "not one of ours"),
        ("fs address demo", INVALID, "the path is missing"),
        ("fs address demo@none/a", NOT_FOUND, "no branch 'none'"),
        ("fs cp -r demo/none demo/b", NOT_FOUND, "no objects in 'none/'"),
        ("fs cp -r demo/data demo/data/", INVALID, "are the same"),
        ("fs mv -r demo/data demo@dev/b", INVALID, "on different branches"),
        ("fs mv -r demo@main~1/data demo/b", INVALID, "is not a branch"),
    ],
)
def test_a_mistake_is_one_clear_line(words: str, code: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert message in wrong(code, *words.split())
    assert answer("status", "demo")["staged"] == []
