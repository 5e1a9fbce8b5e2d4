"""The README's tour works as printed."""

from pathlib import Path

from docs.tour import commands, play


def test_the_tour_of_the_readme(tmp_path: Path) -> None:
    assert len(commands()) >= 6
    for command, done in play(tmp_path, show=False):
        assert done.returncode == 0, f"{command}: {done.stderr}"
    assert (tmp_path / ".lochan" / "lake.json").is_file()
