"""Pools: what makes them, fills them and keeps them in order."""
