"""All keys of a branch listed through the gateway, page after page, as a client that syncs does it: staged, and then
committed. Single pages against a bare response are in `gateway.py`."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from urllib.parse import quote

from bench.gateway import ENTRIES
from bench.table import middle, percentile, show
from tests.integration.gateway.wire import Wire, signed
from tests.servers.lochan import LochanServer, lochan_server

_ROOT = Path(__file__).parent.parent
_TOKEN = re.compile(rb"<NextContinuationToken>([^<]*)</NextContinuationToken>")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder, lochan_server(Path(folder, "lake")) as server:
        server.lochan("repo", "create", "bench")
        begun = perf_counter()
        fill = [sys.executable, "-m", "bench.fill", server.lake, "bench", "many", str(ENTRIES)]
        subprocess.run(fill, check=True, cwd=_ROOT)
        filled = perf_counter() - begun
        rows = [["staged", *_walk(server)]]
        server.lochan("commit", "bench@many", "-m", "all")
        rows.append(["committed", *_walk(server)])
    head = ["", "keys", "s", "keys a second", "page p50 ms", "p99 ms", "longest ms"]
    show(f"{ENTRIES:,} keys in pages of 1,000, one client; they were staged in {filled:.1f} s", head, rows)


def _walk(server: LochanServer) -> tuple[int, float, float, float, float, float]:
    keys, times, token = 0, [], ""
    with Wire(server.s3) as wire:
        while True:
            query = f"{token}list-type=2&prefix=many%2F"
            sent = signed(server, "v4 header", "GET", "/bench", query)
            begun = perf_counter()
            answer = wire.ask(sent)
            times.append((perf_counter() - begun) * 1_000)
            assert answer.status == 200, answer
            keys += answer.body.count(b"<Key>")
            found = _TOKEN.search(answer.body)
            if found is None:
                break
            token = f"continuation-token={quote(found[1].decode(), safe='')}&"
    assert keys == ENTRIES, keys
    seconds = sum(times) / 1_000
    return keys, seconds, keys / seconds, middle(times), percentile(times, 99), max(times)
