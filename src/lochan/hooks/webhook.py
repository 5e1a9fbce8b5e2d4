"""A request to a webhook: signed, bounded in time and size, and never to an address inside the network.

Every host name is looked up, every address that it has is checked, and the connection goes to an address that was
checked: a second look-up could give another one. Redirects are followed by the same steps. Hosts that an administrator
has allowed by name may have private addresses."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from lochan.errors import Invalid, LochanError, Refused, Transient

_ANSWER_BYTES_MAX = 64 << 10
_REDIRECTS_MAX = 3
_URL_MAX = 2_000
_SCHEMES = {"https": 443, "http": 80}

Lookup = Callable[[str, int], Sequence[str]]  # a host and a port: its addresses


class WebhookAnswer(NamedTuple):
    status: int
    body: bytes  # the first bytes of it


class WebhookRequest(NamedTuple):
    url: str
    body: bytes
    headers: Mapping[str, str]
    timeout_s: float
    allowed: Collection[str] = ()  # hosts that may be inside


def check_url(url: str) -> None:
    """Raises Invalid unless the text is a URL that a webhook may have."""
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        raise Invalid("the address has a user name or a password in it", hint="requests are signed instead")


def origin_of(url: str) -> str:
    """Returns scheme, host and port. A signing secret belongs to one origin."""
    parts = _split(url)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{parts.port or _SCHEMES[parts.scheme]}"


def signing_secret(lake_key: bytes, repository: str, url: str) -> str:
    """Returns a secret for one repository and one receiver: a request signed for one receiver proves nothing to
    another."""
    about = f"lochan webhook\0{repository}\0{origin_of(url)}".encode()
    return hmac.new(lake_key, about, hashlib.sha256).hexdigest()


def signature(secret: str, time_s: int, body: bytes) -> str:
    """Signs the time and the body, for `X-Lochan-Signature`."""
    return "sha256=" + hmac.new(secret.encode(), f"{time_s}.".encode() + body, hashlib.sha256).hexdigest()


def look_up(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Transient(f"the host {host!r} cannot be found: {error}") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def send(request: WebhookRequest, boot: Callable[[], float], lookup: Lookup = look_up) -> WebhookAnswer:
    """Posts the request in this thread. Raises Refused for an address inside, and Transient for one that does not
    answer in time."""
    deadline = boot() + request.timeout_s
    url, body = request.url, request.body
    method = "POST"
    for _ in range(_REDIRECTS_MAX + 1):
        status, answer, location = _once(method, url, body, request, deadline, boot, lookup)
        if status not in (301, 302, 303, 307, 308) or not location:
            return WebhookAnswer(status, answer)
        following = urljoin(url, location)
        if _split(url).scheme == "https" and _split(following).scheme == "http":
            raise Refused("the webhook redirects from https to http")
        if origin_of(following) != origin_of(url):
            # Headers that a hook adds are for the host that it names.
            request = request._replace(headers={name: text for name, text in request.headers.items() if _is_own(name)})
        url = following
        if status == 303:
            method, body = "GET", b""
    raise Refused(f"the webhook redirects more than {_REDIRECTS_MAX} times")


def _is_own(name: str) -> bool:
    return name.lower() in ("content-type", "user-agent") or name.lower().startswith("x-lochan-")


def _once(
    method: str,
    url: str,
    body: bytes,
    request: WebhookRequest,
    deadline: float,
    boot: Callable[[], float],
    lookup: Lookup,
) -> tuple[int, bytes, str]:
    parts = _split(url)
    host, port = parts.hostname or "", parts.port or _SCHEMES[parts.scheme]
    address = checked_address(host, port, request.allowed, lookup)
    left = deadline - boot()
    if left <= 0:
        raise Transient(f"the webhook has not answered within {request.timeout_s:g} seconds")
    connection = _PinnedConnection(host, port, address, left, parts.scheme == "https")
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, body or None, dict(request.headers))
        answer = connection.getresponse()
        data = b""
        while len(data) < _ANSWER_BYTES_MAX:
            if boot() > deadline:  # each read has a limit of its own, and a slow sender could make many of them
                raise TimeoutError
            piece = answer.read1(min(8_192, _ANSWER_BYTES_MAX - len(data)))
            if not piece:
                break
            data += piece
        return answer.status, data, answer.getheader("location") or ""
    except TimeoutError:
        raise Transient(f"the webhook has not answered within {request.timeout_s:g} seconds") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Transient(f"the webhook at {host} cannot be reached: {error or type(error).__name__}") from None
    finally:
        connection.close()


def checked_address(host: str, port: int, allowed: Collection[str], lookup: Lookup = look_up) -> str:
    """Returns an address of the host that may be connected to. Raises Refused if any of its addresses is inside."""
    found = lookup(host, port)
    if not found:
        raise Transient(f"the host {host!r} has no address")
    is_allowed = host.lower() in {each.lower() for each in allowed}
    for each in found:
        if not is_allowed and is_inside(each):
            raise Refused(
                f"the host {host!r} is at a private address, where no webhook may be",
                hint="an administrator can allow it in hooks.allowed_hosts",
            )
    return found[0]


def is_inside(address: str) -> bool:
    """Returns whether the address is not of the public internet: loopback, private, link-local, shared, multicast or
    reserved. This includes IPv4 addresses that are written as IPv6 ones."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_inside(str(inner))
    return not found.is_global or found.is_multicast or found.is_reserved


_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class _PinnedConnection(http.client.HTTPConnection):
    """Connects to that address, and sends that host's name. It uses no proxy."""

    def __init__(self, host: str, port: int, address: str, timeout: float, secure: bool) -> None:
        super().__init__(host, port, timeout=timeout)
        self._address = address
        self._secure = secure

    def connect(self) -> None:
        made = socket.create_connection((self._address, self.port), self.timeout)
        if not self._secure:
            self.sock = made
            return
        try:
            self.sock = ssl.create_default_context().wrap_socket(made, server_hostname=self.host)
        except BaseException:
            made.close()
            raise


class _Parts(NamedTuple):
    scheme: str
    hostname: str | None
    port: int | None
    path: str
    query: str
    username: str | None
    password: str | None


def _split(url: str) -> _Parts:
    if len(url) > _URL_MAX or not url.isascii() or any(letter <= " " or letter == "\x7f" for letter in url):
        raise Invalid("the address of a webhook is a URL of printable ASCII characters")
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError as error:
        raise Invalid(f"the address is no URL: {error}") from None
    if found.scheme not in _SCHEMES:
        raise Invalid(f"{found.scheme or url!r} is no scheme of a webhook", hint="https://…, or http://…")
    if not found.hostname:
        raise Invalid("the address names no host")
    return _Parts(found.scheme, found.hostname, port, found.path, found.query, found.username, found.password)


def describe_error(error: LochanError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
