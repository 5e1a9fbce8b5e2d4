"""The commands of docs/operations/checkouts.md work as printed."""

from pathlib import Path

from docs.tour import ROOT, play

PAGE = ROOT / "docs" / "operations" / "checkouts.md"


def test_the_commands_work(tmp_path: Path) -> None:
    printed: dict[str, list[str]] = {}
    for command, done in play(tmp_path, show=False, page=PAGE):
        assert done.returncode == 0, (command, done.stdout)
        printed.setdefault(command, []).append(done.stdout)
    assert printed["ls data"] == ["fruit.csv\n"]
    changed, behind, ignored = printed["cd data && lochan status"]
    assert changed.splitlines()[1:] == ["changed  14 B  fruit.csv", "added     6 B  more.csv"]
    assert "the branch has moved on" in behind
    assert ignored.splitlines()[1:] == ["added    26 B  .lochanignore"]
    assert printed["lochan fs cat demo/raw/fruit.csv"] == ["1,pear\n2,plum\n"]
    assert printed["cat data/kiwi.csv"] == ["4,kiwi\n"]
