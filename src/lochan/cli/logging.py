"""Logging as the configuration asks: text or JSON lines, at a level, to a file or to the stream the command names."""

import logging
import sys
from collections.abc import Mapping
from typing import TextIO

from lochan.config.values import Config
from lochan.errors import Invalid

_LEVELS: Mapping[str, int] = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "NONE": logging.CRITICAL + 1,
}


def set_up(config: Config, stream: TextIO | None = None) -> None:
    """Sends Lochan's log lines where `logging.output` says; `-` is `stream`, stderr unless the caller has another."""
    logger = logging.getLogger("lochan")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    handler = _handler(config, stream or sys.stderr)
    handler.setFormatter(JsonLines() if config["logging.format"] == "json" else TextLines())
    logger.addHandler(handler)
    logger.setLevel(_LEVELS[config.text("logging.level")])
    logger.propagate = False


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from lochan.cli.shown import printable

        return "\n".join(printable(line) for line in self._lines(record))

    def _lines(self, record: logging.LogRecord) -> list[str]:
        first = f"{_moment(record)} {_level(record):<5} {record.name}: {record.getMessage()}"
        return [first, *(self.formatException(record.exc_info).splitlines() if record.exc_info else [])]


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        import json

        fields = {
            "time": _moment(record),
            "level": _level(record),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def _handler(config: Config, stream: TextIO) -> logging.Handler:
    output = config.text("logging.output")
    if output == "-":
        return logging.StreamHandler(stream)
    try:
        return logging.FileHandler(output, encoding="utf-8")
    except OSError as error:
        where = config.source("logging.output").text
        raise Invalid(f"{where}: cannot log to {output}: {error.strerror}") from None


def _level(record: logging.LogRecord) -> str:
    return "WARN" if record.levelno == logging.WARNING else record.levelname


def _moment(record: logging.LogRecord) -> str:
    from lochan.cli.shown import instant

    return instant(int(record.created * 1_000_000))
