"""A server's Arrow does not load pandas, but pandas still works for those who import it."""

import subprocess
import sys

import pytest

_ALONE = """
import sys
from lochan.without_pandas import arrow_without_pandas
arrow_without_pandas()
import pyarrow as pa
pa.table({"path": pa.array(["a", "b"])})
print("pandas" in sys.modules)
import pandas
print(pandas.Series([1, 2]).sum())
"""


@pytest.mark.thorough
def test_a_list_is_taken_without_asking_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", _ALONE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "3"]
