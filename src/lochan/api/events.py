"""What `Lake.events` gives back."""

from lochan.journal.lines import EventLine

__all__ = ["EventLine"]
