"""More files than fit into a page of a list or a request of deletes, over many connections at once."""

from pathlib import Path

from tests.integration.gateway.test_client_rclone import rclone_of
from tests.integration.gateway.test_client_s3cmd import s3cmd_of
from tests.integration.gateway.trees import sizes, staged, write
from tests.servers.lochan import LochanServer

MANY = {f"{number % 7}/{number:05d}.txt": f"file {number}".encode() for number in range(1_200)}


def test_twelve_hundred_files(server: LochanServer, bucket: str, folder: Path) -> None:
    write(folder / "here", MANY)
    rclone = rclone_of(server, server.endpoint, folder)
    s3cmd = s3cmd_of(server, server.s3, folder)
    rclone("sync", "--transfers", "16", "--checkers", "16", folder / "here", f"lake:{bucket}/main/one")
    assert staged(server, bucket, "one/") == sizes(MANY)
    rclone("copy", "--transfers", "16", f"lake:{bucket}/main/one", f"lake:{bucket}/main/two")
    rclone("check", "--download", "--checkers", "16", folder / "here", f"lake:{bucket}/main/two")
    s3cmd("rm", "--recursive", "--force", f"s3://{bucket}/main/one/")  # a thousand at a time
    assert staged(server, bucket) == {f"two/{path}": size for path, size in sizes(MANY).items()}
    rclone("purge", f"lake:{bucket}/main/two")
    assert staged(server, bucket) == {}
