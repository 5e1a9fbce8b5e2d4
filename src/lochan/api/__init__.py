"""The verbs of a lake, one place for each, whichever door a request comes through.

    Lake ─┬─ Repository ─┬─ Ref        any commit, for reading
          │              ├─ Branch     a ref that can be written to
          │              └─ Workspace  a private layer over a branch
          └─ Pool          a repository of rows

These are handles: cheap, made without asking the store, and named by what they stand for. Every verb is asynchronous;
`lochan.connect()` gives the same verbs to code that is not (`blocking.py`). `verbs.py` has them as a table.
"""
