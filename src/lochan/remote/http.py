"""HTTP/1.1 over keep-alive connections, as far as a client of one server needs it: TCP, TLS or a Unix socket, bodies of
known length or in chunks, streamed both ways a piece at a time.

A connection belongs to the event loop that it was made on, and serves one request at a time. A broken one is not used
again. An answer that ends early is an error, never a short answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from lochan.errors import Transient

PIECE_BYTES = 256 << 10
_IDLE_MAX = 8
_LINE_BYTES_MAX = 64 << 10
_HEADERS_MAX = 200


class ServerAddress(NamedTuple):
    host: str
    port: int
    tls: bool
    unix: str = ""  # the path of a socket, in place of host and port

    @property
    def text(self) -> str:
        return f"unix:{self.unix}" if self.unix else f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


class NotSent(Transient):
    """The server was not reached: nothing has happened."""


class AnswerLost(Transient):
    """The connection broke before the answer was complete: the request may have been carried out."""


class HttpAnswer:
    def __init__(self, connection: _Connection, pool: HttpPool, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers
        self._connection = connection
        self._pool = pool
        self._pieces = self._body()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yields the body. It can be read once."""
        try:
            async for piece in self._pieces:
                yield piece
        except (OSError, EOFError, ValueError) as error:
            raise AnswerLost(f"the answer of the server broke off: {error or type(error).__name__}") from None
        finally:
            await self.close()

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.pieces()])

    async def close(self) -> None:
        """Drops the rest of the answer. Calling it again does nothing."""
        await self._pieces.aclose()
        self._connection.end(self._pool)

    async def _body(self) -> AsyncGenerator[bytes, None]:
        connection = self._connection
        if self.status in (204, 304) or self.headers.get("content-length") == "0":
            connection.is_whole = True
        elif self.headers.get("transfer-encoding", "").lower() == "chunked":
            async for piece in connection.chunks():
                yield piece
            connection.is_whole = True
        elif "content-length" in self.headers:
            async for piece in connection.exactly(int(self.headers["content-length"])):
                yield piece
            connection.is_whole = True
        else:
            connection.keep = False
            while piece := await connection.reader.read(PIECE_BYTES):
                yield piece


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.keep = True
        self.is_whole = False  # the answer was read to its end
        self.requests = 0
        self._ended = False

    def begin(self) -> None:
        self.is_whole = self._ended = False
        self.requests += 1

    def end(self, pool: HttpPool) -> None:
        if self._ended:
            return
        self._ended = True
        if self.keep and self.is_whole:
            pool.put_back(self)
        else:
            self.writer.close()

    async def send(self, head: bytes, body: bytes | AsyncIterator[bytes] | None, chunked: bool) -> None:
        if not isinstance(body, bytes | None):
            self.writer.write(head)
            async for piece in body:
                if piece:
                    self.writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                    await self.writer.drain()
            if chunked:
                self.writer.write(b"0\r\n\r\n")
        else:
            self.writer.write(head + (body or b""))
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        while True:
            version, status, *_ = (await self._line()).split(b" ", 2)
            if not version.startswith(b"HTTP/1."):
                raise ValueError("it is no answer of HTTP/1.1")
            headers: dict[str, str] = {}
            while line := await self._line():
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.strip().lower()] = value.strip()
                if len(headers) > _HEADERS_MAX:
                    raise ValueError("its head is too long")
            if int(status) >= 200:
                break
        self.keep = headers.get("connection", "").lower() != "close" and version == b"HTTP/1.1"
        return int(status), headers

    async def chunks(self) -> AsyncIterator[bytes]:
        while size := int((await self._line()).partition(b";")[0], 16):
            async for piece in self.exactly(size):
                yield piece
            if await self.reader.readexactly(2) != b"\r\n":
                raise ValueError("a chunk has another length than it says")
        while await self._line():
            pass

    async def exactly(self, size: int) -> AsyncIterator[bytes]:
        left = size
        while left:
            piece = await self.reader.read(min(left, PIECE_BYTES))
            if not piece:
                raise EOFError(f"{left:,} bytes are missing")
            left -= len(piece)
            yield piece

    async def _line(self) -> bytes:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection was closed")
        return line.rstrip(b"\r\n")


