"""Bytes to values and back, no I/O: one module per file format."""
