"""Logging by the configuration: text or JSON lines, at a level, to a file or to the stream that the command names."""

import logging
import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import TextIO

from lochan.config.load import Config
from lochan.errors import Invalid
from lochan.store.disk import FILE_MODE

_LEVELS: Mapping[str, int] = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "NONE": logging.CRITICAL + 1,
}


def set_up(config: Config, stream: TextIO | None = None) -> None:
    """Sends Lochan's log lines where `logging.output` demands; `-` is `stream`, stderr unless the caller has
    another."""
    _send(config, "lochan", stream or sys.stderr, _lines(config))


def set_up_server(config: Config) -> None:
    """Sets up logging for a process of the server, with the warnings and errors of its libraries; `-` is stdout here.
    Lines of requests come whole, in either format."""
    handler = _send(config, "lochan", sys.stdout, _lines(config))
    _send(config, "lochan.access", sys.stdout, logging.Formatter())
    everything = logging.getLogger()
    everything.handlers = [handler]
    everything.setLevel(max(handler.level, logging.WARNING))


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from lochan.cli.output.records import printable

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


def _send(config: Config, name: str, stream: TextIO, lines: logging.Formatter) -> logging.Handler:
    logger = logging.getLogger(name)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    handler = _handler(config, stream)
    handler.setFormatter(lines)
    handler.setLevel(_LEVELS[config.settings.logging.level])
    logger.addHandler(handler)
    logger.setLevel(handler.level)
    logger.propagate = False
    return handler


def _lines(config: Config) -> logging.Formatter:
    return JsonLines() if config.settings.logging.format == "json" else TextLines()


def _handler(config: Config, stream: TextIO) -> logging.Handler:
    output = config.settings.logging.output
    if output == "-":
        return logging.StreamHandler(stream)
    from logging.handlers import WatchedFileHandler  # starts a new file if the old one was moved away

    class PrivateFileHandler(WatchedFileHandler):
        """A log shows the requests of all users, so a new file is readable by its owner alone. An existing file keeps
        its mode, because its owner may want others to read it."""

        def _open(self) -> TextIOWrapper:
            file = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
            return os.fdopen(file, "a", encoding=self.encoding)

    try:
        return PrivateFileHandler(output, encoding="utf-8")
    except OSError as error:
        where = config.source("logging.output").text
        raise Invalid(f"{where}: cannot log to {output}: {error.strerror}") from None


def _level(record: logging.LogRecord) -> str:
    return "WARN" if record.levelno == logging.WARNING else record.levelname


def _moment(record: logging.LogRecord) -> str:
    from lochan.cli.output.records import instant

    return instant(int(record.created * 1_000_000))
