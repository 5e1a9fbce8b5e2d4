"""Follows the pool `logs` into the pool `copy` and into Parquet files: `run_read_stream.py FOLDER [HANG]`.

With HANG it stops inside of that batch, when its rows are in the pool and Spark does not know it. Without, it ends when
all is read. Prints a line for each batch.
"""

import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lochan.spark

EVERY_S = 0.1


def main(folder: Path, hang: int | None) -> None:
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m"}
    spark = SparkSession.builder.master("local[2]").config(map=dict(settings)).getOrCreate()
    spark.conf.set("spark.sql.streaming.triggerAvailableNowWrapper.enabled", "true")

    def handle(rows: DataFrame, batch: Any) -> None:
        landed = batch.write(rows, "copy", spread=False)
        print(f"batch {batch.number} {'again' if landed.again else 'new'}", flush=True)
        if batch.number == hang:
            print("inside", flush=True)
            threading.Event().wait()

    limit = None if hang is None else 1
    rows = lochan.spark.read_stream(spark, "logs", starting_version="earliest", max_commits_per_trigger=limit)
    trigger: dict[str, Any] = {"availableNow": True} if hang is None else {"processingTime": f"{EVERY_S} seconds"}
    files = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "files-at"))
    other = files.option("path", str(folder / "files")).trigger(**trigger).start()
    query = lochan.spark.foreach_batch(
        rows, handle, checkpoint=folder / "copy-at", every_s=EVERY_S, available_now=hang is None
    )
    query.awaitTermination()
    other.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
