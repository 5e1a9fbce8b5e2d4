"""A pull request: a request to merge one branch into another, with its reviews and comments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import msgspec

from lochan.api.branch import Branch, message_of
from lochan.api.object_results import Change, Conflict, conflicts_of
from lochan.api.options import DEFAULT_COMMIT, CommitOptions
from lochan.api.pull_results import PullCheck, PullComment, PullRequestInfo, Resolution, info_of
from lochan.api.results import Commit
from lochan.api.session import Session
from lochan.api.workspace import Workspace
from lochan.errors import Invalid, LochanError, NothingToDo
from lochan.journal.keys import CarriedOut, part_of, without_key

if TYPE_CHECKING:
    from lochan.formats.record import Actor
    from lochan.versioning.heads.moves import PullMerge
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.pulls import PullState
    from lochan.versioning.state.refs import Refs


class PullRequest:
    def __init__(self, session: Session, repository: str, id: str) -> None:
        self._session = session
        self.repository_name = repository
        self.id = id

    def __repr__(self) -> str:
        return f"<PullRequest {self.repository_name} {self.id}>"

    @property
    def name(self) -> str:
        return self.id

    async def show(self) -> PullRequestInfo:
        """With its reviews and checks, and every reason why it cannot be merged yet. Raises NotFound."""
        from lochan.versioning.pulls import read_texts
        from lochan.versioning.state.merge_gate import unmet
        from lochan.versioning.state.pulls import OPEN

        async with self._session.opened(self.repository_name) as repository:
            refs, _ = await repository.refs()
            found = refs.pulls.get(self.id)
            inactive = await self._inactive(found)
            head = _head(refs, found)
            reasons: tuple[str, ...] = ()
            if found.status == OPEN:
                of_rules = refs.guard.of(found.target).unmet(self._session.actor.user, lambda: True)
                reasons = (*unmet(refs, found, inactive), *of_rules)
            checks = _checks(refs, found)
            texts = await read_texts(repository, (found.text, *(each.text for each in found.reviews)))
            return info_of(found, texts, head, checks, reasons, inactive)

    async def comments(self) -> AsyncIterator[PullComment]:
        """As they were written, one after the other."""
        from lochan.versioning.pulls import read_texts

        async with self._session.opened(self.repository_name) as repository:
            refs, _ = await repository.refs()
            found = refs.pulls.get(self.id).comments
            texts = await read_texts(repository, (each.text for each in found))
            for each in found:
                yield PullComment.of(each, texts)

    async def checks(self) -> list[PullCheck]:
        """Lists the checks of the head of the source branch."""
        async with self._session.opened(self.repository_name) as repository:
            refs, _ = await repository.refs()
            return list(_checks(refs, refs.pulls.get(self.id)))

    async def diff(self, prefix: str = "", after: str = "") -> AsyncIterator[Change]:
        """What it changes, in path order, behind the path `after`; what is staged does not count. Raises NotFound if
        its source is gone."""
        from lochan.versioning.revisions.diff import diff

        async with self._session.opened(self.repository_name) as repository:
            refs, _ = await repository.refs()
            found = refs.pulls.get(self.id)
            sides = (found.merged_base, found.merged) if found.merged else _heads(refs, found)
            several = diff(repository, *sides, prefix=prefix, after=after, three_dot=not found.merged)
            async with aclosing(several) as differences:
                async for each in differences:
                    yield Change.of(each)

    async def conflicts(self) -> AsyncIterator[Conflict]:
        """Paths that both branches have changed in different ways: ours is the target's version, theirs the
        source's."""
        from lochan.versioning.heads.moves import PathConflicts, rehearse_merge

        async with self._session.opened(self.repository_name) as repository:
            refs, _ = await repository.refs()
            found = refs.pulls.need_open(self.id)
            refs.branch(found.source)
            try:
                await rehearse_merge(repository, found.source, found.target, staged_source=True, staged_target=True)
            except NothingToDo:
                return
            except PathConflicts as error:
                async with aclosing(conflicts_of(error)) as several:  # type: ignore[type-var]
                    async for each in several:
                        yield each

    async def update(
        self,
        *,
        title: str | None = None,
        description: str | None = None,
        reviewers: Sequence[str] | None = None,
        key: str = "",
    ) -> None:
        """What is given is replaced. `reviewers`: who are asked to review it. Raises Invalid."""
        from lochan.versioning.pulls import update_pull

        if title is None and description is None and reviewers is None:
            raise Invalid("nothing was given to change", hint="give a title, a description or reviewers")
        actor = self._session.acting(key, "update pull", *self._names, title, description, reviewers)
        async with self._session.opened(self.repository_name) as repository:
            await update_pull(repository, self.id, title, description, reviewers, actor=actor)

    async def close(self, *, key: str = "") -> None:
        """Without merging it. Raises Refused for one that is not open."""
        from lochan.versioning.pulls import close_pull

        actor = self._session.acting(key, "close pull", *self._names)
        async with self._session.opened(self.repository_name) as repository:
            await close_pull(repository, self.id, actor=actor)

    async def reopen(self, *, key: str = "") -> None:
        """Raises Refused for one that is not closed, NotFound if a branch of it is gone."""
        from lochan.versioning.pulls import reopen_pull

        actor = self._session.acting(key, "reopen pull", *self._names)
        async with self._session.opened(self.repository_name) as repository:
            await reopen_pull(repository, self.id, actor=actor)

    async def review(self, verdict: str, text: str = "", *, commit: str = "", key: str = "") -> None:
        """`approve`, `changes` (no merge until they say otherwise), or `withdraw` what you said. `commit`: the head of
        the source that you looked at; if it is another by now, Conflict is raised. Only through a server, which knows
        who you are. Raises Refused for your own request."""
        from lochan.versioning.pulls import review_pull

        actor = self._session.acting(key, "review pull", *self._names, verdict, text, commit)
        async with self._session.opened(self.repository_name) as repository:
            served = self._session.is_served
            await review_pull(repository, self.id, verdict, text, commit, served=served, actor=actor)

    async def dismiss_review(self, user: str, text: str = "", *, key: str = "") -> None:
        """The review of that user does not count any more; `text` says why. Raises NotFound."""
        from lochan.versioning.pulls import dismiss_review

        actor = self._session.acting(key, "dismiss review", *self._names, user, text)
        async with self._session.opened(self.repository_name) as repository:
            await dismiss_review(repository, self.id, user, text, actor=actor)

    async def comment(
        self, text: str, *, path: str = "", conflict: bool = False, thread: str = "", key: str = ""
    ) -> str:
        """On the whole, on a path, on the `conflict` at a path, or as an answer in the thread that a comment began.
        Gives its id. Raises Invalid."""
        from lochan.versioning.pulls import comment_pull

        actor = self._session.acting(key, "comment pull", *self._names, text, path, conflict, thread)
        async with self._session.opened(self.repository_name) as repository:
            return await comment_pull(repository, self.id, text, path, conflict, thread, actor=actor)

    async def edit_comment(self, comment: str, text: str, *, key: str = "") -> None:
        """Your own. Raises Refused, NotFound."""
        from lochan.versioning.pulls import edit_comment

        actor = self._session.acting(key, "edit comment", *self._names, comment, text)
        async with self._session.opened(self.repository_name) as repository:
            await edit_comment(repository, self.id, comment, text, actor=actor)

    async def resolve_thread(self, thread: str, on: bool = True, *, key: str = "") -> None:
        """The thread that this comment began is settled; or not any more. Raises NotFound."""
        from lochan.versioning.pulls import resolve_thread

        actor = self._session.acting(key, "resolve thread", *self._names, thread, on)
        async with self._session.opened(self.repository_name) as repository:
            await resolve_thread(repository, self.id, thread, on, actor=actor)

    async def check(
        self, check: str, status: str, text: str = "", *, link: str = "", commit: str = "", key: str = ""
    ) -> str:
        """Reports the outcome of a check of that name: `pending`, `success` or `failure`, in a few words, with a link
        to more. Of the head of the source, or of another `commit`; it counts for requests into the same target. Gives
        the commit. Raises Invalid."""
        from lochan.versioning.pulls import report_check

        actor = self._session.acting(key, "report check", *self._names, check, status, text, link, commit)
        async with self._session.opened(self.repository_name) as repository:
            refs, _ = await repository.refs()
            found = refs.pulls.get(self.id)
            at = await self._checked_commit(repository, commit or _head(refs, found), found)
            return await report_check(repository, at, found.target, check, status, text, link, actor=actor)

    async def resolve(self, choices: Sequence[Resolution], options: CommitOptions = DEFAULT_COMMIT) -> Commit:
        """Settles all its conflicts, by a merge of the target into the source. Bytes that are given are a second commit
        on top of that. Raises PathsInTheWay for conflicts that are not decided, Invalid for a path that is none."""
        from lochan.versioning.idempotency import check_first
        from lochan.versioning.pull_merge import resolve_conflicts

        takes = {each.path: each.take for each in choices}
        if len(takes) != len(choices):
            raise Invalid("a path is decided twice")
        message = message_of(options)
        actor = self._session.acting(options.key, "resolve pull", *self._names, choices, message)
        given = [each for each in choices if each.take == "bytes"]
        first = part_of(actor, "merge") if given else actor  # the last step decides the request
        async with self._session.opened(self.repository_name) as repository:
            try:
                await check_first(repository, actor)
            except CarriedOut as before:
                return Commit.of(str(before.result), repository.folded().recorded(str(before.result)))
            id = await resolve_conflicts(repository, self.id, takes, message, actor=first)
            refs, _ = await repository.refs()
            source, made = refs.pulls.get(self.id).source, Commit.of(id, refs.recorded(id))
        return await self._put_contents(source, given, options, actor) if given else made

    async def _put_contents(
        self, source: str, given: Sequence[Resolution], options: CommitOptions, actor: Actor
    ) -> Commit:
        session = self._session.with_actor(without_key(actor))
        workspace = await Branch(session, self.repository_name, source).workspace("resolved conflicts")
        try:
            for each in given:
                await workspace.put(each.path, each.content)
            says = options.message or f"Resolve {len(given)} conflict{'s' if len(given) > 1 else ''} by hand"
            deciding = Workspace(self._session.with_actor(actor), self.repository_name, workspace.name)
            return await deciding.commit(says, msgspec.structs.replace(options, message=says, key=""))
        finally:
            with suppress(LochanError):  # it was committed, or what went wrong first is what counts
                await workspace.drop()

    async def merge(
        self, options: CommitOptions = DEFAULT_COMMIT, *, way: str = "merge", leave_staged: bool = False
    ) -> Commit:
        """Into its target. `way`: `merge`, `squash` (one commit with one parent), or `fast` (the target goes on to the
        source's own commits). `leave_staged`: whatever is staged on the source stays there. Gives the target's new
        head. Raises RulesUnmet with every reason, PathsInTheWay with the conflicts, Dirty, NothingToDo."""
        from lochan.versioning.pull_merge import merge_pull

        message = message_of(options)
        actor = self._session.acting(options.key, "merge pull", *self._names, way, message, leave_staged)
        async with self._session.opened(self.repository_name) as repository:
            pull = await self._merged(repository)
            id = await merge_pull(repository, way, message, pull, leave_staged=leave_staged, actor=actor)
            refs, _ = await repository.refs()
            return Commit.of(id, refs.recorded(id))

    async def _merged(self, repository: OpenRepository) -> PullMerge:
        from lochan.versioning.heads.moves import PullMerge

        async def inactive() -> tuple[str, ...]:
            refs, _ = await repository.refs()
            return await self._inactive(refs.pulls.get(self.id))

        return PullMerge(self.id, inactive)

    async def _inactive(self, found: PullState) -> tuple[str, ...]:
        """Returns its reviewers who are disabled or deleted. The users are in the lake's own journal."""
        if not found.reviews:
            return ()
        state = await self._session.lake.open_access().state()
        users = {each.user: state.find_user(each.user) for each in found.reviews}
        return tuple(sorted(name for name, user in users.items() if user is None or user.disabled))

    async def _checked_commit(self, repository: OpenRepository, name: str, found: PullState) -> str:
        """Returns the id of a commit of the source. The error does not reveal whether other commits exist."""
        from lochan.versioning.revisions.graph import is_ancestor

        refs, _ = await repository.refs()
        head = _head(refs, found)
        known = refs.commits_with(name) if name else []
        if not head or len(known) != 1 or not is_ancestor(refs.recorded, known[0], head):
            raise Invalid(f"{name!r} is no commit of pull request {self.id}", hint="give the id of one of its source")
        return known[0]

    @property
    def _names(self) -> tuple[str, str]:
        return self.repository_name, self.id


def _head(refs: Refs, found: PullState) -> str:
    source = refs.find_branch(found.source)
    return found.merged_source or ("" if source is None else source.head)


def _heads(refs: Refs, found: PullState) -> tuple[str, str]:
    return refs.branch(found.target).head, refs.branch(found.source).head


def _checks(refs: Refs, found: PullState) -> tuple[PullCheck, ...]:
    head = _head(refs, found)
    required = {name for rule in refs.guard.of(found.target).rules for name in rule.checks}
    return tuple(PullCheck.of(each, head, each.name in required) for each in refs.pulls.checks(head, found.target))
