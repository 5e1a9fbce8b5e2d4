"""Bytes by name: the object store underneath, and wrappers of the same protocol."""
