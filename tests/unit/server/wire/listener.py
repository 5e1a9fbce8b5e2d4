"""A local server that only checks what clients send: signature, framing, checksums."""

import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from time import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lochan.server.gateway.wire.addressing import parse_address
from lochan.server.gateway.wire.body import ChunkedBody, PlainBody, chunked_body
from lochan.server.gateway.wire.checksums import HASHERS, declared_checksum, refuse_other
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FormReader
from lochan.server.gateway.wire.identity import Identity
from lochan.server.gateway.wire.post_policy import post_claimed, post_form
from lochan.server.gateway.wire.signed_request import SignedRequest, join_headers
from lochan.server.gateway.wire.xml_out import error
from tests.unit.server.wire.signers import REALM, authenticate, secrets


@dataclass
class Seen:
    """What the server saw of a request."""

    method: str
    bucket: str
    key: str
    identity: Identity | None
    body: bytes
    checksum: str | None = None
    trailers: dict[str, str] = field(default_factory=dict)


@dataclass
class Listener:
    address: str
    certificate: Path | None
    seen: list[Seen]


@contextmanager
def listening(folder: Path, tls: bool = False, domains: tuple[str, ...] = ()) -> Iterator[Listener]:
    seen: list[Seen] = []

    class Handler(_Handler):
        found = seen
        own_domains = domains

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    certificate = _certificate(folder) if tls else None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Listener(f"{'https' if tls else 'http'}://localhost:{server.server_port}", certificate, seen)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    found: list[Seen]
    own_domains: tuple[str, ...]
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        self.close_connection = True
        super().handle_one_request()

    def _any(self) -> None:
        try:
            seen = self._seen(self._body())
        except S3Error as fault:
            return self._answer(fault.status, error(fault, self.path, "r"))
        self.found.append(seen)
        return self._answer(204 if seen.method == "DELETE" else 200, b"", md5(seen.body).hexdigest())

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _any

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _seen(self, data: bytes) -> Seen:
        path, _, query = self.path.partition("?")
        headers = join_headers(self.headers.items())
        place = parse_address(headers["host"], path, self.own_domains)
        if self.command == "POST" and not query:
            return self._form(data, place.bucket)
        request = SignedRequest(
            self.command, path, query, self.headers.items(), place.bucket if place.in_host else None
        )
        identity = authenticate(request, REALM, secrets, time())
        body: ChunkedBody | PlainBody = PlainBody(identity, len(data))
        if identity is not None and identity.payload.is_chunked:
            body = chunked_body(identity, headers)
        plain = b"".join(piece for at in range(0, len(data), 1000) for piece in body.feed(data[at : at + 1000]))
        seen = Seen(self.command, place.bucket, place.key, identity, plain, trailers=dict(body.finish()))
        checksum = declared_checksum(headers)
        if checksum is not None:
            hasher = HASHERS[checksum.algorithm]()
            hasher.update(plain)
            told = seen.trailers[checksum.header] if checksum.in_trailer else checksum.value
            if told is not None:
                refuse_other(checksum.algorithm, told, b64encode(hasher.digest()).decode())
                seen.checksum = checksum.algorithm
        return seen

    def _form(self, data: bytes, bucket: str) -> Seen:
        reader = FormReader(self.headers["content-type"])
        body = b"".join(reader.feed(data))
        reader.finish()
        form = post_form(reader.fields, bucket, reader.filename)
        claim = post_claimed(form, REALM, time())
        assert claim is not None
        identity = claim.verify(secrets(claim.access_key_id))
        claim.length.check(len(body))
        return Seen("POST", bucket, form.key, identity, body)

    def _answer(self, status: int, body: bytes, etag: str = "") -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        if etag:
            self.send_header("etag", f'"{etag}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: a test reports what it saw."""


def _certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + built.public_bytes(serialization.Encoding.PEM))
    return path
