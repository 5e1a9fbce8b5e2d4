"""What a program written for lakeFS does, with its own packages: run by their Python, not by ours.

python run_lakefs.py URL KEY SECRET FOLDER
"""

import sys
from pathlib import Path

import lakefs
import lakefs_sdk
import pandas as pd
import polars as pl
from lakefs.client import Client
from lakefs.exceptions import ConflictException, NotFoundException, ObjectExistsException
from lakefs_sdk.models import RefsRestore, RepositoryCreation
from lakefs_spec import LakeFSFileSystem


def main(url: str, key: str, secret: str, folder: Path) -> None:
    client = Client(host=url, username=key, password=secret)
    repository = lakefs.Repository("shop", client=client).create(storage_namespace="s3://anything/")
    assert "shop" in [each.id for each in lakefs.repositories(client=client)]
    objects(repository)
    branches(repository)
    conflicts(repository)
    pages(repository)
    bare(repository, client)
    read_only(client)
    file_system(LakeFSFileSystem(host=url, username=key, password=secret), repository, folder)
    frames({"host": url, "username": key, "password": secret})
    print("done")


def objects(repository: lakefs.Repository) -> None:
    main = repository.branch("main")
    made = main.object("a/b.txt").upload(data="hello", content_type="text/plain", metadata={"k": "v"})
    assert (made.stat().size_bytes, made.stat().metadata, made.stat().content_type) == (5, {"k": "v"}, "text/plain")
    assert made.reader(mode="r").read() == "hello"
    with main.object("a/large.bin").writer(mode="wb", pre_sign=False) as writer:
        for piece in range(10):
            writer.write(bytes([piece]) * 1_000_000)
    with main.object("a/large.bin").reader(mode="rb") as reader:
        reader.seek(9_999_990)
        assert reader.read(100) == bytes([9]) * 10
    try:
        main.object("a/b.txt").upload(data="again", mode="x")
    except ObjectExistsException:
        pass
    else:
        raise AssertionError("an object was overwritten that should not have been")
    assert [each.path for each in main.uncommitted()] == ["a/b.txt", "a/large.bin"]
    commit = main.commit("first", metadata={"by": "a test"}).get_commit()
    assert (commit.message, commit.metadata, len(commit.parents)) == ("first", {"by": "a test"}, 1)
    main.object("a/b.txt").copy("main", "a/copy.txt")
    assert main.object("a/copy.txt").reader(mode="r").read() == "hello"
    main.delete_objects(["a/copy.txt", "a/large.bin"])
    assert [each.path for each in main.objects(prefix="a/")] == ["a/b.txt"]
    main.reset_changes()
    assert main.object("a/large.bin").exists()
    assert not main.object("a/none").exists()


def branches(repository: lakefs.Repository) -> None:
    main = repository.branch("main")
    dev = repository.branch("dev").create("main")
    dev.object("a/b.txt").upload(data="bye")
    dev.commit("bye")
    assert [(each.type, each.path) for each in main.diff(dev)] == [("changed", "a/b.txt")]
    merged = dev.merge_into(main)
    assert main.get_commit().id == merged
    assert [each.message for each in main.log()] == ["Merge 'dev' into 'main'", "bye", "first", "Repository created"]
    tag = repository.tag("v1").create("main")
    assert tag.get_commit().id == merged
    with main.transact("in one commit") as transaction:
        transaction.object("n.txt").upload(data="n")
        assert [each.id for each in repository.branches()] == ["dev", "main"], "its branch is hidden"
        listed = repository._client.sdk_client.branches_api.list_branches(repository.id, show_hidden=True)
        assert len(listed.results) == 3
    assert main.object("n.txt").exists()
    main.revert("main", parent_number=1)
    assert not main.object("n.txt").exists()
    dev.delete()
    assert [each.id for each in repository.branches()] == ["main"]
    assert [each.id for each in repository.tags()] == ["v1"]


