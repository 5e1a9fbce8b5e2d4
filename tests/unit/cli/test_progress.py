"""The bar of Spark's tasks: on a terminal alone, and gone when it ends."""

import io

import pytest

from lochan.cli.output.progress import StageBar
from lochan.formats.job import JobStage


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def played(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, wanted: bool = True) -> str:
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with StageBar("load", wanted=wanted) as bar:
        bar.show([])
        bar.show([JobStage(0, "scan", 4, 4), JobStage(1, "write", 3, 8)])
    told = terminal.getvalue()
    bar.show([JobStage(0, "scan", 4, 4)])  # too late
    assert terminal.getvalue() == told
    return told


def test_tasks_and_stages_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    told = played(Terminal(), monkeypatch)
    assert "load" in told and "7/12" in told and "1/2 stages" in told


@pytest.mark.parametrize(
    ("terminal", "wanted"), [(io.StringIO(), True), (Terminal(), False)], ids=["a pipe", "unwanted"]
)
def test_elsewhere_nothing_is_said(terminal: io.StringIO, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert played(terminal, monkeypatch, wanted=wanted) == ""
