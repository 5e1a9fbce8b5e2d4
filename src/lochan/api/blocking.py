"""The verbs for code without an event loop: each waits for its answer. `lochan.connect()` returns a lake of these.

    lake = lochan.connect("path/to/lake")
    main = lake.repository("shop").branch("main")
    main.put("raw/fruit.csv", b"1,pear\\n")
    main.commit("pears")

Every verb is one of the asynchronous class of the same name, and has its contract and its options.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from lochan.api import (
    access,
    branch,
    checkout,
    collection,
    deleted,
    frames,
    lake,
    open_object,
    parts,
    pool,
    pull_request,
    ref,
    repository,
    snapshot,
    storage,
    workspace,
    writable,
)
from lochan.api.access import ActionInfo
from lochan.api.handles import Blocking
from lochan.api.items import Items, handle_html
from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")
Handle = TypeVar("Handle")
Method = TypeVar("Method", bound=Callable[..., Any])
Noun = TypeVar("Noun")
Ref_co = TypeVar("Ref_co", bound=ref.Ref, covariant=True)
Writable_co = TypeVar("Writable_co", bound=writable.WritableRef, covariant=True)
Repository_co = TypeVar("Repository_co", bound=repository.Repository, covariant=True)


def _waits(verb: Callable[Concatenate[Noun, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Blocking[Noun], P], T]:
    @wraps(verb)
    def waiting(self: Blocking[Noun], /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = self._runtime.wait(getattr(self._noun, verb.__name__)(*args, **kwargs))
        return answer

    return waiting


def _iterates(
    verb: Callable[Concatenate[Noun, P], AsyncIterator[T]],
) -> Callable[Concatenate[Blocking[Noun], P], Items[T]]:
    @wraps(verb)
    def iterating(self: Blocking[Noun], /, *args: P.args, **kwargs: P.kwargs) -> Items[T]:
        found: Iterator[T] = self._runtime.iterate(getattr(self._noun, verb.__name__)(*args, **kwargs))
        return Items(found, f"{type(self).__name__}.{verb.__name__}")

    return iterating


def _makes(
    verb: Callable[Concatenate[Noun, P], Coroutine[Any, Any, T]], handle: Callable[[T, Runtime], Handle]
) -> Callable[Concatenate[Blocking[Noun], P], Handle]:
    """Wraps a verb that returns a handle; the result is a handle that waits."""

    @wraps(verb)
    def making(self: Blocking[Noun], /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        made: T = self._runtime.wait(getattr(self._noun, verb.__name__)(*args, **kwargs))
        return handle(made, self._runtime)

    return making


def _hands(
    verb: Callable[Concatenate[Noun, P], T], handle: Callable[[T, Runtime], Handle]
) -> Callable[Concatenate[Blocking[Noun], P], Handle]:
    """Wraps a verb that returns a handle without a request."""

    @wraps(verb)
    def handing(self: Blocking[Noun], /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        return handle(getattr(self._noun, verb.__name__)(*args, **kwargs), self._runtime)

    return handing


def _copy_docs(verb: Callable[..., Any]) -> Callable[[Method], Method]:
    """Copies the docstring of a verb to a method that is written out."""

    def document(method: Method) -> Method:
        method.__doc__ = verb.__doc__
        return method

    return document


class OpenObject(Blocking[open_object.OpenObject]):
    """An object as it was when it was opened, with the attributes of the asynchronous one (`size`, `etag`, `mtime`
    …)."""

    stream = _iterates(open_object.OpenObject.stream)
    read = _waits(open_object.OpenObject.read)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._noun, name)


class _AnyRef(Blocking[Ref_co]):
    @property
    def repository_name(self) -> str:
        return self._noun.repository_name

    @property
    def name(self) -> str:
        return self._noun.name

    @property
    def made_at(self) -> str:
        """The commit at which the verb that returned this handle has put it, empty if no verb did."""
        return self._noun.made_at

    resolve = _waits(ref.Ref.resolve)
    log = _iterates(ref.Ref.log)
    log_graph = _iterates(ref.Ref.log_graph)
    diff = _iterates(ref.Ref.diff)
    diff_tables = _iterates(ref.Ref.diff_tables)
    diff_count = _waits(ref.Ref.diff_count)
    diff_folders = _waits(ref.Ref.diff_folders)
    diff_objects = _iterates(ref.Ref.diff_objects)
    blame = _waits(ref.Ref.blame)
    blame_folder = _iterates(ref.Ref.blame_folder)
    list = _iterates(ref.Ref.list)
    list_page = _waits(ref.Ref.list_page)
    list_pages = _iterates(ref.Ref.list_pages)
    list_table = _waits(ref.Ref.list_table)
    stat = _waits(ref.Ref.stat)
    stat_many = _waits(ref.Ref.stat_many)
    details = _waits(ref.Ref.details)
    presign = _waits(ref.Ref.presign)
    stream = _iterates(ref.Ref.stream)
    read = _waits(ref.Ref.read)
    download = _waits(ref.Ref.download)
    download_folder = _waits(ref.Ref.download_folder)
    checkout = _waits(ref.Ref.checkout)
    export = _waits(ref.Ref.export)
    open = _makes(ref.Ref.open, OpenObject)

    def _repr_html_(self) -> str | None:
        """Shows the ref with its last commits."""
        return handle_html(self, self.log_graph)

    @_copy_docs(ref.Ref.snapshot)
    def snapshot(self, *, stale: bool = False) -> RefSnapshot:
        return RefSnapshot(self._runtime.wait(self._noun.snapshot(stale=stale)), self._runtime)


class RefSnapshot(_AnyRef[snapshot.RefSnapshot]):
    @property
    def kind(self) -> str:
        """The kind of its name: branch, workspace, tag, commit."""
        return self._noun.kind

    @property
    def commit_id(self) -> str:
        """The commit of the ref; for a workspace, the commit that it was opened on."""
        return self._noun.commit_id


class Upload(Blocking[parts.Upload]):
    _names = ("repository_name", "ref_name", "path", "id")

    @staticmethod
    def _find(lake: Lake, repository: str, ref: str, path: str, id: str) -> Upload:
        return lake.repository(repository).branch(ref).open_upload(path, id)

    @property
    def id(self) -> str:
        return self._noun.id

    @property
    def path(self) -> str:
        return self._noun.path

    show = _waits(parts.Upload.show)
    put_part = _waits(parts.Upload.put_part)
    copy_part = _waits(parts.Upload.copy_part)
    complete = _waits(parts.Upload.complete)
    abort = _waits(parts.Upload.abort)
    parts = _waits(parts.Upload.parts)


class Ref(_AnyRef[ref.Ref]):
    _names = ("repository_name", "name")

    @staticmethod
    def _find(lake: Lake, repository: str, name: str) -> Ref:
        return lake.repository(repository).ref(name)


class _AnyWritable(_AnyRef[Writable_co]):
    status = _iterates(writable.WritableRef.status)
    status_table = _waits(writable.WritableRef.status_table)
    status_count = _waits(writable.WritableRef.status_count)
    status_folders = _waits(writable.WritableRef.status_folders)
    put = _waits(writable.WritableRef.put)
    upload = _waits(writable.WritableRef.upload)
    upload_archive = _waits(writable.WritableRef.upload_archive)
    delete = _waits(writable.WritableRef.delete)
    delete_if = _waits(writable.WritableRef.delete_if)
    delete_folder = _waits(writable.WritableRef.delete_folder)
    copy = _waits(writable.WritableRef.copy)
    copy_folder = _waits(writable.WritableRef.copy_folder)
    move = _waits(writable.WritableRef.move)
    move_folder = _waits(writable.WritableRef.move_folder)
    create_upload = _makes(writable.WritableRef.create_upload, Upload)
    open_upload = _hands(writable.WritableRef.open_upload, Upload)


class Workspace(_AnyWritable[workspace.Workspace]):
    _names = ("repository_name", "name")

    @staticmethod
    def _find(lake: Lake, repository: str, name: str) -> Workspace:
        return lake.repository(repository).workspace(name)

    show = _waits(workspace.Workspace.show)
    path = _waits(workspace.Workspace.path)
    changes = _iterates(workspace.Workspace.changes)
    changes_table = _waits(workspace.Workspace.changes_table)
    add = _waits(workspace.Workspace.add)
    all = _waits(workspace.Workspace.all)
    revert = _waits(workspace.Workspace.revert)
    commit = _waits(workspace.Workspace.commit)
    drop = _waits(workspace.Workspace.drop)


class Branch(_AnyWritable[branch.Branch]):
    _names = ("repository_name", "name")

    @staticmethod
    def _find(lake: Lake, repository: str, name: str) -> Branch:
        return lake.repository(repository).branch(name)

    show = _waits(branch.Branch.show)
    commit = _waits(branch.Branch.commit)
    reset = _waits(branch.Branch.reset)
    address = _waits(branch.Branch.address)
    put_address = _waits(branch.Branch.put_address)
    link = _waits(branch.Branch.link)
    link_address = _waits(branch.Branch.link_address)
    import_files = _waits(branch.Branch.import_files)
    try_import = _waits(branch.Branch.try_import)
    ingest = _waits(branch.Branch.ingest)
    ingest_diff = _iterates(branch.Branch.ingest_diff)
    ingest_watch = _waits(branch.Branch.ingest_watch)
    stash = _waits(branch.Branch.stash)
    pop_stash = _waits(branch.Branch.pop_stash)
    drop_stash = _waits(branch.Branch.drop_stash)
    merge = _waits(branch.Branch.merge)
    try_merge = _waits(branch.Branch.try_merge)
    revert = _waits(branch.Branch.revert)
    cherry_pick = _waits(branch.Branch.cherry_pick)
    rebase = _waits(branch.Branch.rebase)
    workspace = _makes(branch.Branch.workspace, Workspace)

    @_copy_docs(branch.Branch.rename)
    def rename(self, to: str, *, key: str = "") -> Branch:
        return Branch(self._runtime.wait(self._noun.rename(to, key=key)), self._runtime)

    @contextmanager
    def transaction(self, message: str, options: CommitOptions = DEFAULT_COMMIT) -> Iterator[Workspace]:
        """Opens a workspace that is committed when the block ends, and dropped when it raises: one commit, or nothing.

            with branch.transaction("first data") as tx:
                tx.put("README.md", "# Shop")

        Raises ConcurrentCommit if the branch has changed the same paths meanwhile; what was put is dropped then."""
        entered = self._noun.transaction(message, options)
        inner = self._runtime.wait(entered.__aenter__())
        try:
            yield Workspace(inner, self._runtime)
        except BaseException as error:
            if not self._runtime.wait(entered.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._runtime.wait(entered.__aexit__(None, None, None))


class Checkout(Blocking[checkout.Checkout]):
    _names = ("_place",)

    @staticmethod
    def _find(lake: Lake, place: Path) -> Checkout:
        return lake.checkout(place)

    status = _waits(checkout.Checkout.status)
    pull = _waits(checkout.Checkout.pull)
    commit = _waits(checkout.Checkout.commit)


class GarbageCollection(Blocking[collection.GarbageCollection]):
    _names = ("name",)

    @staticmethod
    def _find(lake: Lake, repository: str) -> GarbageCollection:
        return lake.repository(repository).gc

    rules = _waits(collection.GarbageCollection.rules)
    set_rules = _waits(collection.GarbageCollection.set_rules)
    check_rules = _waits(collection.GarbageCollection.check_rules)
    expire = _waits(collection.GarbageCollection.expire)
    drop = _waits(collection.GarbageCollection.drop)
    preview = _waits(collection.GarbageCollection.preview)
    plan = _waits(collection.GarbageCollection.plan)
    sweep = _waits(collection.GarbageCollection.sweep)
    abandon = _waits(collection.GarbageCollection.abandon)
    held_jobs = _waits(collection.GarbageCollection.held_jobs)
    abandon_jobs = _waits(collection.GarbageCollection.abandon_jobs)
    status = _waits(collection.GarbageCollection.status)
    run = _waits(collection.GarbageCollection.run)


class Storage(Blocking[storage.Storage]):
    _names = ("name",)

    @staticmethod
    def _find(lake: Lake, repository: str) -> Storage:
        return lake.repository(repository).storage

    duplicates = _waits(storage.Storage.duplicates)
    dedupe = _waits(storage.Storage.dedupe)
    sparse_files = _waits(storage.Storage.sparse_files)
    repack = _waits(storage.Storage.repack)
    coalesce = _waits(storage.Storage.coalesce)
    dangling = _waits(storage.Storage.dangling)


class DeletedCollection(Blocking[deleted.DeletedCollection]):
    _names = ()

    @staticmethod
    def _find(lake: Lake) -> DeletedCollection:
        return lake.deleted

    status = _waits(deleted.DeletedCollection.status)
    plan = _waits(deleted.DeletedCollection.plan)
    sweep = _waits(deleted.DeletedCollection.sweep)
    run = _waits(deleted.DeletedCollection.run)


class PullRequest(Blocking[pull_request.PullRequest]):
    _names = ("repository_name", "id")

    @staticmethod
    def _find(lake: Lake, repository: str, id: str) -> PullRequest:
        return lake.repository(repository).pull(id)

    @property
    def repository_name(self) -> str:
        return self._noun.repository_name

    @property
    def id(self) -> str:
        return self._noun.id

    show = _waits(pull_request.PullRequest.show)
    comments = _iterates(pull_request.PullRequest.comments)
    checks = _waits(pull_request.PullRequest.checks)
    diff = _iterates(pull_request.PullRequest.diff)
    conflicts = _iterates(pull_request.PullRequest.conflicts)
    update = _waits(pull_request.PullRequest.update)
    close = _waits(pull_request.PullRequest.close)
    reopen = _waits(pull_request.PullRequest.reopen)
    review = _waits(pull_request.PullRequest.review)
    dismiss_review = _waits(pull_request.PullRequest.dismiss_review)
    comment = _waits(pull_request.PullRequest.comment)
    edit_comment = _waits(pull_request.PullRequest.edit_comment)
    resolve_thread = _waits(pull_request.PullRequest.resolve_thread)
    check = _waits(pull_request.PullRequest.check)
    resolve = _waits(pull_request.PullRequest.resolve)
    merge = _waits(pull_request.PullRequest.merge)


class _AnyRepository(Blocking[Repository_co]):
    @property
    def name(self) -> str:
        return self._noun.name

    @property
    def gc(self) -> GarbageCollection:
        return GarbageCollection(self._noun.gc, self._runtime)

    @property
    def storage(self) -> Storage:
        return Storage(self._noun.storage, self._runtime)

    show = _waits(repository.Repository.show)
    overview = _waits(repository.Repository.overview)
    compare_branches = _iterates(repository.Repository.compare_branches)
    branches = _iterates(repository.Repository.branches)
    delete_branch = _waits(repository.Repository.delete_branch)
    tags = _iterates(repository.Repository.tags)
    is_bare = _waits(repository.Repository.is_bare)
    restore_history = _waits(repository.Repository.restore_history)
    show_tag = _waits(repository.Repository.show_tag)
    delete_tag = _waits(repository.Repository.delete_tag)
    merge_base = _waits(repository.Repository.merge_base)
    merge_bases = _waits(repository.Repository.merge_bases)
    bisect = _waits(repository.Repository.bisect)
    render_lifecycle = _waits(repository.Repository.render_lifecycle)
    render_policy = _waits(repository.Repository.render_policy)
    protections = _waits(repository.Repository.protections)
    protect = _waits(repository.Repository.protect)
    set_protections = _waits(repository.Repository.set_protections)
    unprotect = _waits(repository.Repository.unprotect)
    is_read_only = _waits(repository.Repository.is_read_only)
    set_read_only = _waits(repository.Repository.set_read_only)
    set_metadata = _waits(repository.Repository.set_metadata)
    pulls = _iterates(repository.Repository.pulls)
    pull = _hands(repository.Repository.pull, PullRequest)
    create_pull = _makes(repository.Repository.create_pull, PullRequest)
    stashes = _iterates(repository.Repository.stashes)
    workspaces = _iterates(repository.Repository.workspaces)
    hooks = _iterates(repository.Repository.hooks)
    check_hooks = _waits(repository.Repository.check_hooks)
    run_hooks = _waits(repository.Repository.run_hooks)
    hook_runs = _iterates(repository.Repository.hook_runs)
    hook_run = _waits(repository.Repository.hook_run)
    hook_secret = _waits(repository.Repository.hook_secret)
    uploads = _iterates(repository.Repository.uploads)
    is_empty = _waits(repository.Repository.is_empty)
    rename = _waits(repository.Repository.rename)
    delete = _waits(repository.Repository.delete)
    ref = _hands(repository.Repository.ref, Ref)
    branch = _hands(repository.Repository.branch, Branch)
    workspace = _hands(repository.Repository.workspace, Workspace)
    create_branch = _makes(repository.Repository.create_branch, Branch)
    restore_branch = _makes(repository.Repository.restore_branch, Branch)
    create_tag = _makes(repository.Repository.create_tag, Ref)

    def _repr_html_(self) -> str | None:
        """Shows the repository with its branches."""
        return handle_html(self, self.branches)

    @_copy_docs(repository.Repository.snapshots)
    def snapshots(self) -> list[RefSnapshot]:
        return [RefSnapshot(each, self._runtime) for each in self._runtime.wait(self._noun.snapshots())]


class Repository(_AnyRepository[repository.Repository]):
    _names = ("name",)

    @staticmethod
    def _find(lake: Lake, name: str) -> Repository:
        return lake.repository(name)


class Pool(_AnyRepository[pool.Pool]):
    _names = ("name",)

    @staticmethod
    def _find(lake: Lake, name: str) -> Pool:
        return lake.pool(name)

    load = _waits(pool.Pool.load)
    load_engine = _waits(pool.Pool.load_engine)
    load_files = _waits(pool.Pool.load_files)
    load_body = _waits(pool.Pool.load_body)
    ingest_stream = _waits(pool.Pool.ingest_stream)
    query = _waits(pool.Pool.query)
    fields = _waits(pool.Pool.fields)
    summary = _waits(pool.Pool.summary)
    delete_rows = _waits(pool.Pool.delete_rows)
    delete_objects = _waits(pool.Pool.delete_objects)
    compact = _waits(pool.Pool.compact)
    try_compact = _waits(pool.Pool.try_compact)


class Access(Blocking[access.Access]):
    _names = ()

    @staticmethod
    def _find(lake: Lake) -> Access:
        return lake.access

    users = _iterates(access.Access.users)
    user = _waits(access.Access.user)
    create_user = _waits(access.Access.create_user)
    delete_user = _waits(access.Access.delete_user)
    set_disabled = _waits(access.Access.set_disabled)
    groups = _iterates(access.Access.groups)
    group = _waits(access.Access.group)
    create_group = _waits(access.Access.create_group)
    delete_group = _waits(access.Access.delete_group)
    add_member = _waits(access.Access.add_member)
    remove_member = _waits(access.Access.remove_member)
    keys = _iterates(access.Access.keys)
    key = _waits(access.Access.key)
    create_key = _waits(access.Access.create_key)
    rotate_key = _waits(access.Access.rotate_key)
    revoke_key = _waits(access.Access.revoke_key)
    create_token = _waits(access.Access.create_token)
    sessions = _iterates(access.Access.sessions)
    end_session = _waits(access.Access.end_session)
    end_sessions = _waits(access.Access.end_sessions)
    identities = _iterates(access.Access.identities)
    link_identity = _waits(access.Access.link_identity)
    unlink_identity = _waits(access.Access.unlink_identity)
    policies = _iterates(access.Access.policies)
    policy = _waits(access.Access.policy)
    put_policy = _waits(access.Access.put_policy)
    delete_policy = _waits(access.Access.delete_policy)
    attach = _waits(access.Access.attach)
    detach = _waits(access.Access.detach)
    attach_to_group = _waits(access.Access.attach_to_group)
    detach_from_group = _waits(access.Access.detach_from_group)
    can = _waits(access.Access.can)

    @_copy_docs(access.Access.actions)
    def actions(self) -> list[ActionInfo]:
        return self._noun.actions()


class BlockingFrameWrite(Blocking[frames.FrameWrite]):
    """A write that has begun."""

    land = _waits(frames.FrameWrite.land)
    find_batch = _waits(frames.FrameWrite.find_batch)
    land_batch = _waits(frames.FrameWrite.land_batch)
    abort = _waits(frames.FrameWrite.abort)

    @property
    def before(self) -> Any:
        """The result of the same request if it was carried out before, and None if there is work to do."""
        return self._noun.before

    @property
    def job(self) -> Any:
        """The job of the write, which can be pickled and landed by another process."""
        return self._noun.job

    def run(self, frame: Any, *, spread: bool = True, parts: int | None = None, cache: bool = False) -> Any:
        """Runs the whole write: tasks write the rows of a frame, and the rows land. Raises the errors of tasks and of
        `land`."""
        if self._noun.before is not None:
            return self._noun.before
        with self._noun.reported(frame.sparkSession) as report:
            messages = self.job.run(frame, spread=spread, parts=parts, cache=cache)
            report.wrote(sum(each.put_bytes for each in messages))
            landed = self.land(messages)
            report.rows(landed.rows)
        return landed


class BlockingFrames(Blocking[frames.Frames]):
    _names = ()

    @staticmethod
    def _find(lake: Lake) -> BlockingFrames:
        return lake.frames

    read = _waits(frames.Frames.read)
    metadata = _waits(frames.Frames.metadata)
    scan = _waits(frames.Frames.scan)
    parts = _waits(frames.Frames.parts)
    feed = _waits(frames.Frames.feed)
    changes = _waits(frames.Frames.changes)
    feed_start = _waits(frames.Frames.feed_start)
    feed_end = _waits(frames.Frames.feed_end)
    feed_batch = _waits(frames.Frames.feed_batch)
    source_scan = _waits(frames.Frames.source_scan)
    prune = _waits(frames.Frames.prune)
    diff = _waits(frames.Frames.diff)
    stream = _waits(frames.Frames.stream)
    write = _makes(frames.Frames.write, BlockingFrameWrite)
    change = _makes(frames.Frames.change, BlockingFrameWrite)
    begun = _hands(frames.Frames.begun, BlockingFrameWrite)


class Lake(Blocking[lake.Lake]):
    """A lake whose verbs wait for their answers. Several threads may use it."""

    _names = ()

    @staticmethod
    def _find(lake: Lake) -> Lake:
        return lake

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    repositories = _iterates(lake.Lake.repositories)
    pools = _iterates(lake.Lake.pools)
    deleted_repositories = _iterates(lake.Lake.deleted_repositories)
    query = _waits(lake.Lake.query)
    load_sources = _waits(lake.Lake.load_sources)
    explain = _waits(lake.Lake.explain)
    upkeep = _iterates(lake.Lake.upkeep)
    upkeep_status = _waits(lake.Lake.upkeep_status)
    run_upkeep = _iterates(lake.Lake.run_upkeep)
    default_rules = _waits(lake.Lake.default_rules)
    set_default_rules = _waits(lake.Lake.set_default_rules)
    audit = _waits(lake.Lake.audit)
    usage = _waits(lake.Lake.usage)
    compact_usage = _waits(lake.Lake.compact_usage)
    jobs = _waits(lake.Lake.jobs)
    job = _waits(lake.Lake.job)
    preview_load = _waits(lake.Lake.preview_load)
    saved_queries = _waits(lake.Lake.saved_queries)
    save_query = _waits(lake.Lake.save_query)
    delete_query = _waits(lake.Lake.delete_query)
    diff_rows = _waits(lake.Lake.diff_rows)
    events = _iterates(lake.Lake.events)
    subscriptions = _iterates(lake.Lake.subscriptions)
    create_subscription = _waits(lake.Lake.create_subscription)
    delete_subscription = _waits(lake.Lake.delete_subscription)
    dead_letters = _iterates(lake.Lake.dead_letters)
    redeliver = _waits(lake.Lake.redeliver)
    doctor = _waits(lake.Lake.doctor)
    fsck = _waits(lake.Lake.fsck)
    rebuild = _waits(lake.Lake.rebuild)
    scrub = _waits(lake.Lake.scrub)
    backup = _waits(lake.Lake.backup)
    lakefs_repositories = _waits(lake.Lake.lakefs_repositories)
    import_lakefs = _waits(lake.Lake.import_lakefs)
    repository = _hands(lake.Lake.repository, Repository)
    create_repository = _makes(lake.Lake.create_repository, Repository)
    restore_repository = _makes(lake.Lake.restore_repository, Repository)
    pool = _hands(lake.Lake.pool, Pool)
    checkout = _hands(lake.Lake.checkout, Checkout)
    create_pool = _makes(lake.Lake.create_pool, Pool)

    @property
    def id(self) -> str:
        """The id of the lake, which is unique."""
        return self._noun.id

    @property
    def url(self) -> str:
        return self._noun.url

    @property
    def access(self) -> Access:
        """Its users, access keys and policies."""
        return Access(self._noun.access, self._runtime)

    @property
    def deleted(self) -> DeletedCollection:
        """The removal of the files of deleted repositories."""
        return DeletedCollection(self._noun.deleted, self._runtime)

    @property
    def frames(self) -> BlockingFrames:
        """Its pools and files as frames of Spark."""
        return BlockingFrames(self._noun.frames, self._runtime)

    def _repr_html_(self) -> str | None:
        """Shows the lake with its repositories and pools."""
        return handle_html(self, self.repositories)

    @_copy_docs(lake.Lake.new_key)
    def new_key(self) -> str:
        return self._noun.new_key()

    def close(self) -> None:
        """Closes the lake. It may be called twice."""
        if self._runtime.is_running:
            self._runtime.wait(self._noun.close())
            self._runtime.stop()
