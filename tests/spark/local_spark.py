"""Spark for tests: very many queries of a few rows, so nothing that runs only once is compiled."""

import pytest

from lochan.engines.spark.place import SparkPlace

HERE = SparkPlace(
    master="local[2]",
    options={
        "spark.driver.maxResultSize": "32m",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    },
)
# pyspark leaves the sockets that its results come through to be collected.
LEFT_SOCKETS = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
