"""Defines the values of requests and answers, with the names and types that the published client gives them.

Times are in whole seconds since 1970. A field that a client may leave out has a default.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from lochan.api.object_results import Change, ObjectInfo
from lochan.api.results import Commit, RepositoryInfo

Texts = dict[str, str]


class WireValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A value that is sent."""


class WireRequest(WireValue, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that is received. A field that it does not have is refused, because a client that sends one wants
    something that would not be done."""


class ErrorMessage(WireValue, frozen=True, kw_only=True):
    message: str


class Pagination(WireValue, frozen=True, kw_only=True):
    has_more: bool
    next_offset: str
    results: int
    max_per_page: int


# --- repositories ----------------------------------------------------------------------------------------------------
class RepositoryCreation(WireRequest, frozen=True, kw_only=True):
    name: str
    storage_namespace: str = ""
    storage_id: str = ""
    default_branch: str = "main"
    sample_data: bool = False
    read_only: bool = False
    metadata: Texts = {}


class WireRepository(WireValue, frozen=True, kw_only=True):
    id: str
    creation_date: int
    default_branch: str
    storage_namespace: str
    storage_id: str = ""
    read_only: bool | msgspec.UnsetType = msgspec.UNSET  # not in lists, because only the repository itself knows it

    @classmethod
    def of(
        cls, found: RepositoryInfo, lake_url: str, read_only: bool | msgspec.UnsetType = msgspec.UNSET
    ) -> WireRepository:
        return cls(
            id=found.name,
            creation_date=seconds(found.created),
            default_branch=found.default_branch,
            storage_namespace=found.storage or f"{lake_url.rstrip('/')}/{found.id}",
            storage_id=found.credentials,
            read_only=read_only,
        )


class RepositoryList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WireRepository]


class RepositoryMetadataSet(WireRequest, frozen=True, kw_only=True):
    metadata: Texts


class RepositoryMetadataKeys(WireRequest, frozen=True, kw_only=True):
    keys: list[str]


class TaskCreation(WireValue, frozen=True, kw_only=True):
    id: str


class RefsDump(WireValue, frozen=True, kw_only=True):
    commits_meta_range_id: str
    tags_meta_range_id: str
    branches_meta_range_id: str


class RefsRestore(WireRequest, frozen=True, kw_only=True):
    commits_meta_range_id: str
    tags_meta_range_id: str
    branches_meta_range_id: str
    force: bool = False


class RepositoryDumpStatus(WireValue, frozen=True, kw_only=True):
    id: str
    done: bool
    update_time: datetime
    error: str | None = None
    refs: RefsDump | None = None


class RepositoryRestoreStatus(WireValue, frozen=True, kw_only=True):
    id: str
    done: bool
    update_time: datetime
    error: str | None = None


# --- refs ------------------------------------------------------------------------------------------------------------
class WireRef(WireValue, frozen=True, kw_only=True):
    id: str
    commit_id: str


class RefList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WireRef]


class BranchCreation(WireRequest, frozen=True, kw_only=True):
    name: str
    source: str
    force: bool = False
    hidden: bool = False


class TagCreation(WireRequest, frozen=True, kw_only=True):
    id: str
    ref: str
    force: bool = False


class ResetCreation(WireRequest, frozen=True, kw_only=True):
    type: Literal["object", "common_prefix", "reset"]
    path: str = ""
    force: bool = False


class CommitOverrides(WireRequest, frozen=True, kw_only=True):
    message: str = ""
    metadata: Texts = {}


class RevertCreation(WireRequest, frozen=True, kw_only=True):
    ref: str
    parent_number: int = 0
    commit_overrides: CommitOverrides | None = None
    force: bool = False
    allow_empty: bool = False


class CherryPickCreation(WireRequest, frozen=True, kw_only=True):
    ref: str
    parent_number: int | None = None
    commit_overrides: CommitOverrides | None = None
    force: bool = False


# --- commits ---------------------------------------------------------------------------------------------------------
class CommitCreation(WireRequest, frozen=True, kw_only=True):
    message: str
    metadata: Texts | None = None
    date: int | None = None
    allow_empty: bool = False
    force: bool = False


class WireCommit(WireValue, frozen=True, kw_only=True):
    id: str
    parents: tuple[str, ...]
    committer: str
    message: str
    creation_date: int
    meta_range_id: str
    metadata: Texts
    generation: int
    version: int = 1

    @classmethod
    def of(cls, commit: Commit) -> WireCommit:
        return cls(
            id=commit.id,
            parents=commit.parents,
            committer=commit.committer or commit.author,
            message=commit.message,
            creation_date=seconds(commit.date),
            meta_range_id=commit.tree,
            metadata=dict(commit.metadata),
            generation=commit.generation,
        )


class CommitList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WireCommit]


class DiffObjectStat(WireValue, frozen=True, kw_only=True):
    checksum: str
    mtime: int
    content_type: str
    metadata: Texts = {}

    @classmethod
    def of(cls, found: ObjectInfo) -> DiffObjectStat:
        """Returns the details as `ObjectStats` shows them."""
        return cls(
            checksum=found.etag,
            mtime=seconds(found.mtime),
            content_type=found.content_type or "application/octet-stream",
            metadata=dict(found.metadata),
        )


class WireDiff(WireValue, frozen=True, kw_only=True):
    type: Literal["added", "removed", "changed", "conflict", "prefix_changed"]
    path: str
    path_type: Literal["common_prefix", "object"]
    size_bytes: int = 0
    right: DiffObjectStat | msgspec.UnsetType = msgspec.UNSET  # only if a client asks for it

    @classmethod
    def of(cls, change: Change) -> WireDiff:
        side = change.right or change.left
        return cls.of_object(change.path, change.kind, 0 if side is None else side.size)

    @classmethod
    def of_object(cls, path: str, kind: str, size: int) -> WireDiff:
        return cls(type=kind, path=path, path_type="object", size_bytes=size)  # type: ignore[arg-type]

    @classmethod
    def of_folder(cls, path: str) -> WireDiff:
        return cls(type="prefix_changed", path=path, path_type="common_prefix")


class DiffList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WireDiff]


class MergeRequest(WireRequest, frozen=True, kw_only=True):
    message: str = ""
    metadata: Texts | None = None
    strategy: Literal["", "dest-wins", "source-wins"] = ""
    force: bool = False
    allow_empty: bool = False
    squash_merge: bool = False


class MergeReference(WireValue, frozen=True, kw_only=True):
    reference: str


class MergeBaseResult(WireValue, frozen=True, kw_only=True):
    source_commit_id: str
    destination_commit_id: str
    base_commit_id: str


# --- pull requests ---------------------------------------------------------------------------------------------------
class WirePullRequest(WireValue, frozen=True, kw_only=True):
    id: str
    title: str
    description: str
    status: str
    author: str
    source_branch: str
    destination_branch: str
    creation_date: datetime
    merged_commit_id: str | None = None
    closed_date: datetime | None = None


class PullRequestList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WirePullRequest]


class PullRequestCreation(WireRequest, frozen=True, kw_only=True):
    title: str
    source_branch: str
    destination_branch: str
    description: str = ""


class PullRequestCreationResponse(WireValue, frozen=True, kw_only=True):
    id: str


class PullRequestChanges(WireRequest, frozen=True, kw_only=True):
    status: Literal["open", "closed", "merged"] | None = None
    title: str | None = None
    description: str | None = None


# --- objects ---------------------------------------------------------------------------------------------------------
class ObjectStats(WireValue, frozen=True, kw_only=True):
    path: str
    path_type: Literal["common_prefix", "object"]
    physical_address: str
    checksum: str
    mtime: int
    size_bytes: int = 0
    physical_address_expiry: int = 0
    metadata: Texts = {}
    content_type: str = ""

    @classmethod
    def of(cls, found: ObjectInfo, address: str, *, metadata: bool = True, expires: int = 0) -> ObjectStats:
        """Returns the details of an object. `checksum` is what the client compares versions by, so it is the ETag."""
        return cls(
            path=found.path,
            path_type="object",
            physical_address=address,
            physical_address_expiry=expires,
            checksum=found.etag,
            mtime=seconds(found.mtime),
            size_bytes=found.size,
            metadata=dict(found.metadata) if metadata else {},
            content_type=found.content_type or "application/octet-stream",
        )

    @classmethod
    def of_prefix(cls, prefix: str) -> ObjectStats:
        return cls(path=prefix, path_type="common_prefix", physical_address="", checksum="", mtime=0)


class ObjectStatsList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[ObjectStats]


class ObjectCopyCreation(WireRequest, frozen=True, kw_only=True):
    src_path: str
    src_ref: str = ""
    force: bool = False
    shallow: bool = False


class PathList(WireRequest, frozen=True, kw_only=True):
    paths: Annotated[list[str], msgspec.Meta(max_length=1_000)]


class ObjectError(WireValue, frozen=True, kw_only=True):
    status_code: int
    message: str
    path: str = ""


class ObjectErrorList(WireValue, frozen=True, kw_only=True):
    errors: list[ObjectError]


class UnderlyingProperties(WireValue, frozen=True, kw_only=True):
    storage_class: str | None = None


class ObjectStageCreation(WireRequest, frozen=True, kw_only=True):
    physical_address: str
    checksum: str
    size_bytes: int
    mtime: int | None = None
    metadata: Texts | None = None
    content_type: str | None = None
    force: bool = False


class UserMetadataUpdate(WireRequest, frozen=True, kw_only=True):
    set: Texts


class StagingLocation(WireRequest, frozen=True, kw_only=True):
    physical_address: str = ""
    presigned_url: str | None = None
    presigned_url_expiry: int | None = None


class StagingMetadata(WireRequest, frozen=True, kw_only=True):
    staging: StagingLocation
    checksum: str
    size_bytes: int
    user_metadata: Texts | None = None
    content_type: str | None = None
    mtime: int | None = None
    force: bool = False


# --- imports ---------------------------------------------------------------------------------------------------------
class ImportLocation(WireRequest, frozen=True, kw_only=True):
    type: Literal["common_prefix", "object"]
    path: str
    destination: str


class ImportCreation(WireRequest, frozen=True, kw_only=True):
    paths: Annotated[list[ImportLocation], msgspec.Meta(min_length=1)]
    commit: CommitCreation
    force: bool = False


class ImportCreationResponse(WireValue, frozen=True, kw_only=True):
    id: str


class ImportStatus(WireValue, frozen=True, kw_only=True, omit_defaults=True):
    completed: bool
    update_time: datetime
    ingested_objects: int = 0
    metarange_id: str | None = None
    commit: WireCommit | None = None
    error: ErrorMessage | None = None


# --- the server and its user -----------------------------------------------------------------------------------------
class VersionConfig(WireValue, frozen=True, kw_only=True):
    version: str


class StorageConfig(WireValue, frozen=True, kw_only=True):
    blockstore_type: str
    blockstore_namespace_example: str
    blockstore_namespace_ValidityRegex: str
    pre_sign_support: bool = True
    pre_sign_support_ui: bool = True
    pre_sign_multipart_upload: bool = True
    import_support: bool = True
    import_validity_regex: str = ".*"
    default_namespace_prefix: str | None = None


class ServerConfig(WireValue, frozen=True, kw_only=True):
    version_config: VersionConfig
    storage_config: StorageConfig
    capabilities_config: dict[str, Any] = {}


class WireUser(WireValue, frozen=True, kw_only=True):
    id: str
    creation_date: int = 0


class CurrentUser(WireValue, frozen=True, kw_only=True):
    user: WireUser


class LoginInformation(WireRequest, frozen=True, kw_only=True):
    access_key_id: str
    secret_access_key: str


class AuthenticationToken(WireValue, frozen=True, kw_only=True):
    token: str
    token_expiration: int


class OidcCapability(WireValue, frozen=True, kw_only=True):
    title: str  # the title of a button
    path: str = "/api/v1/auth/oidc/login"  # where a browser goes; `next` in its query is where it returns to


class AuthCapabilities(WireValue, frozen=True, kw_only=True):
    invite_user: bool = False
    forgot_password: bool = False
    oidc: OidcCapability | None = None  # None if users cannot sign in this way
    ldap: bool = False  # whether a directory's names and passwords are accepted besides access keys and secrets


class SetupState(WireValue, frozen=True, kw_only=True):
    state: Literal["initialized", "not_initialized"] = "initialized"
    comm_prefs_missing: bool = False


class Setup(WireRequest, frozen=True, kw_only=True, rename="camel"):
    """What the published client can send."""

    username: str
    key: dict[str, str] | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    company_name: str | None = None
    country: str | None = None
    feature_updates: bool | None = None
    security_updates: bool | None = None


class SetupRequest(WireRequest, frozen=True, kw_only=True):
    token: str  # the token of the link that the server printed
    username: str = "admin"


class BranchProtectionRule(WireRequest, frozen=True, kw_only=True):
    pattern: Annotated[str, msgspec.Meta(min_length=1)]


class GarbageCollectionRule(WireRequest, frozen=True, kw_only=True):
    branch_id: Annotated[str, msgspec.Meta(min_length=1)]
    retention_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)]


class GarbageCollectionRules(WireRequest, frozen=True, kw_only=True):
    default_retention_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)]
    branches: list[GarbageCollectionRule]


class UsageReport(WireValue, frozen=True, kw_only=True):
    year: int
    month: int
    count: int


class InstallationUsageReport(WireValue, frozen=True, kw_only=True):
    installation_id: str
    reports: list[UsageReport]


def seconds(moment: datetime) -> int:
    return int(moment.timestamp())
