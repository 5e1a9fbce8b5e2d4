"""The same actions through the command line, Python and S3 give the same objects, checksums, metadata and errors."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from botocore.exceptions import ClientError

import lochan
from lochan.errors import NotFound, PreconditionFailed
from tests.servers.lochan import LochanServer, lochan_server

PART = 5 << 20
NOTES = {"from": "market"}


class Door(Protocol):
    name: str

    def put(self, branch: str, path: str, data: bytes) -> None: ...
    def copy(self, branch: str, path: str, to_branch: str, to: str) -> None: ...
    def delete(self, branch: str, path: str) -> None: ...
    def commit(self, repository: str) -> None: ...


class CommandLine:
    name = "cli"

    def __init__(self, server: LochanServer) -> None:
        self._server = server

    def put(self, branch: str, path: str, data: bytes) -> None:
        notes = [word for name, value in NOTES.items() for word in ("--metadata", f"{name}={value}")]
        self._lochan("fs", "upload", "-", f"{branch}/{path}", "--content-type", "text/csv", *notes, stdin=data)

    def copy(self, branch: str, path: str, to_branch: str, to: str) -> None:
        self._lochan("fs", "cp", f"{branch}/{path}", f"{to_branch}/{to}")

    def delete(self, branch: str, path: str) -> None:
        self._lochan("fs", "rm", f"{branch}/{path}")

    def commit(self, repository: str) -> None:
        self._lochan("commit", repository, "-m", "all of it")

    def _lochan(self, *words: str, stdin: bytes = b"") -> None:
        program = [str(Path(self._server.process.args[0])), "--lake", self._server.lake]  # type: ignore[index, arg-type]
        done = subprocess.run([*program, *words], input=stdin, capture_output=True, check=False)
        if done.returncode == 3:
            raise NotFound(done.stderr.decode())
        assert done.returncode == 0, done.stderr


class Python:
    name = "python"

    def __init__(self, lake: lochan.Lake) -> None:
        self._lake = lake

    def put(self, branch: str, path: str, data: bytes) -> None:
        self._branch(branch).put(path, data, content_type="text/csv", metadata=NOTES)

    def copy(self, branch: str, path: str, to_branch: str, to: str) -> None:
        self._branch(to_branch).copy(self._branch(branch), path, to)

    def delete(self, branch: str, path: str) -> None:
        self._branch(branch).delete(path)

    def commit(self, repository: str) -> None:
        self._lake.repository(repository).branch("main").commit("all of it")

    def _branch(self, name: str) -> lochan.Branch:
        repository, _, branch = name.partition("@")
        return self._lake.repository(repository).branch(branch)


class S3:
    """Commits are nothing that it knows of."""

    name = "s3"

    def __init__(self, client: Any, other: Python) -> None:
        self._client = client
        self._other = other

    def put(self, branch: str, path: str, data: bytes) -> None:
        self._client.put_object(**_key(branch, path), Body=data, ContentType="text/csv", Metadata=NOTES)

    def copy(self, branch: str, path: str, to_branch: str, to: str) -> None:
        try:
            self._client.copy_object(**_key(to_branch, to), CopySource=_key(branch, path))
        except ClientError as error:
            raise NotFound(str(error)) from error

    def delete(self, branch: str, path: str) -> None:
        self._client.delete_object(**_key(branch, path))

    def commit(self, repository: str) -> None:
        self._other.commit(repository)


def _key(branch: str, path: str) -> dict[str, str]:
    repository, _, name = branch.partition("@")
    return {"Bucket": repository, "Key": f"{name}/{path}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("doors") / "lake") as running:
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="module")
def client(server: LochanServer) -> Iterator[Any]:
    found = server.boto3(request_checksum_calculation="when_required")
    yield found
    found.close()


@pytest.fixture(scope="module")
def doors(server: LochanServer, client: Any) -> Iterator[list[Door]]:
    with lochan.connect(server.lake) as lake:
        python = Python(lake)
        yield [CommandLine(server), python, S3(client, python)]


def object_status(client: Any, branch: str, path: str) -> dict[str, Any]:
    """What S3 reports about an object, except the time of its write."""
    found = client.head_object(**_key(branch, path), ChecksumMode="ENABLED")
    names = [name for name in found if name.startswith("Checksum")]
    return {name: found[name] for name in ("ContentLength", "ETag", "ContentType", "Metadata", *names)}


def test_objects_are_the_same_by_every_door(server: LochanServer, client: Any, doors: list[Door]) -> None:
    answers = [_played(client, door) for door in doors]
    assert answers[0]["put"]["ContentLength"] == 7
    for door, answer in zip(doors[1:], answers[1:], strict=True):
        assert answer == answers[0], door.name


def _played(client: Any, door: Door) -> dict[str, Any]:
    one, other = f"{door.name}-one", f"{door.name}-other"
    client.create_bucket(Bucket=one)
    client.create_bucket(Bucket=other)
    main, elsewhere = f"{one}@main", f"{other}@main"
    door.put(main, "fruit.csv", b"1,pear\n")
    answer: dict[str, Any] = {"put": object_status(client, main, "fruit.csv")}
    client.put_object(**_key(main, "summed"), Body=b"x" * 100, ChecksumAlgorithm="SHA256", Metadata=NOTES)
    _upload(client, main, "parts")
    for path in ("fruit.csv", "summed", "parts"):
        answer[f"{path} within"] = _copied(client, door, main, path, main, f"again-{path}")
        answer[f"{path} across"] = _copied(client, door, main, path, elsewhere, path)
    door.delete(main, "again-summed")
    door.commit(one)
    listed = client.list_objects_v2(Bucket=one, Prefix="main/")["Contents"]
    answer["left"] = [(each["Key"], each["ETag"], each["Size"]) for each in listed]
    for target in (main, elsewhere):
        with pytest.raises(NotFound):
            door.copy(main, "nothing", target, "x")
    return answer


def _copied(client: Any, door: Door, branch: str, path: str, to_branch: str, to: str) -> dict[str, Any]:
    door.copy(branch, path, to_branch, to)
    copied = object_status(client, to_branch, to)
    assert copied == object_status(client, branch, path), "a copy is told of as its source is"
    return copied


def _upload(client: Any, branch: str, path: str) -> None:
    """Uploads in two parts; ETag and checksums are composed from those of the parts."""
    upload = client.create_multipart_upload(**_key(branch, path), ChecksumAlgorithm="CRC32", Metadata=NOTES)["UploadId"]
    parts = []
    for number, data in enumerate((b"a" * PART, b"b"), start=1):
        part = {"UploadId": upload, "PartNumber": number, "Body": data, "ChecksumAlgorithm": "CRC32"}
        done = client.upload_part(**_key(branch, path), **part)
        parts.append({"PartNumber": number, "ETag": done["ETag"], "ChecksumCRC32": done["ChecksumCRC32"]})
    client.complete_multipart_upload(**_key(branch, path), UploadId=upload, MultipartUpload={"Parts": parts})


def _parts_by_python(lake: lochan.Lake, repository: str) -> None:
    branch = lake.repository(repository).branch("main")
    options = lochan.PutOptions(metadata=NOTES)
    upload = branch.create_upload("parts", options, checksum="CRC32", checksum_type="COMPOSITE")
    upload.complete([upload.put_part(number, data) for number, data in enumerate((b"a" * PART, b"b"), start=1)])


def _act_by_python(lake: lochan.Lake, repository: str) -> list[str]:
    branch = lake.repository(repository).branch("main")
    branch.put("one", b"one", content_type="text/csv", metadata=NOTES, if_absent=True)
    faults = [_code(lambda: branch.put("one", b"other", if_absent=True))]
    faults.append(_code(lambda: branch.put("one", b"other", if_match="0" * 32)))
    told = lochan.CopyOptions(content_type="text/x", headers={}, metadata={"n": "2"}, checksum="SHA256")
    branch.copy(branch, "one", "copy", told)
    source = lochan.Conditions(match=("0" * 32,))
    faults.append(_code(lambda: branch.copy(branch, "one", "copy", lochan.CopyOptions(source_conditions=source))))
    faults.append(_code(lambda: branch.delete_if("copy", "0" * 32)))
    branch.delete_if("one", branch.stat("one").etag)
    _parts_by_python(lake, repository)
    return faults


def _act_by_s3(client: Any, repository: str) -> list[str]:
    one, copy = _key(f"{repository}@main", "one"), _key(f"{repository}@main", "copy")
    client.put_object(**one, Body=b"one", ContentType="text/csv", Metadata=NOTES, IfNoneMatch="*")
    faults = [_code(lambda: client.put_object(**one, Body=b"other", IfNoneMatch="*"))]
    faults.append(_code(lambda: client.put_object(**one, Body=b"other", IfMatch="0" * 32)))
    told = {"MetadataDirective": "REPLACE", "ContentType": "text/x", "Metadata": {"n": "2"}}
    client.copy_object(**copy, CopySource=one, ChecksumAlgorithm="SHA256", **told)
    faults.append(_code(lambda: client.copy_object(**copy, CopySource=one, CopySourceIfMatch="0" * 32)))
    faults.append(_code(lambda: client.delete_object(**copy, IfMatch="0" * 32)))
    client.delete_object(**one, IfMatch=client.head_object(**one)["ETag"])
    _upload(client, f"{repository}@main", "parts")
    return faults


def _code(act: Callable[[], object]) -> str:
    try:
        act()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    except PreconditionFailed:
        return "PreconditionFailed"
    return ""


def test_conditions_directives_and_parts_leave_the_same_behind(server: LochanServer, client: Any) -> None:
    """The same objects with the same checksums, and the same events in the journal."""
    for repository in ("by-python", "by-s3"):
        client.create_bucket(Bucket=repository)
    with lochan.connect(server.lake) as lake:
        faults = [_act_by_python(lake, "by-python"), _act_by_s3(client, "by-s3")]
        assert faults[0] == faults[1] == ["PreconditionFailed"] * 4
        left = [
            [object_status(client, f"{name}@main", path) for path in ("copy", "parts")]
            for name in ("by-python", "by-s3")
        ]
        assert left[0] == left[1]
        assert left[0][0]["ChecksumSHA256"] and left[0][1]["ChecksumCRC32"].endswith("-2")
        details = [lake.repository(name).branch("main").details("parts") for name in ("by-python", "by-s3")]
        assert [(each.checksums, each.headers, [block.size for block in each.blocks]) for each in details[:1]] == [
            (each.checksums, each.headers, [block.size for block in each.blocks]) for each in details[1:]
        ]
        events = [[each.type for each in lake.events(name)] for name in ("by-python", "by-s3")]
        assert events[0] == events[1]


def test_objects_outside_of_the_lake_are_read_by_every_door(server: LochanServer, client: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"outside")
    server.lochan("repo", "create", "outside")
    server.lochan("import", str(tmp_path), "outside@main", "-m", "from a folder")
    with lochan.connect(server.lake) as lake:
        assert lake.repository("outside").branch("main").read("a.txt") == b"outside"
    assert server.lochan("fs", "cat", "outside@main/a.txt") == "outside"
    assert client.get_object(**_key("outside@main", "a.txt"))["Body"].read() == b"outside"
