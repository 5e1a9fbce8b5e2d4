"""Lifecycle rules and policies of a bucket, for the bytes of objects under a prefix of logical paths.

    <lake>/<repository>/data/<mint, 20 digits>-<writer>/<id>/<logical path>
                        └──────── 20 + 1 + 27 ─────────┘ └ 27 ┘

A lifecycle rule filters by a prefix of keys, without wildcards, and by tags: the prefix is that of the repository's
bodies, so a rule never matches journals, trees or anything else that the lake itself reads, and the tags are those of
the logical path. A policy may have wildcards. `*` also matches slashes, so what stands before the logical path is
written with one `?` for each letter: then only the beginning of a logical path can match.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import pyarrow.compute as pc

from lochan.errors import Invalid, Refused
from lochan.tree.tree import Tree
from lochan.versioning.bodies.address import with_path
from lochan.versioning.bodies.write import TAGS_MAX, path_tags

_MINT, _KSUID = "?" * 20, "?" * 27
_BODY = f"{_MINT}-{_KSUID}/{_KSUID}"
_DAY_US = 86_400_000_000
_ID = re.compile(r"[^A-Za-z0-9._-]+")
# The other files that every reader of the lake reads and every writer writes.
_LAKE_FILES = ("lake.json", "_lake/journal/*", "_lake/checkpoints/*")
_METADATA = ("journal/*", "checkpoints/*", "runs/*", "ranges/*", "metaranges/*")


class BucketPlace(NamedTuple):
    bucket: str
    prefix: str  # the prefix of the lake in the bucket; it is empty, or ends with a slash
    repository: str  # the id of the repository

    @property
    def bodies(self) -> str:
        return f"{self.prefix}{self.repository}/data/"


def bucket_place(lake_url: str, repository: str) -> BucketPlace:
    """Returns the place of the repository in its bucket. Raises Refused for a lake that is not in a bucket of S3."""
    scheme, _, rest = lake_url.partition("://")
    if scheme != "s3":
        raise Refused(
            f"the lake at {lake_url} is in no S3 bucket, and has no lifecycle rules or policies",
            hint="rules are for lakes at s3://",
        )
    bucket, _, prefix = rest.partition("/")
    prefix = prefix.strip("/")
    return BucketPlace(bucket, f"{prefix}/" if prefix else "", repository)


def folder_segments(prefix: str) -> list[str]:
    """Returns the segments of a folder. Raises Invalid for a prefix that is not a folder, because tags are whole
    segments."""
    segments = prefix.split("/")
    if len(segments) < 2 or segments[-1] or not all(segments[:-1]):
        raise Invalid(f"--prefix {prefix!r} is no folder", hint="such as logs/ or logs/raw/")
    return segments[:-1]


class LifecycleAction(NamedTuple):
    expire_days: int | None = None
    transition_days: int | None = None
    storage_class: str = ""

    def check(self) -> None:
        """Raises Invalid for values that a lifecycle rule cannot have."""
        if self.expire_days is None and self.transition_days is None:
            raise Invalid("the rule does nothing", hint="give --expire-days or --transition-days")
        if (self.transition_days is None) != (not self.storage_class):
            raise Invalid(
                "--transition-days and --storage-class go together", hint="such as --storage-class GLACIER_IR"
            )
        if None not in (self.expire_days, self.transition_days) and self.expire_days <= self.transition_days:  # type: ignore[operator]
            raise Invalid("bytes expire before they would move", hint="let them expire later than they move")


def lifecycle_rules(place: BucketPlace, prefix: str, action: LifecycleAction) -> dict[str, Any]:
    """Returns the rules in the form that PutBucketLifecycleConfiguration takes. Raises Invalid."""
    action.check()
    segments = folder_segments(prefix)
    if len(segments) > TAGS_MAX:
        raise Invalid(f"--prefix {prefix!r} is deeper than {TAGS_MAX} folders, the tags of an object", hint="take less")
    tags = [{"Key": key, "Value": value} for key, value in path_tags("/".join(segments)).items()]
    name = _ID.sub("-", f"lochan-{place.repository}-{'-'.join(segments)}")[:255]
    rule: dict[str, Any] = {
        "ID": name,
        "Status": "Enabled",
        "Filter": {"And": {"Prefix": place.bodies, "Tags": tags}},
    }
    if action.expire_days is not None:
        rule["Expiration"] = {"Days": action.expire_days}
    if action.transition_days is not None:
        rule["Transitions"] = [{"Days": action.transition_days, "StorageClass": action.storage_class}]
    return {"Rules": [rule]}


def lifecycle_xml(rules: dict[str, Any]) -> str:
    found = [_rule_xml(rule) for rule in rules["Rules"]]
    body = "\n".join(found)
    space = "http://s3.amazonaws.com/doc/2006-03-01/"
    return f'<LifecycleConfiguration xmlns="{space}">\n{body}\n</LifecycleConfiguration>\n'


def _rule_xml(rule: dict[str, Any]) -> str:
    both = rule["Filter"]["And"]
    tags = "".join(
        f"<Tag><Key>{escape(tag['Key'])}</Key><Value>{escape(tag['Value'])}</Value></Tag>" for tag in both["Tags"]
    )
    lines = [
        "  <Rule>",
        f"    <ID>{escape(rule['ID'])}</ID>",
        f"    <Filter><And><Prefix>{escape(both['Prefix'])}</Prefix>{tags}</And></Filter>",
        f"    <Status>{rule['Status']}</Status>",
    ]
    lines += [
        f"    <Transition><Days>{each['Days']}</Days>"
        f"<StorageClass>{escape(each['StorageClass'])}</StorageClass></Transition>"
        for each in rule.get("Transitions", [])
    ]
    if "Expiration" in rule:
        lines.append(f"    <Expiration><Days>{rule['Expiration']['Days']}</Days></Expiration>")
    return "\n".join([*lines, "  </Rule>"])


def access_policy(place: BucketPlace, prefixes: Sequence[str], allow: str, principal: str = "") -> dict[str, Any]:
    """Returns a policy for a user or a role, or with a principal for the bucket itself. `allow` is read or write."""
    start = f"arn:aws:s3:::{place.bucket}/{place.prefix}"
    bodies = [f"{start}{with_path(f'{place.repository}/data/{_BODY}', _folder(each))}/*" for each in prefixes]
    lake = [f"{start}{name}" for name in _LAKE_FILES]
    metadata = [f"{start}{place.repository}/{name}" for name in _METADATA]
    reads = {"Sid": "ReadObjects", "Effect": "Allow", "Action": ["s3:GetObject"], "Resource": bodies}
    about = {"Sid": "ReadMetadata", "Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [*lake, *metadata]}
    lists = {
        "Sid": "ListMetadata",
        "Effect": "Allow",
        "Action": ["s3:ListBucket"],
        "Resource": [f"arn:aws:s3:::{place.bucket}"],
        "Condition": {"StringLike": {"s3:prefix": [f"{place.prefix}_lake/*", f"{place.prefix}{place.repository}/*"]}},
    }
    statements: list[dict[str, Any]] = [reads, about, lists]
    if allow == "write":
        actions = ["s3:PutObject", "s3:PutObjectTagging", "s3:AbortMultipartUpload"]
        statements += [
            {"Sid": "WriteObjects", "Effect": "Allow", "Action": actions, "Resource": bodies},
            {"Sid": "WriteMetadata", "Effect": "Allow", "Action": ["s3:PutObject"], "Resource": metadata},
        ]
    if principal:
        statements = [{**each, "Principal": {"AWS": principal}} for each in statements]
    return {"Version": "2012-10-17", "Statement": statements}


def _folder(prefix: str) -> str:
    return "/".join(folder_segments(prefix))


class LiveBodies(NamedTuple):
    """Counts of the objects of a tree under a prefix that are in files of the lake."""

    objects: int
    bytes: int
    old: int  # the objects that are older than the rule says
    without_path: int  # the objects whose files do not carry the path
    outside: int  # the objects whose bytes are outside the lake


async def live_bodies(tree: Tree, place: BucketPlace, prefix: str, now_us: int, days: int | None) -> LiveBodies:
    """Counts the live bodies under a prefix, over whole columns."""
    total = [0, 0, 0, 0, 0]
    pattern = rf"^{re.escape(place.repository)}/data/\d{{20}}-[^/]+/[^/]+/"
    before = now_us - (days or 0) * _DAY_US
    async for batch in tree.scan(prefix):
        blocks = batch.column("blocks")
        first = pc.list_element(blocks.filter(pc.greater(pc.list_value_length(blocks), 0)), 0)
        addresses = pc.struct_field(first, "address")
        outside = pc.sum(pc.match_substring(addresses, "://")).as_py() or 0
        carried = pc.sum(pc.match_substring_regex(addresses, pattern)).as_py() or 0
        old = pc.sum(pc.less_equal(batch.column("mtime"), before)).as_py() if days is not None else 0
        numbers = (batch.num_rows, pc.sum(batch.column("size")).as_py() or 0, old or 0)
        parts = (*numbers, len(addresses) - carried - outside, outside)
        total = [a + b for a, b in zip(total, parts, strict=True)]
    return LiveBodies(*total)
