"""Which names are valid: a repository is a bucket, a pool is not."""

import pytest

from lochan.errors import Invalid
from lochan.versioning.names import check_known_name, check_pool_name, check_repository_name

EVERYWHERE = ("logs", "web-logs", "2026", "a-b-", "x" * 63)
OF_POOLS = ("p", "k8", "web_logs", "a__b", "x_", "2")
NOWHERE = ("", "_logs", "-logs", ".logs", ":logs", "Logs", "web logs", "a/b", "a:b", "a@b", "x" * 64, "lögs", "a\n")


@pytest.mark.parametrize("name", EVERYWHERE)
def test_names_of_both(name: str) -> None:  # must not raise
    check_pool_name(name)
    check_repository_name(name)
    check_known_name(name)


@pytest.mark.parametrize("name", OF_POOLS)
def test_names_of_pools_alone(name: str) -> None:
    check_pool_name(name)
    check_known_name(name)
    with pytest.raises(Invalid, match="cannot be a repository's name"):
        check_repository_name(name)


@pytest.mark.parametrize("name", NOWHERE)
def test_names_of_nothing(name: str) -> None:
    for check, message in ((check_pool_name, "a pool's name"), (check_repository_name, "a repository's name")):
        with pytest.raises(Invalid, match=f"cannot be {message}"):
            check(name)
    with pytest.raises(Invalid, match="cannot be the name of a pool or a repository"):
        check_known_name(name)


def test_a_name_with_dots_is_a_bucket_s() -> None:
    check_repository_name("log.example.com", dotted=True)
    check_known_name("log.example.com")
    for name in ("log.example.com", "10.0.0.1"):
        with pytest.raises(Invalid):
            check_pool_name(name)
