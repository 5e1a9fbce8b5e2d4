"""The commands of docs/operations/import-export.md work as printed."""

from pathlib import Path

from docs.tour import ROOT, play

PAGE = ROOT / "docs" / "operations" / "import-export.md"


def test_the_commands_work(tmp_path: Path) -> None:
    printed = {}
    for command, done in play(tmp_path, show=False, page=PAGE):
        assert done.returncode == 0, (command, done.stdout)
        printed[command] = done.stdout
    assert "removed" in printed["lochan ingest diff --from-path outside --to-path demo/raw/"]
    assert (
        "1 added, 0 changed, 1 removed" in printed["lochan ingest watch --from-path outside --to-path demo/raw/ --once"]
    )
    assert (tmp_path / "copy" / "c.csv").read_text() == "3,fig\n"
    assert '"removed":1' in printed["cat copy/_SUCCESS"]
