"""The commands of docs/operations/upkeep.md work as printed."""

from pathlib import Path

from docs.tour import ROOT, play

PAGE = ROOT / "docs" / "operations" / "upkeep.md"


def test_the_commands_work(tmp_path: Path) -> None:
    printed = {}
    for command, done in play(tmp_path, show=False, page=PAGE):
        assert done.returncode == 0, (command, done.stdout)
        printed[command] = done.stdout
    shown = printed["lochan gc plan demo --dry-run --grace 0"]
    assert shown in PAGE.read_text()
    assert "plan 5: nothing names 0 of 2 files" in printed["lochan gc run demo"]
