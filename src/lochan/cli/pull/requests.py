"""`lochan pr create`, `list`, `show`, `edit`, `close` and `reopen`: the requests themselves."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.output.records import SHORT, cell, printable, show_answer, show_record, show_records
from lochan.cli.target import Target, branch_uri, repository_uri, work_on
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.pull_results import PullComment, PullRequestInfo

STATUSES = ("open", "closed", "merged", "ended", "all")


@verb("create", "lochan pr create demo --from dev --title 'Add pears'", changes=True)
@click.argument("branch", metavar="REPO[@TARGET]")
@click.option("--from", "source", required=True, metavar="BRANCH", help="The branch to be merged.")
@click.option("-t", "--title", required=True, help="What it does, in one line.")
@click.option("-m", "--description", default="", metavar="TEXT", help="Why, and whatever reviewers should know.")
@click.option("--reviewer", "reviewers", multiple=True, metavar="USER", help="Ask this user; may be repeated.")
def create_command(
    branch: str, source: str, title: str, description: str, reviewers: tuple[str, ...], form: str
) -> None:
    """Propose to merge a branch into TARGET, or into the default branch."""
    uri = branch_uri(branch)
    made = work_on(
        uri,
        lambda target: target.repository.create_pull(
            source, uri.ref, title=title, description=description, reviewers=reviewers
        ),
    )
    show_answer({"id": made.id}, form, f"opened pull request {made.id}: {printable(title)}")


@verb("list", "lochan pr list demo", "lochan pr list demo --status merged --author ada")
@click.argument("repository", metavar="REPO")
@click.option("--status", type=click.Choice(STATUSES), default="open", show_default=True, help="Those of this status.")
@click.option("--author", default="", metavar="USER", help="Those that this user opened.")
@click.option("--from", "source", default="", metavar="BRANCH", help="Those from this branch.")
@click.option("--into", "target", default="", metavar="BRANCH", help="Those into this branch.")
@click.option("--after", default="", metavar="ID", help="Those that were opened before this one.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="At most N of them. Default: all.")
def list_command(
    repository: str, status: str, author: str, source: str, target: str, after: str, limit: int | None, form: str
) -> None:
    """List the pull requests of REPO. The newest comes first."""

    async def work(at: Target) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        async for each in at.repository.pulls(status, author=author, source=source, target=target, after=after):
            found.append(each.as_json())
            if len(found) == limit:
                break
        return found

    records = work_on(repository_uri(repository), work, reads=True)
    show_records(records, form, columns=("id", "status", "source", "target", "author", "comments", "title"))


@verb("show", "lochan pr show demo 12")
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
def show_command(repository: str, pull: str, form: str) -> None:
    """Show a pull request: what was said about it, its checks, and what keeps it from being merged."""

    async def work(target: Target) -> "tuple[PullRequestInfo, list[PullComment]]":
        found = target.repository.pull(pull)
        return await found.show(), [each async for each in found.comments()]

    info, comments = work_on(repository_uri(repository), work, reads=True)
    if form == "json":
        show_record({**info.as_json(), "comments": [each.as_json() for each in comments]}, form)
        return
    show_record(_fields(info), form)
    for text in (info.description, *(_comment(each) for each in comments)):
        if text:
            click.echo(f"\n{_lines(text)}")


def _fields(info: "PullRequestInfo") -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": info.id,
        "title": info.title,
        "status": info.status,
        "author": info.author,
        "source": f"{info.source} {info.head[:SHORT]}".strip(),
        "target": info.target,
    }
    for review in info.reviews:
        marks = [*([] if review.current else ["of an earlier commit"]), *([] if review.active else ["inactive"])]
        marks += [f"dismissed by {review.dismissed_by}"] if review.dismissed_by else []
        found[f"review of {review.user}"] = " ".join([review.verdict, *(f"({each})" for each in marks), review.text])
    for check in info.checks:
        found[f"check {check.name}"] = " ".join(each for each in (check.status, check.text, check.link) if each)
    if info.reviewers:
        found["asked"] = list(info.reviewers)
    if info.ended_by:
        found[f"{info.status} by"] = info.ended_by
    if info.commit:
        found["commit"] = info.commit[:SHORT]
    if info.threads:
        found["open threads"] = info.threads
    for number, reason in enumerate(info.unmet, 1):
        found[f"unmet {number}"] = reason
    return {cell(name): value for name, value in found.items()}


def _comment(comment: "PullComment") -> str:
    about = f" on {'the conflict at ' if comment.conflict else ''}{comment.path}" if comment.path else ""
    answer = f" in answer to {comment.thread}" if comment.thread else ""
    resolved = f" (resolved by {comment.resolved_by})" if comment.resolved_by else ""
    return f"{comment.id} {comment.user}{about}{answer}{resolved}:\n{comment.text}"


def _lines(text: str) -> str:
    """Escapes control characters, which could command a terminal, but not line breaks."""
    return "\n".join(map(printable, text.split("\n")))


@verb("edit", "lochan pr edit demo 12 --title 'Add pears and plums'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
@click.option("-t", "--title", help="Another title.")
@click.option("-m", "--description", metavar="TEXT", help="Another description.")
@click.option("--reviewer", "reviewers", multiple=True, metavar="USER", help="Ask these users instead; repeat it.")
@click.option("--no-reviewers", is_flag=True, help="Ask nobody.")
def edit_command(
    repository: str,
    pull: str,
    title: str | None,
    description: str | None,
    reviewers: tuple[str, ...],
    no_reviewers: bool,
    form: str,
) -> None:
    """Change the title, the description or the reviewers of a pull request."""
    if reviewers and no_reviewers:
        raise click.UsageError("--reviewer and --no-reviewers exclude each other.")
    wanted_reviewers = reviewers if reviewers or no_reviewers else None
    work_on(
        repository_uri(repository),
        lambda target: target.repository.pull(pull).update(
            title=title, description=description, reviewers=wanted_reviewers
        ),
    )
    show_answer({"id": pull}, form, f"changed pull request {printable(pull)}")


@verb("close", "lochan pr close demo 12", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
def close_command(repository: str, pull: str, form: str) -> None:
    """Close a pull request without merging it."""
    work_on(repository_uri(repository), lambda target: target.repository.pull(pull).close())
    show_answer({"id": pull}, form, f"closed pull request {printable(pull)}")


@verb("reopen", "lochan pr reopen demo 12", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
def reopen_command(repository: str, pull: str, form: str) -> None:
    """Open a closed pull request again."""
    work_on(repository_uri(repository), lambda target: target.repository.pull(pull).reopen())
    show_answer({"id": pull}, form, f"reopened pull request {printable(pull)}")
