"""`lochan pr review`, `comment`, `check` and `checks`: the reviews of a request by people and programs."""

import click

from lochan.cli.output.records import SHORT, printable, show_answer, show_records
from lochan.cli.target import Target, repository_uri, work_on
from lochan.cli.verb import verb

_VERDICTS = {"approve": "approved", "changes": "asked for changes of", "withdraw": "withdrew the review of"}


@verb(
    "review",
    "lochan pr review demo 12 --approve",
    "lochan pr review demo 12 --changes -m 'too many nulls'",
    changes=True,
)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
@click.option("--approve", "verdict", flag_value="approve", help="It may be merged.")
@click.option("--changes", "verdict", flag_value="changes", help="It may not be merged before you say otherwise.")
@click.option("--withdraw", "verdict", flag_value="withdraw", help="Take back what you said.")
@click.option("--dismiss", metavar="USER", help="The review of this user does not count any more.")
@click.option("-m", "--message", default="", metavar="TEXT", help="The reasons.")
@click.option("--commit", default="", metavar="ID", help="Refuse if the source is not at this commit.")
def review_command(
    repository: str, pull: str, verdict: str | None, dismiss: str | None, message: str, commit: str, form: str
) -> None:
    """Approve a pull request, or ask for changes.

    An approval is of the commit that is the head of the source, and does not count for later ones, unless a rule says
    so. Reviews are given through a server, which knows who gives them.
    """
    if (verdict is None) == (dismiss is None):
        raise click.UsageError("Give one of --approve, --changes, --withdraw and --dismiss.")
    shown = printable(pull)

    async def work(target: Target) -> str:
        found = target.repository.pull(pull)
        if dismiss is not None:
            await found.dismiss_review(dismiss, message)
            return f"dismissed the review of {printable(dismiss)} on pull request {shown}"
        assert verdict is not None
        await found.review(verdict, message, commit=commit)
        return f"{_VERDICTS[verdict]} pull request {shown}"

    text = work_on(repository_uri(repository), work)
    show_answer({"id": pull, "verdict": verdict or "dismissed"}, form, text)


@verb(
    "comment",
    "lochan pr comment demo 12 -m 'Where do these rows come from?' --path raw/fruit.csv",
    "lochan pr comment demo 12 --resolve 2wrHxnFb8uoyh3Lgq1vhUvzHr1H",
    changes=True,
)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
@click.option("-m", "--message", default="", metavar="TEXT", help="The comment.")
@click.option("--path", default="", help="The object that it is about. Default: the whole request.")
@click.option("--conflict", is_flag=True, help="It is about the conflict at PATH.")
@click.option("--reply-to", "thread", default="", metavar="COMMENT", help="Answer in the thread of this comment.")
@click.option("--edit", metavar="COMMENT", help="Replace the text of your comment.")
@click.option("--resolve", metavar="COMMENT", help="The thread of this comment is settled.")
@click.option("--unresolve", metavar="COMMENT", help="It is not settled any more.")
def comment_command(
    repository: str,
    pull: str,
    message: str,
    path: str,
    conflict: bool,
    thread: str,
    edit: str | None,
    resolve: str | None,
    unresolve: str | None,
    form: str,
) -> None:
    """Comment on a pull request, edit a comment, or resolve a thread."""
    if sum(each is not None for each in (edit, resolve, unresolve)) > 1:
        raise click.UsageError("Give one of --edit, --resolve and --unresolve.")
    settled = resolve or unresolve
    if (settled is None) == (not message):
        raise click.UsageError("Give -m with the text, unless a thread is resolved.")
    if (settled or edit) and (path or conflict or thread):
        raise click.UsageError("--path, --conflict and --reply-to are for new comments.")

    async def work(target: Target) -> tuple[str, str]:
        found = target.repository.pull(pull)
        if settled is not None:
            await found.resolve_thread(settled, resolve is not None)
            return settled, "resolved" if resolve else "reopened"
        if edit is not None:
            await found.edit_comment(edit, message)
            return edit, "edited"
        return await found.comment(message, path=path, conflict=conflict, thread=thread), "added"

    id, done = work_on(repository_uri(repository), work)
    show_answer({"comment": id}, form, f"{done} comment {printable(id)}")


@verb("check", "lochan pr check demo 12 quality failure -m '3 rows have no price'", changes=True)
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
@click.argument("name")
@click.argument("status", type=click.Choice(("pending", "success", "failure")))
@click.option("-m", "--message", default="", metavar="TEXT", help="What was found, in a few words.")
@click.option("--link", default="", metavar="URL", help="Where there is more about it.")
@click.option("--commit", default="", metavar="ID", help="The commit that was checked. Default: the source's head.")
def check_command(
    repository: str, pull: str, name: str, status: str, message: str, link: str, commit: str, form: str
) -> None:
    """Report the outcome of a check of a pull request."""
    at = work_on(
        repository_uri(repository),
        lambda target: target.repository.pull(pull).check(name, status, message, link=link, commit=commit),
    )
    record = {"commit": at, "name": name, "status": status}
    show_answer(record, form, f"reported {printable(name)} of {at[:SHORT]}: {status}")


@verb("checks", "lochan pr checks demo 12")
@click.argument("repository", metavar="REPO")
@click.argument("pull", metavar="ID")
def checks_command(repository: str, pull: str, form: str) -> None:
    """List the checks of the head of a pull request's source."""
    found = work_on(repository_uri(repository), lambda target: target.repository.pull(pull).checks(), reads=True)
    records = [each.as_json() for each in found]
    show_records(records, form, columns=("name", "status", "required", "text", "link", "user"))
