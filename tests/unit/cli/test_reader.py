"""What a command changes in its process is as before for the next command of the same process."""

import sys
import tempfile

import pytest

from lochan.cli.companion.reader import ProcessState
from lochan.without_pandas import hide_pandas


def test_what_a_command_changes_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place of temporary files depends on its variables, and a command without Spark hides pandas."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    before, finders = ProcessState(), [*sys.meta_path]
    tempfile.tempdir = "/elsewhere"
    hide_pandas()
    assert sys.meta_path != finders
    before.restore()
    assert tempfile.tempdir is None
    assert sys.meta_path == finders
