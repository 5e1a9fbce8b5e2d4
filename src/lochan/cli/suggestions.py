"""Suggestions for the word that is being typed: a repository or pool, its branches and tags, the paths there; a user, a
policy, a setting; a file of this machine. An argument's metavar determines which.

The user has pressed a key and waits. If something goes wrong, there are no suggestions, and no message."""

import re
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, NamedTuple

import click
from click.shell_completion import CompletionItem

from lochan.cli.output.records import printable

if TYPE_CHECKING:
    from lochan.api.lake import Lake

PART = "part"  # the type of a suggestion that is only a part of a word
_PATHS_MAX = 200
_PATIENCE_S = 3.0  # the most time for a lake on a network

Item = CompletionItem[str]
Find = Callable[["Lake"], Coroutine[object, object, list[Item]]]

_URI = re.compile(r"\[?(REPO|POOL)\b")
_OF_A_LOCAL_FILE = ("FILE", "SOURCE", "TARGET", "URL", "PATH-OR-URL", "DIR|HOST:PORT")
_MADE = ("create",)  # verbs whose argument is a new name
_PATHS_OF = ("log", "diff")  # verbs whose --path and --prefix are of objects; those of others are of fields


def add_suggestions(command: click.Command) -> None:
    """Adds suggestions to the arguments and options of a verb where the parser has none."""
    for parameter in command.params:
        if isinstance(parameter.type, click.types.StringParamType):
            parameter.type = _type_of(command, parameter) or parameter.type


def _type_of(command: click.Command, parameter: click.Parameter) -> "_SuggestedType | None":
    text = parameter.metavar or ("" if isinstance(parameter, click.Option) else (parameter.name or "").upper())
    word = text.strip("[].")
    if _URI.match(text):
        may = _Uri("POOL" in text, "@" in text, "/" in text)
        return None if command.name in _MADE and not may.refs else _SuggestedType(may.suggest)
    if word in ("PATH", "PREFIX") and command.name not in _PATHS_OF:
        return None
    by_word = {"REF": _refs, "PATH": _paths, "PREFIX": _paths, "USER": _users, "POLICY": _policies, "KEY=VALUE": _keys}
    if word in by_word:
        return _SuggestedType(by_word[word])
    return _SuggestedType(_local_files) if word in _OF_A_LOCAL_FILE else None


Suggest = Callable[[click.Context, str], Iterable[Item]]


class _SuggestedType(click.ParamType[str]):
    name = "text"

    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Item]:
        try:
            with ctx:
                found = list(self._suggest(ctx, incomplete))
        except Exception:  # no message may appear, because the command was not entered yet
            return []
        return [each for each in found if each.value.startswith(incomplete) and printable(each.value) == each.value]


class _Uri(NamedTuple):
    """`repo@ref/path`, as far as the argument goes."""

    pools_only: bool
    refs: bool
    paths: bool

    def suggest(self, _: click.Context, text: str) -> list[Item]:
        async def find(lake: "Lake") -> list[Item]:
            where, slash, path = text.partition("/")
            name, at, ref = where.partition("@")
            if slash:
                return await self._paths(lake, where, name, ref, path) if self.paths else []
            if at:
                return await self._refs(lake, name) if self.refs else []
            pools = self.pools_only
            names = [each.name async for each in lake.repositories() if each.kind == "pool" or not pools]
            items = [Item(each, PART if self.refs or self.paths else "plain") for each in names]
            return [*items, *(await self._refs(lake, name) if self.refs and name in names else [])]

        return _find_on_lake(find)

    async def _refs(self, lake: "Lake", name: str) -> list[Item]:
        return [Item(f"{name}@{ref}", PART if self.paths else "plain") for ref in await _names(lake, name)]

    async def _paths(self, lake: "Lake", where: str, name: str, ref: str, path: str) -> list[Item]:
        items = await _objects(lake, name, ref, path)
        return [Item(f"{where}/{each.value}", each.type) for each in items]


def _refs(ctx: click.Context, _: str) -> list[Item]:
    async def find(lake: "Lake") -> list[Item]:
        return [Item(each) for each in await _names(lake, (await _named_ref(ctx, lake))[0])]

    return _find_on_lake(find)


def _paths(ctx: click.Context, text: str) -> list[Item]:
    async def find(lake: "Lake") -> list[Item]:
        return await _objects(lake, *await _named_ref(ctx, lake), text)

    return _find_on_lake(find)


def _users(_: click.Context, __: str) -> list[Item]:
    async def find(lake: "Lake") -> list[Item]:
        return [Item(each.name) async for each in lake.access.users()]

    return _find_on_lake(find)


def _policies(_: click.Context, __: str) -> list[Item]:
    async def find(lake: "Lake") -> list[Item]:
        return [Item(each.name) async for each in lake.access.policies()]

    return _find_on_lake(find)


def _keys(_: click.Context, __: str) -> list[Item]:
    """Returns the names of settings. The user types the value."""
    from lochan.config.settings import BY_NAME

    return [Item(f"{name}=", PART) for name in BY_NAME]


def _local_files(_: click.Context, text: str) -> list[Item]:
    return [Item(text, "file")]


async def _named_ref(ctx: click.Context, lake: "Lake") -> tuple[str, str]:
    """Returns the repository and the ref that were named before, or else the pool in use. Click has not parsed the
    words before an option whose value is being typed; they are in `ctx.obj`."""
    from lochan.cli.session import configuration
    from lochan.cli.target import prefix_uri
    from lochan.cli.user_state import in_use

    words = list(ctx.obj)
    for verb in ctx.command_path.split()[1:]:
        words.remove(verb)
    there = {each.name async for each in lake.repositories()}
    named = [word for word in words if re.split("[@/]", word)[0] in there]
    uri = prefix_uri(named[0]) if named else in_use(configuration(), lake.id)
    return uri.repository, uri.ref


async def _names(lake: "Lake", repository: str) -> list[str]:
    handle = lake.repository(repository)
    branches = [each.name async for each in handle.branches()]
    return [*branches, *[each.name async for each in handle.tags()]]


async def _objects(lake: "Lake", repository: str, ref: str, prefix: str) -> list[Item]:
    """Returns the next folders and objects, as in `fs ls`."""
    page = await lake.repository(repository).ref(ref).list_page(prefix, delimiter="/", limit=_PATHS_MAX)
    return [*(Item(each, PART) for each in page.prefixes), *(Item(each.path) for each in page.objects)]


def _find_on_lake(find: Find) -> list[Item]:
    import os
    import signal

    from lochan.cli import session
    from lochan.connection import lake_place

    if lake_place(session.configuration()).folder is None:
        # If a store does not answer, the shell gets no suggestions, and its user can go on typing.
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)
    try:
        return session.on_lake(find, reads=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
