"""Answers are cached for the key that they were given to."""

from typing import Any, cast

import pytest

from lochan.access.state import AccessKey
from lochan.server.gateway.fastpath import reads as answers
from lochan.server.gateway.fastpath.reads import AnswerCache, CachedAnswer


def answer(key: AccessKey, inside: str) -> CachedAnswer:
    nothing = cast("Any", None)
    return CachedAnswer(key, nothing, "bucket", "main", inside, nothing, (1, 2))


def key(id: str, sealed: bytes = b"") -> AccessKey:
    return AccessKey(id, "ada", sealed, 0, "")


def test_it_is_of_one_key_and_one_path() -> None:
    kept, ada = AnswerCache(), key("A")
    kept.keep("/bucket/main/a", answer(ada, "a"))
    found = kept.find(ada, "/bucket/main/a")
    assert found is not None and found.inside == "a"
    assert kept.find(ada, "/bucket/main/b") is None
    assert kept.find(key("B"), "/bucket/main/a") is None
    assert kept.find(key("A", b"another secret"), "/bucket/main/a") is None


def test_there_are_never_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_ANSWERS_MAX", 3)
    kept, ada = AnswerCache(), key("A")
    for number in range(8):
        kept.keep(f"/{number}", answer(ada, f"{number}"))
        assert kept.find(ada, f"/{number}") is not None
        assert sum(kept.find(ada, f"/{each}") is not None for each in range(8)) <= 3
