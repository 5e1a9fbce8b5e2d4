"""Which program makes a commit, as far as its surroundings say; and never anything else of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lochan.config.origin import find_origin

COMMIT = "a" * 40
NOWHERE = "/nowhere/at/all"


def found(env: dict[str, str], main: Any = None, **modules: Any) -> dict[str, str]:
    return find_origin(env, {"__main__": main, **modules}, NOWHERE)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, {}),
        ({"AWS_SECRET_ACCESS_KEY": "s", "HOME": "/home/ann", "GIT_COMMIT": "ghp_secret", "BUILD_ID": "7"}, {}),
        ({"GITHUB_SHA": COMMIT}, {"lineage.git": COMMIT}),
        ({"GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}, {"lineage.job": "github:a/b/7"}),
        ({"JOB_NAME": "nightly", "BUILD_ID": "7"}, {"lineage.job": "jenkins:nightly/7"}),
        (
            {"AIRFLOW_CTX_DAG_ID": "d", "AIRFLOW_CTX_TASK_ID": "t", "AIRFLOW_CTX_DAG_RUN_ID": "r"},
            {"lineage.job": "airflow:d/t/r"},
        ),
        ({"JPY_SESSION_NAME": "/home/ann/secret/sales.ipynb"}, {"lineage.notebook": "sales.ipynb"}),
        ({"JPY_SESSION_NAME": "/home/ann/console"}, {}),
    ],
)
def test_what_variables_say(env: dict[str, str], expected: dict[str, str]) -> None:
    assert found(env) == expected


def test_a_spark_application() -> None:
    context = SimpleNamespace(
        SparkContext=SimpleNamespace(_active_spark_context=SimpleNamespace(applicationId="local-1"))
    )
    assert found({}, **{"pyspark.core.context": context}) == {"lineage.spark": "local-1"}
    idle = SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=None))
    assert found({}, **{"pyspark.core.context": idle}) == {}


class _ContextWithoutJvm:
    @property
    def applicationId(self) -> str:
        raise ConnectionRefusedError(111, "Connection refused")  # as Py4J does when the JVM has ended


def test_a_spark_application_that_has_ended() -> None:
    ended = SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=_ContextWithoutJvm()))
    assert found({}, **{"pyspark.core.context": ended}) == {}


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": "/usr/bin:/bin"}
    names = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(["git", *names, *words], cwd=folder, env=own, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_commit_of_the_program(tmp_path: Path) -> None:
    repository, program = tmp_path / "r", tmp_path / "r" / "jobs" / "load.py"
    program.parent.mkdir(parents=True)
    program.write_text("")
    main = SimpleNamespace(__file__=str(program))
    assert found({}, main) == {}
    git(repository, "init", "-q")
    assert found({}, main) == {}, "nothing is committed yet"
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "one")
    head = git(repository, "rev-parse", "HEAD")
    assert found({}, main) == {"lineage.git": head}
    git(repository, "pack-refs", "--all")
    assert found({}, main) == {"lineage.git": head}
    git(repository, "worktree", "add", "-q", "../w")
    copied = SimpleNamespace(__file__=str(tmp_path / "w" / "jobs" / "load.py"))
    assert found({}, copied) == {"lineage.git": head}
    git(repository, "checkout", "-q", "--detach")
    assert found({}, main) == {"lineage.git": head}
    assert find_origin({}, {"__main__": main}, str(repository)) == {}, "what is installed there is nobody's program"
    for hostile in ("ref: ../../../etc/passwd", "ref: refs/heads/../../config", "secret", "", "ref: refs/heads/none"):
        (repository / ".git" / "HEAD").write_text(hostile)
        assert found({}, main) == {}
