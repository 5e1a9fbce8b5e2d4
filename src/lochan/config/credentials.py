"""The credentials of a store, from the configuration or from the variables that other tools use; and the key that
encrypts the secrets of access keys."""

from collections.abc import Callable, Mapping
from pathlib import Path

from lochan.config.load import Config
from lochan.errors import Invalid, NotFound


def store_options(config: Config, url: str, env: Mapping[str, str]) -> dict[str, str]:
    match url.partition("://")[0]:
        case "s3":
            return _s3(config, env)
        case "gs":
            return _given_options({option: config[key] for option, key in _GOOGLE.items()})
        case "az":
            return _given_options({option: config[key] for option, key in _AZURE.items()})
        case _:
            return {}


_GOOGLE = {
    "service_account": "blockstore.gs.credentials_file",
    "bearer_token": "blockstore.gs.token",
    "endpoint": "blockstore.gs.endpoint",
}
_AZURE = {
    "account_name": "blockstore.azure.account",
    "account_key": "blockstore.azure.key",
    "sas_token": "blockstore.azure.sas_token",
    "endpoint": "blockstore.azure.endpoint",
}
_S3 = {
    "region": ("blockstore.s3.region", ("AWS_REGION", "AWS_DEFAULT_REGION")),
    "endpoint": ("blockstore.s3.endpoint", ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")),
}
_S3_KEYS = {
    "access_key_id": ("blockstore.s3.credentials.access_key_id", ("AWS_ACCESS_KEY_ID",)),
    "secret_access_key": ("blockstore.s3.credentials.access_secret_key", ("AWS_SECRET_ACCESS_KEY",)),
    "session_token": ("blockstore.s3.credentials.session_token", ("AWS_SESSION_TOKEN",)),
}
_S3_PROFILE = {
    "profile": ("blockstore.s3.profile", ("AWS_PROFILE",)),
    "credentials_file": ("blockstore.s3.credentials_file", ("AWS_SHARED_CREDENTIALS_FILE",)),
}
_Table = Mapping[str, tuple[str, tuple[str, ...]]]


def _s3(config: Config, env: Mapping[str, str]) -> dict[str, str]:
    """Returns the options for S3. An identity is taken as a whole from the first place that has one, never half from
    one place and half from another."""
    identity = (
        _configured_options(config, _S3_KEYS)
        or _configured_options(config, _S3_PROFILE)
        or _from_environment(env, _S3_KEYS)
        or _from_environment(env, _S3_PROFILE)
    )
    region = {"region": config.settings.blockstore.s3.region}
    return {**region, **_from_environment(env, _S3), **_configured_options(config, _S3), **identity}


def storage_options(config: Config, url: str, profile: str, env: Mapping[str, str]) -> dict[str, str]:
    """Returns the options for the storage of a repository: with the keys of that profile, or without a profile those of
    the lake."""
    configured = store_options(config, url, env)
    if not profile:
        return configured
    file = config.settings.blockstore.s3.credentials_file or env.get("AWS_SHARED_CREDENTIALS_FILE", "")
    return with_options(configured, {"profile": profile, "credentials_file": str(file)})


def with_options(configured: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Returns the configured options, replaced by the given ones. A given identity replaces the configured one as a
    whole: its keys are never mixed with a token or a profile of another."""
    identity = {*_S3_KEYS, *_S3_PROFILE}
    left_out = identity if identity & {name for name, value in given.items() if value} else set()
    return {**{name: value for name, value in configured.items() if name not in left_out}, **given}


def _configured_options(config: Config, table: _Table) -> dict[str, str]:
    return _given_options({option: config[key] for option, (key, _) in table.items() if config.is_set(key)})


def _from_environment(env: Mapping[str, str], table: _Table) -> dict[str, str]:
    found = {option: next((env[name] for name in names if env.get(name)), None) for option, (_, names) in table.items()}
    return _given_options(found)


def _given_options(options: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items() if value is not None}


# What the secrets of access keys are encrypted with, by the configuration. The file is read when it is needed.


_FILE, _TEXT = "auth.encrypt.key_file", "auth.encrypt.secret_key"
_SIZE_BYTES_MAX = 1 << 16


def encryption_secret(config: Config) -> Callable[[], bytes] | None:
    """Returns a function that reads the configured key, or None if none is configured and the key is in the lake.
    Raises Invalid if both settings are given."""
    file, text = config.settings.auth.encrypt.key_file, config.settings.auth.encrypt.secret_key
    if file is not None and text is not None:
        raise Invalid(f"both {_FILE} and {_TEXT} are set", hint="the secrets have one key: remove one of them")
    if text is not None:
        return lambda: text.encode()
    return None if file is None else lambda: _read(Path(file))


def _read(path: Path) -> bytes:
    """Reads the key file, without the white space at its ends, which an editor may add."""
    try:
        with path.open("rb") as file:
            data = file.read(_SIZE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such key file", hint=f"{_FILE} names it") from None
    if len(data) > _SIZE_BYTES_MAX:
        raise Invalid(f"{path}: larger than {_SIZE_BYTES_MAX} bytes, so not a key file", hint=f"{_FILE} names it")
    return data.strip()
