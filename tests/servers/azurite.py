"""Azurite, Microsoft's own emulator of Azure Blob Storage, alone on a free port with a temporary folder.

    with azurite() as server:
        store = open_store(f"az://{server.bucket('name')}/lake", server.options)

It is installed once by npm, into `.cache/azurite`.
"""

import base64
import fcntl
import hashlib
import hmac
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from tests.servers.port import free_port, wait_until_healthy

_VERSION = "3.35.0"
_FOLDER = Path(__file__).parents[2] / ".cache" / "azurite"
_INSTALL_SECONDS = 600
_OPTIONS = ("--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location")
_API = "2023-11-03"
# The account that every Azurite has; Microsoft publishes its key.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class AzuriteServer:
    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        """For `open_store`."""
        return {"endpoint": self.endpoint, "account_name": _ACCOUNT, "account_key": _KEY}

    @property
    def settings(self) -> dict[str, str]:
        """The same for the command line."""
        names = {"endpoint": "endpoint", "account_name": "account", "account_key": "key"}
        return {f"blockstore.azure.{names[option]}": value for option, value in self.options.items()}

    def url(self, name: str) -> str:
        """Of a container, which is made if it is not there."""
        return f"az://{self.bucket(name)}"

    def bucket(self, name: str) -> str:
        with suppress(urllib.error.HTTPError), urllib.request.urlopen(self._signed(name), timeout=20):
            pass  # a 409 says that it is there
        return name

    def _signed(self, name: str) -> urllib.request.Request:
        date = formatdate(usegmt=True)
        resource = f"/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
        text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{_API}\n{resource}"
        digest = hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()
        headers = {
            "x-ms-date": date,
            "x-ms-version": _API,
            "Authorization": f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}",
        }
        return urllib.request.Request(f"{self.endpoint}/{name}?restype=container", method="PUT", headers=headers)


@contextmanager
def azurite() -> Iterator[AzuriteServer]:
    program = install()
    with tempfile.TemporaryDirectory(prefix="lochan-azurite-") as folder:
        port = free_port()
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["node", program, "--blobHost", "127.0.0.1", "--blobPort", str(port), *_OPTIONS, f"{folder}/data"],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}/", process, log)
            yield AzuriteServer(f"http://127.0.0.1:{port}/{_ACCOUNT}")
        finally:
            process.terminate()
            process.wait(20)


def install() -> str:
    """The program. The lock lets several test runs start at once: one installs, the others wait."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    target = _FOLDER / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    done = _FOLDER / f"installed-{_VERSION}"
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            if shutil.which("npm") is None or shutil.which("node") is None:
                raise RuntimeError("Azurite is needed: install Node.js, with whose npm it is installed")
            subprocess.run(
                ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(_FOLDER), f"azurite@{_VERSION}"],
                env=os.environ | {"npm_config_update_notifier": "false"},
                check=True,
                timeout=_INSTALL_SECONDS,
            )
            done.touch()
    return str(target)
