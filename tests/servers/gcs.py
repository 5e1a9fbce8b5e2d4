"""Google Cloud Storage for tests: fake-gcs-server behind the XML API, alone on a free port, in memory.

    with gcs() as server:
        store = open_store(f"gs://{server.bucket('name')}/lake", server.options)

obstore speaks the XML API, and fake-gcs-server only the JSON API. `gcs_xml/main.go` translates; it is built once with
Go, into `.cache/bin`.
"""

import fcntl
import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.servers.port import free_port, wait_until_healthy

_SOURCE = Path(__file__).parent / "gcs_xml"
_BIN = Path(__file__).parents[2] / ".cache" / "bin"
_BUILD_SECONDS = 1200


@dataclass(frozen=True)
class GcsServer:
    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        """For `open_store`."""
        return {"endpoint": self.endpoint, "bearer_token": "of-a-test"}

    @property
    def settings(self) -> dict[str, str]:
        """The same for the command line."""
        return {"blockstore.gs.endpoint": self.endpoint, "blockstore.gs.token": "of-a-test"}

    def url(self, name: str) -> str:
        """Of a bucket, which is made if it is not there."""
        return f"gs://{self.bucket(name)}"

    def bucket(self, name: str) -> str:
        request = urllib.request.Request(
            f"{self.endpoint}/storage/v1/b?project=test",
            data=json.dumps({"name": name}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=20):
            pass  # a 409 says that it is there
        return name


@contextmanager
def gcs() -> Iterator[GcsServer]:
    program = binary()
    with tempfile.TemporaryDirectory(prefix="lochan-gcs-") as folder:
        address = f"127.0.0.1:{free_port()}"
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen([program, address], stdout=output, stderr=subprocess.STDOUT)
        try:
            wait_until_healthy(f"http://{address}/_internal/healthcheck", process, log)
            yield GcsServer(f"http://{address}")
        finally:
            process.terminate()
            process.wait(20)


def binary() -> str:
    """The lock lets several test runs start at once: one builds, the others wait."""
    _BIN.mkdir(parents=True, exist_ok=True)
    target = _BIN / "gcs-xml"
    changed = max(file.stat().st_mtime for file in _SOURCE.iterdir())
    with (_BIN / "gcs-xml.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists() or target.stat().st_mtime < changed:
            if shutil.which("go") is None:
                raise RuntimeError("Go is needed: the tests build Google Cloud Storage's emulator with it")
            subprocess.run(["go", "build", "-o", str(target), "."], cwd=_SOURCE, check=True, timeout=_BUILD_SECONDS)
            target.touch()
    return str(target)
