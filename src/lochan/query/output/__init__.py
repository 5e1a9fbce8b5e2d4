"""Converts an engine's columns back to rows, and to the formats in which rows are returned. It is independent of the
engines."""
