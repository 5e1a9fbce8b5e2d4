"""An acknowledged PUT is on the disk: its body and its record, and the names of both, are synced before the answer."""

import re
import time
from contextlib import closing
from pathlib import Path

from tests.servers.lochan import lochan_server
from tests.servers.strace import Call, calls, command

PUTS = 12
LARGE = b"x" * (9 << 20)  # is streamed, and shares no file


def test_every_acknowledged_put_follows_its_syncs(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with lochan_server(tmp_path / "lake", under=command(trace)) as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="demo")
        s3.put_object(Bucket="demo", Key="main/first", Body=b"folders are made")
        for number in range(PUTS):
            body = LARGE if number == PUTS - 1 else b"x"
            s3.put_object(Bucket="demo", Key=f"main/mark-{number}", Body=body)
    time.sleep(0.5)  # the tracer ends after the server, and writes its last lines
    answered = _answers(list(calls(trace)))
    assert len(answered) >= PUTS + 2
    for before in answered[-PUTS:]:  # the calls between the answer before and this one
        record = _placed(before, r"/journal/\d{20}")
        bytes_at = _placed(before, r"/data/\d{20}-")
        assert bytes_at < record, "the record that names a body comes after it"


def test_requests_at_the_same_time_share_syncs(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    trace = tmp_path / "trace"
    with lochan_server(tmp_path / "lake", under=command(trace)) as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="demo")
        s3.put_object(Bucket="demo", Key="main/first", Body=b"folders are made")
        time.sleep(0.5)  # what the first put has left to do is counted with it
        until = sum(each.name == "fsync" for each in calls(trace))
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: s3.put_object(Bucket="demo", Key=f"main/{n}", Body=b"x"), range(160)))
    time.sleep(0.5)  # the tracer ends after the server, and writes its last lines
    syncs = sum(each.name == "fsync" for each in calls(trace)) - until
    assert syncs < 160 * 4, "alone each would take four"


def _answers(traced: list[Call]) -> list[list[Call]]:
    """The calls that ended before each good answer, and after the one before."""
    answered: list[list[Call]] = []
    since: list[Call] = []
    for call in traced:
        if call.name in ("sendto", "writev", "write", "sendmsg") and "HTTP/1.1 200" in call.rest:
            answered.append(since)
            since = []
        else:
            since.append(call)
    return answered


def _placed(before: list[Call], pattern: str) -> int:
    """The call that named a file, with the sync of its content before it and of its folder after it."""
    for at, call in enumerate(before):
        if call.name not in ("rename", "renameat2", "link", "linkat") or not re.search(pattern, call.rest):
            continue
        source, target = re.findall(r'"([^"]+)"', call.rest)
        content = any(each.name in ("fsync", "fdatasync") and f"<{source}>" in each.rest for each in before[:at])
        folder = target.rpartition("/")[0]
        name = any(each.name == "fsync" and f"<{folder}>" in each.rest for each in before[at:])
        assert content, f"{source} was not synced before it was named"
        assert name, f"{folder} was not synced after"
        return at
    raise AssertionError(f"nothing was placed at {pattern}: {before}")
