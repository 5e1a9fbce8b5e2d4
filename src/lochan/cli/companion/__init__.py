"""Contains the companion: a warm process of one user that runs light commands, so that each command need not import and
read everything again. docs/design/0020-companion.md describes how and why. Commands that only read share a child
(`reader`).

    front ──(request, stdin, stdout, stderr, working folder)──> child of the companion ──> the command
      └────────────────── signals, by its pidfd ──────────────────┘        exit code ──> front

The front is on the path of every command, so what it imports here (`place`, `wire`, `front`) uses only sys, os and
built-in modules."""
