"""The doctor's checks of this machine, separate from store and lake."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from lochan.api import doctor
from lochan.api.doctor import FAIL, OK, WARN, check_disk, check_java, check_versions


def java(folder: Path, script: str) -> dict[str, str]:
    """An environment whose Java is this script."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    "script, status, found",
    [
        pytest.param("echo 'openjdk version \"17.0.15\" 2025' >&2", OK, 'version "17.0.15"', id="new enough"),
        pytest.param("echo 'openjdk version \"21\" 2025' >&2", OK, 'version "21"', id="newer"),
        pytest.param("echo 'java version \"1.8.0_402\"' >&2", WARN, 'version "1.8.0_402" at', id="older than 9"),
        pytest.param("echo 'java version \"11.0.2\"' >&2", WARN, "is older than 17", id="too old"),
        pytest.param("echo hello", WARN, "printed nothing that looks like a version", id="not Java"),
        pytest.param("exit 3", WARN, "-version failed", id="fails"),
    ],
)
def test_java(script: str, status: str, found: str, tmp_path: Path) -> None:
    check = check_java(java(tmp_path, script), needed=False)
    assert check.status == status
    assert found in check.found
    assert ("Java 17" in check.advice) == (status != OK)


def test_no_java_is_a_failure_only_where_it_is_needed(tmp_path: Path) -> None:
    env = {"JAVA_HOME": str(tmp_path)}
    assert check_java(env, needed=False).status == WARN
    assert check_java(env, needed=True).status == FAIL


def test_versions_of_everything(tmp_path: Path) -> None:
    found = {each.check: each for each in check_versions({"JAVA_HOME": str(tmp_path)})}
    assert found["obstore"].status == OK
    assert found["spark"].found.startswith("pyspark 4.")


def test_a_missing_library_is_a_failure_only_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "_installed_version", lambda name: None)
    found = check_versions({"JAVA_HOME": str(tmp_path)}, needed=frozenset({"psycopg"}))
    by_name = {each.check: (each.status, each.advice) for each in found}
    assert by_name["obstore"] == (FAIL, "pip install 'lochan'")
    assert by_name["granian"] == (WARN, "pip install 'lochan[server]'")
    assert by_name["psycopg"] == (FAIL, "pip install 'lochan[postgres]'")
    assert by_name["spark"] == (WARN, "pip install 'lochan[spark]'")


@pytest.mark.parametrize("version, status", [("3.5.1", WARN), ("4.1.0", OK), ("4.3.9", OK), ("5.0.0", WARN)])
def test_versions_of_spark(version: str, status: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_installed_version", lambda name: version)
    found = {each.check: each for each in check_versions({"JAVA_HOME": str(tmp_path)})}
    assert found["spark"].status == status


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(
    "free, status, advice", [(10**10, OK, ""), (10**8, WARN, "make room soon"), (10**6, FAIL, "make room: writes")]
)
def test_room_on_a_disk(free: int, status: str, advice: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(free))
    check = check_disk("lake disk", tmp_path / "not" / "there" / "yet")
    assert check.status == status
    assert check.advice.startswith(advice)
    assert str(tmp_path / "not" / "there" / "yet") in check.found
