"""The bar of Spark's tasks: only on a terminal, and gone when it ends."""

import io
import sys

import pytest

from lochan.cli.output.progress import StageBar, count_progress, progress
from lochan.formats.job import JobStageRecord


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def played(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, visible: bool = True) -> str:
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with StageBar("load", visible=visible) as bar:
        bar.show([])
        bar.show([JobStageRecord(0, "scan", 4, 4), JobStageRecord(1, "write", 3, 8)])
    output = terminal.getvalue()
    bar.show([JobStageRecord(0, "scan", 4, 4)])  # too late
    assert terminal.getvalue() == output
    return output


def test_tasks_and_stages_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    output = played(Terminal(), monkeypatch)
    assert "load" in output and "7/12" in output and "1/2 stages" in output


@pytest.mark.parametrize(
    ("terminal", "visible"), [(io.StringIO(), True), (Terminal(), False)], ids=["a pipe", "unwanted"]
)
def test_nothing_is_printed_elsewhere(terminal: io.StringIO, visible: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert played(terminal, monkeypatch, visible=visible) == ""


@pytest.mark.parametrize("total", [100, None])
def test_a_terminal_sees_how_far_it_is(
    total: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress("uploading", total, visible=True) as advance:
        advance(100)
    with progress("silence", total, visible=False) as advance:
        advance(100)
    seen = capsys.readouterr()
    assert "uploading" in seen.err
    assert "silence" not in seen.err
    assert seen.out == ""


def test_a_terminal_sees_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with count_progress("nobody looks", "files", visible=True) as advance:
        advance(1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with count_progress("listing", "files", visible=True) as advance:
        advance(12_345)
    with count_progress("silence", "files", visible=False) as advance:
        advance(1)
    seen = capsys.readouterr()
    assert "listing" in seen.err
    assert "12,345 files" in seen.err
    assert not {"nobody", "silence"} & set(seen.err.split())
    assert seen.out == ""