def bare(repository: lakefs.Repository, client: Client) -> None:
    """The refs of one repository in another one that has nothing."""
    api = client.sdk_client.repositories_api
    api.create_repository(RepositoryCreation(name="copied", storage_namespace="s3://anything/"), bare=True)
    copied = lakefs.Repository("copied", client=client)
    assert (list(copied.branches()), list(copied.tags())) == ([], [])
    try:
        copied.branch("main").get_commit()
    except NotFoundException:
        pass
    else:
        raise AssertionError("a bare repository has a commit")
    refs = client.sdk_client.internal_api
    refs.restore_refs("copied", RefsRestore(**refs.dump_refs(repository.id).to_dict()))
    assert [each.id for each in copied.branches()] == [each.id for each in repository.branches()]
    found = client.sdk_client.refs_api.log_commits("copied", "main").results
    assert found == client.sdk_client.refs_api.log_commits(repository.id, "main").results
    assert found[0].generation > found[-1].generation == 0
    assert copied.branch("main").object("a/b.txt").reader(mode="r").read() == "bye"


def read_only(client: Client) -> None:
    api = client.sdk_client.repositories_api
    api.create_repository(RepositoryCreation(name="frozen", storage_namespace="s3://anything/", read_only=True))
    try:
        api.delete_repository("frozen")
    except lakefs_sdk.ApiException as error:
        assert error.status == 403, error
    else:
        raise AssertionError("a read-only repository was deleted")
    assert api.get_repository("frozen").read_only
    api.delete_repository("frozen", force=True)
    assert "frozen" not in [each.id for each in lakefs.repositories(client=client)]


def conflicts(repository: lakefs.Repository) -> None:
    main, other = repository.branch("main"), repository.branch("other").create("main")
    for branch in (main, other):
        branch.object("same").upload(data=branch.id)
        branch.commit(f"on {branch.id}")
    try:
        other.merge_into(main)
    except ConflictException:
        pass
    else:
        raise AssertionError("a conflict was merged")
    other.merge_into(main, strategy="source-wins")
    assert main.object("same").reader(mode="r").read() == "other"
    try:
        repository.branch("nowhere").get_commit()
    except NotFoundException:
        pass
    else:
        raise AssertionError("a branch was found that is not there")


def pages(repository: lakefs.Repository) -> None:
    many = repository.branch("many").create("main")
    for number in range(25):
        many.object(f"p/{number:02}").upload(data=str(number))
    assert len(list(many.objects(prefix="p/", max_amount=10))) == 10
    assert len(list(many.objects(prefix="p/"))) == 25
    many.commit("many")
    assert len(list(many.log(max_amount=2))) == 2
    whole, found, after = [each.id for each in many.log()], [], ""
    while True:
        page = repository._client.sdk_client.refs_api.log_commits(repository.id, "many", after=after, amount=2)
        found += [each.id for each in page.results]
        after = page.pagination.next_offset
        if not page.pagination.has_more:
            break
    assert found == whole and len(whole) > 5


def file_system(fs: LakeFSFileSystem, repository: lakefs.Repository, folder: Path) -> None:
    fs.pipe("shop/main/dir/x.txt", b"abc")
    assert fs.cat("shop/main/dir/x.txt") == b"abc"
    assert fs.info("shop/main/dir/x.txt")["size"] == 3
    assert not fs.exists("shop/main/nope")
    repository.branch("main").commit("by fsspec")
    with fs.transaction("shop", "main") as transaction:
        fs.pipe(f"shop/{transaction.branch.id}/t.txt", b"t")
        transaction.commit(message="in a transaction")
    assert fs.cat("shop/main/t.txt") == b"t"
    (folder / "up.py").write_text("print()\n")
    fs.put_file(str(folder / "up.py"), "shop/main/up/up.py")
    fs.get_file("shop/main/up/up.py", str(folder / "back.py"))
    assert (folder / "back.py").read_text() == "print()\n"
    fs.invalidate_cache()
    assert fs.glob("shop/main/**/*.py") == ["shop/main/up/up.py"]
    fs.cp_file("shop/main/t.txt", "shop/main/t2.txt")
    fs.rm("shop/main/t2.txt")
    fs.rm("shop/main/dir", recursive=True)
    fs.invalidate_cache()
    assert [name for name in ("t2.txt", "dir/x.txt") if fs.exists(f"shop/main/{name}")] == []


def frames(options: dict[str, str]) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_parquet("lakefs://shop/main/frame.parquet", storage_options=options)
    assert pd.read_parquet("lakefs://shop/main/frame.parquet", storage_options=options).equals(frame)
    with LakeFSFileSystem(**options).open("shop/main/frame.parquet", "rb") as file:
        assert pl.read_parquet(file.read()).shape == (2, 2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
