"""Runs SQL texts on Spark: a JSON list of them comes in; the result of each goes to a file of Arrow in the folder."""

import json
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def main(folder: str) -> None:
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for number, text in enumerate(json.load(sys.stdin)):
        place = Path(folder) / f"{number}.arrow"
        try:
            table = spark.sql(text).toArrow()
        except Exception as error:
            place.with_suffix(".error").write_text(str(error))
            continue
        with pa.OSFile(str(place), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
