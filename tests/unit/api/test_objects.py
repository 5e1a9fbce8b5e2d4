"""Objects through the verbs: conditions, checksums, what stays open, and uploads in parts."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.errors import BadDigest, BadPart, Invalid, NotFound, PreconditionFailed
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore

PART = 5 << 20


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    asyncio.run(_made(LocalStore(str(tmp_path / "lake"), create=True)))
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        yield found


async def _made(store: LocalStore) -> None:
    await (await OpenLake.create(store)).close()


@pytest.fixture
def main(lake: lochan.Lake) -> lochan.Branch:
    made = lake.create_repository("shop").branch("main")
    made.put("a", b"1")
    made.commit("one object")
    return made


def test_what_is_declared_of_a_body_is_kept_and_must_hold(main: lochan.Branch) -> None:
    data = b"1,pear\n"
    sha256 = b64encode(hashlib.sha256(data).digest()).decode()
    options = lochan.PutOptions(
        content_type="text/csv",
        headers={"cache-control": "no-store"},
        metadata={"from": "market"},
        md5=hashlib.md5(data).hexdigest(),
        checksums={"SHA256": sha256, "CRC32": None},
    )
    made = main.put("b", data, options)
    assert made.checksums["SHA256"] == sha256 and set(made.checksums) == {"SHA256", "CRC32"}
    found = main.open("b")
    assert (found.content_type, found.headers, found.metadata) == (
        "text/csv",
        {"cache-control": "no-store"},
        {"from": "market"},
    )
    for wrong in (lochan.PutOptions(md5="0" * 32), lochan.PutOptions(checksums={"SHA256": sha256})):
        with pytest.raises(BadDigest):
            main.put("b", b"other", wrong)
    assert main.read("b") == data


@pytest.mark.parametrize("where", ["branch", "workspace"])
def test_conditions_are_judged_by_what_is_there(main: lochan.Branch, where: str) -> None:
    at: lochan.Branch | lochan.Workspace = main if where == "branch" else main.workspace()
    etag = at.stat("a").etag
    held, broken = lochan.Conditions(match=("x", etag)), lochan.Conditions(match=("x",))
    absent = lochan.Conditions(none_match=("*",))
    for options in (lochan.PutOptions(conditions=broken), lochan.PutOptions(conditions=absent)):
        with pytest.raises(PreconditionFailed):
            at.put("a", b"2", options)
    at.copy(main, "a", "b", lochan.CopyOptions(source_conditions=held, conditions=absent))
    for refused in (
        lochan.CopyOptions(source_conditions=broken),
        lochan.CopyOptions(conditions=absent),
        lochan.CopyOptions(source_conditions=lochan.Conditions(modified_since=1 << 40)),
    ):
        with pytest.raises(PreconditionFailed):
            at.copy(main, "a", "b", refused)
    with pytest.raises(PreconditionFailed):
        at.move("b", "c", source_conditions=broken)
    with pytest.raises(PreconditionFailed):
        at.move("b", "a", conditions=absent)
    at.move("b", "c", conditions=absent)
    with pytest.raises(PreconditionFailed):
        at.delete_if("c", lochan.Conditions(size=9))
    at.delete_if("c", lochan.Conditions(size=1))
    assert [each.path for each in at.list()] == ["a"]


def test_conditions_hold_between_repositories(lake: lochan.Lake, main: lochan.Branch) -> None:
    other = lake.create_repository("other").branch("main")
    absent = lochan.Conditions(none_match=("*",))
    made = other.copy(main, "a", "a", lochan.CopyOptions(checksum="CRC32", conditions=absent))
    assert made.checksums == {"CRC32": "g9zvtw=="} and made.etag == main.stat("a").etag
    with pytest.raises(PreconditionFailed):
        other.copy(main, "a", "a", lochan.CopyOptions(conditions=absent))


def test_a_copy_has_the_checksum_that_it_is_asked_for(main: lochan.Branch) -> None:
    made = main.copy(main, "a", "b", lochan.CopyOptions(checksum="CRC32", headers={"expires": "never"}))
    assert made.checksums == {"CRC32": "g9zvtw=="}
    assert main.open("b").headers == {"expires": "never"}


def test_an_object_stays_open_and_a_snapshot_stays_as_it_was(main: lochan.Branch) -> None:
    found, before = main.open("a"), main.snapshot()
    main.put("a", b"another")
    main.put("b", b"new")
    assert (found.read(), found.size, list(found.stream(0, 1))) == (b"1", 1, [b"1"])
    assert (before.kind, before.read("a"), [each.path for each in before.list()]) == ("branch", b"1", ["a"])
    assert main.snapshot().list_table().objects["path"].to_pylist() == ["a", "b"]
    with pytest.raises(NotFound):
        before.open("b")


def test_a_snapshot_is_of_its_repository_whatever_gets_its_name(lake: lochan.Lake, main: lochan.Branch) -> None:
    before = main.snapshot()
    lake.repository("shop").rename("store")
    lake.create_repository("shop").branch().put("a", b"of another")
    assert before.read("a") == b"1"
    assert lake.repository("store").ref().snapshot().repository_name == "store"


def test_what_a_snapshot_is_of(lake: lochan.Lake, main: lochan.Branch) -> None:
    shop = lake.repository("shop")
    main.put("b", b"2")
    commit = main.commit("another")
    shop.create_tag("v1")
    kinds = {name: shop.ref(name).snapshot() for name in ("main", "v1", "main~1", commit.id, main.workspace().name)}
    assert [each.kind for each in kinds.values()] == ["branch", "tag", "commit", "commit", "workspace"]
    assert kinds["v1"].commit_id == commit.id
    assert [each.name for each in shop.snapshots()] == ["main"]
    assert not shop.is_empty()
    main.delete("a", "b")
    assert shop.is_empty()


@pytest.mark.parametrize("where", ["branch", "workspace"])
def test_parts_become_one_object(main: lochan.Branch, where: str) -> None:
    at: lochan.Branch | lochan.Workspace = main if where == "branch" else main.workspace()
    options = lochan.PutOptions(content_type="text/x", metadata={"n": "1"})
    upload = at.create_upload("big", options, checksum="CRC32", checksum_type="COMPOSITE")
    again = at.open_upload("big", upload.id)
    first, second = again.put_part(1, b"a" * PART), upload.copy_part(2, main, "a")
    assert [each.number for each in upload.parts()] == [1, 2] and len(upload.parts(after=1)) == 1
    assert (upload.show().path, upload.show().ref) == ("big", at.name)
    with pytest.raises(BadPart):
        upload.complete([first, lochan.NamedPart(2, first.etag)])
    with pytest.raises(BadDigest):
        upload.complete([first, second], checksum="AAAAAA==")
    made = upload.complete([first, second], conditions=lochan.Conditions(none_match=("*",)))
    assert made.size == PART + 1 and made.etag.endswith("-2") and made.checksums["CRC32"].endswith("-2")
    assert upload.complete([first, second]).etag == made.etag, "completed again it answers the same"
    assert (at.open("big").parts, at.open("big").metadata) == ((PART, 1), {"n": "1"})
    with pytest.raises(NotFound):
        upload.show()


def test_a_part_copied_from_a_file_of_a_workspace_has_bytes_of_its_own(lake: lochan.Lake, main: lochan.Branch) -> None:
    work = main.workspace()
    work.put("w", b"of the workspace")
    upload = lake.repository("shop").branch().create_upload("big")  # on the default branch, which has no name here
    upload.complete([upload.copy_part(1, work, "w", 3, 6)])
    Path(work.path("w")).write_bytes(b"other bytes, and other many")
    assert main.read("big") == b"the"


def test_an_upload_is_of_one_object_and_is_done_once(lake: lochan.Lake, main: lochan.Branch) -> None:
    shop = lake.repository("shop")
    upload = main.create_upload("big", key="one")
    assert main.create_upload("big", key="one").id == upload.id
    assert [each.id for each in shop.uploads()] == [upload.id]
    part = upload.put_part(1, b"x", key="part")
    assert upload.put_part(1, b"x", key="part").etag == part.etag
    for other in (main.open_upload("other", upload.id), main.open_upload("big", "nothing")):
        for verb in (other.show, other.parts, other.abort, lambda other=other: other.complete([part])):
            with pytest.raises(NotFound):
                verb()
    with pytest.raises(Invalid):
        upload.put_part(10_001, b"x")
    upload.abort(key="stop")
    upload.abort(key="stop")
    assert list(shop.uploads()) == []
