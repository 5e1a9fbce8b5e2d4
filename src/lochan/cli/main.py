"""The entry point of the `lochan` command. It asks the companion to run the command, or runs it in this process
(`process.py`). The command itself is in `root.py`."""

from lochan.cli.companion import front


def main() -> None:
    wanted = front.is_wanted()
    if wanted:
        front.ask()
    from lochan.cli import process

    process.run(gains=wanted)
