"""Log lines have the destination and format that the configuration says."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from lochan.cli.logging import set_up, set_up_server
from lochan.config.load import Config, Flag, load
from lochan.errors import Invalid

LOGGER = logging.getLogger("lochan.test")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    for name in ("lochan", "lochan.access"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True


def config(**logging: str) -> Config:
    flags = [Flag("flag", f"logging.{name}", value) for name, value in logging.items()]
    return load(env={}, flags=flags, cwd=Path("/"), home=Path("/"))


def test_text_lines() -> None:
    stream = io.StringIO()
    set_up(config(), stream)
    LOGGER.debug("unheard")
    LOGGER.warning("a\n%s", "\x1b[31m")
    assert stream.getvalue().endswith("Z WARN  lochan.test: a\\x0a\\x1b[31m\n")
    assert stream.getvalue().count("\n") == 1


def test_json_lines_with_a_traceback() -> None:
    stream = io.StringIO()
    set_up(config(format="json", level="DEBUG"), stream)
    LOGGER.debug("one")
    try:
        raise ValueError("why")
    except ValueError:
        LOGGER.exception("two")
    one, two = map(json.loads, stream.getvalue().splitlines())
    assert (one["level"], one["logger"], one["message"]) == ("DEBUG", "lochan.test", "one")
    assert "ValueError: why" in two["exception"]


def test_none_is_silence() -> None:
    stream = io.StringIO()
    set_up(config(level="NONE"), stream)
    LOGGER.critical("unheard")
    assert stream.getvalue() == ""


def test_a_file(tmp_path: Path) -> None:
    set_up(config(output=str(tmp_path / "log")), io.StringIO())
    LOGGER.info("written")
    assert (tmp_path / "log").read_text().endswith("written\n")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"^flag: cannot log to .*/none/log: No such file or directory"):
        set_up(config(output=str(tmp_path / "none" / "log")))


def test_a_server_says_what_its_libraries_warn_of_and_no_request_above_their_level(
    capsys: pytest.CaptureFixture[str],
) -> None:
    everything = logging.getLogger()
    before = everything.handlers, everything.level
    try:
        for level in ("INFO", "ERROR"):
            set_up_server(config(level=level, format="json"))
            logging.getLogger("lochan.access").info("a request at %s", level)
            logging.getLogger("some.library").info("unheard")
            logging.getLogger("some.library").warning("a library at %s", level)
            logging.getLogger("lochan.server").error("a failure at %s", level)
    finally:
        everything.handlers, everything.level = before
    request, *lines = capsys.readouterr().out.splitlines()
    assert request == "a request at INFO"
    entries = [(json.loads(line)["logger"], json.loads(line)["message"]) for line in lines]
    assert entries == [
        ("some.library", "a library at INFO"),
        ("lochan.server", "a failure at INFO"),
        ("lochan.server", "a failure at ERROR"),
    ]
