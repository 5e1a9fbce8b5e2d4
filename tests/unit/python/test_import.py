"""`import lochan` costs next to nothing, and shows what is public and nothing else."""

import subprocess
import sys

import pytest

import lochan
from lochan.api import object_results, results
from lochan.api.results import Result

HEAVY = {"asyncio", "click", "duckdb", "fsspec", "msgspec", "numpy", "obstore", "orjson", "pandas", "polars", "pyarrow"}
HEAVY |= {"pyspark", "rich", "sqlglot", "starlette", "yaml"}


def imported(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_the_import_is_light() -> None:
    found = imported("import lochan; dir(lochan); lochan.__version__")
    assert not found & HEAVY
    assert {each for each in found if each.startswith("lochan")} == {"lochan"}
    assert not imported("import lochan; lochan.errors.NotFound; lochan.LochanError") & HEAVY


@pytest.mark.parametrize("module", ["lochan.fsspec", "lochan.aio"])
def test_the_other_modules_import_no_engine(module: str) -> None:
    assert not imported(f"import {module}") & {"duckdb", "numpy", "pandas", "polars", "pyarrow", "pyspark", "sqlglot"}


def test_what_is_shown() -> None:
    assert {"connect", "errors", "__version__", "Lake", "Repository", "Branch", "Commit", "Pool", "Workspace"} <= set(
        lochan.__all__
    )
    assert dir(lochan) == sorted([*lochan.__all__, "aio", "fsspec", "spark"])
    for name in dir(lochan):
        if name != "spark":
            assert getattr(lochan, name) is not None


def test_every_result_of_a_verb_is_public() -> None:
    parts = {"Block", "LoadFault", "Side"}  # of others
    found = {
        name
        for module in (results, object_results)
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, Result) and each.__module__ == module.__name__
    }
    assert found - {"Result"} - parts <= set(lochan.__all__)


def test_there_is_one_tree_of_errors() -> None:
    raised = [each for each in vars(lochan.errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    ours = [each for each in raised if issubclass(each, lochan.LochanError)]
    assert raised == ours and lochan.errors.QueryError in ours
    assert (lochan.errors.QueryError.kind, lochan.errors.RulesUnmet.kind) == ("invalid", "protected")
    assert lochan.errors.RaceLost.kind == lochan.errors.ConcurrentCommit.kind
    assert len({each.kind for each in ours}) == len(ours) - 3, "all others have a kind of their own"
