"""lakeFS's published client for Java, which its file system for Hadoop stands on, against a served lake. Of that file
system itself (`hadoop-lakefs-assembly`) no version was found in the registry that tests take Java packages from."""

import subprocess
from pathlib import Path

from tests.servers.lochan import lochan_server
from tests.spark import maven

PROGRAM = Path(__file__).with_name("LakefsJava.java")
PACKAGE = "io.lakefs:sdk:1.53.1"


def test_what_the_file_system_of_hadoop_asks(tmp_path: Path) -> None:
    jars = maven.jars("lakefs-java", PACKAGE)
    with lochan_server(tmp_path / "lake") as server:
        server.lochan("repo", "create", "hadoop")
        words = [f"http://{server.api}", server.access_key, server.secret_key, "hadoop"]
        command: list[str | Path] = ["java", "-cp", f"{jars}/*", PROGRAM, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-4_000:]
        assert not server.traceback()
