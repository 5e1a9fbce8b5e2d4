"""Pull requests by the published `lakefs_sdk`: opened, listed page by page, changed, closed, merged."""

import sys

import lakefs_sdk
from lakefs_sdk import ApiException, PullRequestBasic, PullRequestCreation


def main(endpoint: str, key: str, secret: str, _: str) -> None:
    client = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host=f"{endpoint}/api/v1", username=key, password=secret))
    name = "pulls-of-others"
    creation = lakefs_sdk.RepositoryCreation(name=name, storage_namespace=f"local://{name}", default_branch="main")
    lakefs_sdk.RepositoriesApi(client).create_repository(creation)
    branches, pulls = lakefs_sdk.BranchesApi(client), lakefs_sdk.PullsApi(client)
    for branch in ("one", "two", "three"):
        branches.create_branch(name, lakefs_sdk.BranchCreation(name=branch, source="main"))
        lakefs_sdk.ObjectsApi(client).upload_object(name, branch, f"{branch}.txt", content=__file__)
        lakefs_sdk.CommitsApi(client).commit(name, branch, lakefs_sdk.CommitCreation(message=branch))
    ids = [
        pulls.create_pull_request(
            name,
            PullRequestCreation(
                title=f"t {each}", description=f"d {each}", source_branch=each, destination_branch="main"
            ),
        ).id
        for each in ("one", "two", "three")
    ]
    assert len(set(ids)) == 3
    assert refused(lambda: pulls.create_pull_request(name, request_of("one"))) == 409
    assert refused(lambda: pulls.create_pull_request(name, request_of("nowhere"))) == 404
    assert refused(lambda: pulls.create_pull_request(name, request_of("main"))) == 400

    first = pulls.list_pull_requests(name, amount=2)
    assert [each.id for each in first.results] == [ids[2], ids[1]] and first.pagination.has_more
    rest = pulls.list_pull_requests(name, amount=2, after=first.pagination.next_offset)
    assert [each.id for each in rest.results] == [ids[0]] and not rest.pagination.has_more
    assert rest.results[0].description == "d one"

    found = pulls.get_pull_request(name, ids[0])
    assert (found.status, found.title, found.source_branch, found.destination_branch) == (
        "open",
        "t one",
        "one",
        "main",
    )
    pulls.update_pull_request(name, ids[0], PullRequestBasic(title="other", description="more"))
    assert pulls.get_pull_request(name, ids[0]).title == "other"
    pulls.update_pull_request(name, ids[1], PullRequestBasic(status="closed"))
    closed = pulls.get_pull_request(name, ids[1])
    assert closed.status == "closed" and closed.closed_date is not None
    assert refused(lambda: pulls.merge_pull_request(name, ids[1])) == 400
    pulls.update_pull_request(name, ids[1], PullRequestBasic(status="open"))
    assert refused(lambda: pulls.update_pull_request(name, ids[1], PullRequestBasic(status="merged"))) == 400

    reference = pulls.merge_pull_request(name, ids[0]).reference
    merged = pulls.get_pull_request(name, ids[0])
    assert (merged.status, merged.merged_commit_id) == ("merged", reference)
    assert branches.get_branch(name, "main").commit_id == reference
    assert [each.id for each in pulls.list_pull_requests(name, status="closed").results] == [ids[0]]
    assert len(pulls.list_pull_requests(name, status="open").results) == 2
    assert refused(lambda: pulls.get_pull_request(name, "99999")) == 404
    print("done")


def request_of(source: str) -> PullRequestCreation:
    return PullRequestCreation(title="t", source_branch=source, destination_branch="main")


def refused(call) -> int:  # type: ignore[no-untyped-def]
    try:
        call()
    except ApiException as error:
        return int(error.status)
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
