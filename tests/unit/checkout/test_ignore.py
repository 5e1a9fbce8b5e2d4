"""`.lochanignore` means what `.gitignore` means: Git itself is asked."""

import subprocess
from pathlib import Path

import pytest

from lochan.checkout.ignore import Ignore
from lochan.errors import Invalid

PATHS = [
    "a.tmp",
    "a.txt",
    "build/x",
    "sub/build/x",
    "sub/a.tmp",
    "sub/keep.tmp",
    "logs/1/x.log",
    "logs/x.log",
    "a/b",
    "a/x/b",
    "a/x/y/b",
    "#hash",
    "!bang",
    "with space ",
    "a[1].txt",
    "b1.txt",
    "bx.txt",
    "\\back",
    "deep/er/file",
]
RULES = [
    "*.tmp",
    "*.tmp\n!keep.tmp",
    "/build",
    "build/",
    "build",
    "logs/*.log",
    "logs/**",
    "**/logs",
    "a/**/b",
    "a/*",
    "\\#hash",
    "\\!bang",
    "# nothing\n\n   \n",
    "with space\\ ",
    "a.txt   ",
    "b[0-9].txt",
    "b[!0-9].txt",
    "a[[]1].txt",
    "a\\[1\\].txt",
    "?.txt",
    "*\n!a.txt",
    "deep/*/file",
    "**",
    "deep/**/file",
    "sub\n!sub/keep.tmp",
    "b[.txt",
    "*e*e*/*r*/f*e",
    "**/**/x",
    "a/**/**/b",
    "**/x/**",
    "l**s/*",
    "*.t*t",
]


@pytest.mark.parametrize("rules", RULES)
def test_as_git_does(rules: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text(rules)
    asked = subprocess.run(
        ["git", "-C", tmp_path, "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(PATHS),
        capture_output=True,
        text=True,
        check=False,
    )
    assert [path for path in PATHS if _left_out(Ignore(rules), path)] == asked.stdout.split("\0")[:-1]


def _left_out(ignore: Ignore, path: str) -> bool:
    """It, or a folder above it."""
    names = path.split("/")
    above = ["/".join(names[:end]) for end in range(1, len(names))]
    return any(ignore.leaves_out(each, is_folder=True) for each in above) or ignore.leaves_out(path, is_folder=False)


@pytest.mark.parametrize("rules", ["/", "!", "a\n!/"])
def test_a_line_that_names_nothing_is_refused(rules: str) -> None:
    with pytest.raises(Invalid, match="line"):
        Ignore(rules)


@pytest.mark.parametrize("rule", ["*a" * 40 + "b", "**/a/" * 40 + "b", "a**" * 40 + "b"])
def test_a_hostile_pattern_takes_no_longer(rule: str) -> None:
    """By backtracking it would take until the end of the world."""
    assert not Ignore(rule).leaves_out("a" * 200, is_folder=False)
    assert not Ignore(rule).leaves_out("/".join("a" * 200), is_folder=False)
