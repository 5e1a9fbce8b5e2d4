"""What `Lake.diff_rows` gives back: counts, a sample, and all rows that differ."""

from lochan.engines.row_diff.result import RowChange as RowChange
from lochan.engines.row_diff.result import RowDiff

__all__ = ["RowChange", "RowDiff"]
