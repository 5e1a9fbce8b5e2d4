"""A transaction: everything that is written, copied, moved and deleted in it becomes one commit, or nothing.

    with fs.transaction("new prices"):
        fs.pipe("shop/main/prices.csv", data)
        fs.rm("shop/main/old", recursive=True)

It works in a workspace over the branch, so that nobody else sees half of it, and it does not commit changes that others
have staged. Reads of the branch by the same file system see what was written. A transaction has one branch: that of its
first write."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fsspec.transaction import Transaction

from lochan.api.options import CommitOptions
from lochan.errors import LochanError, NothingToDo
from lochan.fsspec.os_errors import os_errors

if TYPE_CHECKING:
    from lochan.api.blocking import Workspace
    from lochan.api.results import Commit
    from lochan.fsspec.filesystem import LochanFileSystem
    from lochan.fsspec.location import Location


class BranchTransaction(Transaction):  # type: ignore[misc]  # fsspec has no types
    def __init__(self, fs: LochanFileSystem, **_: Any) -> None:
        super().__init__(fs)
        self._fs = fs
        self.message = "Write files"
        self.metadata: Mapping[str, str] = {}
        self.commit: Commit | None = None  # the result; None if nothing was changed
        self._at: tuple[str, str] | None = None
        self._workspace: Workspace | None = None

    def __call__(self, message: str, metadata: Mapping[str, str] | None = None) -> BranchTransaction:
        """Sets the commit's message and metadata."""
        self.message, self.metadata = message, metadata or {}
        return self

    def workspace_for(self, location: Location) -> Workspace:
        """Returns the workspace to write to. Raises OSError for a second branch."""
        at = location.repository, location.ref
        if self._workspace is None:
            branch = self._fs.lake.repository(location.repository).branch(location.ref)
            with os_errors(location.name):
                self._workspace = branch.workspace(self.message)
            self._at = at
        if at != self._at:
            began = "/".join(self._at or ())
            message = f"the transaction has begun on {began}, and a transaction is one commit on one branch"
            raise OSError(errno.EXDEV, message, location.name)
        return self._workspace

    def find(self, location: Location) -> Workspace | None:
        """Returns the workspace to read from, if the transaction has written there."""
        return self._workspace if (location.repository, location.ref) == self._at else None

    def complete(self, commit: bool = True) -> None:
        try:
            while self.files:
                file = self.files.popleft()
                if commit:
                    file.close()
                else:
                    file.discard()
            if commit and self._workspace is not None:
                self._land(self._workspace)
        except BaseException:
            self._drop()
            raise
        finally:
            while self.files:
                self.files.popleft().discard()
            self._fs._intrans, self._fs._transaction = False, None
        if not commit:
            self._drop()

    def _land(self, workspace: Workspace) -> None:
        options = CommitOptions(message=self.message, metadata=dict(self.metadata))
        with os_errors("/".join(self._at or ())), suppress(NothingToDo):
            self.commit = workspace.commit(options=options)
        if self.commit is None:
            self._drop()

    def _drop(self) -> None:
        if self._workspace is not None:
            with suppress(LochanError):  # the first error is the one that counts
                self._workspace.drop()
