"""What changes a branch, through each door, on a branch that was prepared for it. An act raises or returns whether it
was refused as protected; anything else that goes wrong fails the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from botocore.exceptions import ClientError
from click.testing import CliRunner

import lochan
from lochan.cli.root import cli
from lochan.errors import Protected
from tests.integration.api.client import Client
from tests.integration.gateway.test_post_form import post

FILES, POOL = "demo", "logs"
SOURCE = "dev"  # has a commit that no prepared branch has


@dataclass(frozen=True)
class Prepared:
    """A branch, and what was left on it before it was protected."""

    branch: str
    first: str  # commits
    second: str
    upload: str = ""
    token: str = ""
    stash: str = ""
    workspace: str = ""
    pull: str = ""


Act = Callable[[Prepared], bool]


class PythonDoor:
    """A lake in a folder, or one behind a server."""

    def __init__(self, lake: lochan.Lake, files: Path | None) -> None:
        self._files = lake.repository(FILES)
        self._pool = lake.pool(POOL)
        self._folder = files

    def acts(self) -> dict[str, Act]:
        at, files = self._files.branch, self._files
        found: dict[str, Callable[[Prepared], object]] = {
            "put": lambda on: at(on.branch).put("new", b"x"),
            "copy": lambda on: at(on.branch).copy(at(on.branch), "a", "copied"),
            "move": lambda on: at(on.branch).move("a", "moved"),
            "delete": lambda on: at(on.branch).delete("a"),
            "delete many": lambda on: at(on.branch).delete("a", "b"),
            "link": lambda on: at(on.branch).link_address("linked", on.token),
            "pop": lambda on: at(on.branch).pop_stash(on.stash),
            "commit": lambda on: at(on.branch).commit("mine"),
            "workspace": lambda on: files.workspace(f"{on.branch}+{on.workspace}").commit("mine"),
            "workspace put": lambda on: files.workspace(f"{on.branch}+{on.workspace}").put("more", b"x"),
            "revert": lambda on: at(on.branch).revert(on.second),
            "cherry-pick": lambda on: at(on.branch).cherry_pick(SOURCE),
            "merge": lambda on: at(on.branch).merge(SOURCE),
            "squash": lambda on: at(on.branch).merge(SOURCE, squash=True),
            "commit and merge": lambda on: at(on.branch).merge(SOURCE, commit_staged="first"),
            "commit and squash": lambda on: at(on.branch).merge(SOURCE, squash=True, commit_staged="first"),
            "commit and revert": lambda on: at(on.branch).revert(on.second, commit_staged="first"),
            "commit and pick": lambda on: at(on.branch).cherry_pick(SOURCE, commit_staged="first"),
            "reset": lambda on: at(on.branch).reset(on.first),
            "unstage": lambda on: at(on.branch).reset(),
            "rebase": lambda on: at(on.branch).rebase(SOURCE),
            "rename": lambda on: at(on.branch).rename(f"{on.branch}-renamed"),
            "delete branch": lambda on: files.delete_branch(on.branch),
            "pull": lambda on: files.pull(on.pull).merge(),
            "squashed pull": lambda on: files.pull(on.pull).merge(way="squash"),
            "fast pull": lambda on: files.pull(on.pull).merge(way="fast"),
            "load": lambda on: self._pool.load([{"x": 9}], branch=on.branch),
            "delete rows": lambda on: self._pool.delete_rows("x == 1", branch=on.branch),
            "compact": lambda on: self._pool.compact(branch=on.branch),
        }
        if self._folder is not None:  # a server serves neither
            found["complete"] = lambda on: _complete(at(on.branch).open_upload("large", on.upload))
            url = f"file://{self._folder}"
            found["import"] = lambda on: at(on.branch).import_files([lochan.ImportSource(url, "in/")])
        return {name: _protected(act) for name, act in found.items()}


def _complete(upload: Any) -> None:
    upload.complete(upload.parts())


def _protected(act: Callable[[Prepared], object]) -> Act:
    def refused(on: Prepared) -> bool:
        try:
            act(on)
        except Protected as error:
            assert (on.branch in str(error) or on.pull in str(error)) and error.hint
            return True
        return False

    return refused


@dataclass(frozen=True)
class S3Door:
    client: Any
    parts: dict[str, Any] = field(default_factory=dict)

    def acts(self) -> dict[str, Act]:
        return {
            "put": lambda on: self._refused(self.client.put_object, **_key(on, "new"), Body=b"x"),
            "put large": lambda on: self._refused(self.client.put_object, **_key(on, "new"), Body=bytes(300_000)),
            "copy": lambda on: self._refused(self.client.copy_object, **_key(on, "copied"), CopySource=_key(on, "a")),
            "delete": lambda on: self._refused(self.client.delete_object, **_key(on, "a")),
            "delete many": self._delete_many,
            "complete": self._complete,
            "form": self._form,
            "workspace put": lambda on: self._refused(
                self.client.put_object, Bucket=FILES, Key=f"{on.branch}+{on.workspace}/more", Body=b"x"
            ),
        }

    def _refused(self, call: Callable[..., Any], **fields: Any) -> bool:
        try:
            call(**fields)
        except ClientError as error:
            assert error.response["Error"]["Code"] == "AccessDenied", error
            assert "is protected" in error.response["Error"]["Message"]
            return True
        return False

    def _delete_many(self, on: Prepared) -> bool:
        names = [{"Key": f"{on.branch}/{name}"} for name in ("a", "b")]
        answer = self.client.delete_objects(Bucket=FILES, Delete={"Objects": names})
        codes = {each["Code"] for each in answer.get("Errors", ())}
        assert codes in ({"AccessDenied"}, set()), answer
        return bool(codes)

    def _complete(self, on: Prepared) -> bool:
        listed = self.client.list_parts(**_key(on, "large"), UploadId=on.upload)["Parts"]
        parts = [{"PartNumber": each["PartNumber"], "ETag": each["ETag"]} for each in listed]
        return self._refused(
            self.client.complete_multipart_upload,
            **_key(on, "large"),
            UploadId=on.upload,
            MultipartUpload={"Parts": parts},
        )

    def _form(self, on: Prepared) -> bool:
        made = self.client.generate_presigned_post(FILES, f"{on.branch}/posted")
        status = post(made["url"], made["fields"]).status
        assert status in (204, 403), status
        return bool(status == 403)


def _key(on: Prepared, path: str) -> dict[str, str]:
    return {"Bucket": FILES, "Key": f"{on.branch}/{path}"}


@dataclass(frozen=True)
class RestDoor:
    """lakeFS's API, with `force` wherever it has one: that is no way around a rule."""

    client: Client

    def acts(self) -> dict[str, Act]:
        repository, pool = f"/api/v1/repositories/{FILES}", f"/api/v1/pools/{POOL}"

        def branch(on: Prepared) -> str:
            return f"{repository}/branches/{on.branch}"

        merge = f"{repository}/refs/{SOURCE}/merge"
        forced = {"force": True}
        return {
            "put": lambda on: self._ask("POST", f"{branch(on)}/objects?path=new&force=true", b"x"),
            "copy": lambda on: self._ask("POST", f"{branch(on)}/objects/copy?dest_path=c", {"src_path": "a", **forced}),
            "delete": lambda on: self._ask("DELETE", f"{branch(on)}/objects?path=a&force=true"),
            "delete many": lambda on: self._ask("POST", f"{branch(on)}/objects/delete?force=true", {"paths": ["a"]}),
            "commit": lambda on: self._ask("POST", f"{branch(on)}/commits", {"message": "mine", **forced}),
            "revert": lambda on: self._ask("POST", f"{branch(on)}/revert", {"ref": on.second, **forced}),
            "cherry-pick": lambda on: self._ask("POST", f"{branch(on)}/cherry-pick", {"ref": SOURCE, **forced}),
            "merge": lambda on: self._ask("POST", f"{merge}/{on.branch}", forced),
            "squash": lambda on: self._ask("POST", f"{merge}/{on.branch}", {"squash_merge": True, **forced}),
            "reset": lambda on: self._ask("PUT", f"{branch(on)}/hard_reset?ref={on.first}&force=true"),
            "unstage": lambda on: self._ask("PUT", branch(on), {"type": "reset", **forced}),
            "delete branch": lambda on: self._ask("DELETE", f"{branch(on)}?force=true"),
            "pull": lambda on: self._ask("PUT", f"{repository}/pulls/{on.pull}/merge"),
            "load": lambda on: self._ask("POST", f"{pool}/rows?branch={on.branch}&format=ndjson", b'{"x": 9}\n'),
            "delete rows": lambda on: self._ask(
                "POST", f"{pool}/rows/delete", {"branch": on.branch, "where": "x == 1"}
            ),
            "compact": lambda on: self._ask("POST", f"{pool}/compact", {"branch": on.branch}),
        }

    def _ask(self, method: str, path: str, body: bytes | dict[str, Any] | None = None) -> bool:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        kind = "application/json" if isinstance(body, dict) else "application/octet-stream"
        answer = self.client.ask(method, quote(path, safe="/?&=%"), data, content_type=kind)
        if answer.status == 200 and answer.body.startswith(b'{"errors":[{'):  # of many objects
            assert b"is protected" in answer.body
            return True
        if answer.status >= 300:
            assert answer.status == 403, answer
            assert "is protected" in answer.message or "cannot be merged" in answer.message, answer
        return answer.status == 403


