"""Runs the command line in this process and returns its output and exit code."""

from click.testing import CliRunner, Result

from lochan.cli.root import cli


def lochan(*words: str) -> Result:
    return CliRunner().invoke(cli, words, prog_name="lochan", catch_exceptions=False)


def fine(*words: str) -> str:
    result = lochan(*words)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def wrong(code: int, *words: str) -> str:
    result = lochan(*words)
    assert result.exit_code == code, (words, result.output)
    assert result.stderr.startswith("lochan: ")
    return result.stderr
