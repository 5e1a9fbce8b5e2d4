"""An import by the packages of lakeFS: python run_lakefs_import.py URL KEY SECRET SOURCE"""

import sys
from datetime import timedelta

import lakefs
from lakefs.client import Client


def main(url: str, key: str, secret: str, source: str) -> None:
    client = Client(host=url, username=key, password=secret)
    branch = lakefs.Repository("taken", client=client).create(storage_namespace="s3://anything/").branch("main")
    done = branch.import_data("imported").prefix(source, "in/").run(timedelta(milliseconds=100))
    assert (done.completed, done.ingested_objects, done.commit.message) == (True, 3, "imported")
    assert branch.object("in/2.csv").reader(mode="r").read() == "2\n"
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:5])
