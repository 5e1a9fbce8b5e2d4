"""Pools: creates them, loads them, and keeps them in order."""
