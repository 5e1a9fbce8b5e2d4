"""How the remote store interprets a server's answers, on each of the three clouds; and that it asks only once."""

import asyncio
from collections.abc import Awaitable

import pytest

from lochan.errors import AlreadyExists, Invalid, LochanError, NotFound, Refused, Transient
from lochan.store.open import open_store
from lochan.store.protocol import Store
from tests.run import run
from tests.store_contract import MIB, chunks, joined, paths, tabled
from tests.unit.store.fixed_server import OBJECT, Answer, answering, error

CLOUDS = ["s3", "gs", "az"]


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("status", [0, 429, 500, 503], ids=["no answer", "429", "500", "503"])
def test_a_store_that_fails_is_asked_once_and_is_transient(cloud: str, status: int) -> None:
    with answering(error(status, "SlowDown")) as answer:
        store = connect(cloud, answer)
        for call in every_verb(store):
            answer.asked.clear()
            with pytest.raises(Transient):
                run(awaited(call))
            assert sum(answer.asked.values()) == 1


def test_a_long_upload_that_cannot_begin_is_asked_once() -> None:
    with answering(error(503, "SlowDown")) as answer, pytest.raises(Transient):
        run(connect("s3", answer).put_stream("k", chunks(9, MIB)))
    assert answer.asked == {"POST": 1}


CONFLICTS = [
    pytest.param("s3", 412, "PreconditionFailed", AlreadyExists, id="S3: decided"),
    pytest.param("s3", 409, "ConditionalRequestConflict", Transient, id="S3: two writers met, nothing is decided"),
    pytest.param("s3", 409, "OperationAborted", Transient, id="S3: aborted"),
    pytest.param("s3", 304, "", Transient, id="S3: nonsense"),
    pytest.param("gs", 412, "PreconditionFailed", AlreadyExists, id="Google: decided"),
    pytest.param("gs", 409, "conflict", Transient, id="Google: two writers met"),
    pytest.param("az", 409, "BlobAlreadyExists", AlreadyExists, id="Azure: decided, with a 409"),
    pytest.param("az", 409, "LeaseIdMissing", Transient, id="Azure: something else"),
]


@pytest.mark.parametrize("cloud, status, code, kind", CONFLICTS)
def test_only_a_decided_conflict_is_already_exists(cloud: str, status: int, code: str, kind: type[LochanError]) -> None:
    with answering(error(status, code)) as answer, pytest.raises(LochanError) as caught:
        run(connect(cloud, answer).put_if_absent("k", b"1"))
    assert type(caught.value) is kind


REFUSALS = [
    pytest.param(403, "AccessDenied", Refused, "AccessDenied: Said the store.*credentials", id="forbidden"),
    pytest.param(401, "Unauthorized", Refused, "credentials", id="not known"),
    pytest.param(403, "RequestTimeTooSkewed", Refused, "clock", id="clocks apart"),
    pytest.param(400, "ExpiredToken", Refused, "credentials have expired", id="expired"),
    pytest.param(404, "NoSuchBucket", Refused, "the bucket does not exist", id="no bucket"),
    pytest.param(404, "ContainerNotFound", Refused, "the bucket does not exist", id="no container"),
    pytest.param(501, "NotImplemented", Refused, "conditional", id="conditions not known"),
    pytest.param(400, "KeyTooLongError", Invalid, "KeyTooLong", id="key too long"),
    pytest.param(400, "RequestTimeout", Transient, "RequestTimeout", id="a timeout that says 400"),
]


@pytest.mark.parametrize("status, code, kind, message", REFUSALS)
def test_refusals_say_why(status: int, code: str, kind: type[LochanError], message: str) -> None:
    with answering(error(status, code)) as answer:
        store = connect("s3", answer)
        for call in (store.get("k"), store.put("k", b""), store.put_if_absent("k", b""), paths(store)):
            with pytest.raises(kind, match=message) as caught:
                run(awaited(call))
            assert "s3://bucket/lake" in str(caught.value)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_missing_key_is_not_found(cloud: str) -> None:
    with answering(error(404, "NoSuchKey")) as answer:
        store = connect(cloud, answer)
        for call in (store.get("k"), store.get_range("k", 0, 1), store.head("k"), joined(store.get_stream("k"))):
            with pytest.raises(NotFound, match=f"k is not in {cloud}://bucket/lake"):
                run(awaited(call))


@pytest.mark.parametrize("cloud", ["gs", "s3"])
def test_deleting_what_is_absent_is_fine(cloud: str) -> None:
    with answering(error(404, "NoSuchKey")) as answer:
        run(connect(cloud, answer).delete("k"))


