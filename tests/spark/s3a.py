"""Hadoop's S3A and Spark's binding to its committers. The AWS SDK alone is 640 MB."""

from pathlib import Path

from tests.servers.lochan import LochanServer
from tests.spark import maven
from tests.spark.maven import environment

__all__ = ["environment", "jars", "settings"]

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


def jars() -> Path:
    """The folder of them, made once."""
    return maven.jars("s3a", PACKAGES, _NOT_NEEDED)


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
