"""Describes events about pull requests and checks, each as a line of text for people."""

from lochan.formats import pull_events as pulls
from lochan.formats.events import Event

_DIGITS = 12  # digits of a commit's id


def pull_text(event: Event) -> str:
    match event:
        case pulls.PullOpened():
            return f"opened a pull request from {event.source} into {event.target} “{event.title}”"
        case pulls.PullUpdated():
            given = {"title": event.title, "description": event.text, "reviewers": event.reviewers}
            changed = ", ".join(name for name, value in given.items() if value is not None)
            return f"changed the {changed} of pull request {event.pull}"
        case pulls.PullClosed():
            return f"closed pull request {event.pull}"
        case pulls.PullReopened():
            return f"reopened pull request {event.pull}"
        case pulls.PullReviewed():
            verb = {"approve": "approved", "changes": "asked for changes of"}.get(event.verdict, "withdrew a review of")
            return f"{verb} pull request {event.pull} at {event.commit[:_DIGITS]}"
        case pulls.PullReviewDismissed():
            return f"dismissed the review of {event.user} on pull request {event.pull}"
        case pulls.PullCommented():
            return f"commented on pull request {event.pull}{f', on {event.path}' if event.path else ''}"
        case pulls.PullCommentEdited():
            return f"edited a comment on pull request {event.pull}"
        case pulls.PullThreadResolved():
            return f"{'resolved' if event.on else 'reopened'} a thread of pull request {event.pull}"
        case pulls.CheckReported():
            return f"reported {event.name} of {event.commit[:_DIGITS]}: {event.status}"
    return ""