@dataclass(frozen=True)
class CommandDoor:
    lake: str
    folder: Path

    def acts(self) -> dict[str, Act]:
        def at(on: Prepared) -> str:
            return f"{FILES}@{on.branch}"

        found: dict[str, Callable[[Prepared], tuple[str, ...]]] = {
            "put": lambda on: ("fs", "upload", "-", f"{at(on)}/new"),
            "copy": lambda on: ("fs", "cp", f"{at(on)}/a", f"{at(on)}/copied"),
            "move": lambda on: ("fs", "mv", f"{at(on)}/a", f"{at(on)}/moved"),
            "delete": lambda on: ("fs", "rm", f"{at(on)}/a"),
            "link": lambda on: ("fs", "link", f"{at(on)}/linked", "--token", on.token),
            "pop": lambda on: ("stash", "pop", at(on), on.stash),
            "commit": lambda on: ("commit", at(on), "-m", "mine"),
            "import": lambda on: ("import", f"file://{self.folder}", f"{at(on)}/in/"),
            "workspace": lambda on: ("workspace", "commit", FILES, on.workspace, "-m", "mine"),
            "revert": lambda on: ("revert", at(on), on.second),
            "cherry-pick": lambda on: ("cherry-pick", at(on), SOURCE),
            "merge": lambda on: ("merge", f"{FILES}@{SOURCE}", at(on)),
            "squash": lambda on: ("merge", f"{FILES}@{SOURCE}", at(on), "--squash"),
            "reset": lambda on: ("reset", at(on), "--hard", on.first, "--yes"),
            "rebase": lambda on: ("rebase", at(on), f"{FILES}@{SOURCE}"),
            "rename": lambda on: ("branch", "rename", at(on), f"{on.branch}-renamed"),
            "delete branch": lambda on: ("branch", "delete", at(on)),
            "pull": lambda on: ("pr", "merge", FILES, on.pull),
            "squashed pull": lambda on: ("pr", "merge", FILES, on.pull, "--squash"),
            "fast pull": lambda on: ("pr", "merge", FILES, on.pull, "--fast"),
            "load": lambda on: ("load", f"{POOL}@{on.branch}", "-i", "ndjson", str(self.folder / "rows.ndjson")),
            "delete rows": lambda on: ("delete", f"{POOL}@{on.branch}", "--where", "x == 1"),
            "compact": lambda on: ("compact", f"{POOL}@{on.branch}"),
        }
        return {name: lambda on, words=words: self._refused(words(on)) for name, words in found.items()}  # type: ignore[misc]

    def _refused(self, words: tuple[str, ...]) -> bool:
        done = CliRunner().invoke(cli, ("--lake", self.lake, *words), input=b"x", prog_name="lochan")
        refused = "is protected" in done.stderr or "cannot be merged" in done.stderr
        assert done.exit_code == 0 or (done.exit_code == 5 and refused), (words, done.output)
        return done.exit_code == 5
