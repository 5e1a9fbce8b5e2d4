"""The move from another system into a lake: its repositories, with their branches, tags, commits and trees."""
