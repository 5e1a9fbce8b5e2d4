"""The verbs as actions of a scene: each is something that a client does."""

from collections.abc import Awaitable, Callable

from tests.sim.versioning.client import Client

Act = Callable[[Client], Awaitable[object]]


def put(branch: str, *paths: str) -> Act:
    return lambda client: client.put(branch, *paths)


def delete(branch: str, *paths: str) -> Act:
    return lambda client: client.delete(branch, *paths)


def commit(branch: str, *paths: str) -> Act:
    return lambda client: client.commit(branch, *paths)


def compact(branch: str) -> Act:
    return lambda client: client.compact(branch)


def merge(source: str, branch: str, strategy: str = "default") -> Act:
    return lambda client: client.merge(source, branch, strategy)


def merge_committing(source: str, branch: str) -> Act:
    return lambda client: client.merge_committing(source, branch, "source-wins")


def rebase(branch: str, onto: str) -> Act:
    return lambda client: client.rebase(branch, onto)


def bring_in(branch: str, *paths: str) -> Act:
    return lambda client: client.bring_in(branch, *paths)


def push(branch: str) -> Act:
    return lambda client: client.push(branch)


def pop(branch: str) -> Act:
    return lambda client: client.pop(branch)


def open_workspace(branch: str) -> Act:
    return lambda client: client.open_workspace(branch)


def put_in(*paths: str) -> Act:
    return lambda client: client.put_in(client.place.workspaces[0], *paths)


def put_file(client: Client) -> Awaitable[object]:
    return client.put_file(client.place.workspaces[0])


def commit_workspace(client: Client) -> Awaitable[object]:
    return client.commit_workspace(client.place.workspaces[0])


def revert(branch: str) -> Act:
    return lambda client: client.revert(branch, client.repository.folded().branch(branch).head)


def reset(branch: str) -> Act:
    return lambda client: client.reset(branch)


def hard_reset(branch: str, target: str) -> Act:
    return lambda client: client.hard_reset(branch, target)


def create(branch: str, source: str = "main") -> Act:
    return lambda client: client.create(branch, source)


def rename(branch: str, to: str) -> Act:
    return lambda client: client.rename(branch, to)


def drop(branch: str) -> Act:
    return lambda client: client.drop(branch)


def restore(branch: str) -> Act:
    return lambda client: client.restore(branch)


def read(branch: str) -> Act:
    return lambda client: client.read(branch)
