"""Jars from Maven Central, by Spark's own resolver. They are kept in `.cache` and fetched when first asked for.

The jars go on the class path: as `spark.jars.packages` each session would copy them.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

_CLIENTS = Path(__file__).parents[2] / ".cache" / "clients"


def jars(name: str, packages: str, without: Sequence[str] = ()) -> Path:
    """The folder of them, made once. The lock lets several test runs start at once."""
    folder = _CLIENTS / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = folder / "ready"
        if not ready.exists() or ready.read_text() != packages:
            _resolve(folder, packages, without)
            ready.write_text(packages)
    return folder / "jars"


def _resolve(folder: Path, packages: str, without: Sequence[str]) -> None:
    shutil.rmtree(folder / "jars", ignore_errors=True)
    nothing = folder / "nothing.py"
    nothing.write_text("")
    pyspark = find_spec("pyspark")
    assert pyspark is not None and pyspark.origin is not None
    submit = Path(pyspark.origin).parent / "bin" / "spark-submit"
    words = ["--packages", packages, "--conf", f"spark.jars.ivy={folder}"]
    words += ["--exclude-packages", ",".join(without)] if without else []
    done = subprocess.run(
        [submit, *words, nothing], env=environment(), capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    shutil.rmtree(folder / "cache")  # the same files once more


def environment() -> dict[str, str]:
    return os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
