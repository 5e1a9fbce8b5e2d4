"""What a process of Python leaves in the usage log: when it ends without a word, and when it is killed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli import fine

READ = """
import lochan, os, sys
lake = lochan.connect(sys.argv[1])
for path in ("a.txt", "a.txt", "b.txt"):
    lake.repository("demo").ref("main").read(path)
{end}
"""


@pytest.mark.parametrize("end, marks", [("", 0), ("lake.close()", 0), ("os._exit(1)", 1)])
def test_python(tmp_path: Path, end: str, marks: int) -> None:
    lake = tmp_path / "lake"
    fine("init", str(lake))
    fine("--lake", str(lake), "repo", "create", "demo")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
        fine("--lake", str(lake), "fs", "upload", str(tmp_path / name), f"demo/{name}")
    subprocess.run([sys.executable, "-c", READ.format(end=end), str(lake)], check=False, timeout=120)
    assert len(list(lake.glob("_lake/usage/open/*.json"))) == marks
    text = fine("--lake", str(lake), "query", "from :usage | cut operation, path")
    rows = [json.loads(line) for line in text.splitlines()]
    read = [{"operation": "Read", "path": path} for path in ("a.txt", "a.txt", "b.txt")]
    assert rows == ([] if marks else read)
