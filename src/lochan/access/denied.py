"""Somebody is known, and may not."""

from lochan.errors import Refused


class Denied(Refused):
    """No policy of theirs allows it, or one denies it. What is told is the same where there is nothing of that name."""
