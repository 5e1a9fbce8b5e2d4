"""The lanes and the make targets name things that exist, and every test belongs to a lane."""

import re

import pytest

from tests.lanes import LANES, OPTIONS, ROOT

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
    assert OPTIONS.keys() == LANES.keys()


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
