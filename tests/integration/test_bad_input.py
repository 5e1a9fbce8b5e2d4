"""Bad input: the user gets one line that says what is wrong and what to do, an exit code, and nothing changes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from lochan.cli.exit_codes import BY_KIND
from lochan.formats import frame, record

LOCHAN = Path(sys.executable).parent / "lochan"
# Root without the power to pass over permissions: what any user is.
PLAIN = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


def lochan(*words: str, through: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k == "LOCHAN_COMPANION" or not k.startswith("LOCHAN_")}
    return subprocess.run(
        [*through, LOCHAN, *words], capture_output=True, text=True, timeout=60, env=environment, cwd="/"
    )


def wrong(done: subprocess.CompletedProcess[str], kind: str, *says: str) -> None:
    """One message, its hint at most on a second line, and never a traceback."""
    assert done.returncode == BY_KIND[kind], (done.returncode, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("lochan: ")
    assert len(done.stderr.splitlines()) <= 2, done.stderr
    for words in says:
        assert words in done.stderr, (words, done.stderr)


def fingerprint(folder: Path) -> str:
    found = sha256()
    for path in sorted(folder.rglob("*")):
        found.update(str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b""))
    return found.hexdigest()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    assert lochan("init", str(folder)).returncode == 0
    for name in ("first-repo", "second-repo", "third-repo"):
        assert lochan("--lake", str(folder), "repo", "create", name).returncode == 0
    return folder


def slot(lake: Path, number: int) -> Path:
    return lake / "_lake" / "journal" / f"{number:020d}"


VERBS = (("ls",), ("repo", "create", "another-repo"), ("events",))


def test_a_second_init(lake: Path) -> None:
    before = fingerprint(lake)
    wrong(lochan("init", str(lake)), "already-exists", "there is a lake at", "nothing was changed")
    assert fingerprint(lake) == before


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_lake_that_is_not_there(verb: tuple[str, ...], tmp_path: Path) -> None:
    wrong(lochan("--lake", str(tmp_path / "no"), *verb), "not-found", "no lake at", "lochan init")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_damaged_record(verb: tuple[str, ...], lake: Path) -> None:
    data = bytearray(slot(lake, 2).read_bytes())
    data[40] ^= 1
    slot(lake, 2).write_bytes(data)
    before = fingerprint(lake)
    done = lochan("--lake", str(lake), *verb)
    assert "record 2 of" in done.stderr
    assert "fails its checksum" in done.stderr
    assert done.returncode == BY_KIND["corrupt"]
    assert "Traceback" not in done.stderr
    assert fingerprint(lake) == before


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_missing_record(verb: tuple[str, ...], lake: Path) -> None:
    slot(lake, 2).unlink()
    before = fingerprint(lake)
    done = lochan("--lake", str(lake), *verb)
    assert "record 2 of" in done.stderr
    assert "is missing" in done.stderr
    assert done.returncode == BY_KIND["corrupt"]
    assert fingerprint(lake) == before


def test_a_record_in_anothers_place(lake: Path) -> None:
    slot(lake, 3).write_bytes(slot(lake, 2).read_bytes())
    wrong(lochan("--lake", str(lake), "ls"), "corrupt", "says it is 2")


def test_a_record_from_the_future(lake: Path) -> None:
    body = frame.unseal(record.MAGIC, 1, slot(lake, 3).read_bytes(), "it")
    slot(lake, 3).write_bytes(frame.seal(record.MAGIC, 2, bytes(body)))
    before = fingerprint(lake)
    wrong(lochan("--lake", str(lake), "ls"), "future-format", "record 3 of", "format version 2", "upgrade")
    assert fingerprint(lake) == before


def test_a_lake_from_the_future(lake: Path) -> None:
    (lake / "lake.json").write_text('{"format": 7, "lake": "x"}')
    wrong(lochan("--lake", str(lake), "ls"), "future-format", "has format 7", "upgrade")


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")


def test_a_folder_without_permission(lake: Path) -> None:
    before = fingerprint(lake)
    plain = PLAIN if os.getuid() == 0 else ()
    for folder in [lake, *(path for path in lake.rglob("*") if path.is_dir())]:
        folder.chmod(0o500)
    wrong(lochan("--lake", str(lake), "repo", "create", "another-repo", through=plain), "refused", str(lake))
    (lake / "lake.json").chmod(0o000)
    wrong(lochan("--lake", str(lake), "ls", through=plain), "refused", "lake.json")
    (lake / "lake.json").chmod(0o600)
    assert fingerprint(lake) == before
    for folder in [lake, *(path for path in lake.rglob("*") if path.is_dir())]:
        folder.chmod(0o700)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@needs_root
def test_a_full_disk(tiny_disk: Path) -> None:
    lake = tiny_disk / "lake"
    assert lochan("init", str(lake)).returncode == 0
    assert lochan("--lake", str(lake), "repo", "create", "first-repo").returncode == 0
    with (tiny_disk / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 1_024)
        except OSError:
            pass
    before = fingerprint(lake)
    wrong(lochan("--lake", str(lake), "repo", "create", "second-repo"), "disk-full", str(lake))
    assert fingerprint(lake) == before
    assert lochan("--lake", str(lake), "ls", "-f", "json").returncode == 0
    (tiny_disk / "filler").unlink()
    assert lochan("--lake", str(lake), "repo", "create", "second-repo").returncode == 0
