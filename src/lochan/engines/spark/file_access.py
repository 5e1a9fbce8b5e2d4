"""Gives Spark access to data objects: directly, if all of its machines have it, or otherwise through a copy on this
machine. A folder is read directly, a bucket through Hadoop's S3A. Objects that Spark reads by itself are checked
first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from lochan.engines.duckdb.files import Files, ObjectCheck, PlacedObject, StoredObject, gone_error
from lochan.engines.duckdb.run import WorkFolders
from lochan.engines.spark.bucket_check import BucketCheck
from lochan.engines.spark.object_stats import FEW
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.progress import context_of
from lochan.errors import LochanError, Refused
from lochan.ids import Ids
from lochan.pools.snapshot import DataObject
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lochan.engines.query_context import QueryContext

_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_HADOOP = "hadoop-client-api-"
_PROVIDERS = "org.apache.hadoop.fs.s3a"
_NONE: Mapping[str, str] = {}
_SCHEME = "s3a"
_TELLING = ("access_key_id", "profile", "credentials_file", "endpoint")  # without these, S3A's own settings apply
_SALT = Ids().signing_key()  # everybody sees the name of a scheme, which must not help to guess a key


class Bucket:
    """A bucket from which executors read objects themselves: no row passes through this machine."""

    folders: list[str] = []  # noqa: RUF012

    def __init__(self, place: StoreLocation, check: BucketCheck) -> None:
        self._check = check
        self._files = s3a_files(place)
        self.options = self._files.options

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        found = await self._check.check(objects, recheck=recheck)
        paths = [self._files.path(each.address) for each in objects]
        return [path if is_there else "" for path, is_there in zip(paths, found, strict=True)]

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        return self._check.failure([each.object for each in placed])


def check_reach(files: Files, work: WorkFolders, spark: SparkPlace, lake: StoreLocation) -> None:
    """Raises Refused if files would have to be copied to other machines. Call it before a JVM is started."""
    if spark.is_here or (not work.folders and (files.folders or is_bucket(lake))):
        return
    what = "files of a repository" if work.folders else f"a lake at {lake.url.partition(':')[0]}://"
    raise Refused(
        f"Spark on {spark.remote or spark.master} cannot read {what}: it is copied to this machine first",
        hint="run it on duckdb, or with --master local[*]",
    )


def files_for(
    spark: SparkSession, files: Files, where: SparkPlace, lake: StoreLocation, store: Store, verified: VerifiedFiles
) -> Files:
    """Returns the files that Spark reads. If it runs here and has no S3A, it reads copies."""
    if files.folders or not is_bucket(lake):
        return files
    if has_s3a(spark):
        return Bucket(lake, BucketCheck(lake, store, verified, spark, FEW if where.is_here else 0))
    if where.is_here:
        return files
    raise Refused(
        f"Spark on {where.master} has no S3A, and cannot read {lake.url}",
        hint=f"give it the package {s3a_package()}, by spark.jars.packages in spark-defaults.conf",
    )


# --- files that a session of the user's own reads --------------------------------------------------------------------
class HadoopFiles(NamedTuple):
    """The files of a lake, as Hadoop reads them with one set of credentials."""

    root: str
    options: Mapping[str, str] = _NONE  # the settings with which Hadoop can read them
    roots: Mapping[str, str] = _NONE  # the roots of repositories that do not lie in the lake, by id

    def path(self, address: str) -> str:
        return f"{self.roots.get(address.partition('/')[0], self.root)}/{address}"


def hadoop_files(place: StoreLocation) -> HadoopFiles:
    """Returns the files. Raises Refused for a store that Spark cannot read."""
    found = _files_at(place)
    others = {id: _files_at(each) for id, each in place.routes.items() if _is_readable(each)}
    if not others:
        return found
    options = {name: value for each in (found, *others.values()) for name, value in each.options.items()}
    return HadoopFiles(found.root, options, {id: each.root for id, each in others.items()})


def _files_at(place: StoreLocation) -> HadoopFiles:
    root = _local_root(place)
    if root is not None:
        return HadoopFiles(root)
    if not is_bucket(place):
        scheme = place.url.partition(":")[0]
        raise Refused(f"Spark reads no files of a lake at {scheme}://", hint="read it by the data source `lochan`")
    return s3a_files(place)


def _is_readable(place: StoreLocation) -> bool:
    return _local_root(place) is not None or is_bucket(place)


async def check_objects(spark: SparkSession | None, at: QueryContext, objects: Sequence[StoredObject]) -> None:
    """Checks objects before Spark reads them by itself. Those of a bucket are read by its tasks; a few, or all without
    a session, are read here. Raises Gone or Corrupt."""
    place = at.place
    roots = [_local_root(place.of(each.address)) for each in objects]
    local = [(each, root) for each, root in zip(objects, roots, strict=True) if root is not None]
    elsewhere = [each for each, root in zip(objects, roots, strict=True) if root is None]
    if local:
        paths = [PlacedObject(each, f"{root}/{each.address}") for each, root in local]
        _check_there([each for each, _ in local], map(bool, await ObjectCheck(at.verified).check(paths)))
    if elsewhere:
        few = FEW if spark is not None and _runs_here(spark) else 0
        _check_there(elsewhere, await BucketCheck(place, at.store, at.verified, spark, few).check(elsewhere))


def _check_there(objects: Sequence[StoredObject], there: Iterable[bool]) -> None:
    for each, is_there in zip(objects, there, strict=True):
        if not is_there:
            raise gone_error(each)


def _local_root(place: StoreLocation) -> str | None:
    """Returns the folder of a lake that is in one."""
    scheme, found, rest = place.url.partition("://")
    if not found:
        return place.url
    return unquote(rest) if scheme == "file" else None


def _runs_here(spark: SparkSession) -> bool:
    return (spark.conf.get("spark.master", "") or "").partition("[")[0] == "local"


# --- Hadoop's S3A ----------------------------------------------------------------------------------------------------
def is_bucket(place: StoreLocation) -> bool:
    return place.url.startswith("s3://")


def s3a_files(place: StoreLocation) -> HadoopFiles:
    """Returns the files of a bucket. Hadoop keeps one client for each scheme and bucket, with the credentials of its
    first use. So each set of credentials has a scheme of its own, and is never confused with another user's or with
    keys that were replaced."""
    options, scheme = s3a_options(place), _SCHEME
    if any(place.options.get(name) for name in _TELLING):
        scheme = f"{_SCHEME}-{_fingerprint(options)}"
        options[f"fs.{scheme}.impl"] = _CLASS
    return HadoopFiles(f"{scheme}{place.url.removeprefix('s3').rstrip('/')}", options)


def _fingerprint(options: Mapping[str, str]) -> str:
    digest = blake2b(key=_SALT, digest_size=8)
    for each in sorted(options.items()):
        digest.update(repr(each).encode())
    return digest.hexdigest()


def s3a_options(place: StoreLocation) -> dict[str, str]:
    """Returns Hadoop's settings for this bucket alone. Without keys in the place, S3A looks for its own."""
    bucket = place.url.removeprefix("s3://").partition("/")[0]
    given = place.with_keys().options
    hosted = given.get("virtual_hosted", "").lower() or str(not given.get("endpoint")).lower()
    settings = {"path.style.access": str(hosted != "true").lower()}
    if endpoint := given.get("endpoint"):
        settings |= {"endpoint": endpoint, "connection.ssl.enabled": str(endpoint.startswith("https")).lower()}
    if region := given.get("region"):
        settings["endpoint.region"] = region
    if key := given.get("access_key_id"):
        settings |= _keys(key, given.get("secret_access_key", ""), given.get("session_token"))
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in settings.items()}


def _keys(key: str, secret: str, token: str | None) -> dict[str, str]:
    kind = "TemporaryAWSCredentialsProvider" if token else "SimpleAWSCredentialsProvider"
    settings = {"access.key": key, "secret.key": secret, "aws.credentials.provider": f"{_PROVIDERS}.{kind}"}
    return settings | ({"session.token": token} if token else {})


def has_s3a(spark: SparkSession) -> bool:
    """Returns whether Spark has S3A. Behind Connect that cannot be checked; a server for a lake in a bucket is assumed
    to have it."""
    context = context_of(spark)
    if context is None:
        return True
    try:
        loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.loadClass(_CLASS)
    except Exception:
        return False
    return True


def s3a_package() -> str:
    """Returns the package that adds S3A to the installed Spark. It must be of the same Hadoop version."""
    found = find_spec("pyspark")
    folder = Path(found.origin).parent / "jars" if found and found.origin else Path()
    names = [jar.stem.removeprefix(_HADOOP) for jar in folder.glob(f"{_HADOOP}*.jar")]
    return f"org.apache.hadoop:hadoop-aws:{names[0]}" if names else ""
