"""Where PySpark looks for the data source `lochan`: in each package whose name begins with `pyspark_`.

So `spark.read.format("lochan")` works in every session whose Python has Lochan installed, and nothing is registered.
"""

from lochan.spark.source import LochanSource as DefaultSource

__all__ = ["DefaultSource"]
