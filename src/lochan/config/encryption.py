"""What the secrets of access keys are encrypted with, by the configuration. The file is read when it is needed."""

from collections.abc import Callable
from pathlib import Path

from lochan.config.load import Config
from lochan.errors import Invalid, NotFound

_FILE, _TEXT = "auth.encrypt.key_file", "auth.encrypt.secret_key"
_SIZE_BYTES_MAX = 1 << 16


def encryption_secret(config: Config) -> Callable[[], bytes] | None:
    """None: nothing is configured, and the key is in the lake. Raises Invalid if both settings are given."""
    file, text = config.settings.auth.encrypt.key_file, config.settings.auth.encrypt.secret_key
    if file is not None and text is not None:
        raise Invalid(f"both {_FILE} and {_TEXT} are set", hint="the secrets have one key: remove one of them")
    if text is not None:
        return lambda: text.encode()
    return None if file is None else lambda: _read(Path(file))


def _read(path: Path) -> bytes:
    """Without the white space at its ends, which an editor may add."""
    try:
        with path.open("rb") as file:
            data = file.read(_SIZE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such key file", hint=f"{_FILE} names it") from None
    if len(data) > _SIZE_BYTES_MAX:
        raise Invalid(f"{path}: larger than {_SIZE_BYTES_MAX} bytes, so not a key file", hint=f"{_FILE} names it")
    return data.strip()
