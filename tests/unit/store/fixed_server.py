"""A loopback HTTP server that gives one fixed answer, or none, and counts the requests."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

OBJECT = {"ETag": '"x"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}


@dataclass
class Answer:
    """The server's answer to everything. A status of 0 closes the connection without an answer."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None  # what the header says, if not the truth
    asked: Counter[str] = field(default_factory=Counter)
    endpoint: str = ""


def error(status: int, code: str) -> Answer:
    return Answer(status, f"<Error><Code>{code}</Code><Message>Said the store.</Message></Error>".encode())


@contextmanager
def answering(answer: Answer) -> Iterator[Answer]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            answer.asked[self.command] += 1
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if answer.status:
                self.send_response(answer.status)
                length = len(answer.body) if answer.length is None else answer.length
                for name, value in {**answer.headers, "Content-Length": str(length)}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    answer.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield answer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
