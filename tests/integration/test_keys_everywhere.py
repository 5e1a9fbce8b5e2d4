"""One table of keys, each passed through everything that takes a key: kept byte for byte, or refused by the same
Invalid, and never a file outside its folder.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from lochan.errors import Invalid, NotFound
from lochan.formats.record import Actor
from lochan.lake import Lake, LakeOptions
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.open import open_store
from lochan.versioning import copy, links, objects, transfer
from lochan.versioning.bodies.address import BodySettings, Style
from lochan.versioning.branches import create_branch
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.imports import ImportFolder, bring_in, for_import
from lochan.versioning.heads.moves import merge
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.diff import diff, staged_changes
from lochan.versioning.revisions.log import LogRequest, history
from tests.integration.test_cli_versioning import contents, fine, lochan, newcomer
from tests.run import run

__all__ = ["newcomer"]  # a fixture

ANN = Actor("ann", "test", "here")

KEPT = {
    "one letter": "a",
    "1,024 bytes": "k" * 1_024,
    "1,024 bytes of two each": "é" * 512,
    "1,024 bytes in folders": "/".join(["d" * 127] * 8),
    "dot": ".",
    "two dots": "..",
    "dots within": "a/../b",
    "dots at the front": "../../etc/passwd",
    "dot within": "a/./b",
    "two slashes": "a//b",
    "only slashes": "//",
    "one slash": "/",
    "leading slash": "/etc/passwd",
    "trailing slash": "a/",
    "newline": "a\nb",
    "tab": "a\tb",
    "carriage return": "a\rb",
    "escape": "a\x1b[31mb",
    "delete": "a\x7fb",
    "composed": "caf\u00e9",
    "decomposed": "cafe\u0301",
    "emoji": "👩‍🔬/😀",
    "escaped slash": "a%2Fb",
    "escaped NUL": "a%00b",
    "backslash": "a\\..\\b",
    "trailing spaces": "a  ",
    "leading space": " a",
    "a space": " ",
    "looks like a URL": "s3://bucket/key",
    "looks like a glob": "*/**?[a]{b}",
    "looks like an option": "-rf",
    "looks like the lake's own": "lake.json",
    "the store's own folder": ".tmp/x",
    "right to left": "a\u202eb",
    "the greatest letter": "\U0010ffff",
    "the byte order mark": "\ufeffa",
}
CONTROLS = [key for key in KEPT.values() if key.isascii() and not key.isprintable()]
REFUSED = {
    "empty": "",
    "1,025 bytes": "k" * 1_025,
    "1,025 bytes of two each": "é" * 512 + "k",
    "NUL": "a\0b",
    "a lone surrogate": "a\ud800b",
    "a byte that is no UTF-8": os.fsdecode(b"a\xffb"),
}


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def opened(lake: Lake, *names: str) -> list[OpenRepository]:
    return [await lake.open_repository(name) for name in names]


async def paths(repository: OpenRepository, ref: str, prefix: str = "") -> list[str]:
    return [entry.path for entry in (await objects.list_objects(repository, ref, prefix)).entries]


@pytest.mark.parametrize("style", ["id", "path"])
def test_all_keys_side_by_side(style: Style, tmp_path: Path) -> None:
    """All in one repository: none is mistaken for another, and at the end a fresh process sees the same."""
    inside = tmp_path / "lake"
    keys = sorted(KEPT.values(), key=str.encode)
    world = LakeOptions(bodies=BodySettings(style))

    async def play() -> None:
        lake = await Lake.create(LocalStore(str(inside), create=True), world=world)
        for name in ("demo-repo", "other-repo"):
            await lake.create_repository(name, actor=ANN)
        repository, other = await opened(lake, "demo-repo", "other-repo")
        for key in keys:
            await objects.put(repository, "main", key, once(key.encode()), actor=ANN)
        assert await paths(repository, "main") == keys
        assert [each.path for each in await staged_changes(repository, "main")] == keys
        await commit(repository, "main", CommitRequest("keys"), actor=ANN)
        await create_branch(repository, "dev", "main", actor=ANN)
        for key in keys:
            await objects.put(repository, "dev", key, once(b"dev" + key.encode()), actor=ANN)
        await commit(repository, "dev", CommitRequest("dev"), actor=ANN)
        assert [each.path async for each in diff(repository, "main", "dev")] == keys
        await merge(repository, "dev", "main", actor=ANN)
        assert (await transfer.transfer_folder(repository, "main", "", other, "main", "", actor=ANN))[0] == len(keys)
        await lake.close()

    async def look() -> None:
        lake = await Lake.open(LocalStore(str(inside)), world=world)
        for repository in await opened(lake, "demo-repo", "other-repo"):
            assert await paths(repository, "main") == keys
            for key in keys:
                entry = await objects.stat(repository, "main", key)
                assert (entry.path, await repository.reader.read_all(entry)) == (key, b"dev" + key.encode())
                assert key in await paths(repository, "main", key)
            await copy.delete_folder(repository, "main", "", actor=ANN)
            assert await paths(repository, "main") == []
        await lake.close()

    run(play())
    run(look())
    assert [child.name for child in tmp_path.iterdir()] == ["lake"]


@pytest.mark.parametrize("key", KEPT.values(), ids=KEPT.keys())
def test_a_key_is_kept_through_every_verb(key: str) -> None:
    async def play() -> None:
        store = MemoryStore()
        lake = await Lake.create(store)
        await lake.create_repository("demo-repo", actor=ANN)
        [repository] = await opened(lake, "demo-repo")
        await objects.put(repository, "main", key, once(b"one"), actor=ANN)
        first, _ = await commit(
            repository, "main", CommitRequest("one", paths=[key] if "*" not in key else []), actor=ANN
        )
        await copy.copy(repository, "main", key, "main", "plain", actor=ANN)
        await copy.move(repository, "main", key, "moved", actor=ANN)
        assert await paths(repository, "main") == ["moved", "plain"]
        await copy.move(repository, "main", "moved", key, actor=ANN)
        await copy.copy(repository, "main", key, "main", key, actor=ANN, options=copy.CopyChanges(metadata={"k": key}))
        assert (await objects.stat(repository, "main", key)).metadata == {"k": key}
        second, _ = await commit(repository, "main", CommitRequest("two"), actor=ANN)
        log = [id async for id, _ in history(repository, "main", LogRequest(paths=(key,)))]
        assert log == [second, first]
        given = await links.physical_address(repository, "main", key, actor=ANN)
        await store.put(given.address, b"linked")
        await links.link(repository, "main", key, given.token, actor=ANN)
        [again] = await opened(await Lake.open(store), "demo-repo")
        assert await again.reader.read_all(await objects.stat(again, "main", key)) == b"linked"
        assert await objects.delete(again, "main", [key], actor=ANN) == [key]
        await commit(again, "main", CommitRequest("gone"), actor=ANN)
        with pytest.raises(NotFound):
            await objects.stat(again, "main", key)
        await lake.close()

    run(play())


@pytest.mark.parametrize("key", REFUSED.values(), ids=REFUSED.keys())
def test_a_key_is_refused_by_every_verb_in_the_same_words(key: str) -> None:
    with pytest.raises(Invalid) as said:
        check_key(key)

    async def play() -> None:
        outside = MemoryStore()
        await outside.put("x", b"x")
        lake = await Lake.create(MemoryStore(), world=LakeOptions(lambda url: outside))
        await lake.create_repository("demo-repo", actor=ANN)
        [repository] = await opened(lake, "demo-repo")
        await objects.put(repository, "main", "a", once(b"x"), actor=ANN)
        before = (await repository.refs())[1]
        verbs: dict[str, Callable[[], Awaitable[object]]] = {
            "put": lambda: objects.put(repository, "main", key, once(b"x"), actor=ANN),
            "stat": lambda: objects.stat(repository, "main", key),
            "delete": lambda: objects.delete(repository, "main", ["a", key], actor=ANN),
            "copy to": lambda: copy.copy(repository, "main", "a", "main", key, actor=ANN),
            "copy from": lambda: copy.copy(repository, "main", key, "main", "b", actor=ANN),
            "move to": lambda: copy.move(repository, "main", "a", key, actor=ANN),
            "move from": lambda: copy.move(repository, "main", key, "b", actor=ANN),
            "transfer": lambda: transfer.transfer(repository, "main", "a", repository, "main", key, actor=ANN),
            "address": lambda: links.physical_address(repository, "main", key, actor=ANN),
            "link": lambda: links.stage(repository, "main", key, "s3://b/x", actor=ANN),
            "log": lambda: _all(history(repository, "main", LogRequest(paths=(key,)))),
        }
        for name, verb in verbs.items():
            with pytest.raises(Invalid) as refused:
                await verb()
            assert refused.value.message == said.value.message, name
        assert (await repository.refs())[1] == before, "nothing was appended"
        await lake.close()

    run(play())


async def _all(found: AsyncIterator[object]) -> list[object]:
    return [each async for each in found]


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\x7fb", os.fsdecode(b"a\xffb")], ids=ascii)
def test_a_file_that_no_store_could_be_asked_for_is_not_imported(name: str, tmp_path: Path) -> None:
    """Nothing is imported, because an import without it would have lost a file."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good").write_bytes(b"")
    (tmp_path / "in" / name).write_bytes(b"")

    async def play() -> None:
        lake = await Lake.create(MemoryStore(), world=LakeOptions(open_store))
        await lake.create_repository("demo-repo", actor=ANN)
        [repository] = await opened(lake, "demo-repo")
        with pytest.raises(Invalid):
            await for_import(repository, [ImportFolder(f"file://{tmp_path}/in", "")])
        await lake.close()

    run(play())


