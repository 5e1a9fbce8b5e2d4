"""A `lochan serve` on a lake that nobody has set up, and the link that it prints."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.lochan import LOCHAN

LINK = re.compile(r"  http://\S+/setup#(\S{30,})")


def environment(**more: str) -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name == "LOCHAN_COMPANION" or not name.startswith(("LOCHAN_", "AWS_"))
    } | more


@contextmanager
def serving(lake: Path, s3: str, api: str, **more: str) -> Iterator[str]:
    """A server that is ready, and what it has printed until then."""
    command = [str(LOCHAN), "--lake", str(lake), "serve", "--s3-listen", s3, "--api-listen", api, "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(**more)) as server:
        assert server.stdout is not None
        output = ""
        for line in server.stdout:
            output += line
            if line.startswith("ready"):
                break
        try:
            yield output
        finally:
            server.send_signal(signal.SIGTERM)


def token_in(output: str) -> str:
    found = LINK.search(output)
    assert found, output
    return found[1]
