"""A free port, and the wait until a server that was started on it answers."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

_START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until there is an answer. An error of the client is one too: nobody has signed the question."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return
            time.sleep(0.05)
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"the server at {url} did not start:\n{log.read_text()}")
