"""What `lochan serve` prints before it serves anything."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

from lochan.cli import serve
from lochan.cli.exit_codes import INVALID, REFUSED
from tests.unit.cli.invoke import lochan


def test_without_its_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "granian" else known(name))
    result = lochan("serve")
    assert result.exit_code == REFUSED
    assert "granian" in result.stderr
    assert "lochan[server]" in result.stderr


def test_it_looks_for_every_library_of_the_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["server"]
    assert {each.partition(">")[0].replace("-", "_") for each in extra} == set(serve._LIBRARIES)


def test_half_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("")
    assert lochan("init", str(tmp_path / "lake")).exit_code == 0
    result = lochan("--lake", str(tmp_path / "lake"), "serve", "--tls-cert", str(tmp_path / "cert"))
    assert result.exit_code == INVALID
    assert "--tls-key" in result.stderr
