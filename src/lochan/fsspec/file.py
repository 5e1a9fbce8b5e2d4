"""An open file: it is read by ranges through a cache of blocks, or written in pieces that go to the store as they
arrive."""

from __future__ import annotations

import errno
import threading
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fsspec.spec import AbstractBufferedFile

from lochan.api.options import DEFAULT_PUT, PutOptions
from lochan.errors import LochanError, NotFound
from lochan.fsspec.os_errors import os_error, os_errors
from lochan.runtime import ByteQueue, QueueRefused

if TYPE_CHECKING:
    from lochan.api.blocking import Branch, OpenObject, Ref, Workspace
    from lochan.fsspec.filesystem import LochanFileSystem

    Readable = Ref | Branch | Workspace
    Writable = Branch | Workspace


class ObjectReader(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    """Reads the object that was at the path when the file was opened: bytes of a later object are never mixed in."""

    def __init__(self, fs: LochanFileSystem, name: str, opened: OpenObject, **options: Any) -> None:
        """`etag` is among the options if a pickled file is opened again. Raises OSError (ESTALE) if the object was
        replaced since."""
        if options.pop("etag", opened.etag) != opened.etag:
            raise _replaced_error(name)
        self._opened = opened
        super().__init__(fs, name, "rb", **{**options, "size": opened.size, "etag": opened.etag})

    def _fetch_range(self, start: int, end: int) -> bytes:
        """Reads a range. Raises OSError (ESTALE) if a server no longer has the bytes of an object that was replaced."""
        try:
            with os_errors(self.path):
                return self._opened.read(start, min(end, self.size))
        except FileExistsError as error:
            raise _replaced_error(self.path) from error


def _replaced_error(name: str) -> OSError:
    return OSError(errno.ESTALE, "the object was replaced since the file was opened", name)


class ObjectFileWriter(AbstractBufferedFile):  # type: ignore[misc]
    """Writes an object, which exists as a whole when the file is closed. If a `with` block raises, nothing is
    written."""

    closed: bool

    def __init__(
        self,
        fs: LochanFileSystem,
        name: str,
        ref: Writable,
        path: str,
        mode: str,
        options: PutOptions = DEFAULT_PUT,
        **rest: Any,
    ) -> None:
        self._ref = ref
        self._object_path = path
        self._options = options
        self._put: StreamedPut | None = None
        super().__init__(fs, name, mode, **rest)
        if mode == "ab":
            self._append()

    def _append(self) -> None:
        """Writes the existing bytes first: an object cannot grow, so it is replaced by one that begins like it."""
        try:
            for piece in self._ref.stream(self._object_path):
                self.write(piece)
        except NotFound:
            pass
        except LochanError as error:
            self.discard()
            raise os_error(error, self.path) from error

    def _upload_chunk(self, final: bool = False) -> bool:
        data = self.buffer.getvalue()
        with os_errors(self.path):
            if self._put is None and final:
                self._ref.put(self._object_path, data, self._options, if_absent=self.mode == "xb")
                return True
            if self._put is None:
                self._put = StreamedPut(self._ref, self._object_path, self._options, if_absent=self.mode == "xb")
            self._put.write(data)
            if final:
                self._put.end()
        return True

    def discard(self) -> None:
        """Drops the object; nothing of it is stored. fsspec calls this for a transaction that is not committed."""
        if self.closed:
            return
        self.closed = True
        if self._put is not None:
            self._put.abort()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self.discard()
        else:
            self.close()

    def __del__(self) -> None:
        """Discards a file that was not closed. fsspec would write it when memory is cleaned up."""
        if not getattr(self, "closed", True):
            self.discard()


class StreamedPut:
    """A put whose bytes come from another thread, a few pieces ahead. It runs on a thread of its own, because the verb
    waits."""

    def __init__(self, ref: Writable, path: str, options: PutOptions, *, if_absent: bool) -> None:
        self._begun = threading.Event()
        self._queue: ByteQueue | None = None
        self._error: BaseException | None = None
        self._aborted = False

        def put() -> None:
            try:
                ref.put(path, self._pieces(), options, if_absent=if_absent)
            except BaseException as error:
                self._error = error
            finally:
                self._begun.set()
                if self._queue is not None:
                    self._queue.refuse()  # a writer that waits to add the next piece gets the error

        self._thread = threading.Thread(target=put, name=f"lochan put {path}", daemon=True)
        self._thread.start()

    async def _pieces(self) -> AsyncIterator[bytes]:
        self._queue = ByteQueue()
        self._begun.set()
        while (piece := await self._queue.take()) is not None:
            yield piece
        if self._aborted:
            raise _Aborted

    def write(self, data: bytes) -> None:
        """Adds bytes. Raises the error that made the put fail."""
        self._begun.wait()
        if self._queue is None:
            raise self._put_error()
        try:
            self._queue.put(data)
        except QueueRefused:
            raise self._put_error() from None

    def end(self) -> None:
        """Ends the put, and returns when the object exists. Raises the error that made the put fail."""
        self._finish()
        if self._error is not None:
            raise self._error

    def abort(self) -> None:
        self._aborted = True
        self._finish()

    def _finish(self) -> None:
        self._begun.wait()
        if self._queue is not None and self._thread.is_alive():
            self._queue.end()
        self._thread.join()

    def _put_error(self) -> BaseException:
        self._thread.join()
        return self._error or RuntimeError("the put has ended before its body")


class _Aborted(Exception):
    """Ends a put so that nothing is stored."""
