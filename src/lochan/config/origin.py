"""Identifies the program that runs, as far as possible: the run of a scheduler, the notebook, the Git commit of the
program, the Spark application. Only ids are read, from variables with a known meaning, because an environment is full
of secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FILE_BYTES_MAX = 64 << 10
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_REF = re.compile(r"refs/[A-Za-z0-9._/-]{1,250}")
# The variables of each scheduler and CI that make up the id of a run, the most telling ones first.
_JOBS = (
    ("airflow", ("AIRFLOW_CTX_DAG_ID", "AIRFLOW_CTX_TASK_ID", "AIRFLOW_CTX_DAG_RUN_ID")),
    ("dagster", ("DAGSTER_RUN_JOB_NAME", "DAGSTER_RUN_ID")),
    ("prefect", ("PREFECT__FLOW_RUN_ID",)),
    ("databricks", ("DB_JOB_ID", "DB_RUN_ID")),
    ("github", ("GITHUB_REPOSITORY", "GITHUB_RUN_ID")),
    ("gitlab", ("CI_PROJECT_PATH", "CI_JOB_ID")),
    ("jenkins", ("JOB_NAME", "BUILD_ID")),
)
_GIT = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT")

VARIABLES = (*_GIT, *(each for _, several in _JOBS for each in several), "JPY_SESSION_NAME")


def find_origin(env: Mapping[str, str], modules: Mapping[str, Any], installed: str) -> dict[str, str]:
    """Returns the origin. `modules` are those that are loaded: nothing is imported for this. Programs in the folder
    `installed` do not belong to the user's repository, even if that folder is in one."""
    main = modules.get("__main__")
    found = {
        "lineage.git": _git(env, main, installed),
        "lineage.job": _job(env),
        "lineage.notebook": _notebook(env, main),
        "lineage.spark": _spark(modules),
    }
    return {name: text for name, text in found.items() if text}


def _job(env: Mapping[str, str]) -> str:
    for name, variables in _JOBS:
        values = [env.get(each, "") for each in variables]
        if all(values):
            return f"{name}:{'/'.join(values)}"
    return ""


def _notebook(env: Mapping[str, str], main: object) -> str:
    """Returns only the notebook's name, because its folder may be a user's home."""
    path = env.get("JPY_SESSION_NAME") or str(getattr(main, "__vsc_ipynb_file__", ""))
    return Path(path).name if path.endswith(".ipynb") else ""


def _spark(modules: Mapping[str, Any]) -> str:
    context = getattr(getattr(modules.get("pyspark.core.context"), "SparkContext", None), "_active_spark_context", None)
    try:
        return str(getattr(context, "applicationId", "") or "")
    except Exception:  # Spark's JVM may be gone, and no commit fails for that
        return ""


def _git(env: Mapping[str, str], main: object, installed: str) -> str:
    named = next((env[each] for each in _GIT if _COMMIT.fullmatch(env.get(each, ""))), "")
    file = getattr(main, "__file__", None)
    if named or not isinstance(file, str):
        return named
    path = Path(file).absolute()
    if path.is_relative_to(installed) or "site-packages" in path.parts:
        return ""
    return next((_head(folder / ".git") for folder in path.parents if (folder / ".git").exists()), "")


def _head(git: Path) -> str:
    """Returns the head commit of a Git repository or worktree; empty if it cannot be read."""
    try:
        if git.is_file():
            git = git.parent / _text(git).removeprefix("gitdir:").strip()
        head = _text(git / "HEAD")
        ref = head.removeprefix("ref:").strip()
        if ref == head.strip():
            return ref if _COMMIT.fullmatch(ref) else ""
        if not _REF.fullmatch(ref) or ".." in ref:
            return ""
        common = git / "commondir"
        places = [git, *([git / _text(common).strip()] if common.is_file() else [])]
        for place in places:
            if (place / ref).is_file():
                found = _text(place / ref).strip()
                return found if _COMMIT.fullmatch(found) else ""
        return next((found for place in places if (found := _packed_ref(place / "packed-refs", ref))), "")
    except (OSError, ValueError):
        return ""


def _packed_ref(file: Path, ref: str) -> str:
    if not file.is_file():
        return ""
    with file.open() as lines:
        for line in lines:
            commit, _, name = line.strip().partition(" ")
            if name == ref and _COMMIT.fullmatch(commit):
                return commit
    return ""


def _text(file: Path) -> str:
    with file.open() as stream:
        return stream.read(_FILE_BYTES_MAX)
