"""Settings as they are written, and the errors for invalid ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.errors import Invalid
from lochan.formats.pool_settings import PoolKey, PoolSettings, path_text
from lochan.pools.settings import parse, parse_path


@pytest.mark.parametrize(
    "keys, expected, times",
    [
        ((), [PoolKey()], []),
        (("this",), [PoolKey()], []),
        (("this:desc",), [PoolKey((), True)], []),
        (("ts",), [PoolKey(("ts",))], []),
        (("ts:desc", "client.address"), [PoolKey(("ts",), True), PoolKey(("client", "address"))], []),
        (("ts:time",), [PoolKey(("ts",))], [("ts",)]),
        (("ts:time:desc,host:asc",), [PoolKey(("ts",), True), PoolKey(("host",))], [("ts",)]),
        (("`a.b`.`c``d`:desc",), [PoolKey(("a.b", "c`d"), True)], []),
        (("`this`",), [PoolKey(("this",))], []),
        (("time",), [PoolKey(("time",))], []),
    ],
)
def test_keys(keys: tuple[str, ...], expected: list[PoolKey], times: list[tuple[str, ...]]) -> None:
    settings = parse(keys)
    assert list(settings.keys) == expected
    assert list(settings.times) == times


def test_all_settings_at_once() -> None:
    settings = parse(["ts:time"], nulls="first", size_bytes=1 << 20, times=["a.b", "ts"], primary_key=["id,tenant"])
    assert settings == PoolSettings((PoolKey(("ts",)),), True, 1 << 20, (("ts",), ("a", "b")), (("id",), ("tenant",)))


@pytest.mark.parametrize(
    "given, message",
    [
        ({"keys": [""]}, "a name is missing"),
        ({"keys": ["a..b"]}, "a name is missing"),
        ({"keys": ["a:"]}, "a name is missing"),
        ({"keys": ["a:down"]}, "'down' was not expected"),
        ({"keys": ["a:desc:time"]}, "'time' was not expected"),
        ({"keys": ["a:asc:desc"]}, "'desc' was not expected"),
        ({"keys": ["`a"]}, "closing back-quote"),
        ({"keys": ["a`b`"]}, "enclose a whole name"),
        ({"keys": ["a", "a:desc"]}, "named twice"),
        ({"keys": ["this", "a"]}, "cannot be combined with other keys"),
        ({"keys": ["this:time"]}, "not a time"),
        ({"nulls": "middle"}, "first or last"),
        ({"size_bytes": 10}, "objects of 10 bytes"),
        ({"times": ["this"]}, "--time this"),
        ({"primary_key": ["a,,b"]}, "--primary-key"),
    ],
)
def test_what_cannot_be_taken(given: dict[str, object], message: str) -> None:
    with pytest.raises(Invalid, match=message) as caught:
        parse(**given)  # type: ignore[arg-type]
    assert caught.value.hint


@given(st.lists(st.text(), max_size=4).map(tuple))
def test_a_path_is_read_as_it_is_shown(path: tuple[str, ...]) -> None:
    assert parse_path(path_text(path)) == path
