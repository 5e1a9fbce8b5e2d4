"""`make run`: plays the README's tour on a fresh sample lake, prints what it did, and serves the lake.

The commands are read from the README itself, so what is printed there is what runs here and in the tests.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lochan.ids import Ids

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "sample-lake"
LOCHAN = Path(sys.executable).parent / "lochan"
_BLOCK = re.compile(r"<!-- tour -->\n```sh\n(.*?)```", re.DOTALL)


def commands(readme: Path = ROOT / "README.md") -> list[str]:
    """The lines of every block of the README that is marked as part of the tour."""
    lines = "\n".join(_BLOCK.findall(readme.read_text())).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def play(
    folder: Path, *, show: bool, page: Path = ROOT / "README.md"
) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
    """Run each command in `folder`, as a person would in a shell there."""
    environment = {k: v for k, v in os.environ.items() if k == "LOCHAN_COMPANION" or not k.startswith("LOCHAN_")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    for command in commands(page):
        if show:
            print(f"\n$ {command}", flush=True)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # in the order in which a person would see it
            text=True,
            timeout=120,
        )
        if show:
            print(done.stdout.rstrip(), flush=True)
        yield command, done


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.tour", description=__doc__)
    parser.add_argument("--folder", type=Path, default=SAMPLE, help="where the sample lake is made anew")
    parser.add_argument("--s3-listen", default="127.0.0.1:8000")
    parser.add_argument("--api-listen", default="127.0.0.1:8001")
    given = parser.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    given.folder.mkdir(parents=True)
    print(f"The tour of README.md, played in {given.folder.name}/")
    for command, done in play(given.folder, show=True):
        if done.returncode:
            print(f"\n{command!r} failed with exit code {done.returncode}")
            return 1
    return serve(given.folder / ".lochan", given.s3_listen, given.api_listen)


def serve(lake: Path, s3: str, api: str) -> int:
    """The sample lake, until somebody stops it."""
    key, secret = Ids().access_key_id(), Ids().access_key_secret()
    keys = {"LOCHAN_ADMIN_ACCESS_KEY_ID": key, "LOCHAN_ADMIN_SECRET_ACCESS_KEY": secret}
    command = [str(LOCHAN), "--lake", str(lake), "serve", "--s3-listen", s3, "--api-listen", api]
    print("\nServing the sample lake:", flush=True)
    with subprocess.Popen(command, env={**os.environ, **keys}, stdout=subprocess.PIPE, text=True) as server:
        signal.signal(signal.SIGTERM, lambda number, frame: server.terminate())
        signal.signal(signal.SIGINT, lambda number, frame: None)  # it goes to the server as well
        assert server.stdout is not None
        for line in server.stdout:
            print(line, end="", flush=True)
            if line.startswith("ready"):
                print(hints(lake, s3, api, key, secret), flush=True)
    return server.returncode


def hints(lake: Path, s3: str, api: str, key: str, secret: str) -> str:
    lochan = shlex.quote(os.path.relpath(LOCHAN))
    return f"""
The web page is at http://{api}/
   access key {key}
   secret     {secret}

Three things to try, in another terminal:

1. with boto3 (it is in .venv)
   .venv/bin/python - <<END
import boto3
s3 = boto3.client("s3", endpoint_url="http://{s3}", region_name="us-east-1",
                  aws_access_key_id="{key}", aws_secret_access_key="{secret}")
s3.put_object(Bucket="demo-repo", Key="main/data/new.csv", Body=b"2,cherry")
print([each["Key"] for each in s3.list_objects_v2(Bucket="demo-repo", Prefix="main/")["Contents"]])
END

2. with the AWS CLI
   AWS_ACCESS_KEY_ID={key} AWS_SECRET_ACCESS_KEY={secret} AWS_DEFAULT_REGION=us-east-1 \\
     aws --endpoint-url http://{s3} s3 ls --recursive s3://demo-repo/main/

3. with the command line, on the same lake
   {lochan} --lake {os.path.relpath(lake)} commit demo-repo -m "through S3"
"""


if __name__ == "__main__":
    sys.exit(main())
