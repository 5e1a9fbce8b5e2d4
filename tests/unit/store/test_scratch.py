"""Folders of dead processes are removed, and no others."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lochan.store import scratch

HOLD = """
import sys
from lochan.store import scratch
scratch.own_process = True
print(scratch.make_folder(), flush=True)
sys.stdin.readline()
scratch.remove()
"""


@contextmanager
def process(place: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """One that has made a folder, and that."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"TMPDIR": str(place)},
    )
    assert holder.stdout is not None
    try:
        yield holder, Path(holder.stdout.readline().strip())
    finally:
        holder.kill()
        holder.communicate()


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    with process(tmp_path) as (holder, folder):
        (folder / "spilt").write_bytes(b"x")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert folder.exists()
        with process(tmp_path) as (_, other):
            assert other.exists()
            assert not folder.exists()
            assert [each.name for each in tmp_path.iterdir()] == [other.parent.name]


def test_what_is_used_stays(tmp_path: Path) -> None:
    (tmp_path / "lochan-of-old").mkdir()
    (tmp_path / "other").mkdir()
    with process(tmp_path) as (_, folder):
        scratch.sweep(str(tmp_path))
        assert folder.exists()
    assert {"lochan-of-old", "other"} < {each.name for each in tmp_path.iterdir()}
    scratch.sweep(str(tmp_path))
    assert {"lochan-of-old", "other"} == {each.name for each in tmp_path.iterdir()}


def test_a_process_that_ends_leaves_nothing(tmp_path: Path) -> None:
    with process(tmp_path) as (holder, folder):
        holder.communicate("\n")
        assert holder.returncode == 0
        assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_elsewhere_folders_lie_in_the_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert Path(scratch.make_folder()).parent == tmp_path
    assert scratch.place() is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept" / "lock").parent.mkdir()
    (tmp_path / "kept" / "lock").touch()
    (tmp_path / "lochan-link").symlink_to(tmp_path / "kept")
    scratch.sweep(str(tmp_path))
    assert (tmp_path / "kept" / "lock").exists()
