"""Every exit code of the table in docs/operations/cli.md, caused by a real situation."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from lochan.formats import lake_file
from tests.integration.cli import lochan

LOCHAN = [sys.executable, "-c", "from lochan.cli.main import main; main()"]
PATIENCE_S = 120


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("codes")
    lake = ("--lake", f"{folder}/lake")
    (folder / "rows.ndjson").write_text("".join(f'{{"k":{number},"v":"{"x" * 1000}"}}\n' for number in range(8_000)))
    (folder / "big").write_bytes(bytes(8 << 20))  # more than any pipe holds
    for words in (
        "repo create demo",
        "create rows --key k",
        f"load rows {folder}/rows.ndjson",
        f"fs upload {folder}/big demo/big",
        "commit demo -m first",
        "branch create demo@dev",
        f"fs upload {folder}/rows.ndjson demo/big",
        "commit demo -m second",
        f"fs upload {folder}/rows.ndjson demo@dev/big",
        f"fs upload {folder}/rows.ndjson demo@dev/small",
        "commit demo@dev -m third",
        "branch protect demo prod*",
    ):
        if words.startswith("repo create"):
            assert lochan(*lake, "init").exit_code == 0
        assert lochan(*lake, *words.split()).exit_code == 0, words
    return folder


@pytest.fixture
def lake(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sample / "lake", tmp_path / "lake")
    monkeypatch.setenv("LOCHAN_LAKE", f"{tmp_path}/lake")
    return tmp_path / "lake"


def run(*words: str, stdout: int = subprocess.PIPE) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*LOCHAN, *words], stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    "code, command",
    [
        (0, "ls"),
        (2, "lgo demo"),
        (2, "log --non"),
        (2, "fs cat"),
        (3, "log none"),
        (3, "log demo@none"),
        (3, "fs cat demo/none"),
        (3, "--lake /nowhere ls"),
        (3, "--config /nowhere.yaml ls"),
        (3, "query 'from none'"),
        (4, "repo create demo"),
        (4, "init"),
        (4, "revert demo main~1"),
        (5, "repo delete demo"),
        (5, "fs upload - rows/x"),
        (6, "log demo@"),
        (6, "ls --set logging.level=LOUD"),
        (6, "commit demo -m again"),
        (6, "query 'from rows | srot k'"),
    ],
)
def test_codes(lake: Path, code: int, command: str) -> None:
    result = lochan(*shlex.split(command))
    assert result.exit_code == code, result.output
    assert (result.stderr == "") == (code == 0)
    if code > 2:
        assert result.stderr.startswith("lochan: ")


def test_an_error_of_the_operating_system_is_1(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert lochan("query", "from rows | head 1", "-o", f"{tmp_path}/file/x.csv").exit_code == 1


def test_a_lake_of_the_future_is_7(lake: Path) -> None:
    file = lake / "lake.json"
    made = lake_file.decode(file.read_bytes(), "")
    file.write_bytes(lake_file.encode(msgspec.structs.replace(made, format=99)))
    assert lochan("ls").exit_code == 7


def test_other_bytes_than_were_written_are_8(lake: Path) -> None:
    file = lake / "lake.json"
    file.write_text(file.read_text().replace('"journal": "store"', '"journal": "stare"'))
    assert lochan("ls").exit_code == 8


def test_bytes_that_are_gone_are_10(lake: Path) -> None:
    (file,) = (file for file in lake.rglob("*") if file.is_file() and file.stat().st_size == 8 << 20)
    file.unlink()
    assert lochan("fs", "cat", "demo@main~1/big").exit_code == 10


def test_a_store_that_does_not_answer_is_9(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lochan.connection.RETRY_S", 0.0)
    settings = ("endpoint=http://127.0.0.1:1", "credentials.access_key_id=a", "credentials.access_secret_key=b")
    words = [word for each in settings for word in ("-s", f"blockstore.s3.{each}")]
    assert lochan("--lake", "s3://bucket", *words, "ls").exit_code == 9


def test_ctrl_c_is_130(lake: Path) -> None:
    """Nothing is printed, and nothing is left behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # or a child of a background job would ignore it
    try:
        process = subprocess.Popen([*LOCHAN, "events", "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    process.stdout.readline()  # it follows from now on
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert output == b""


@pytest.mark.parametrize(
    "words",
    [
        ("log", "demo"),
        ("log", "demo", "--graph"),
        ("log", "demo", "-f", "json"),
        ("fs", "cat", "demo/big"),
        ("fs", "ls", "demo/"),
        ("diff", "demo@main", "demo@dev"),
        ("status", "demo"),
        ("events",),
        ("query", "from rows"),
        ("query", "from rows", "-f", "table"),
        ("query", "from rows", "-f", "json"),
        ("query", "from rows", "-f", "csv"),
        ("query", "from rows", "-f", "parquet"),
        ("config", "show"),
        ("--help",),
        ("log", "--help"),
        ("--version",),
        ("completion", "bash"),
    ],
    ids=" ".join,
)
def test_a_reader_that_has_left_is_141(lake: Path, words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = run(*words, stdout=writer)
    finally:
        os.close(writer)
    assert ran.stderr == b""
    assert ran.returncode == 141


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_in_the_middle(lake: Path, unbuffered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like `| head -1`: the rest does not fit into the pipe. Without a buffer, Python itself would print nothing."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    for words in (("query", "from rows"), ("fs", "cat", "demo@dev~1/big")):
        process = subprocess.Popen([*LOCHAN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE_S) == 141
        process.stderr.close()
