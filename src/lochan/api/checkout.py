"""A checkout: a folder of this machine with the files of a ref. It is pulled into and committed from.

Only verbs of refs and branches are used, so a checkout is the same for every kind of lake. For a lake that this process
has open itself, small objects are read without a verb for each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lochan.api.checkout_source import files_of
from lochan.api.local_files import Report, ignore_report
from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.results import Commit, Result
from lochan.checkout import state as states
from lochan.checkout.state import CheckoutState, FileState
from lochan.errors import AlreadyExists, Conflict, Invalid, LochanError, NotFound, NothingToDo, PathsInTheWay, Refused

if TYPE_CHECKING:
    from lochan.api.branch import Branch
    from lochan.api.lake import Lake
    from lochan.api.ref import Ref
    from lochan.api.session import Session
    from lochan.api.workspace import Workspace
    from lochan.checkout.cache import ContentCache
    from lochan.checkout.changes import FileChange

_WIDTH = 8  # files at a time, on their way to the lake
_SHOWN_MAX = 5

Advance = Callable[[int], None]
Progress = Callable[[int], AbstractContextManager[Advance]]  # from the total of bytes to what is called with each piece


class CheckoutChange(Result, frozen=True, kw_only=True):
    path: str  # the path in the folder
    kind: str  # added, removed, changed
    size: int


class CheckoutStatus(Result, frozen=True, kw_only=True):
    folder: str
    repository: str
    ref: str
    prefix: str
    commit: str  # the commit of the files
    behind: bool  # whether the ref names another commit by now
    interrupted: bool  # whether a pull has not come to its end
    changes: tuple[CheckoutChange, ...]


class PullResult(Result, frozen=True, kw_only=True):
    folder: str
    commit: str
    written: int  # the number of files
    removed: int
    bytes: int


class Checkout:
    """A checkout, as `Lake.checkout` returns it. The folder is the one named, or the nearest above it that is a
    checkout."""

    def __init__(self, lake: Lake, place: str | os.PathLike[str]) -> None:
        self._lake = lake
        self._place = Path(place).absolute()

    def __repr__(self) -> str:
        return f"<Checkout {self._place}>"

    @property
    def _session(self) -> Session:
        """The session, for the wrappers of verbs."""
        return self._lake._session

    async def status(self, *, report: Report = ignore_report) -> CheckoutStatus:
        """Returns what was changed in the folder since it was checked out, pulled or committed. `report` is called with
        what is left out: links, and names that are not text. Raises NotFound, Invalid for an ignore file that cannot be
        understood."""
        folder = self._folder()
        state = self._load(folder)
        found = _changes(folder, state, report)
        head = (await self._ref(state).resolve()).id
        return CheckoutStatus(
            folder=str(folder),
            repository=state.repository,
            ref=state.ref,
            prefix=state.prefix,
            commit=state.commit,
            behind=head != state.commit,
            interrupted=bool(state.target),
            changes=tuple(CheckoutChange(path=each.path, kind=each.kind, size=each.size) for each in found),
        )

    async def pull(self, *, progress: Progress | None = None, report: Report = ignore_report) -> PullResult:
        """Makes the files those of the commit that the ref names now. What was changed here and not there stays. A pull
        that was interrupted is continued. Raises PathsInTheWay with the paths that were changed on both sides, and then
        nothing is changed; Refused for paths that cannot be files."""
        folder = self._folder()
        with states.alone(folder) as parts:
            state = self._load(folder)
            commit = (await self._ref(state).resolve()).id
            if commit == state.commit and not state.target:
                return PullResult(folder=str(folder), commit=commit, written=0, removed=0, bytes=0)
            return await self._become(folder, state, commit, parts, progress or _no_progress, report)

    async def commit(
        self, message: str = "", options: CommitOptions = DEFAULT_COMMIT, *, report: Report = ignore_report
    ) -> Commit:
        """Commits everything that was changed in the folder to its branch, as one commit. Raises NothingToDo,
        PathsInTheWay with the paths that the branch has changed too, Conflict for a file that is written meanwhile,
        Refused for a tag or a commit, Protected, Invalid without a message."""
        options = replace(options, message=message) if message else options
        if not options.message:
            raise Invalid("the commit has no message", hint="give one with -m")
        folder = self._folder()
        with states.alone(folder):
            state = self._load(folder)
            if not state.is_branch:
                what = f"{state.repository}@{state.ref} is not a branch, and takes no commits"
                raise Refused(what, hint="check out a branch, into another folder")
            if state.target:
                raise Refused("a pull was interrupted here", hint="`lochan pull` goes on with it")
            changes = _changes(folder, state, report)
            if not changes:
                raise NothingToDo(f"nothing was changed in {folder}")
            _check_files(folder, changes)
            made, stored = await self._commit_changes(folder, state, changes, options)
            gone = {each.path for each in changes if each.path not in stored}
            state.files = {path: each for path, each in (state.files | stored).items() if path not in gone}
            if made.parents[:1] == (state.commit,):
                state.commit = made.id
            states.save(folder, state)
            return made

    # --- pull --------------------------------------------------------------------------------------------------------
    async def _become(
        self, folder: Path, state: CheckoutState, commit: str, parts: Path, progress: Progress, report: Report
    ) -> PullResult:
        """Makes the folder that of a commit."""
        from lochan.checkout.names import check_folders, check_names, folds_names
        from lochan.checkout.plan import plan_pull
        from lochan.checkout.transfer import Transfer, remove_files

        async with files_of(self._lake.repository(state.repository).ref(commit), state.prefix) as (source, remote):
            check_names(remote, folds=folds_names(parts))
            plan = plan_pull(folder, state.files, _changes(folder, state, report), remote)
            check_folders(folder, sorted({each.path.rpartition("/")[0] for each in plan.write}))
            if plan.conflicts:
                raise _conflict_error(
                    plan.conflicts, "nothing was pulled; move your files away, pull, and put back what is to stay"
                )
            total = sum(each.size for each in plan.write)
            state.target = commit
            states.save(folder, state)
            remove_files(folder, plan.remove, state.files)
            with progress(total) as advance:
                work = Transfer(folder, parts, source, _cache_of(state), advance)
                written = await work.all(plan.write, state.files)
        kept = {path: each for path, each in state.files.items() if path in remote}
        state.files = kept | plan.adopt | written
        state.commit, state.target = commit, ""
        states.save(folder, state)
        return PullResult(
            folder=str(folder), commit=commit, written=len(plan.write), removed=len(plan.remove), bytes=total
        )

    # --- commit ------------------------------------------------------------------------------------------------------
    async def _commit_changes(
        self, folder: Path, state: CheckoutState, changes: list[FileChange], options: CommitOptions
    ) -> tuple[Commit, dict[str, FileState]]:
        """Commits all changes, or none, through a workspace. Returns the commit, and the files that were stored."""
        from lochan.concurrency import map_concurrently

        branch = self._lake.repository(state.repository).branch(state.ref)
        await self._check_theirs(state, branch, changes)
        stored: dict[str, FileState] = {}
        new_key = self._lake.new_key  # the commit decides the request; the steps before it have keys of their own
        workspace = await branch.workspace(options.message, key=new_key())

        async def one(change: FileChange) -> None:
            stored[change.path] = await _put(workspace, folder, change, state.prefix + change.path, new_key())

        try:
            await map_concurrently(one, [each for each in changes if each.now is not None], _WIDTH)
            removed = [state.prefix + each.path for each in changes if each.now is None]
            if removed:
                await workspace.delete(*removed, key=new_key())
            await self._check_theirs(state, branch, changes)
            return await workspace.commit(options=options), stored
        except BaseException:
            with suppress(LochanError):  # the first error is the one that counts
                await workspace.drop(key=new_key())
            raise

    async def _check_theirs(self, state: CheckoutState, branch: Branch, changes: list[FileChange]) -> None:
        """Raises PathsInTheWay if the branch has changed one of the paths since they were checked out. Later changes
        are noticed by the commit itself."""
        head = (await branch.resolve()).id
        if head == state.commit:
            return
        ours = {state.prefix + each.path: each for each in changes}
        base = self._lake.repository(state.repository).ref(state.commit)
        both = []
        async for change in base.diff(head, prefix=state.prefix):
            mine = ours.get(change.path)
            if mine is None:
                continue
            now, theirs = mine.now, change.right
            if (now is None) != (theirs is None) or (now and theirs and now.md5 != theirs.checksum):
                both.append(mine.path)
        if both:
            raise _conflict_error(
                both, "nothing was committed; move your files away, `lochan pull`, and put back what is to stay"
            )

    def _ref(self, state: CheckoutState) -> Ref:
        """Returns the ref; a branch is read without its staged changes."""
        return self._lake.repository(state.repository).ref(state.ref)

    def _folder(self) -> Path:
        found = states.find(self._place)
        if found is None:
            hint = "`lochan checkout demo@main DIR` makes one"
            raise NotFound(f"{self._place} is not in a checkout", hint=hint)
        return found

    def _load(self, folder: Path) -> CheckoutState:
        state = states.load(folder)
        if state.lake_id != self._lake.id:
            raise Invalid(
                f"{folder} was checked out of another lake, {state.lake}",
                hint="give the place where that lake is now with --lake",
            )
        return state


def _check_files(folder: Path, changes: list[FileChange]) -> None:
    """Raises Refused for a path that cannot be an object."""
    from lochan.checkout.names import check_names

    other = next((each for each in changes if not each.is_file), None)
    if other is not None:
        raise Refused(
            f"{folder / other.path} is not a file any more, and only files are committed",
            hint="remove it, or put the file back",
        )
    check_names((each.path for each in changes if each.now is not None), folds=False)


async def check_out(
    lake: Lake,
    ref: Ref,
    to: str | os.PathLike[str],
    *,
    prefix: str,
    cache: str,
    progress: Progress | None,
    report: Report,
) -> PullResult:
    """Makes a checkout in a new or empty folder, or continues an interrupted one. Raises AlreadyExists."""
    folder = Path(os.path.abspath(to))  # noqa: ASYNC240, PTH100
    name, is_branch = await _name_of(lake, ref)
    prefix = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    new = CheckoutState(
        lake=lake.url,
        lake_id=lake.id,
        repository=ref.repository_name,
        ref=name,
        is_branch=is_branch,
        prefix=prefix,
        cache=cache,
    )
    _cache_of(new)  # raises Refused before anything is written
    commit = (await lake.repository(new.repository).ref(new.ref).resolve()).id
    _check_free(folder, new)
    _make_folder(folder)
    made = Checkout(lake, folder)
    with states.alone(folder) as parts:
        if states.find(folder) != folder:
            new.target = commit
            states.save(folder, new)
        return await made._become(folder, states.load(folder), commit, parts, progress or _no_progress, report)


def _make_folder(folder: Path) -> None:
    from lochan.store.disk import make_private_folder

    folder.mkdir(parents=True, exist_ok=True)
    make_private_folder(str(folder / states.FOLDER))


def _check_free(folder: Path, new: CheckoutState) -> None:
    """Raises AlreadyExists for a folder that holds something else."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise AlreadyExists(f"{folder} is not a folder", hint="choose another")
    if (folder / states.FOLDER / "checkout").is_file():
        there = states.load(folder)
        same = (there.lake_id, there.repository, there.ref, there.prefix, there.cache) == (
            new.lake_id,
            new.repository,
            new.ref,
            new.prefix,
            new.cache,
        )
        if same and there.target and not there.commit:
            return  # the checkout was interrupted
        raise AlreadyExists(f"{folder} is a checkout of {there.repository}@{there.ref}", hint="`lochan pull` there")
    if any(each.name != states.FOLDER for each in folder.iterdir()) or _is_lake(folder / states.FOLDER):
        raise AlreadyExists(f"{folder} is not empty", hint="choose a new folder")


