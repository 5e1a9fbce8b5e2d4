"""Requests to webhooks: never inside, whatever a name resolves to or a receiver redirects to; bounded; signed."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from lochan.errors import Refused, Transient
from lochan.hooks import webhook
from lochan.hooks.webhook import WebhookRequest, checked_address, is_inside, look_up, send, signature, signing_secret


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *("224.0.0.1", "255.255.255.255", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"),
        *("2002:7f00:1::", "::", "what"),
    ],
)
def test_what_is_inside(address: str) -> None:
    assert is_inside(address)


def test_what_is_outside() -> None:
    assert not any(map(is_inside, ("93.184.216.34", "2606:2800:220:1::1")))


@pytest.mark.parametrize("host", ["127.0.0.1", "0x7f.1", "2130706433", "localhost", "127.1"])
def test_every_spelling_of_this_machine_is_refused(host: str) -> None:
    with pytest.raises(Refused, match="private address"):
        checked_address(host, 80, ())


def test_one_address_inside_is_enough() -> None:
    with pytest.raises(Refused):
        checked_address("rebind.example", 80, (), lambda host, port: ["93.184.216.34", "127.0.0.1"])


class _Receiver(BaseHTTPRequestHandler):
    seen: list[tuple[str, dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.seen.append((self.path, dict(self.headers), body))
        if self.path == "/redirect":
            self.send_response(307)
            self.send_header("location", "http://inside.example:9/secret")
            self.end_headers()
        elif self.path == "/elsewhere":
            self.send_response(307)
            self.send_header("location", f"http://other.example:{self.headers['host'].rpartition(':')[2]}/")
            self.end_headers()
        elif self.path == "/loop":
            self.send_response(308)
            self.send_header("location", "/loop")
            self.end_headers()
        elif self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65_536)
            except OSError:
                pass
        else:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"fine")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    seen: list[tuple[str, dict[str, str], bytes]] = []
    server = HTTPServer(("127.0.0.1", 0), type("_Own", (_Receiver,), {"seen": seen}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://hook.example:{server.server_address[1]}", seen
    server.shutdown()
    server.server_close()


def _lookup(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def test_a_request_arrives_signed(receiver: tuple[str, list[tuple[str, dict[str, str], bytes]]]) -> None:
    url, seen = receiver
    secret = signing_secret(b"k" * 32, "repo", url)
    headers = {"X-Lochan-Time": "7", "X-Lochan-Signature": signature(secret, 7, b"{}")}
    answer = send(WebhookRequest(f"{url}/hook", b"{}", headers, 10, ["hook.example"]), time.monotonic, _lookup)
    assert (answer.status, answer.body) == (200, b"fine")
    [(path, got, body)] = seen
    expected = hmac.new(secret.encode(), b"7." + body, hashlib.sha256).hexdigest()
    assert (path, got["X-Lochan-Signature"]) == ("/hook", f"sha256={expected}")
    assert secret != signing_secret(b"k" * 32, "repo", "http://other.example"), "another receiver, another secret"
    assert secret != signing_secret(b"k" * 32, "other", url)


def test_a_redirect_inside_is_refused(receiver: tuple[str, list[tuple[str, dict[str, str], bytes]]]) -> None:
    url, seen = receiver
    with pytest.raises(Refused, match=r"inside\.example"):
        send(WebhookRequest(f"{url}/redirect", b"{}", {}, 10, ["hook.example"]), time.monotonic, _lookup)
    assert [path for path, _, _ in seen] == ["/redirect"]


def test_headers_of_a_hook_stay_with_the_host_that_it_names(
    receiver: tuple[str, list[tuple[str, dict[str, str], bytes]]],
) -> None:
    url, seen = receiver
    headers = {"X-Api-Key": "secret", "X-Lochan-Time": "1", "Content-Type": "application/json"}
    request = WebhookRequest(f"{url}/elsewhere", b"{}", headers, 10, ["hook.example", "other.example"])
    assert send(request, time.monotonic, lambda host, port: ["127.0.0.1"]).status == 200
    (_, first, _), (_, second, _) = seen
    assert first["X-Api-Key"] == "secret" and "X-Api-Key" not in second
    assert second["X-Lochan-Time"] == "1" and second["Content-Type"] == "application/json"


def test_redirects_end(receiver: tuple[str, list[tuple[str, dict[str, str], bytes]]]) -> None:
    url, seen = receiver
    with pytest.raises(Refused, match="more than 3 times"):
        send(WebhookRequest(f"{url}/loop", b"{}", {}, 10, ["hook.example"]), time.monotonic, _lookup)
    assert len(seen) == 4


def test_an_endless_answer_is_cut(receiver: tuple[str, list[tuple[str, dict[str, str], bytes]]]) -> None:
    url, _ = receiver
    answer = send(WebhookRequest(f"{url}/endless", b"{}", {}, 20, ["hook.example"]), time.monotonic, _lookup)
    assert len(answer.body) == 64 << 10


def test_nobody_there_and_no_such_host() -> None:
    with pytest.raises(Transient, match="cannot be reached"):
        send(WebhookRequest("http://hook.example:9/", b"{}", {}, 5, ["hook.example"]), time.monotonic, _lookup)
    with pytest.raises(Transient, match="cannot be found"):
        look_up("no-such-host.invalid", 80)


def test_a_redirect_out_of_tls_is_refused_however_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def once(method: str, url: str, *rest: object) -> tuple[int, bytes, str]:
        asked.append(url)
        return 307, b"", "HTTP://hook.example/clear"

    monkeypatch.setattr(webhook, "_once", once)
    with pytest.raises(Refused, match="from https to http"):
        send(WebhookRequest("https://hook.example/", b"{}", {}, 5), time.monotonic, _lookup)
    assert asked == ["https://hook.example/"]
