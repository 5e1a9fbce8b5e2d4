"""A real standalone cluster for tests and benchmarks: one master and two workers, each on an address of its own, from
the package pyspark, on free ports.

    with cluster() as there:
        lochan("query", …, "--master", there.master)

A worker and its executors are one group of processes, and end together.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.spark import java

_START_SECONDS = 120
_HOSTS = ("127.0.0.1", "127.0.0.2")  # Spark runs a second copy of a slow task only on another host
_PR_SET_PDEATHSIG = 1
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass
class Cluster:
    master: str
    page: str
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)  # in the order of their addresses

    @property
    def options(self) -> dict[str, str]:
        """The options of a driver on this machine."""
        return {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
        }

    def configured(self, more: Mapping[str, str] = _NOTHING) -> dict[str, str]:
        """The environment of a Python program that uses it with these options."""
        words = " ".join(f'--conf "{name}={value}"' for name, value in {**self.options, **more}.items())
        return environment() | {"PYSPARK_SUBMIT_ARGS": f"{words} pyspark-shell"}

    def state(self) -> dict[str, Any]:
        """The master's own report."""
        with urllib.request.urlopen(f"{self.page}/json/", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def log(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text()[-4_000:]}" for path in self.folder.glob("*.log"))


@contextmanager
def cluster(*, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="lochan-cluster-", ignore_cleanup_errors=True) as folder:
        port, page = free_port(), free_port()
        there = Cluster(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}", Path(folder))
        started = []
        try:
            words = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
            started.append(_started("master.Master", words, there.folder))
            for host in _HOSTS:
                size = ["--cores", str(cores), "--memory", memory]
                place = ["--host", host, "--webui-port", "0", "--work-dir", f"{folder}/{host}"]
                there.workers.append(_started("worker.Worker", [*place, *size, there.master], there.folder))
                started.append(there.workers[-1])
            _wait(there, started)
            yield there
        finally:
            for process in reversed(started):
                end_group(process)


def _started(name: str, words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    home = pyspark_home()
    log = folder / f"{name}-{len(list(folder.glob('*.log')))}.log"
    with log.open("wb") as output:
        return subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *words],
            env=environment() | {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"},
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a group that can be ended as one
            preexec_fn=end_with_us,
        )


def pyspark_home() -> Path:
    """Where Spark itself is."""
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def end_with_us() -> None:
    """Runs in the child: if the tests are killed, no JVM is left behind. Executors end with their worker."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": java.OPTIONS,
        **java.environment(),
    }


def _wait(there: Cluster, started: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and all(process.poll() is None for process in started):
        with suppress(urllib.error.URLError, OSError, ValueError):
            if there.state()["aliveworkers"] == len(_HOSTS):
                return
        time.sleep(0.1)
    raise RuntimeError(f"the cluster did not start:\n{there.log()}")


def end_group(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
    process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
