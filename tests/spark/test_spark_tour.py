"""The Spark tour works as printed: from an empty folder to a stream, on a cluster of two workers."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.tour import ROOT, commands
from tests.spark.cluster import cluster

PAGE = ROOT / "docs" / "operations" / "spark-tour.md"
ANSWERS = {
    "lochan query 'from logs | count() by status | sort status'": '{"status":200,"count":19600}\n'
    '{"status":500,"count":400}\n',
    "lochan query 'from errors | sort host'": '{"host":"web-0","count":134}\n'
    '{"host":"web-1","count":133}\n{"host":"web-2","count":133}\n',
    "lochan query 'from web9 | count() by status | sort status'": '{"status":200,"count":100}\n'
    '{"status":500,"count":1}\n',
    "lochan query 'from errors | sum(count) by host | sort host'": '{"host":"web-0","sum":135}\n'
    '{"host":"web-1","sum":133}\n{"host":"web-2","sum":133}\n',
    """lochan query 'from logs | where host == "web-9" | count()'""": '{"count":100}\n',
}


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_the_page_works_as_printed(tmp_path: Path) -> None:
    pyspark = find_spec("pyspark")
    assert pyspark is not None and pyspark.origin is not None
    with cluster() as there:
        kept = {
            name: value
            for name, value in there.configured().items()
            if name == "LOCHAN_COMPANION" or not name.startswith("LOCHAN_")
        }
        known = {
            "MASTER": there.master,
            "SPARK_HOME": str(Path(pyspark.origin).parent),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        output = {}
        for command in commands(PAGE):
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=kept | known, capture_output=True, text=True, timeout=300
            )
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
            output[command] = done.stdout
    for command, answer in ANSWERS.items():
        assert output[command] == answer
    assert (
        "+3" in output["lochan diff --rows errors@main errors@try"]
        or "3 added" in output["lochan diff --rows errors@main errors@try"]
    )
    assert "load" in output["lochan jobs"]
