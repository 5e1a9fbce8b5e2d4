"""Cached pages: of one state of a ref, for one user, within a bound."""

from dataclasses import dataclass
from typing import Any, cast

from lochan.access.rights import Rights
from lochan.api.snapshot import BRANCH, WORKSPACE, RefSnapshot
from lochan.formats.entry import Entry
from lochan.server.gateway.listing_page import BYTES_MAX, ListCache
from lochan.staging.layers import EMPTY, Layers
from lochan.versioning.repositories import Repository
from lochan.versioning.revisions.resolve import ResolvedRef
from lochan.versioning.state.branch import BranchState

CHANGED = EMPTY.put(Entry("a", (), 0, "", "", 0))


@dataclass
class Asked:
    raw_query: str = "list-type=2"
    bucket: str = "bucket"
    user: str = "ada"


def at(commit: str = "c1", layers: Layers = EMPTY, id: str = "here", **fields: Any) -> RefSnapshot:
    found = ResolvedRef(commit, cast("Any", None), BranchState("main", 1, commit, layers), **fields)
    repository = Repository(id, "bucket", "files", "main", 0, "ada", {})
    return RefSnapshot(cast("Any", None), repository, "main", WORKSPACE if found.workspace else BRANCH, found)


def find(pages: ListCache, asked: Asked, snapshot: RefSnapshot, rights: Rights | None = None) -> bytes | None:
    return pages.find(snapshot, cast("Any", asked), rights)


def keep(
    pages: ListCache, asked: Asked, snapshot: RefSnapshot, body: bytes = b"page", rights: Rights | None = None
) -> None:
    pages.keep(snapshot, cast("Any", asked), body, rights)


def test_a_page_is_found_while_nothing_has_changed() -> None:
    pages = ListCache()
    keep(pages, Asked(), at())
    assert find(pages, Asked(), at()) == b"page"
    assert find(pages, Asked("list-type=2&prefix=a"), at()) is None
    assert find(pages, Asked(user="bob"), at()) is None
    assert find(pages, Asked(bucket="other"), at()) is None
    assert find(pages, Asked(), at(id="there")) is None
    assert find(pages, Asked(), at("c2")) is None
    assert find(pages, Asked(), at(layers=CHANGED)) is None
    keep(pages, Asked(), at(layers=CHANGED), b"another")
    assert find(pages, Asked(), at(layers=CHANGED)) == b"another"
    assert find(pages, Asked(), at()) is None


def test_a_page_of_what_may_be_seen_goes_with_the_rights_that_it_was_made_by() -> None:
    pages, before, after = ListCache(), Rights(()), Rights(())
    keep(pages, Asked(), at(), rights=before)
    assert find(pages, Asked(), at(), rights=before) == b"page"
    assert find(pages, Asked(), at(), rights=after) is None
    assert find(pages, Asked(), at()) is None, "for who may see everything it is another page"


def test_the_oldest_go_first() -> None:
    pages, body = ListCache(), bytes(BYTES_MAX // 8)
    for number in range(9):
        keep(pages, Asked(str(number)), at(), body)
    assert [find(pages, Asked(str(number)), at()) is not None for number in range(9)] == [False] + [True] * 8
    keep(pages, Asked("5"), at(), body)  # once more
    keep(pages, Asked("9"), at(), body)
    kept = [str(number) for number in range(10) if find(pages, Asked(str(number)), at()) is not None]
    assert kept == ["2", "3", "4", "5", "6", "7", "8", "9"]


def test_what_is_too_large_or_of_a_workspace_is_not_kept() -> None:
    pages = ListCache()
    keep(pages, Asked(), at(), bytes(BYTES_MAX // 4 + 1))
    assert find(pages, Asked(), at()) is None
    keep(pages, Asked(), at(workspace=cast("Any", object())))
    assert find(pages, Asked(), at(workspace=cast("Any", object()))) is None
