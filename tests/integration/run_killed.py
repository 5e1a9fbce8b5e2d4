"""The command line, killed at the N-th time that it comes by one of the failpoints named:
python run_killed.py N NAME,NAME WORDS…"""

import os
import signal
import sys

from lochan.failpoints import arm


def main(count: int, names: set[str]) -> None:
    left = count

    def reached(name: str) -> None:
        nonlocal left
        if name not in names:
            return
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    arm(reached)
    from lochan.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    given = sys.argv[1:3]
    del sys.argv[1:3]
    main(int(given[0]), set(given[1].split(",")))
