"""The files of a lake, its cache and its log belong to their owner alone, whatever the umask says."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lochan.access.encryption import PATH as KEY
from lochan.cli.logging import set_up
from lochan.clock import SystemClock
from lochan.config.load import load
from lochan.errors import NotFound
from lochan.lake import Lake
from lochan.store.disk import make_private_folder
from lochan.store.local import LocalStore
from lochan.tree.cache import ArrowCache
from tests.run import run
from tests.store_contract import chunks


@pytest.fixture(autouse=True, params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(root: Path) -> set[tuple[bool, str]]:
    """For everything that is there, including the root: whether it is a folder, and its mode."""
    found = [root, *root.rglob("*")]
    return {(each.is_dir(), oct(stat.S_IMODE(each.lstat().st_mode))) for each in found}


PRIVATE = {(True, "0o700"), (False, "0o600")}


async def fill(store: LocalStore) -> None:
    await store.put("a/b/c", b"1")
    await store.put_if_absent("a/d", b"2")
    await store.put_stream("e/f", chunks(2, 3))


def test_objects_and_folders_of_a_store(tmp_path: Path) -> None:
    run(fill(LocalStore(str(tmp_path / "lake"), create=True)))
    assert modes(tmp_path / "lake") == PRIVATE


def test_what_a_process_beside_it_writes(tmp_path: Path) -> None:
    async def work() -> None:
        store = LocalStore(str(tmp_path / "lake"), create=True)
        end = store.write_beside()
        try:
            await fill(store)
        finally:
            end()

    run(work())
    assert modes(tmp_path / "lake") == PRIVATE


def test_folders_above_a_lake_are_as_the_user_wants_them(tmp_path: Path) -> None:
    LocalStore(str(tmp_path / "above" / "lake"), create=True)
    assert modes(tmp_path / "above" / "lake") == {(True, "0o700")}
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "above").stat().st_mode) == 0o777 & ~mask


def test_the_key_of_a_lake_is_closed_to_others_in_one_that_was_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Earlier versions made such lakes."""
    root = tmp_path / "lake"

    async def work() -> None:
        lake = await Lake.create(LocalStore(str(root), create=True))
        await lake.open_access().encryption.get()
        await lake.close()

    run(work())
    assert stat.S_IMODE((root / KEY).stat().st_mode) == 0o600
    root.chmod(0o755)
    (root / KEY).chmod(0o644)
    with caplog.at_level(logging.WARNING, "lochan.store"):
        run(_open_and_close(root))
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert [record.getMessage() for record in caplog.records if "other users" in record.getMessage()]
    caplog.clear()
    run(_open_and_close(root))
    assert not caplog.records, "it is said once"


async def _open_and_close(root: Path) -> None:
    await (await Lake.open(LocalStore(str(root)))).close()


def test_a_folder_that_is_not_a_lake_stays_open(tmp_path: Path) -> None:
    """One that files are imported from."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(NotFound, match="there is no lake"):
        run(_open_and_close(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_copies_in_the_cache(tmp_path: Path) -> None:
    cache = ArrowCache(str(tmp_path / "home" / "cache"), 1 << 20, SystemClock())
    cache.keep("name", pa.record_batch({"path": ["a"]}))
    assert modes(tmp_path / "home") == PRIVATE


def test_a_folder_that_is_there_is_taken_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(str(tmp_path))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_log_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "lochan.log"
    config = load(file=None, env={"LOCHAN_LOGGING__OUTPUT": str(file)}, flags=(), cwd=tmp_path, home=tmp_path)
    set_up(config)
    try:
        logging.getLogger("lochan.store").warning("something")
    finally:
        for handler in list(logging.getLogger("lochan").handlers):
            logging.getLogger("lochan").removeHandler(handler)
            handler.close()
        logging.getLogger("lochan").propagate = True
    assert file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600
