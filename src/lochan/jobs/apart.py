"""Work on Spark on a thread of its own: whoever waits for it can be cancelled, and then Spark's tasks end too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from lochan.engines.spark.job import Tagged
from lochan.engines.spark.progress import Listener, Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_AGAIN_S = 0.5


async def on_spark(
    spark: SparkSession, work: Callable[[], T], *, tag: str, about: str, listener: Listener | None = None
) -> T:
    """`tag` is a name that no other work has; `about` is what Spark calls its stages; the listener is told of them."""
    tagged = Tagged(spark, tag, about)

    def begun() -> T:
        tagged.begin()
        return work()

    watch = None if listener is None else Watch(spark, tag, listener)
    with ThreadPoolExecutor(1) as threads:  # what Spark knows of a thread ends with it
        task = asyncio.get_running_loop().run_in_executor(threads, begun)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            while not task.done():  # again and again: it may just be about to start the next job
                tagged.stop()
                await asyncio.wait([task], timeout=_AGAIN_S)
            task.exception()  # it was stopped, and what it says of that is nobody's concern
            raise
        finally:
            if watch is not None:
                await asyncio.to_thread(watch.end)
