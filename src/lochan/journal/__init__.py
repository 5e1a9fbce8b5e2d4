"""The journal, which holds all mutable state."""
