"""Which paths can be files of a checkout."""

import pytest

from lochan.checkout.names import check_names
from lochan.errors import Refused


def test_usual_paths_can() -> None:
    usual = ["A", "a", "a-b", "a.b/c", "b/c", "b/d", "é/ü", "x" * 255]
    check_names(usual, folds=False)
    with pytest.raises(Refused, match=r"y/\.\./z"):
        check_names([*usual, "y/../z"], folds=False)


@pytest.mark.parametrize(
    "paths, why",
    [
        (["../x"], "would not be in the folder"),
        (["a/../../x"], "would not be in the folder"),
        (["/etc/passwd"], "would not be in the folder"),
        (["a//b"], "would not be in the folder"),
        (["a/"], "would not be in the folder"),
        (["./a"], "would not be in the folder"),
        (["a\0b"], "would not be in the folder"),
        ([".lochan/checkout"], "reserved"),
        (["sub/.LOCHAN/x"], "reserved"),
        ([".git/hooks/post-checkout"], "reserved"),
        (["sub/.Git/config"], "reserved"),
        (["a\udcff"], "not UTF-8"),
        (["é" * 128], "more than 255 bytes"),
        (["a", "a/b"], "a file cannot be a folder"),
        (["a", "a-b", "a/b/c"], "a file cannot be a folder"),
    ],
)
def test_what_cannot_be_a_file_is_refused(paths: list[str], why: str) -> None:
    with pytest.raises(Refused, match=why):
        check_names(paths, folds=False)


@pytest.mark.parametrize("paths", [["A.txt", "a.txt"], ["Data/x", "data/y"], ["e\u0301", "\u00e9"], ["Data", "data/y"]])
def test_names_that_one_disk_takes_for_the_same(paths: list[str]) -> None:
    check_names(paths, folds=False)
    with pytest.raises(Refused, match="is the same as"):
        check_names(paths, folds=True)


def test_many_are_counted() -> None:
    with pytest.raises(Refused, match="and 95 more"):
        check_names([f"../{number:03}" for number in range(100)], folds=False)
