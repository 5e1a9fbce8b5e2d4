"""An import by the packages of lakeFS: python run_lakefs_import.py URL KEY SECRET SOURCE"""

import sys
from datetime import timedelta

import lakefs
from lakefs.client import Client
from lakefs.exceptions import ImportManagerException


def main(url: str, key: str, secret: str, source: str) -> None:
    client = Client(host=url, username=key, password=secret)
    branch = lakefs.Repository("taken", client=client).create(storage_namespace="s3://anything/").branch("main")
    done = branch.import_data("imported").prefix(source, "in/").run(timedelta(milliseconds=100))
    assert (done.completed, done.ingested_objects, done.commit.message) == (True, 3, "imported")
    assert branch.object("in/2.csv").reader(mode="r").read() == "2\n"
    files = branch.import_data("one by one", metadata={"by": "hand"})
    files.object(f"{source}0.csv", "one/zero.csv").object(f"{source}1.csv", "one/first").prefix(source, "two/")
    done = files.run(timedelta(milliseconds=100))
    assert (done.ingested_objects, done.commit.metadata) == (5, {"by": "hand"})
    assert [each.path for each in branch.objects(prefix="one/")] == ["one/first", "one/zero.csv"]
    assert branch.object("one/zero.csv").reader(mode="r").read() == "0\n"
    before = branch.get_commit().id
    for missing in (f"{source}none.csv", f"{source}0", source):  # none, only the beginning of a name, a folder
        try:
            branch.import_data("nothing").object(missing, "x").run(timedelta(milliseconds=100))
        except ImportManagerException:
            pass
        else:
            raise AssertionError(f"{missing} was imported as a file")
    assert branch.get_commit().id == before
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:5])
