"""The journal: all mutable state."""
