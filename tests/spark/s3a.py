"""Hadoop's S3A and Spark's binding to its committers, from Maven Central by Spark's own resolver.

The jars go on the class path: as `spark.jars.packages` each session would copy the 640 MB of the AWS SDK.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.servers.lochan import LochanServer

PACKAGES = "org.apache.hadoop:hadoop-aws:3.4.2,org.apache.spark:spark-hadoop-cloud_2.13:4.1.1"
# What the binding brings along for other clouds, and what Spark has already.
_NOT_NEEDED = (
    *("com.google.cloud.bigdataoss:gcs-connector", "org.apache.hadoop:hadoop-cloud-storage"),
    *("org.apache.hadoop:hadoop-azure", "org.apache.hadoop:hadoop-azure-datalake"),
    *("org.apache.hadoop:hadoop-huaweicloud", "org.apache.hadoop:hadoop-aliyun"),
    *("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime"),
    *("com.fasterxml.jackson.core:jackson-databind", "com.fasterxml.jackson.core:jackson-annotations"),
    *("com.fasterxml.jackson.core:jackson-core", "com.fasterxml.jackson.dataformat:jackson-dataformat-cbor"),
    *("org.apache.httpcomponents:httpclient", "org.apache.httpcomponents:httpcore"),
    *("org.eclipse.jetty:jetty-util", "org.eclipse.jetty:jetty-util-ajax", "joda-time:joda-time"),
    *("org.apache.hadoop.thirdparty:hadoop-shaded-guava", "commons-codec:commons-codec"),
    *("com.google.code.findbugs:jsr305", "org.slf4j:slf4j-api", "org.xerial.snappy:snappy-java"),
)
_FOLDER = Path(__file__).parents[2] / ".cache" / "clients" / "s3a"


def jars() -> Path:
    """The folder of them, made once."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = _FOLDER / "ready"
        if not ready.exists() or ready.read_text() != PACKAGES:
            _resolve()
            ready.write_text(PACKAGES)
    return _FOLDER / "jars"


def _resolve() -> None:
    shutil.rmtree(_FOLDER / "jars", ignore_errors=True)
    nothing = _FOLDER / "nothing.py"
    nothing.write_text("")
    pyspark = find_spec("pyspark")
    assert pyspark is not None and pyspark.origin is not None
    submit = Path(pyspark.origin).parent / "bin" / "spark-submit"
    words = ["--packages", PACKAGES, "--exclude-packages", ",".join(_NOT_NEEDED), "--conf", f"spark.jars.ivy={_FOLDER}"]
    done = subprocess.run(
        [submit, *words, nothing], env=environment(), capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    shutil.rmtree(_FOLDER / "cache")  # the same files once more


def environment() -> dict[str, str]:
    return os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def settings(server: LochanServer) -> dict[str, str]:
    """The settings of Spark for a served lake."""
    return {
        "spark.driver.extraClassPath": f"{jars()}/*",
        "spark.hadoop.fs.s3a.endpoint": server.endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": server.access_key,
        "spark.hadoop.fs.s3a.secret.key": server.secret_key,
        "spark.sql.sources.commitProtocolClass": "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol",
        "spark.sql.parquet.output.committer.class": (
            "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter"
        ),
    }
