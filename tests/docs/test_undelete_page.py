"""The commands of docs/operations/undelete.md work as printed."""

from pathlib import Path

from docs.tour import ROOT, play

PAGE = ROOT / "docs" / "operations" / "undelete.md"


def test_the_commands_work(tmp_path: Path) -> None:
    printed = {}
    for command, done in play(tmp_path, show=False, page=PAGE):
        assert done.returncode == 0, (command, done.stdout)
        printed[command] = done.stdout
    assert "a.txt" in printed["lochan fs ls demo"]
    assert printed["lochan repo restore demo --as demo-2"] == "restored repository demo-2\n"
    assert printed["lochan query 'from logs'"] == '{"n":1}\n'
    assert printed["lochan gc abandon-jobs logs"] == "abandoned 0 jobs\n"
    assert printed["lochan gc run --deleted --confirm"] == "nothing is due\n"
