"""Lists, compares and searches a history of commits."""
