"""Several servers on one lake, asked at the same moment, killed and stopped in the middle."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from hashlib import md5
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.integration.gateway.test_boto3 import BIG, refused
from tests.integration.gateway.wire import Answer, Sent, Wire, signed
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.memory import family

T = TypeVar("T")
STORM = 64


class Pair(NamedTuple):
    first: LochanServer
    second: LochanServer

    def both(self, count: int) -> list[LochanServer]:
        return [self[number % 2] for number in range(count)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    lake = tmp_path_factory.mktemp("raced") / "lake"
    with lochan_server(lake, workers=2) as first, lochan_server(lake, workers=2, init=False) as second:
        with closing(first.boto3()) as s3:
            s3.create_bucket(Bucket="raced")
        yield Pair(first, second)
        logs = first.log.read_text() + second.log.read_text()
    assert "Traceback" not in logs, logs


@pytest.fixture
def clients(pair: Pair) -> Iterator[tuple[Any, Any]]:
    with closing(pair.first.boto3()) as first, closing(pair.second.boto3()) as second:
        yield first, second


def at_once(calls: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Runs all of them in threads that start together. Returns what each returned or raised."""
    gate = threading.Barrier(len(calls))
    found: list[T | BaseException] = [RuntimeError("did not run")] * len(calls)

    def run(at: int, call: Callable[[], T]) -> None:
        gate.wait()
        try:
            found[at] = call()
        except Exception as error:
            found[at] = error

    threads = [threading.Thread(target=run, args=(at, call)) for at, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def storm(pair: Pair, sents: Callable[[LochanServer, int], Sent]) -> list[Answer]:
    """Over connections that are open already, by processes of both servers."""
    with ExitStack() as stack:
        servers = pair.both(STORM)
        wires = [stack.enter_context(Wire(server.s3)) for server in servers]
        asks = [sents(server, number) for number, server in enumerate(servers)]
        answers = at_once([lambda wire=wire, ask=ask: wire.ask(ask) for wire, ask in zip(wires, asks, strict=True)])  # type: ignore[misc]
    assert all(isinstance(answer, Answer) for answer in answers), answers
    return [answer for answer in answers if isinstance(answer, Answer)]


@pytest.mark.parametrize("turn", range(3))
def test_of_many_creators_one_wins(pair: Pair, clients: tuple[Any, Any], turn: int) -> None:
    path = f"/raced/main/created-{turn}"

    def sent(server: LochanServer, number: int) -> Sent:
        return signed(server, "v4 header", "PUT", path, "", {"If-None-Match": "*"}, b"by %d" % number)

    answers = storm(pair, sent)
    statuses = Counter((answer.status, answer.code) for answer in answers)
    assert statuses == {(200, ""): 1, (412, "PreconditionFailed"): STORM - 1}
    winner = [answer.status for answer in answers].index(200)
    for s3 in clients:
        assert s3.get_object(Bucket="raced", Key=f"main/created-{turn}")["Body"].read() == b"by %d" % winner


def test_of_many_changers_one_wins(pair: Pair, clients: tuple[Any, Any]) -> None:
    etag = clients[0].put_object(Bucket="raced", Key="main/changed", Body=b"old")["ETag"]

    def sent(server: LochanServer, number: int) -> Sent:
        return signed(server, "v4 header", "PUT", "/raced/main/changed", "", {"If-Match": etag}, b"by %d" % number)

    answers = storm(pair, sent)
    assert Counter(answer.status for answer in answers) == {200: 1, 412: STORM - 1}
    winner = [answer.status for answer in answers].index(200)
    assert clients[1].get_object(Bucket="raced", Key="main/changed")["Body"].read() == b"by %d" % winner


class Upload(NamedTuple):
    key: dict[str, str]
    id: str
    parts: list[dict[str, Any]]

    def complete(self, s3: Any) -> str:
        answer = s3.complete_multipart_upload(**self.key, UploadId=self.id, MultipartUpload={"Parts": self.parts})
        return str(answer["ETag"])

    def abort(self, s3: Any) -> str:
        s3.abort_multipart_upload(**self.key, UploadId=self.id)
        return "aborted"


def uploaded(s3: Any, name: str, bodies: Sequence[bytes] = (BIG, b"end"), bucket: str = "raced") -> Upload:
    key = {"Bucket": bucket, "Key": f"main/{name}"}
    id = s3.create_multipart_upload(**key)["UploadId"]
    etags = [
        s3.upload_part(**key, UploadId=id, PartNumber=number, Body=body)["ETag"]
        for number, body in enumerate(bodies, 1)
    ]
    return Upload(key, id, [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)])


def test_completed_several_times_at_once_it_is_one_object(clients: tuple[Any, Any]) -> None:
    upload = uploaded(clients[0], "completed")
    etags = at_once([lambda s3=s3: upload.complete(s3) for s3 in clients * 4])  # type: ignore[misc]
    assert len(set(etags)) == 1 and str(etags[0]).endswith('-2"'), etags
    for s3 in clients:
        assert s3.get_object(**upload.key)["Body"].read() == BIG + b"end"
        assert "Uploads" not in s3.list_multipart_uploads(Bucket="raced")


