"""The verbs of a lake, defined once for all servers and programs.

    Lake ─┬─ Repository ─┬─ Ref        any commit, for reading
          │              ├─ Branch     a ref that can be written to
          │              └─ Workspace  a private layer over a branch
          └─ Pool          a repository of rows

These are handles: cheap, made without a request to the store, and named by what they stand for. Every verb is
asynchronous; `lochan.connect()` returns the same verbs for code that is not (`blocking.py`). `verbs.py` has them as a
table."""
