"""The golden scripts of the command line again, on lakes in a bucket: the output must be the same."""

from pathlib import Path

import pytest

from tests.golden.play import play
from tests.golden.script import parse, render
from tests.servers.minio import MinioServer

LOCAL_ONLY = "Local only: "  # how the first line of a script begins that makes no sense in a bucket; the reason follows
SCRIPTS = sorted((Path(__file__).parents[1] / "golden" / "cli").glob("*.txt"))


@pytest.mark.parametrize(
    "file", [file for file in SCRIPTS if not file.read_text().startswith(LOCAL_ONLY)], ids=lambda file: file.stem
)
def test_script(file: Path, tmp_path: Path, minio_server: MinioServer) -> None:
    expected = file.read_text()
    lake = f"s3://{minio_server.bucket('golden-scripts')}/{file.stem}"
    env = {
        "LOCHAN_LAKE": lake,
        "AWS_ENDPOINT_URL": minio_server.endpoint,
        "AWS_ACCESS_KEY_ID": minio_server.access_key,
        "AWS_SECRET_ACCESS_KEY": minio_server.secret_key,
    }
    assert render(play(parse(expected), tmp_path, lake, env)) == expected
