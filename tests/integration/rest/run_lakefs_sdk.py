"""Calls every method of the published `lakefs_sdk` once and prints, as JSON, how each was answered: a status, and the
message of a refusal."""

import importlib
import inspect
import json
import pkgutil
import sys
from typing import Any, get_origin

import lakefs_sdk
from lakefs_sdk import ApiException

NAMES = {
    "repository": "walk",
    "branch": "main",
    "ref": "main",
    "tag": "v1",
    "left_ref": "main",
    "right_ref": "dev",
    "source_ref": "dev",
    "destination_branch": "main",
    "commit_id": "main",
    "path": "a.txt",
    "dest_path": "b.txt",
    "type": "range",
    "id": "none",
    "task_id": "none",
    "part_number": 1,
    "if_none_match": "*",
}
BODIES: dict[str, Any] = {
    "BranchCreation": {"name": "other", "source": "main"},
    "BranchProtectionRule": {"pattern": "release"},
    "CherryPickCreation": {"ref": "dev"},
    "CommPrefsInput": {"featureUpdates": False, "securityUpdates": False},
    "CommitCreation": {"message": "walked", "metadata": {"a": "b"}},
    "CommitRecordCreation": {
        "commit_id": "1",
        "version": 1,
        "committer": "a",
        "message": "m",
        "metarange_id": "m",
        "creation_date": 1,
        "parents": [],
        "generation": 1,
    },
    "GarbageCollectionRules": {"default_retention_days": 7, "branches": []},
    "ImportCreation": {
        "paths": [{"type": "common_prefix", "path": "file:///none/", "destination": "x/"}],
        "commit": {"message": "import"},
    },
    "InternalDeleteBranchProtectionRuleRequest": {"pattern": "release"},
    "ObjectCopyCreation": {"src_path": "a.txt"},
    "ObjectStageCreation": {"physical_address": "file:///none/a", "checksum": "0", "size_bytes": 1},
    "PathList": {"paths": ["none"]},
    "Policy": {"id": "p", "statement": [{"effect": "allow", "resource": "*", "action": ["fs:*"]}]},
    "PullRequestBasic": {"title": "t"},
    "PullRequestCreation": {"title": "t", "source_branch": "dev", "destination_branch": "main"},
    "RefsRestore": {"commits_meta_range_id": "", "tags_meta_range_id": "", "branches_meta_range_id": ""},
    "RepositoryCreation": {"name": "walk-2", "storage_namespace": "s3://any/"},
    "RepositoryMetadataKeys": {"keys": ["team"]},
    "RepositoryMetadataSet": {"metadata": {"team": "search", "kept": "yes"}},
    "ResetCreation": {"type": "reset"},
    "RevertCreation": {"ref": "main", "parent_number": 0},
    "Setup": {"username": "a"},
    "StagingMetadata": {"staging": {"physical_address": "none"}, "checksum": "0", "size_bytes": 1},
    "StatsEventsList": {"events": []},
    "StsAuthRequest": {"code": "c", "state": "s", "redirect_uri": "u"},
    "TagCreation": {"id": "v2", "ref": "main"},
    "UploadPartFrom": {"physical_address": "none"},
    "UploadPartCopyFrom": {
        "physical_address": "none",
        "copy_source": {"repository": "walk", "ref": "main", "path": "a"},
    },
    "UpdateObjectUserMetadata": {"set": {"a": "b"}},
}
LAST = ("delete_object", "delete_objects", "delete_branch", "delete_tag", "delete_repository")


def main(host: str, key: str, secret: str, _: str) -> None:
    client = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host=f"{host}/api/v1", username=key, password=secret))
    prepare(client)
    found = sorted(methods(), key=lambda each: (_turn(each[1]), each[1]))
    answers = {f"{api.__name__}.{name}": answer(api(client), name) for api, name in found}
    print(json.dumps(answers))
    print("done")


def prepare(client: Any) -> None:
    repositories = lakefs_sdk.RepositoriesApi(client)
    repositories.create_repository(lakefs_sdk.RepositoryCreation(name="walk", storage_namespace="s3://any/"))
    lakefs_sdk.ObjectsApi(client).upload_object("walk", "main", "a.txt", content=__file__)
    lakefs_sdk.CommitsApi(client).commit("walk", "main", lakefs_sdk.CommitCreation(message="first"))
    lakefs_sdk.BranchesApi(client).create_branch("walk", lakefs_sdk.BranchCreation(name="dev", source="main"))
    lakefs_sdk.ObjectsApi(client).upload_object("walk", "dev", "c.txt", content=__file__)
    lakefs_sdk.CommitsApi(client).commit("walk", "dev", lakefs_sdk.CommitCreation(message="second"))
    lakefs_sdk.TagsApi(client).create_tag("walk", lakefs_sdk.TagCreation(id="v1", ref="main"))


def _turn(name: str) -> int:
    return LAST.index(name) if name in LAST else -1 - ("create" in name)


def methods() -> list[tuple[Any, str]]:
    found = []
    for module in pkgutil.iter_modules(lakefs_sdk.api.__path__):
        loaded = importlib.import_module(f"lakefs_sdk.api.{module.name}")
        for api in vars(loaded).values():
            if inspect.isclass(api) and api.__module__ == loaded.__name__:
                names = [name for name in vars(api) if f"{name}_with_http_info" in vars(api)]
                found += [(api, name) for name in names]
    return found


def answer(api: Any, name: str) -> list[Any]:
    """The status, and the message of a refusal."""
    call = getattr(api, f"{name}_with_http_info")
    parameters = inspect.signature(getattr(api, name)).parameters.values()
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    more = {"content": __file__} if name == "upload_object" else {}
    try:
        return [call(**{each.name: value(each) for each in needed}, **more).status_code, ""]
    except ApiException as error:
        body = error.body if isinstance(error.body, str) else (error.body or b"").decode()
        return [error.status, json.loads(body)["message"] if body else ""]


def value(parameter: inspect.Parameter) -> Any:
    kind = parameter.annotation
    if inspect.isclass(kind) and kind.__name__ in BODIES:
        return kind.from_dict(BODIES[kind.__name__])  # type: ignore[attr-defined]
    if parameter.name == "branch_protection_rule" or get_origin(kind) is list:
        return [lakefs_sdk.BranchProtectionRule(pattern="release")]
    return NAMES.get(parameter.name, "none")


if __name__ == "__main__":
    main(*sys.argv[1:])
