"""`lochan pr`: pull requests."""

import click

from lochan.cli.lazy_group import LazyGroup

VERBS = {
    "check": "lochan.cli.pull.reviews:check_command",
    "checks": "lochan.cli.pull.reviews:checks_command",
    "close": "lochan.cli.pull.requests:close_command",
    "comment": "lochan.cli.pull.reviews:comment_command",
    "create": "lochan.cli.pull.requests:create_command",
    "diff": "lochan.cli.pull.merges:diff_command",
    "edit": "lochan.cli.pull.requests:edit_command",
    "list": "lochan.cli.pull.requests:list_command",
    "merge": "lochan.cli.pull.merges:merge_command",
    "reopen": "lochan.cli.pull.requests:reopen_command",
    "resolve": "lochan.cli.pull.merges:resolve_command",
    "review": "lochan.cli.pull.reviews:review_command",
    "show": "lochan.cli.pull.requests:show_command",
}


@click.group("pr", cls=LazyGroup, verbs=VERBS)
def group() -> None:
    """Propose, review, check and merge changes of a branch."""
