"""A client that reads with the real verbs. The oracle judges what it read."""

from collections.abc import Callable

from lochan.errors import Mistake, Transient, Unknown
from lochan.versioning import objects
from lochan.versioning.revisions import diff as diff_module
from tests.sim.versioning.answers import Now
from tests.sim.versioning.base_client import BaseClient
from tests.sim.versioning.three_way import changes


class Reader(BaseClient):
    async def read(self, branch: str) -> None:
        """Everything, by listing and one by one, of one folded state."""
        since = self.oracle.floor
        try:
            refs, number = await self.repository.refs()
            digest = self.repository.journal.tail.state.digest
            found = refs.find_branch(branch)
            if found is None:
                self.oracle.read_at(self.name, since, number, digest, branch, {})
                return
            view = await self.repository.view_of(refs.commit(found.head), found.layers)
            listed = {entry.path: entry.checksum for entry in (await view.list()).entries}
            got = {path: entry.checksum for path in listed if (entry := await view.get(path)) is not None}
        except (Transient, Unknown):
            return
        if listed != got:
            self.oracle.world.fail(f"READ: {self.name} lists {listed} and gets {got}")
        self.oracle.read_at(self.name, since, number, digest, branch, listed)

    async def look(self, branch: str, path: str) -> None:
        """One path, and what is staged, by the verbs."""
        since = self.oracle.floor
        try:
            page = await objects.list_objects(self.repository, branch, limit=100)
            listed = {entry.path: entry.checksum for entry in page.entries}
            self.oracle.saw(self.name, f"{branch} holds {listed}", since, lambda now: view_of(now, branch) == listed)
            entry = await objects.stat(self.repository, branch, path)
            held = entry.checksum
            self.oracle.saw(self.name, f"{path} is {held}", since, lambda now: view_of(now, branch).get(path) == held)
        except Mistake:
            self.oracle.saw(self.name, f"no {path} on {branch}", since, lambda now: path not in view_of(now, branch))
        except (Transient, Unknown):
            return

    async def status(self, branch: str) -> None:
        since = self.oracle.floor
        try:
            told = {each.path: each.kind for each in await diff_module.staged_changes(self.repository, branch)}
        except (Transient, Unknown, Mistake):
            return
        self.oracle.saw(self.name, f"{told} is staged on {branch}", since, lambda now: self._kinds(now, branch) == told)

    async def diff(self, left: str, right: str) -> None:
        """Compares two heads; each may be of another moment."""
        since = self.oracle.floor
        try:
            found = [each async for each in diff_module.diff(self.repository, left, right)]
        except (Transient, Unknown, Mistake):
            return
        told = {each.path: None if each.right is None else each.right.checksum for each in found}
        self.oracle.update()
        trees, history = self.oracle.model.trees, self.oracle.model.history[since:]
        heads = [{now[name].head for now in history if name in now} for name in (left, right)]
        if all(changes(trees[one], trees[other]) != told for one in heads[0] for other in heads[1]):
            self.oracle.world.fail(f"READ: {self.name} was told {told} between {left} and {right}, which never was so")

    def _kinds(self, now: Now, name: str) -> dict[str, str]:
        branch = now.get(name)
        if branch is None:
            return {}
        head = self.oracle.model.trees[branch.head]
        return {
            path: "removed" if value is None else "changed" if path in head else "added"
            for path, value in changes(head, branch.view).items()
        }


def view_of(now: Now, branch: str) -> dict[str, str]:
    return dict(now[branch].view) if branch in now else {}


def absent(branch: str, paths: list[str]) -> Callable[[Now], bool]:
    return lambda now: not view_of(now, branch).keys() & set(paths)
