"""MinIO's client for Python, unmodified. It needs `secure=False`, and no region: it asks for the region itself."""

from pathlib import Path
from typing import Any

from tests.integration.gateway.trees import objects, ran, same, sizes, staged
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer

SCRIPT = Path(__file__).with_name("run_minio_client.py")  # for an interpreter that has the client
LARGE = bytes(range(256)) * (48 << 10)
KEPT = {
    "a b+ü.txt": b"one",
    "composed": LARGE + b"one",
    "empty": b"",
    "file": LARGE,
    "large": LARGE,
    "signed": b"signed",
}


def test_every_verb(server: LochanServer, s3: Any, bucket: str, folder: Path) -> None:
    words = [server.s3, server.access_key, server.secret_key, bucket, str(folder)]
    ran([program("minio"), SCRIPT, *words], {"PATH": "/usr/bin:/bin"})
    same(objects(s3, bucket, "main/kept/"), KEPT)
    assert staged(server, bucket) == {f"kept/{path}": size for path, size in sizes(KEPT).items()}
