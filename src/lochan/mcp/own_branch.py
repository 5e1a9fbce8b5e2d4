"""Limits the branches that an agent may write to: only those that its user's agents have made.

    agent.anna.fix-prices-2ZkYt1
          ^user ^topic      ^makes it unique

The name contains the user, so that an agent can continue its work in another conversation, and no agent writes to the
branch of another user's agent. The rights of the user are checked as for every request; this only narrows them.
"""

import re
from hashlib import sha256

from lochan.errors import Refused

_PREFIX = "agent"
_TOPIC_MAX = 40
_UNIQUE = 6
_PLAIN = re.compile(r"[a-z0-9_-]+", re.ASCII)
_OTHER = re.compile(r"[^a-z0-9_]+", re.ASCII)


def new_branch(user: str, topic: str, unique: str) -> str:
    words = _OTHER.sub("-", topic.lower()).strip("-")[:_TOPIC_MAX].strip("-")
    return f"{own_prefix(user)}{words or 'work'}-{unique[-_UNIQUE:]}"


def own_prefix(user: str) -> str:
    """Returns the prefix of the user's branches. No two users have the same one: a name that cannot be part of a
    branch's name is replaced by a digest."""
    if _PLAIN.fullmatch(user):
        return f"{_PREFIX}.{user}."
    digest = sha256(user.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{_PREFIX}.X{digest}."  # no plain name has the capital letter


def check_own(user: str, branch: str) -> None:
    """Raises Refused unless the branch belongs to the user's agents."""
    if not branch.startswith(own_prefix(user)):
        raise Refused(
            f"an agent of {user} does not write to {branch!r}",
            hint="make a branch of your own with start_branch, and propose it when you are done",
        )