class HttpPool:
    """Connections to one server. One event loop at a time may use it."""

    def __init__(self, address: ServerAddress, connect_s: float = 10.0) -> None:
        self.address = address
        self._connect_s = connect_s
        self._idle: list[_Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def host(self) -> str:
        """The host as requests name it."""
        return "localhost" if self.address.unix else _host(self.address)

    async def request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | AsyncIterator[bytes] | None = None
    ) -> HttpAnswer:
        """Sends a request. Raises NotSent or AnswerLost."""
        chunked = not isinstance(body, bytes | None) and "content-length" not in headers
        head = self._head(method, target, headers, body, chunked)
        while True:
            connection = self._take_idle() or await self._connect()
            try:
                return await self._send_request(connection, head, body, chunked)
            except (OSError, EOFError, ValueError) as error:
                connection.writer.close()
                # A server may close an idle connection at any moment. Before anything of an answer arrived, a request
                # without a body can be sent again over a new connection; the caller repeats others.
                if connection.requests > 1 and method == "GET" and isinstance(error, OSError | EOFError):
                    continue
                reason = str(error) or type(error).__name__
                raise AnswerLost(f"the connection to {self.address.text} broke: {reason}") from None
            except BaseException:
                connection.writer.close()
                raise

    async def _send_request(
        self, connection: _Connection, head: bytes, body: bytes | AsyncIterator[bytes] | None, chunked: bool
    ) -> HttpAnswer:
        connection.begin()
        sending = None
        if isinstance(body, bytes | None):
            await connection.send(head, body, chunked)
        else:  # the server may refuse while the body is sent
            sending = asyncio.ensure_future(connection.send(head, body, chunked))
        try:
            status, headers = await self._read_head(connection, sending)
        finally:
            if sending is not None and not sending.done():
                connection.keep = False
                sending.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await sending
        answer = HttpAnswer(connection, self, status, headers)
        if sending is not None and sending.cancelled():
            connection.keep = False
        return answer

    async def _read_head(
        self, connection: _Connection, sending: asyncio.Future[None] | None
    ) -> tuple[int, dict[str, str]]:
        if sending is None:
            return await connection.head()
        heading: asyncio.Future[Any] = asyncio.ensure_future(connection.head())
        try:
            await asyncio.wait({heading, sending}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and not heading.done():
                error = sending.exception()
                if error is not None and not isinstance(error, OSError):
                    raise error  # the caller's own bytes could not be read
            found: tuple[int, dict[str, str]] = await heading
            return found
        finally:
            if not heading.done():
                heading.cancel()

    def put_back(self, connection: _Connection) -> None:
        if len(self._idle) < _IDLE_MAX and self._loop is asyncio.get_running_loop():
            self._idle.append(connection)
        else:
            connection.writer.close()

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for each in idle:
            each.writer.close()
            with suppress(OSError):
                await each.writer.wait_closed()

    def _take_idle(self) -> _Connection | None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._idle = loop, []
        while self._idle:
            found = self._idle.pop()
            if not found.reader.at_eof():
                return found
            found.writer.close()
        return None

    async def _connect(self) -> _Connection:
        at = self.address
        try:
            async with asyncio.timeout(self._connect_s):
                if at.unix:
                    return _Connection(*await asyncio.open_unix_connection(at.unix, limit=_LINE_BYTES_MAX))
                return await self._connect_tcp()
        except TimeoutError:
            raise NotSent(f"{at.text} did not answer within {self._connect_s:g} seconds", hint=_HINT) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise NotSent(f"{at.text} cannot be reached: {reason}", hint=_HINT) from None

    async def _connect_tcp(self) -> _Connection:
        at, context = self.address, None
        if at.tls:
            import ssl

            context = ssl.create_default_context()
        reader, writer = await asyncio.open_connection(at.host, at.port, ssl=context, limit=_LINE_BYTES_MAX)
        sock: socket.socket = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # tells a dead server from a long silent verb
        return _Connection(reader, writer)

    def _head(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes] | None,
        chunked: bool,
    ) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"host: {self.host}", *(f"{name}: {v}" for name, v in headers.items())]
        if chunked:
            lines.append("transfer-encoding: chunked")
        elif isinstance(body, bytes | None) and (body is not None or method not in ("GET", "DELETE", "HEAD")):
            lines.append(f"content-length: {len(body or b'')}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


_HINT = "is the server up? check the address and the network"


def _host(address: ServerAddress) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return host if address.port == (443 if address.tls else 80) else f"{host}:{address.port}"
