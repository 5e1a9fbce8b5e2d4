"""Converts the arguments of a remote noun's verb to a request, and the answer to its result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from lochan.api.bodies import Body, chunks_of
from lochan.api.verbs import Kind
from lochan.api.wire.call import EMPTY_NAME, KEY_HEADER, OPTIONS, Argument, ArgumentForm, ArgumentPlace, Shape, WireCall
from lochan.api.wire.errors import ErrorBody, error_of
from lochan.api.wire.values import JSON, HandleNames, OpenedInfo, decoder, plain
from lochan.remote.http import AnswerLost, HttpAnswer
from lochan.remote.opened import RemoteOpenObject

if TYPE_CHECKING:
    from lochan.remote.nouns import RemoteNoun

_ERROR_LINE = b'{"error":{'


class RemoteCall:
    def __init__(self, call: WireCall) -> None:
        self._call = call

    def method(self) -> Callable[..., Any]:
        """Returns the method of a remote noun."""
        name = self._call.verb.name
        if self._call.shape is Shape.LINES:

            async def iterate(noun: RemoteNoun, /, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                async for item in self._lines(await self.ask(noun, *args, **kwargs)):
                    yield item

            found: Callable[..., Any] = iterate
        elif name == "stream":

            async def stream(noun: RemoteNoun, /, *args: Any, **kwargs: Any) -> AsyncIterator[bytes]:
                async for piece in (await self.ask(noun, *args, **kwargs)).pieces():
                    yield piece

            found = stream
        else:

            async def wait(noun: RemoteNoun, /, *args: Any, **kwargs: Any) -> Any:
                return await self._result(noun, await self.ask(noun, *args, **kwargs), args, kwargs)

            found = wait
        found.__name__ = name
        return found

    async def ask(self, noun: RemoteNoun, /, *args: Any, media: str = "", **kwargs: Any) -> HttpAnswer:
        """Sends the request. `media` is the type of a body of bytes."""
        call = self._call
        given = dict(call.signature.bind(noun, *args, **kwargs).arguments)
        given.pop(next(iter(call.signature.parameters)))
        headers = {**self._headers(noun, given), **({"content-type": media} if media else {})}
        target = self._target(noun, given)
        body = self._body(given, headers)
        # A body that can be read only once is sent only once.
        again = not callable(body) or _is_lasting(self._bytes(given))
        answer: HttpAnswer = await noun._server.answer(call.method, target, headers=headers, body=body, again=again)
        return answer

    def _headers(self, noun: RemoteNoun, given: dict[str, Any]) -> dict[str, str]:
        """Returns headers with an idempotency key, which is made unless it is given, so that the request can be sent
        again."""
        call = self._call
        if call.verb.kind is not Kind.WRITE:
            return {}
        key = str(given.pop(call.key, "")) if call.key else ""
        options = given.get(OPTIONS)
        if call.has_commit_options and options is not None and options.key:
            key = options.key
            given[OPTIONS] = msgspec.structs.replace(options, key="")
        return {KEY_HEADER.lower(): key or noun._server.new_key()}

    def _target(self, noun: RemoteNoun, given: dict[str, Any]) -> str:
        names = {**noun.names, **{name: given[name] for name in self._call.names if name in given}}
        path = self._call.path
        for name in self._call.names:
            value = str(plain(name, names[name])) or EMPTY_NAME
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        query = [(name, names[name]) for name in self._call.query_names]
        query += [
            pair for each in self._arguments_at(ArgumentPlace.QUERY, given) for pair in _pairs(each, given[each.name])
        ]
        return f"{path}?{urlencode(query)}" if query else path

    def _body(self, given: dict[str, Any], headers: dict[str, str]) -> Any:
        given_bytes = self._bytes(given)
        if given_bytes is not None:
            chunks_of(given_bytes)  # a value that cannot be a body is refused before anything is sent
            if isinstance(given_bytes, str | bytes):
                return given_bytes.encode() if isinstance(given_bytes, str) else given_bytes
            return lambda: chunks_of(given_bytes)
        found = [each for each in self._call.arguments.values() if each.place is ArgumentPlace.BODY]
        if not found:
            return None
        headers["content-type"] = JSON
        given = {name: value for name, value in given.items() if self._call.arguments[name].place is ArgumentPlace.BODY}
        return msgspec.json.encode({name: self._plain_value(name, value) for name, value in given.items()})

    def _bytes(self, given: dict[str, Any]) -> Body | None:
        return next((given[each.name] for each in self._arguments_at(ArgumentPlace.BYTES, given)), None)

    def _plain_value(self, name: str, value: Any) -> Any:
        if self._call.arguments[name].annotation == "NamedRef":
            return {"repository_name": value.repository_name, "name": value.name}
        return plain(name, value)

    def _arguments_at(self, place: ArgumentPlace, given: dict[str, Any]) -> list[Argument]:
        return [each for name, each in self._call.arguments.items() if each.place is place and name in given]

    async def _result(self, noun: RemoteNoun, answer: HttpAnswer, args: Any, kwargs: Any) -> Any:
        data = await answer.read()
        match self._call.shape:
            case Shape.NOTHING:
                self._rename_handle(noun, args, kwargs)
                return None
            case Shape.BYTES:
                return data
            case Shape.HANDLE:
                found = msgspec.json.decode(data, type=HandleNames)
                return self._handle(noun, found, self._call.signature.bind(noun, *args, **kwargs).arguments)
            case Shape.OPENED:
                return RemoteOpenObject(noun, msgspec.json.decode(data, type=OpenedInfo))
            case Shape.TABLE:
                import pyarrow as pa

                return pa.ipc.open_stream(data).read_all()
        return self._decoder.decode(data)

    def _rename_handle(self, noun: Any, args: Any, kwargs: Any) -> None:
        """Gives the handle of a repository its new name."""
        if (self._call.verb.noun, self._call.verb.name) == ("Repository", "rename"):
            noun.name = self._call.signature.bind(noun, *args, **kwargs).arguments["to"]

    def _handle(self, noun: Any, found: HandleNames, given: Mapping[str, Any]) -> Any:
        from lochan.remote import nouns

        kind = str(self._call.signature.return_annotation)
        if kind == "Upload":
            return noun.open_upload(given["path"], found.name)
        if kind in ("Repository", "Pool"):
            return nouns.HANDLES[kind](noun._server, found.name)  # type: ignore[call-arg]
        more = {"opened": found.opened} if kind == "Workspace" else {}
        of = (noun._server, noun.names["repository"], found.name, found.made_at)
        made: Any = nouns.HANDLES[kind]
        return made(*of, **more)

    async def _lines(self, answer: HttpAnswer) -> AsyncIterator[Any]:
        held = b""
        async with aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                *whole, held = (held + piece).split(b"\n")
                for line in whole:
                    yield self._item(line)
        if held:
            raise AnswerLost("the answer of the server broke off in the middle of a line")

    def _item(self, line: bytes) -> Any:
        if line.startswith(_ERROR_LINE):
            raise error_of(msgspec.json.decode(line, type=dict[str, ErrorBody])["error"], 500)
        return self._decoder.decode(line)

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        return decoder(self._call.result)


def _pairs(argument: Argument, value: Any) -> list[tuple[str, str]]:
    name = argument.name
    if argument.form is ArgumentForm.SEVERAL:
        several = [value] if isinstance(value, str) else value
        return [(name, str(each)) for each in several]
    if value is None:
        return []
    found = plain(name, value)
    if argument.form is ArgumentForm.JSON:
        return [(name, msgspec.json.encode(found).decode())]
    return [(name, ("true" if found else "false") if isinstance(found, bool) else str(found))]


def _is_lasting(body: Any) -> bool:
    """Returns whether the body can be read again."""
    return isinstance(body, bytes | bytearray | memoryview | str | PathLike) or hasattr(body, "is_lasting")
