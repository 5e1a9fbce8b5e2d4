"""All benchmarks, or those whose name begins with an argument: `python -m bench journal ref`."""

import sys
from importlib import import_module

SUBJECTS = (
    "journal_append",
    "journal_fold",
    "ref_lookup",
    "cli_start",
    "tree",
    "staging",
    "versioning",
    "log",
    "gateway",
)


def main() -> None:
    wanted = [name for name in SUBJECTS if not sys.argv[1:] or name.startswith(tuple(sys.argv[1:]))]
    if not wanted:
        sys.exit(f"there is no such benchmark; there are {', '.join(SUBJECTS)}")
    for name in wanted:
        import_module(f"bench.{name}").main()


main()
