"""Builds the part of Lochan that runs in Spark's JVM: python jvm/build.py

It is compiled against the jars of the PySpark that is installed, so that nothing is downloaded and the classes fit the
Spark that they run in. Done again with the same sources and the same Spark, it does nothing.
"""

import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
JAR = ROOT.parent / "src" / "lochan" / "spark" / "jars" / "lochan-catalog.jar"
_RELEASE = "17"


def main() -> None:
    sources = sorted((ROOT / "src").rglob("*.java"))
    stamp, built = JAR.with_suffix(".stamp"), _stamp(sources)
    if JAR.exists() and stamp.exists() and stamp.read_text() == built:
        return
    if shutil.which("javac") is None:
        sys.exit("javac was not found: install a JDK 17 (the catalog for Spark is written in Java)")
    JAR.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as classes:
        _run(
            "javac",
            "--release",
            _RELEASE,
            "-nowarn",
            "-proc:none",
            "-cp",
            f"{_spark()}/jars/*",
            "-d",
            classes,
            *sources,
        )
        _run("jar", "--create", "--file", JAR, "--date", "2026-01-01T00:00:00Z", "-C", classes, ".")
    stamp.write_text(built)


def _stamp(sources: list[Path]) -> str:
    known = sha256(version("pyspark").encode())
    for each in sources:
        known.update(each.read_bytes())
    return known.hexdigest()


def _spark() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        sys.exit("pyspark is not installed; run `make setup`")
    return Path(found.origin).parent


def _run(*words: str | Path) -> None:
    done = subprocess.run([str(each) for each in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words[0]} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