def test_azure_keeps_no_two_paths_that_would_be_one() -> None:
    with answering(Answer(201, b"", OBJECT)) as answer:
        store = connect("az", answer)
        for path in ("a\\b", "a.", "a./b", "x..."):
            with pytest.raises(Invalid, match=r"cannot be stored in az://bucket/lake.*Azure"):
                run(store.put(path, b""))
        assert not answer.asked
        run(store.put(".a/b.c", b""))


def test_a_delete_on_azure_whose_container_is_gone() -> None:
    """The answer to a batch has a part for each object, with a sentence and no code."""
    part = "HTTP/1.1 404 The specified container does not exist.\r\nx-ms-error-code: ContainerNotFound\r\n\r\n"
    body = f"--b\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\n{part}\r\n--b--\r\n"
    parts = Answer(202, body.encode(), {"Content-Type": "multipart/mixed; boundary=b"})
    with answering(parts) as answer, pytest.raises(Refused, match="the bucket does not exist"):
        run(connect("az", answer).delete("k"))


def test_a_body_cut_short_is_an_error() -> None:
    cut = Answer(200, b"x" * 50, OBJECT, length=100)
    with answering(cut) as answer, pytest.raises(Transient):
        run(connect("s3", answer).get("k"))


def test_a_body_shorter_than_its_range_is_an_error() -> None:
    """Content-Length and body agree, but not with Content-Range: obstore passes it on."""
    short = Answer(206, b"x" * 5, {**OBJECT, "Content-Range": "bytes 0-9/100"})
    with answering(short) as answer:
        store = connect("s3", answer)
        with pytest.raises(Transient, match="5 bytes arrived instead of 10"):
            run(store.get_range("k", 0, 10))
        with pytest.raises(Transient, match=r"0\.\.10"):
            run(joined(store.get_stream("k")))


def test_a_store_that_ignores_ranges_is_an_error() -> None:
    with answering(Answer(200, b"x" * 100, OBJECT)) as answer, pytest.raises(Transient):
        run(connect("s3", answer).get_range("k", 0, 10))


def test_a_store_that_lists_in_no_order_is_refused() -> None:
    with answering(Answer(200, _page([("b", 1), ("a", 1)]))) as answer:
        store = connect("s3", answer)
        for listing in (paths(store), tabled(store)):
            with pytest.raises(Refused, match="in order"):
                run(listing)


def test_a_marker_of_an_empty_folder_is_not_out_of_order() -> None:
    """obstore drops the slash at its end, so that it seems to stand behind what it should stand before."""
    page = _page([("a-b", 1), ("a/", 0), ("c", 1)])
    with answering(Answer(200, page)) as answer:
        store = connect("s3", answer)
        assert [stat.path for stat in run(tabled(store))] == run(paths(store)) == ["a-b", "c"]


def _page(keys: list[tuple[str, int]]) -> bytes:
    when = "<LastModified>2020-01-01T00:00:00Z</LastModified>"
    entries = "".join(f"<Contents><Key>lake/{key}</Key><Size>{size}</Size>{when}</Contents>" for key, size in keys)
    head = "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>"
    return f"{head}{entries}</ListBucketResult>".encode()


def test_nobody_there_is_transient() -> None:
    store = open_store("s3://bucket", {"endpoint": "http://127.0.0.1:1", **KEYS})
    with pytest.raises(Transient):
        run(store.get("k"))


def test_a_path_too_long_with_the_prefix_is_invalid() -> None:
    store = open_store(f"s3://bucket/{'p' * 200}", {"endpoint": "http://127.0.0.1:1", **KEYS})
    with pytest.raises(Invalid, match="too long"):
        run(store.get("/".join(["k" * 179] * 5)))


KEYS = {"access_key_id": "a", "secret_access_key": "b", "region": "us-east-1"}
OPTIONS: dict[str, dict[str, str]] = {
    "s3": KEYS,
    "gs": {"bearer_token": "t"},
    "az": {"account_name": "account", "account_key": "a2V5"},
}


def connect(cloud: str, answer: Answer) -> Store:
    return open_store(f"{cloud}://bucket/lake", {**OPTIONS[cloud], "endpoint": answer.endpoint})


def every_verb(store: Store) -> list[Awaitable[object]]:
    return [
        store.get("k"),
        store.get_range("k", 0, 1),
        joined(store.get_stream("k")),
        store.head("k"),
        store.put("k", b"1"),
        store.put_if_absent("k", b"1"),
        store.put_stream("k", chunks(1, 1)),
        store.delete("k"),
        paths(store),
    ]


async def awaited(call: Awaitable[object]) -> object:
    return await asyncio.wait_for(call, 20)
