"""The files of the page: only those, for everybody, and nothing that a script could use."""

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from lochan.server.page import static_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "files"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>" + " " * 1_000)
    (folder / "assets" / "a-1.js").write_text("export {};")
    (tmp_path / "secret").write_text("of the server")
    monkeypatch.setattr(static_files, "FOLDER", folder)
    static_files.load_files.cache_clear()
    yield folder
    static_files.load_files.cache_clear()


def get(name: str, **headers: str) -> Response:
    pairs = [(field.replace("_", "-").encode(), value.encode()) for field, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": name, "headers": pairs, "path_params": {"name": name}}
    return asyncio.run(static_files.asset(None, Request(scope)))  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", ["gzip, br", "identity"])
def test_packed_for_those_who_take_it(files: Path, encoding: str) -> None:
    answer = get("index.html", accept_encoding=encoding)
    packed = answer.headers.get("content-encoding") == "gzip"
    assert packed == ("gzip" in encoding)
    body = bytes(answer.body)
    assert (gzip.decompress(body) if packed else body) == (files / "index.html").read_bytes()


def test_kept_by_browsers_only_where_the_name_says_what_it_is() -> None:
    assert "immutable" in get("assets/a-1.js").headers["cache-control"]
    index = get("index.html")
    assert index.headers["cache-control"] == "no-cache"
    assert get("index.html", if_none_match=index.headers["etag"]).status_code == 304


@pytest.mark.parametrize("name", ["../secret", "assets/../../secret", "/etc/passwd", "", "assets"])
def test_nothing_else_can_be_asked_for(name: str) -> None:
    assert get(name).status_code == 404


def test_no_script_but_its_own() -> None:
    policy = get("index.html").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy


def test_a_page_that_was_not_built_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_files, "FOLDER", tmp_path / "nowhere")
    static_files.load_files.cache_clear()
    answer = get("index.html")
    assert (answer.status_code, b"make setup" in bytes(answer.body)) == (503, True)
