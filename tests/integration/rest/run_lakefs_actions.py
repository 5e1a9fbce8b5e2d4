"""Runs of hooks by the published `lakefs_sdk`: by page, by branch and by commit, with what each hook said."""

import sys
from tempfile import NamedTemporaryFile

import lakefs_sdk
from lakefs_sdk import ApiException

HOOKS = """\
name: quality
on: [pre-commit, post-commit]
hooks:
  - {id: names, kind: query, query: 'from hooked:entries | grep("bad", path)', message: no bad names}
  - {id: some, kind: query, query: 'from hooked:entries | path=="nothing"'}
"""


def main(endpoint: str, key: str, secret: str, _: str) -> None:
    client = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host=f"{endpoint}/api/v1", username=key, password=secret))
    name = "hooked"
    creation = lakefs_sdk.RepositoryCreation(name=name, storage_namespace=f"local://{name}", default_branch="main")
    lakefs_sdk.RepositoriesApi(client).create_repository(creation)
    actions, objects, commits = (
        lakefs_sdk.ActionsApi(client),
        lakefs_sdk.ObjectsApi(client),
        lakefs_sdk.CommitsApi(client),
    )

    def commit(branch: str, path: str, content: str = "x") -> str:
        with NamedTemporaryFile("w") as file:
            file.write(content)
            file.flush()
            objects.upload_object(name, branch, path, content=file.name)
        return str(commits.commit(name, branch, lakefs_sdk.CommitCreation(message=path)).id)

    assert actions.list_repository_runs(name).results == []
    commit("main", "_lochan/hooks/q.yaml", HOOKS)
    first = commit("main", "a.txt")
    lakefs_sdk.BranchesApi(client).create_branch(name, lakefs_sdk.BranchCreation(name="dev", source="main"))
    assert refused(lambda: commit("dev", "bad.txt")) == 412

    runs = actions.list_repository_runs(name).results
    assert [(each.event_type, each.branch, each.status) for each in runs] == [
        ("pre-commit", "dev", "failed"),
        ("post-commit", "main", "completed"),
        ("pre-commit", "main", "completed"),
    ]
    assert all(each.start_time <= each.end_time for each in runs)
    page = actions.list_repository_runs(name, amount=2)
    assert page.pagination.has_more and page.results == runs[:2]
    rest = actions.list_repository_runs(name, amount=2, after=page.pagination.next_offset)
    assert not rest.pagination.has_more and rest.results == runs[2:]
    assert actions.list_repository_runs(name, branch="dev").results == runs[:1]
    assert actions.list_repository_runs(name, commit=first).results == runs[1:]
    assert actions.get_run(name, runs[0].run_id) == runs[0]
    assert refused(lambda: actions.get_run(name, "nothing")) == 404

    hooks = actions.list_run_hooks(name, runs[0].run_id).results
    assert [(each.action, each.hook_id, each.status) for each in hooks] == [
        ("quality", "names", "failed"),
        ("quality", "some", "completed"),
    ]
    one = actions.list_run_hooks(name, runs[0].run_id, amount=1)
    assert one.pagination.has_more and one.results == hooks[:1]
    two = actions.list_run_hooks(name, runs[0].run_id, amount=1, after=one.pagination.next_offset)
    assert not two.pagination.has_more and two.results == hooks[1:]
    output = bytes(actions.get_run_hook_output(name, runs[0].run_id, hooks[0].hook_run_id)).decode()
    assert "no bad names" in output and "bad.txt" in output
    assert bytes(actions.get_run_hook_output(name, runs[0].run_id, hooks[1].hook_run_id)) == b""
    for number in ("7", "x"):
        assert refused(lambda number=number: actions.get_run_hook_output(name, runs[0].run_id, number)) == 404
    print("done")


def refused(call) -> int:  # type: ignore[no-untyped-def]
    try:
        call()
    except ApiException as error:
        return int(error.status)
    return 200


if __name__ == "__main__":
    main(*sys.argv[1:])
