"""Every script in `cli/` prints what it says, on a new lake in a folder. `--update-golden` records what it prints."""

from pathlib import Path

import pytest

from tests.golden.play import play
from tests.golden.script import parse, render

SCRIPTS = sorted((Path(__file__).parent / "cli").glob("*.txt"))


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_script(file: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    expected = file.read_text()
    played = render(play(parse(expected), tmp_path, f"file://{tmp_path.resolve()}/.lochan", {}))
    if pytestconfig.getoption("update_golden"):
        file.write_text(played)
    else:
        assert played == expected, f"{file.name} printed something else; if that is right, add --update-golden"
