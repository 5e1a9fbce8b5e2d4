"""Which format an Accept header asks for."""

import pytest

from lochan.server.api.errors import HttpError
from lochan.server.api.query_request import accepted_form


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", "ndjson"),
        ("*/*", "ndjson"),
        ("application/json", "json"),
        ("APPLICATION/JSON; charset=utf-8", "json"),
        ("text/*", "csv"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "ndjson"),
        ("text/csv;q=0.5, application/json;q=0.9", "json"),
        ("application/json, text/csv", "json"),
        ("application/vnd.apache.arrow.stream", "arrow"),
        ("application/vnd.apache.parquet", "parquet"),
        ("text/csv;q=x, application/json;q=0.1", "json"),
    ],
)
def test_the_best_of_those_there_are(header: str, form: str) -> None:
    assert accepted_form(header).name == form


@pytest.mark.parametrize("header", ["image/png", "text/csv;q=0", "json", "application", ","])
def test_none_of_those_there_are(header: str) -> None:
    with pytest.raises(HttpError) as refused:
        accepted_form(header)
    assert refused.value.status == 406
