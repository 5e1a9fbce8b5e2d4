"""Objects in a bucket as Spark reads them by itself, through Hadoop's S3A."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lochan.engines.spark.progress import context_of
from lochan.store.open import StoreLocation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_HADOOP = "hadoop-client-api-"
_PROVIDERS = "org.apache.hadoop.fs.s3a"


def is_bucket(place: StoreLocation) -> bool:
    return place.url.startswith("s3://")


def path_of(place: StoreLocation, address: str) -> str:
    return f"s3a{place.url.removeprefix('s3').rstrip('/')}/{address}"


def options_of(place: StoreLocation) -> dict[str, str]:
    """Hadoop's settings for this bucket alone. Without keys in the place, S3A looks for its own."""
    bucket = place.url.removeprefix("s3://").partition("/")[0]
    given = place.for_others().options
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
    """Behind Connect nobody can look; whoever runs such a server for a lake in a bucket has it."""
    context = context_of(spark)
    if context is None:
        return True
    try:
        loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.loadClass(_CLASS)
    except Exception:
        return False
    return True


def package() -> str:
    """What brings S3A to the Spark that is installed here: of the same Hadoop."""
    found = find_spec("pyspark")
    folder = Path(found.origin).parent / "jars" if found and found.origin else Path()
    names = [jar.stem.removeprefix(_HADOOP) for jar in folder.glob(f"{_HADOOP}*.jar")]
    return f"org.apache.hadoop:hadoop-aws:{names[0]}" if names else ""
