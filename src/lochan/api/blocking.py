"""The verbs for code without an event loop: each waits for its answer. `lochan.connect()` gives a lake of these.

    lake = lochan.connect("path/to/lake")
    main = lake.repository("shop").branch("main")
    main.put("raw/fruit.csv", b"1,pear\\n")
    main.commit("pears")

Every verb is one of the asynchronous class of the same name, and has its contract and its options.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from lochan.api import branch, lake, pool, ref, repository, workspace, writable
from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.ref import NamedRef
from lochan.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])
Noun = TypeVar("Noun")
Noun_co = TypeVar("Noun_co", covariant=True)
Ref_co = TypeVar("Ref_co", bound=ref.Ref, covariant=True)
Writable_co = TypeVar("Writable_co", bound=writable.WritableRef, covariant=True)
Repository_co = TypeVar("Repository_co", bound=repository.Repository, covariant=True)


class Blocking(Generic[Noun_co]):
    """A handle whose verbs wait."""

    def __init__(self, noun: Noun_co, runtime: Runtime) -> None:
        self._noun = noun
        self._runtime = runtime

    def __repr__(self) -> str:
        return repr(self._noun)


def _waits(verb: Callable[Concatenate[Noun, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Blocking[Noun], P], T]:
    @wraps(verb)
    def waiting(self: Blocking[Noun], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._runtime.wait(verb(self._noun, *args, **kwargs))

    return waiting


def _iterates(
    verb: Callable[Concatenate[Noun, P], AsyncIterator[T]],
) -> Callable[Concatenate[Blocking[Noun], P], Iterator[T]]:
    @wraps(verb)
    def iterating(self: Blocking[Noun], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._runtime.iterate(verb(self._noun, *args, **kwargs))

    return iterating


def _documented_by(verb: Callable[..., Any]) -> Callable[[Method], Method]:
    """For a verb that gives back a handle, and is written out to give one that waits."""

    def document(method: Method) -> Method:
        method.__doc__ = verb.__doc__
        return method

    return document


class _AnyRef(Blocking[Ref_co]):
    @property
    def repository_name(self) -> str:
        return self._noun.repository_name

    @property
    def name(self) -> str:
        return self._noun.name

    resolve = _waits(ref.Ref.resolve)
    log = _iterates(ref.Ref.log)
    diff = _iterates(ref.Ref.diff)
    blame = _waits(ref.Ref.blame)
    list = _iterates(ref.Ref.list)
    list_page = _waits(ref.Ref.list_page)
    stat = _waits(ref.Ref.stat)
    stream = _iterates(ref.Ref.stream)
    read = _waits(ref.Ref.read)


class Ref(_AnyRef[ref.Ref]):
    pass


class _AnyWritable(_AnyRef[Writable_co]):
    put = _waits(writable.WritableRef.put)
    delete = _waits(writable.WritableRef.delete)
    delete_if = _waits(writable.WritableRef.delete_if)
    delete_folder = _waits(writable.WritableRef.delete_folder)
    copy = _waits(writable.WritableRef.copy)
    copy_folder = _waits(writable.WritableRef.copy_folder)
    move = _waits(writable.WritableRef.move)
    move_folder = _waits(writable.WritableRef.move_folder)


class Workspace(_AnyWritable[workspace.Workspace]):
    show = _waits(workspace.Workspace.show)
    path = _waits(workspace.Workspace.path)
    commit = _waits(workspace.Workspace.commit)
    drop = _waits(workspace.Workspace.drop)


class Branch(_AnyWritable[branch.Branch]):
    status = _iterates(branch.Branch.status)
    commit = _waits(branch.Branch.commit)
    reset = _waits(branch.Branch.reset)
    merge = _waits(branch.Branch.merge)
    revert = _waits(branch.Branch.revert)
    cherry_pick = _waits(branch.Branch.cherry_pick)
    rebase = _waits(branch.Branch.rebase)

    @_documented_by(branch.Branch.rename)
    def rename(self, to: str, *, key: str = "") -> Branch:
        return Branch(self._runtime.wait(self._noun.rename(to, key=key)), self._runtime)

    @_documented_by(branch.Branch.workspace)
    def workspace(self, note: str = "", *, key: str = "") -> Workspace:
        return Workspace(self._runtime.wait(self._noun.workspace(note, key=key)), self._runtime)

    @contextmanager
    def transaction(self, message: str, options: CommitOptions = DEFAULT_COMMIT) -> Iterator[Workspace]:
        """A workspace that is committed when the block ends, and dropped when it raises: one commit, or nothing.

            with branch.transaction("first data") as tx:
                tx.put("README.md", "# Shop")

        Raises ConcurrentCommit where the branch has changed the same paths meanwhile; what was put is dropped then."""
        entered = self._noun.transaction(message, options)
        inner = self._runtime.wait(entered.__aenter__())
        try:
            yield Workspace(inner, self._runtime)
        except BaseException as error:
            if not self._runtime.wait(entered.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._runtime.wait(entered.__aexit__(None, None, None))


class _AnyRepository(Blocking[Repository_co]):
    @property
    def name(self) -> str:
        return self._noun.name

    show = _waits(repository.Repository.show)
    branches = _iterates(repository.Repository.branches)
    delete_branch = _waits(repository.Repository.delete_branch)
    tags = _iterates(repository.Repository.tags)
    delete_tag = _waits(repository.Repository.delete_tag)
    merge_base = _waits(repository.Repository.merge_base)
    workspaces = _iterates(repository.Repository.workspaces)
    rename = _waits(repository.Repository.rename)
    delete = _waits(repository.Repository.delete)

    @_documented_by(repository.Repository.ref)
    def ref(self, name: str) -> Ref:
        return Ref(self._noun.ref(name), self._runtime)

    @_documented_by(repository.Repository.branch)
    def branch(self, name: str) -> Branch:
        return Branch(self._noun.branch(name), self._runtime)

    @_documented_by(repository.Repository.workspace)
    def workspace(self, name: str) -> Workspace:
        return Workspace(self._noun.workspace(name), self._runtime)

    @_documented_by(repository.Repository.create_branch)
    def create_branch(self, name: str, source: NamedRef | str, *, key: str = "") -> Branch:
        return Branch(self._runtime.wait(self._noun.create_branch(name, source, key=key)), self._runtime)

    @_documented_by(repository.Repository.restore_branch)
    def restore_branch(self, name: str, *, key: str = "") -> Branch:
        return Branch(self._runtime.wait(self._noun.restore_branch(name, key=key)), self._runtime)

    @_documented_by(repository.Repository.create_tag)
    def create_tag(self, name: str, target: NamedRef | str, *, key: str = "") -> Ref:
        return Ref(self._runtime.wait(self._noun.create_tag(name, target, key=key)), self._runtime)


class Repository(_AnyRepository[repository.Repository]):
    pass


class Pool(_AnyRepository[pool.Pool]):
    load = _waits(pool.Pool.load)
    query = _waits(pool.Pool.query)


class Lake(Blocking[lake.Lake]):
    """May be used from several threads."""

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    repositories = _iterates(lake.Lake.repositories)
    pools = _iterates(lake.Lake.pools)
    query = _waits(lake.Lake.query)
    diff_rows = _waits(lake.Lake.diff_rows)
    events = _iterates(lake.Lake.events)

    @_documented_by(lake.Lake.repository)
    def repository(self, name: str) -> Repository:
        return Repository(self._noun.repository(name), self._runtime)

    @_documented_by(lake.Lake.pool)
    def pool(self, name: str) -> Pool:
        return Pool(self._noun.pool(name), self._runtime)

    @_documented_by(lake.Lake.create_repository)
    def create_repository(
        self, name: str, *, default_branch: str = "main", metadata: Mapping[str, str] | None = None, key: str = ""
    ) -> Repository:
        made = self._noun.create_repository(name, default_branch=default_branch, metadata=metadata, key=key)
        return Repository(self._runtime.wait(made), self._runtime)

    @_documented_by(lake.Lake.create_pool)
    def create_pool(
        self,
        name: str,
        *,
        key: str | Sequence[str] = (),
        default_branch: str = "main",
        metadata: Mapping[str, str] | None = None,
        request_key: str = "",
    ) -> Pool:
        made = self._noun.create_pool(
            name, key=key, default_branch=default_branch, metadata=metadata, request_key=request_key
        )
        return Pool(self._runtime.wait(made), self._runtime)

    @_documented_by(lake.Lake.new_key)
    def new_key(self) -> str:
        return self._noun.new_key()

    def close(self) -> None:
        """May be called twice."""
        if self._runtime.is_running:
            self._runtime.wait(self._noun.close())
            self._runtime.stop()
