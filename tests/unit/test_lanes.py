"""The lanes and the make targets name things that exist, and every test belongs to a lane."""

import re
from pathlib import Path

import pytest

from tests.lanes import LANES, OPTIONS, ROOT, RUN_AGAIN_MOST, failures, play

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z]+):.*## ", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("folder", sorted({folder for folders in LANES.values() for folder in folders}))
def test_a_folder_of_a_lane_has_tests(folder: str) -> None:
    assert any((ROOT / folder).rglob("test_*.py"))


def test_every_test_belongs_to_a_lane() -> None:
    folders = {folder for folders in LANES.values() for folder in folders}
    tests = {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")}
    assert {file for file in tests if not any(file.startswith(f"{folder}/") for folder in folders)} == set()


def test_what_one_lane_leaves_out_another_plays() -> None:
    marks = {name: options[options.index("-m") + 1] for name, options in OPTIONS.items() if "-m" in options}
    assert marks == {"unit": "not thorough", "thorough": "thorough"}
    assert LANES["unit"] == LANES["thorough"]


def test_every_lane_has_its_options() -> None:
    assert OPTIONS.keys() == LANES.keys() == RUN_AGAIN_MOST.keys()


def test_every_lane_has_a_target_and_every_target_a_lane() -> None:
    called = set(re.findall(r"-m tests\.lanes ([a-z]+)", MAKEFILE)) | {"sim"}
    assert called == {*LANES, "all"}
    assert set(LANES) <= set(TARGETS)


def test_targets_name_modules_and_folders_that_are_there() -> None:
    for module in re.findall(r"\$\(PY\) -m ([a-z.]+)", MAKEFILE):
        place = ROOT / module.replace(".", "/")
        assert module == "pytest" or place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module
    for folder in re.findall(r"\btests/[a-z/]+", MAKEFILE):
        assert (ROOT / folder).exists(), folder


def test_every_target_is_phony() -> None:
    [phony] = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert sorted(phony.split()) == sorted(TARGETS)


FAILS_ONCE = """
from pathlib import Path

def test_fails_once():
    seen = Path(__file__).with_name("seen")
    first = not seen.exists()
    seen.touch()
    assert not first

def test_passes():
    pass
"""
FAILS_ALWAYS = """
def test_fails():
    assert False
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("run_again_most", "text", "passed", "failed", "named"),
    [
        pytest.param(1, FAILS_ONCE, 2, 0, 1, id="it passes when it is run again"),
        pytest.param(0, FAILS_ONCE, 1, 1, 0, id="more failed than are run again"),
        pytest.param(1, FAILS_ALWAYS, 0, 1, 0, id="it fails again"),
    ],
)
def test_only_what_passes_when_it_is_run_again_is_unsteady(
    tmp_path: Path, run_again_most: int, text: str, passed: int, failed: int, named: int
) -> None:
    (tmp_path / "test_it.py").write_text(text)
    unsteady: list[str] = []
    counts = play(["-q"], [str(tmp_path)], tmp_path / "cache", unsteady, run_again_most)
    assert (counts["passed"], failures(counts), len(unsteady)) == (passed, failed, named)
