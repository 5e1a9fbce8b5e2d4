"""The entry point of the `lochan` command. It asks the companion to run the command, or runs it in this process
(`process.py`). The command itself is in `root.py`."""

import os

from lochan.cli.companion import front

_INTERRUPTED = 130  # exit_codes.INTERRUPTED


def main() -> None:
    try:
        wanted = front.is_wanted()
        if wanted:
            front.ask()
        from lochan.cli import process

        process.run(gains=wanted)
    except KeyboardInterrupt:  # it came during imports: nothing was done yet, so that no message is needed
        os._exit(_INTERRUPTED)
