"""Bytes to values and back, without I/O: one module for each file format."""
