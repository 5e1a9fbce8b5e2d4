"""The commands of docs/operations/dedupe.md work as printed."""

from pathlib import Path

from docs.tour import ROOT, play

PAGE = ROOT / "docs" / "operations" / "dedupe.md"


def test_the_commands_work(tmp_path: Path) -> None:
    printed = {}
    for command, done in play(tmp_path, show=False, page=PAGE):
        assert done.returncode == 0, (command, done.stdout)
        printed[command] = done.stdout
    assert printed["lochan query 'from logs@dev | count()'"] == '{"count":2000}\n'
    for command in ("lochan dedupe demo --report", "lochan dedupe logs", "lochan gc repack demo --dry-run"):
        assert printed[command] in PAGE.read_text(), printed[command]
    numbers = "".join(f"{number}\n" for number in range(1, 1_001))
    assert printed["lochan fs cat demo/copies/b.csv"] == numbers
    assert printed["lochan fs cat demo/notes/kept.txt"] == "".join(f"{number}\n" for number in range(1, 21))
    assert printed["lochan gc dangling demo"].endswith(" 0 dangling\n")