def test_files_of_every_possible_name_go_up_and_down_and_are_imported(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for key in KEPT.values():
        names = key.split("/")
        if all(0 < len(name.encode()) <= 255 and name not in (".", "..") for name in names):
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            (folder / key).write_bytes(key.encode())
    before = contents(folder)
    assert len(before) > 15
    fine("init")
    fine("repo", "create", "demo")
    fine("fs", "upload", "-r", "in", "demo")
    fine("commit", "demo", "-m", "up")
    fine("fs", "download", "-r", "demo", "out")
    assert contents(tmp_path / "out") == before

    assert "lake.json is there" in lochan("import", "in", "demo/imported").stderr
    for name in (*CONTROLS, "lake.json", KEPT["1,024 bytes in folders"]):  # too long with the folders above it
        (folder / name).unlink()
    fine("import", "in", "demo/imported")
    fine("fs", "download", "-r", "demo/imported", "again")
    assert contents(tmp_path / "again") == contents(folder)


@pytest.mark.parametrize("key", KEPT.values(), ids=KEPT.keys())
def test_a_download_stays_in_its_folder(key: str, tmp_path: Path) -> None:
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    lake = str(tmp_path / "lake")
    fine("init", lake)
    fine("--lake", lake, "repo", "create", "demo")

    async def put() -> None:
        opened_lake = await Lake.open(LocalStore(lake))
        [repository] = await opened(opened_lake, "demo")
        await objects.put(repository, "main", key, once(b"x"), actor=ANN)
        await opened_lake.close()

    run(put())
    before = contents(tmp_path)
    for words in (("-r", "demo@main", str(inner)), (f"demo@main/{key}", f"{inner}/")):
        result = lochan("--lake", lake, "fs", "download", "--force", *words)
        assert result.exit_code in (0, 1, 5), result.output
        assert result.exit_code == 0 or result.stderr.startswith("lochan: ")
    written = {name for name in contents(tmp_path) if name not in before}
    noted = "lake/_lake/usage/"  # that it was read
    assert all(name.startswith(("deep/er/", noted)) for name in written)


def test_what_an_import_brings_is_as_the_bucket_has_it() -> None:
    """Keys that a store of objects can have, and a disk cannot."""

    async def play() -> None:
        bucket = MemoryStore()
        keys = [key for key in ("é", "e\u0301", "a%2Fb", "a\\b", "a  ", " a", "😀", "x/y") if key]
        for key in keys:
            await bucket.put(f"in/{key}", key.encode())
        lake = await Lake.create(MemoryStore(), world=LakeOptions(lambda url: bucket))
        await lake.create_repository("demo-repo", actor=ANN)
        [repository] = await opened(lake, "demo-repo")
        await bring_in(repository, "main", await for_import(repository, [ImportFolder("s3://b/in", "")]), actor=ANN)
        assert await paths(repository, "main") == sorted(keys, key=str.encode)
        for key in keys:
            assert await repository.reader.read_all(await objects.stat(repository, "main", key)) == key.encode()
        long = "k" * 1_020
        with pytest.raises(Invalid, match="too long"):
            await for_import(repository, [ImportFolder("s3://b/in", long)])
        await lake.close()

    run(play())
