"""A receiver of webhooks, as a thread of the test: keeps what it was sent, and answers what the test says."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json["events"]
        return found

    def is_signed_with(self, secret: str) -> bool:
        text = self.headers["X-Lochan-Time"].encode() + b"." + self.body
        expected = "sha256=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, self.headers["X-Lochan-Signature"])


class Receiver:
    def __init__(self) -> None:
        self.seen: list[Received] = []
        self.answer: Callable[[Received], int] = lambda received: 200
        self.location = ""  # of a redirect
        self.url = ""

    def events(self, path: str = "") -> list[dict[str, Any]]:
        """Those that it took, in the order in which they came."""
        return [event for each in self.seen if not path or each.path == path for event in each.events]


@contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            received = Received(self.path, dict(self.headers), body)
            status = found.answer(received)
            if 200 <= status < 300:
                found.seen.append(received)
            self.send_response(status)
            if found.location:
                self.send_header("location", found.location)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
