"""The Lake: the one public surface over a lake's journal and repositories. It delegates and holds no logic."""
