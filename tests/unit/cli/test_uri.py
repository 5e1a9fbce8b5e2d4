"""Names of things on the command line."""

import pytest

from lochan.cli.target import Uri, branch_uri, named_uri, object_uri, prefix_uri, ref_uri, repository_uri
from lochan.errors import Invalid


@pytest.mark.parametrize(
    "text, uri",
    [
        pytest.param("demo", Uri("demo", "", ""), id="a repository"),
        pytest.param("demo@main", Uri("demo", "main", ""), id="a ref"),
        pytest.param("my_pool@main", Uri("my_pool", "main", ""), id="a pool's name, with an underscore"),
        pytest.param("p", Uri("p", "", ""), id="a pool's name, of one letter"),
        pytest.param("demo@main/", Uri("demo", "main", ""), id="the top of a ref"),
        pytest.param("demo@main~2^2/a/b.csv", Uri("demo", "main~2^2", "a/b.csv"), id="behind a ref"),
        pytest.param("demo/a/b", Uri("demo", "", "a/b"), id="on the default branch"),
        pytest.param("demo@main@/a", Uri("demo", "main@", "a"), id="committed only"),
        pytest.param("demo@main@{2026-11-01T10:00Z}/a", Uri("demo", "main@{2026-11-01T10:00Z}", "a"), id="a time"),
        pytest.param("demo@main/a@b", Uri("demo", "main", "a@b"), id="an @ in a path"),
        pytest.param("demo/a@b", Uri("demo", "", "a@b"), id="an @ in a path, and no ref"),
        pytest.param("log.example.com@main/a", Uri("log.example.com", "main", "a"), id="a bucket's name, with dots"),
        pytest.param("lakefs://demo/main/a/b.csv", Uri("demo", "main", "a/b.csv"), id="as lakeFS writes it"),
        pytest.param("lakefs://demo@main/a/b.csv", Uri("demo", "main", "a/b.csv"), id="with a scheme and an @"),
        pytest.param("lochan://demo/main~1/a", Uri("demo", "main~1", "a"), id="as fsspec writes it"),
        pytest.param("lakefs://demo", Uri("demo", "", ""), id="a repository with a scheme"),
        pytest.param("lakefs://demo/", Uri("demo", "", ""), id="a repository with a scheme and a slash"),
        pytest.param("lakefs://demo/main", Uri("demo", "main", ""), id="a ref with a scheme"),
        pytest.param("demo@main//a/", Uri("demo", "main", "/a/"), id="slashes of a path are kept"),
    ],
)
def test_what_a_uri_says(text: str, uri: Uri) -> None:
    assert prefix_uri(text) == uri


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "the repository is missing"),
        ("@main/a", "the repository is missing"),
        ("demo@/a", "the ref behind the @ is missing"),
        ("Demo@main", "cannot be the name of a pool or a repository"),
        ("a..b@main", "cannot be the name of a pool or a repository"),
        ("_a@main", "cannot be the name of a pool or a repository"),
        ("demo@-x", "is not a ref"),
        ("demo@main~x", "is not understood"),
        ("demo~1", "~1 comes after a ref, not after a repository"),
        ("demo^2~3/a.csv", r"\^2~3 comes after a ref"),
    ],
)
def test_invalid_uris(text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        prefix_uri(text)


def test_an_object_has_a_path() -> None:
    assert object_uri("demo/a").path == "a"
    for text in ("demo", "demo@main", "demo@main/"):
        with pytest.raises(Invalid, match="the path is missing"):
            object_uri(text)


def test_a_ref_has_none() -> None:
    assert ref_uri("demo@v1~1").ref == "v1~1"
    with pytest.raises(Invalid, match="a path cannot be given"):
        ref_uri("demo@main/a")


def test_only_a_branch_can_be_changed() -> None:
    assert branch_uri("demo").ref == ""
    for text in ("demo@main~1", "demo@main@", "demo@main^"):
        with pytest.raises(Invalid, match="is not a branch"):
            branch_uri(text)


def test_what_is_made_has_a_name_and_what_is_listed_has_none() -> None:
    assert named_uri("demo@dev").ref == "dev"
    with pytest.raises(Invalid, match="the name after the @ is missing"):
        named_uri("demo")
    with pytest.raises(Invalid, match="only a repository can be given"):
        repository_uri("demo@dev")


@pytest.mark.parametrize("text", ["demo", "demo@main~1", "demo@main/a//b", "demo/a"])
def test_a_uri_is_written_as_it_was_read(text: str) -> None:
    assert str(prefix_uri(text)) == text
