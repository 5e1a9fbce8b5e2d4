"""Lochan and what it depends on in an archive, for executors whose machines have neither: the wheel is built and
installed into an environment, which is packed by venv-pack, as Spark's documentation recommends.
"""

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_UV = Path(sys.executable).with_name("uv")
_PACK = ("tool", "run", "--from", "venv-pack==0.2.0", "venv-pack")


def packed_environment(folder: Path) -> Path:
    """PySpark itself is part of every Spark. Its Arrow functions ask for pandas."""
    environment, archive = folder / "environment", folder / "environment.tar.gz"
    _uv("build", "--wheel", "--out-dir", str(folder), str(_ROOT))
    (wheel,) = folder.glob("*.whl")
    _uv("venv", "--python", sys.executable, str(environment))
    _uv("pip", "install", "--python", str(environment / "bin" / "python"), str(wheel), "pandas")
    _uv(*_PACK, "--quiet", "--prefix", str(environment), "--output", str(archive), "--compress-level", "1")
    return archive


def _uv(*words: str) -> None:
    done = subprocess.run([_UV, "--quiet", *words], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
