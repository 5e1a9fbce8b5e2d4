"""Expressions for revisions: `main~2`, `main@{time}` and the like."""

import pytest

from lochan.errors import Invalid
from lochan.formats.commit import Commit
from lochan.versioning.uri import Expression, parse_ref


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("main", Expression("main")),
        ("v1.0-rc_2", Expression("v1.0-rc_2")),
        ("main~", Expression("main", steps=(("~", 1),))),
        ("main~2^2~1", Expression("main", steps=(("~", 2), ("^", 2), ("~", 1)))),
        ("main^0", Expression("main", steps=(("^", 0),))),
        ("main@{2026-11-01T10:00Z}", Expression("main", time=1_793_527_200_000_000)),
        ("main@{2026-11-01T12:00+02:00}~1", Expression("main", time=1_793_527_200_000_000, steps=(("~", 1),))),
        ("main@{2026-11-01}~2", Expression("main", time=1_793_491_200_000_000, steps=(("~", 2),))),
        ("main@{2 hours ago}", Expression("main", ago=7_200_000_000)),
        ("main@{1.day.ago}^", Expression("main", ago=86_400_000_000, steps=(("^", 1),))),
        ("main@{ yesterday }", Expression("main", ago=86_400_000_000)),
        ("main@{now}", Expression("main", ago=0)),
        ("main@", Expression("main", only="@")),
        ("main$", Expression("main", only="$")),
    ],
)
def test_what_it_means(text: str, expected: Expression) -> None:
    assert parse_ref(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-x",
        ".x",
        "a/b",
        "main~x",
        "main~~a",
        "main@{soon}",
        "main@{}",
        "main@{2 hours}",
        "main@{9999999999 days ago}",
        "main@$",
        "ma in",
        "é",
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(Invalid):
        parse_ref(text)


def test_the_id_of_a_commit_does_not_change() -> None:
    """Such ids are on users' disks and in their notebooks."""
    commit = Commit(("ab",), "ann", "bob", "why", 7, {"k": "v", "a": "b"}, "tree", "file", 3)
    assert commit.id == "c98e111ce81d49e473d4fb02a98357c370283769e1ca816ad42728a2742d872a"
    assert Commit(("ab",), "ann", "bob", "why", 7, {"a": "b", "k": "v"}, "tree", "elsewhere", 3).id == commit.id
