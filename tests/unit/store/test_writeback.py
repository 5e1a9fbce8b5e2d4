"""The disk starts to write while a long file still grows; the promise remains the sync at the end."""

import os
from pathlib import Path

import pytest

from lochan.store import local_files
from lochan.store.local import LocalStore
from tests.run import run
from tests.store_contract import MIB, chunks


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(str(tmp_path / "lake"), create=True)


@pytest.mark.parametrize(
    "count, size, spans",
    [
        pytest.param(15, MIB, [], id="a file that is not long"),
        pytest.param(33, MIB, [(0, 16 * MIB), (16 * MIB, 16 * MIB)], id="chunk by chunk"),
        pytest.param(2, 20 * MIB, [(0, 20 * MIB), (20 * MIB, 20 * MIB)], id="large chunks"),
    ],
)
def test_each_span_once_and_in_order(
    store: LocalStore, count: int, size: int, spans: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    begin = local_files.begin_writeback

    def noted(fd: int, start: int, size: int) -> None:
        asked.append((start, size))
        assert os.fstat(fd).st_size >= start + size
        begin(fd, start, size)

    monkeypatch.setattr(local_files, "begin_writeback", noted)
    assert run(store.put_stream("k", chunks(count, size))) == count * size
    assert asked == spans
    assert run(store.head("k")).size == count * size


def test_it_promises_nothing_and_refuses_nothing(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        file.write(b"1" * MIB)
        file.flush()
        local_files.begin_writeback(file.fileno(), 0, MIB)
        closed = file.fileno()
    local_files.begin_writeback(closed, 0, MIB)
    assert (tmp_path / "file").read_bytes() == b"1" * MIB


def test_a_system_without_such_a_call(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    local_files._sync_file_range.cache_clear()
    try:
        assert run(store.put_stream("k", chunks(17, MIB))) == 17 * MIB
    finally:
        local_files._sync_file_range.cache_clear()