@pytest.mark.parametrize("turn", range(6))
def test_aborted_while_it_is_completed(clients: tuple[Any, Any], turn: int) -> None:
    upload = uploaded(clients[0], f"aborted-{turn}", [b"only"])
    done = at_once([lambda: upload.complete(clients[turn % 2]), lambda: upload.abort(clients[1 - turn % 2])])
    codes = [each.response["Error"]["Code"] if isinstance(each, ClientError) else "" for each in done]
    there = {
        each["Key"] for each in clients[0].list_objects_v2(Bucket="raced", Prefix="main/aborted").get("Contents", [])
    }
    assert codes in (["", "NoSuchUpload"], ["NoSuchUpload", ""]), done
    assert (upload.key["Key"] in there) == (codes[0] == "")
    assert "Uploads" not in clients[1].list_multipart_uploads(Bucket="raced")


@pytest.mark.parametrize("turn", range(6))
def test_a_part_put_while_it_is_completed(clients: tuple[Any, Any], turn: int) -> None:
    upload = uploaded(clients[0], f"parts-{turn}", [b"first"])
    part = {**upload.key, "UploadId": upload.id, "PartNumber": 1}
    completing, putting = at_once(
        [
            lambda: upload.complete(clients[turn % 2]),
            lambda: str(clients[1 - turn % 2].upload_part(**part, Body=b"second")["ETag"]),
        ]
    )
    if isinstance(completing, ClientError):  # the part was quicker: the one that was named is no more
        assert completing.response["Error"]["Code"] == "InvalidPart", completing
        upload._replace(parts=[{"PartNumber": 1, "ETag": putting}]).complete(clients[0])
        expected = b"second"
    else:
        expected = b"first"
    assert clients[1].get_object(**upload.key)["Body"].read() == expected


def test_a_revoked_key_is_refused_at_once_by_the_other_server(pair: Pair) -> None:
    pair.first.lochan("auth", "users", "create", "leaver")
    pair.first.lochan("auth", "attach", "leaver", "Analyst")
    for _ in range(5):
        made = json.loads(pair.first.lochan("auth", "keys", "create", "leaver", "-f", "json"))
        with ExitStack() as stack:
            key, secret = made["access_key_id"], made["secret_access_key"]
            theirs = [stack.enter_context(closing(server.boto3(key=key, secret=secret))) for server in pair]
            for s3 in theirs:
                s3.list_objects_v2(Bucket="raced", Prefix="main/")
            pair.first.lochan("auth", "keys", "revoke", key, "--yes")
            for s3 in theirs:
                refused("InvalidAccessKeyId", s3.list_objects_v2, Bucket="raced", Prefix="main/")


def killed(server: LochanServer) -> None:
    """Kills all of its processes at once."""
    for pid in reversed(family(server.process.pid)):
        os.kill(pid, signal.SIGKILL)
    server.process.wait()


@pytest.mark.parametrize(
    "wait_ms", [3, 9, *(pytest.param(wait, marks=pytest.mark.full) for wait in (0, 1, 5, 7, 11, 13, 16, 20, 30))]
)
def test_killed_while_it_completes_a_retry_succeeds_once(pair: Pair, wait_ms: int) -> None:
    with lochan_server(pair.first.lake, init=False) as server, closing(server.boto3()) as s3:
        upload = uploaded(s3, f"killed-{wait_ms}")
        thread = threading.Thread(target=lambda: at_once([lambda: upload.complete(s3)]))
        thread.start()
        time.sleep(wait_ms / 1_000)  # the case: how far it has come
        killed(server)
        thread.join()
    whole = md5(md5(BIG).digest() + md5(b"end").digest()).hexdigest()
    with closing(pair.first.boto3()) as first, closing(pair.second.boto3()) as second:
        assert {upload.complete(s3) for s3 in (first, second, first)} == {f'"{whole}-2"'}
        assert second.get_object(**upload.key)["Body"].read() == BIG + b"end"
    events = [json.loads(line) for line in pair.first.lochan("events", "raced", "-f", "json").splitlines()]
    assert sum(event["payload"].get("completes") == upload.id for event in events) == 1


def test_a_stopped_server_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    acked: list[str] = []
    with lochan_server(lake, workers=2) as server:
        with closing(server.boto3()) as s3:
            s3.create_bucket(Bucket="stopped")
        threads = [threading.Thread(target=_put_until_it_stops, args=(server, number, acked)) for number in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1.5)  # the load that it is stopped under
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert time.monotonic() - begun < 30
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert "Traceback" not in server.log.read_text(), server.log.read_text()
        listed = json.loads(server.lochan("fs", "ls", "-r", "-f", "json", "stopped@main/"))
    assert len(acked) > 50
    assert set(acked) <= {row["path"] for row in listed}


def _put_until_it_stops(server: LochanServer, number: int, acked: list[str]) -> None:
    body = bytes(400_000) if number == 0 else b"small"
    with closing(server.boto3(connect_timeout=5, read_timeout=20)) as s3:
        for turn in range(100_000):
            try:
                s3.put_object(Bucket="stopped", Key=f"main/{number}/{turn}", Body=body)
            except (BotoCoreError, ClientError):
                return
            acked.append(f"{number}/{turn}")
