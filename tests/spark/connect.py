"""A real Spark Connect server for tests, from the package pyspark, on a free port."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType

from tests.spark.cluster import end_group, end_with_us, environment, free_port, pyspark_home

_START_SECONDS = 120
_NOTHING: Mapping[str, str] = MappingProxyType({})
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(more: Mapping[str, str] = _NOTHING) -> Iterator[str]:
    """Its URL; `more` are settings of the server."""
    port = free_port()
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",  # compiled loops do not look whether they are to end
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        **more,
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = pyspark_home() / "bin" / "spark-submit"
    with tempfile.TemporaryDirectory(prefix="lochan-connect-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [submit, "--master", "local[2]", "--driver-memory", "1g", "--class", _CLASS, *words, "spark-internal"],
                env=environment(),
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_us,
            )
        try:
            _wait(port, process, log)
            yield f"sc://127.0.0.1:{port}"
        finally:
            end_group(process)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the Connect server did not start:\n{log.read_text()[-4_000:]}")