def _is_lake(place: Path) -> bool:
    """Returns whether the folder holds more than a checkout that was killed at once leaves."""
    return place.is_dir() and any(each.name not in ("lock", "parts", "checkout.new") for each in place.iterdir())


async def _name_of(lake: Lake, ref: Ref) -> tuple[str, bool]:
    """Returns the full name of a ref, and whether it is a branch."""
    repository = lake.repository(ref.repository_name)
    name = ref.name or (await repository.show()).default_branch
    try:
        await repository.branch(name).show()
    except (NotFound, Invalid):
        return name, False
    return name, True


def _cache_of(state: CheckoutState) -> ContentCache | None:
    """Returns the cache of a checkout, or None if it has none. Raises Refused for root."""
    if not state.cache:
        return None
    from lochan.checkout.cache import ContentCache, check_links

    check_links()
    return ContentCache(Path(state.cache) / "checkout" / state.lake_id)


def _changes(folder: Path, state: CheckoutState, report: Report) -> list[FileChange]:
    from lochan.checkout.changes import find_changes

    return find_changes(folder, state, report)


async def _put(workspace: Workspace, folder: Path, change: FileChange, path: str, key: str) -> FileState:
    """Stores a file. Raises Conflict unless its bytes are the same as when the change was found: if a program writes to
    the file meanwhile, they would be a mixture of two versions."""
    file = folder / change.path
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # the file is gone, or a link by now
        raise _changed_error(file) from None
    with os.fdopen(opened, "rb") as stream:
        before = os.fstat(opened)
        kind = guess_type(path)[0] or "application/octet-stream"
        made = await workspace.put(path, stream, content_type=kind, key=key)
    assert change.now is not None, "it is a file"
    if (made.size, made.checksum) != (change.now.size, change.now.md5):
        raise _changed_error(file)
    return FileState(made.size, made.checksum, before.st_mtime_ns)


def _changed_error(file: Path) -> Conflict:
    why = f"{file} was changed while it was committed, so nothing was committed"
    return Conflict(why, hint="commit again when the program that writes it has ended")


def _conflict_error(paths: list[str], hint: str) -> PathsInTheWay:
    more = f" and {len(paths) - _SHOWN_MAX} more" if len(paths) > _SHOWN_MAX else ""
    names = ", ".join(map(repr, paths[:_SHOWN_MAX]))
    return PathsInTheWay(f"changed here and on the branch: {names}{more}", hint=hint, paths=paths)


def _no_progress(_: int) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _: None)
