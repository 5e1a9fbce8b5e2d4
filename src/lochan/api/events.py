"""What `Lake.events` gives back."""

from lochan.journal.feed import EventLine

__all__ = ["EventLine"]
