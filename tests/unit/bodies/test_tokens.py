"""Address tokens: what they allow, and everything that they do not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lochan.errors import Invalid, Refused
from lochan.versioning.bodies.tokens import AddressToken, check, issue

KEY = bytes(range(32))
TOKEN = AddressToken("id1", "repo", "main", "a/é\n", "repo/data/1-w/x", 1_000)


def test_a_token_gives_back_what_it_was_issued_for() -> None:
    assert _check(issue(KEY, TOKEN)) == TOKEN


def test_golden() -> None:
    assert issue(KEY, TOKEN) == (
        "lqNpZDGkcmVwb6RtYWlupWEvw6kKr3JlcG8vZGF0YS8xLXcveM0D6A.enmU_W8oUKa41ajDGW7Ghs2UCIvQmkdcjIl-iUNBqsI"
    )


@pytest.mark.parametrize(
    "asked, why",
    [
        pytest.param({"path": "a/e\u0301\n"}, "is for the path", id="another path, which looks the same"),
        pytest.param({"branch": "dev"}, "is for the branch 'main', not for 'dev'", id="another branch"),
        pytest.param({"repository": "other"}, "is for the repository", id="another repository"),
        pytest.param({"now": 1_000}, "has expired", id="the moment it expires"),
        pytest.param({"key": KEY[::-1]}, "not one of ours", id="another key"),
    ],
)
def test_a_token_is_refused(asked: dict[str, object], why: str) -> None:
    with pytest.raises(Refused, match=why):
        _check(issue(KEY, TOKEN), **asked)


def test_every_letter_counts() -> None:
    token = issue(KEY, TOKEN)
    for at, letter in enumerate(token):
        for other in {"A", "b", ".", "=", "é", "\ud800"} - {letter}:
            with pytest.raises(Refused, match="not one of ours, or was changed"):
                _check(token[:at] + other + token[at + 1 :])


def test_a_forged_address_is_refused() -> None:
    signature = issue(KEY, TOKEN).rpartition(".")[2]
    forged = issue(b"x" * 32, replace(TOKEN, address="other/data/1-w/secret")).rpartition(".")[0]
    with pytest.raises(Refused, match="not one of ours"):
        _check(f"{forged}.{signature}")


@pytest.mark.thorough
@settings(deadline=None)
@given(st.text())
def test_nonsense_is_refused(given_token: str) -> None:
    with pytest.raises(Refused, match="not one of ours"):
        _check(given_token)


def test_a_short_key_is_not_taken() -> None:
    with pytest.raises(Invalid, match="at least 32 bytes"):
        issue(b"short", TOKEN)


def _check(token: str, **asked: object) -> AddressToken:
    values: dict[str, object] = {"key": KEY, "repository": "repo", "branch": "main", "path": TOKEN.path, "now": 999}
    values |= asked
    return check(values.pop("key"), token, **values)  # type: ignore[arg-type]


def test_a_token_says_whether_a_url_was_given_out() -> None:
    for presigned in (False, True):
        token = replace(TOKEN, presigned=presigned)
        asked = {"repository": token.repository, "branch": token.branch, "path": token.path, "now": 0}
        assert check(KEY, issue(KEY, token), **asked) == token  # type: ignore[arg-type]
