"""Lifecycle rules and access policies of a lake's bucket, for logical paths, and the refs that they would affect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from lochan.api.results import Result
from lochan.errors import Invalid, Refused

if TYPE_CHECKING:
    from lochan.versioning.bodies.address import BodySettings
    from lochan.versioning.bucket_rules import BucketPlace, LifecycleAction, LiveBodies
    from lochan.versioning.open_repository import OpenRepository

_ALLOWED = ("read", "write")


class AffectedRef(Result, frozen=True, kw_only=True):
    """The objects of a branch or a tag under the prefix."""

    kind: str  # branch, tag
    name: str
    objects: int
    bytes: int
    due: int  # objects that are old enough for the rule now
    without_path: int  # objects that the rule or policy does not match, because their files do not carry the path
    outside: int  # objects whose bytes are outside the lake; the rule or policy does not match them either


class BucketRules(Result, frozen=True, kw_only=True):
    document: dict[str, Any]  # in the form that the store takes
    xml: str  # lifecycle rules in XML
    affected: tuple[AffectedRef, ...]
    warnings: tuple[str, ...]


async def lifecycle(
    repository: OpenRepository, lake_url: str, settings: BodySettings, prefix: str, action: LifecycleAction
) -> BucketRules:
    """Returns lifecycle rules. Raises Refused if files have no tags, Invalid."""
    from lochan.versioning.bucket_rules import bucket_place, lifecycle_rules, lifecycle_xml

    place = bucket_place(lake_url, repository.repository.id)
    rules = lifecycle_rules(place, prefix, action)
    affected = [each async for each in _affected_refs(repository, place, prefix, action.expire_days)]
    if not settings.tag_paths:
        raise _missing_setting("blockstore.tag_paths: true", "lifecycle rules match by tags", affected)
    warnings = [_expiry_warning(each, prefix) for each in affected if each.objects and action.expire_days is not None]
    warnings += _unmatched_warnings(affected)
    if action.expire_days is not None:
        warnings.append(
            f"after {action.expire_days} days every commit that names an object under {prefix} says that it is gone, "
            "and so do tags and old versions; journals, trees and other prefixes are never matched"
        )
    if action.storage_class in ("GLACIER", "DEEP_ARCHIVE"):
        warnings.append(f"objects in {action.storage_class} cannot be read before they are restored")
    return BucketRules(document=rules, xml=lifecycle_xml(rules), affected=tuple(affected), warnings=tuple(warnings))


async def policy(
    repository: OpenRepository,
    lake_url: str,
    settings: BodySettings,
    prefixes: tuple[str, ...],
    allow: str,
    principal: str,
) -> BucketRules:
    """Returns an access policy. Raises Refused if addresses have no path, Invalid."""
    from lochan.versioning.bucket_rules import access_policy, bucket_place

    if allow not in _ALLOWED:
        raise Invalid(f"{allow!r} cannot be allowed", hint=f"choose {' or '.join(_ALLOWED)}")
    if not prefixes:
        raise Invalid("the policy is for no prefix", hint="give --prefix, such as --prefix logs/")
    place = bucket_place(lake_url, repository.repository.id)
    document = access_policy(place, prefixes, allow, principal)
    affected = [each for prefix in prefixes async for each in _affected_refs(repository, place, prefix, None)]
    if settings.address_style != "path":
        raise _missing_setting("blockstore.address_style: path", "policies match by addresses", affected)
    warnings = _unmatched_warnings(affected)
    warnings.append("names, sizes and metadata of all objects of the repository can be read: they are in its trees")
    if allow == "write":
        warnings.append(
            "who may write the journal can commit changes to any path; the policy limits whose bytes can be written"
        )
    return BucketRules(document=document, xml="", affected=tuple(affected), warnings=tuple(warnings))


async def _affected_refs(
    repository: OpenRepository, place: BucketPlace, prefix: str, days: int | None
) -> AsyncIterator[AffectedRef]:
    from lochan.versioning.bucket_rules import live_bodies

    refs, _ = await repository.refs()
    now = repository.clock.wall()
    bodies_by_tree: dict[str, LiveBodies] = {}
    heads = [("branch", each.name, each.head) for each in refs.branches()]
    for kind, name, commit in [*heads, *(("tag", name, commit) for name, commit in refs.tags())]:
        found = refs.commit(commit)
        if found.tree not in bodies_by_tree:
            bodies_by_tree[found.tree] = await live_bodies(await repository.tree(found), place, prefix, now, days)
        numbers = bodies_by_tree[found.tree]
        yield AffectedRef(
            kind=kind,
            name=name,
            objects=numbers.objects,
            bytes=numbers.bytes,
            due=numbers.old,
            without_path=numbers.without_path,
            outside=numbers.outside,
        )


def _expiry_warning(ref: AffectedRef, prefix: str) -> str:
    due = f", {ref.due:,} of them as soon as the rule is set" if ref.due else ""
    return f"{ref.kind} {ref.name} has {ref.objects:,} objects under {prefix} that would become unreadable{due}"


def _unmatched_warnings(affected: list[AffectedRef]) -> list[str]:
    """Returns warnings about objects that are not matched. The refs of a repository share most objects, so the largest
    number of any ref is shown."""
    without, outside = (
        max((each.without_path for each in affected), default=0),
        max((each.outside for each in affected), default=0),
    )
    found = []
    if without:
        found.append(
            f"{without:,} objects are stored under ids alone, from before the setting or from tasks of Spark: "
            "they are not matched, until they are written again"
        )
    if outside:
        found.append(f"{outside:,} objects are files outside the lake: they are not matched")
    return found


def _missing_setting(setting: str, why: str, affected: list[AffectedRef]) -> Refused:
    most = max((each.objects for each in affected), default=0)
    already = f"; {most:,} objects are stored without it already, and stay so" if most else ""
    return Refused(f"{why}, and this lake is not written with {setting}{already}", hint=f"set {setting} first")
