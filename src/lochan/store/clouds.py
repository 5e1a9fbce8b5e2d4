"""From the options in a lake's configuration to obstore's clients for S3, Google Cloud Storage and Azure.

What is in the options always wins. What is not, obstore may take from its own sources: AWS_*, GOOGLE_* and AZURE_*
variables, then the credentials of the machine it runs on.
"""

from collections.abc import Mapping
from configparser import ConfigParser, Error
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from lochan.errors import Invalid, LochanError, NotFound
from lochan.store.remote_errors import RAISED, translate

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

NO_RETRIES: "RetryConfig" = {"max_retries": 0}

_KEYS = ("access_key_id", "secret_access_key", "session_token")
_S3 = {*_KEYS, "region", "endpoint", "profile", "credentials_file", "virtual_hosted"}
_GCS = {"service_account", "service_account_key", "application_credentials", "bearer_token", "endpoint"}
_AZURE = {"account_name", "account_key", "sas_token", "client_id", "client_secret", "tenant_id", "endpoint"}
_RENAMED = {"gs": {"endpoint": "base_url"}, "az": {"sas_token": "sas_key"}}
_PROFILE_NAMES = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}


def connect(scheme: str, bucket: str, prefix: str, options: Mapping[str, str]) -> ObjectStore:
    """Raises Invalid for options that are not known or do not fit together. Nothing is asked of the store yet."""
    url = f"{scheme}://{bucket}"
    if not bucket:
        raise Invalid(f"{url} names no bucket")
    _check_names(url, options, {"s3": _S3, "gs": _GCS, "az": _AZURE}[scheme])
    client = _client(url, options.get("endpoint", ""))
    at = prefix or None
    try:
        if scheme == "s3":
            return S3Store(bucket, prefix=at, config=_s3(url, options), client_options=client, retry_config=NO_RETRIES)  # type: ignore[arg-type]
        config = {_RENAMED[scheme].get(name, name): value for name, value in options.items()}
        if scheme == "gs":
            return GCSStore(bucket, prefix=at, config=config, client_options=client, retry_config=NO_RETRIES)  # type: ignore[arg-type]
        return AzureStore(bucket, prefix=at, config=config, client_options=client, retry_config=NO_RETRIES)  # type: ignore[arg-type]
    except RAISED as error:
        raise _unfit(url, error) from error


def _s3(url: str, options: Mapping[str, str]) -> dict[str, str | bool]:
    config: dict[str, str | bool] = dict(_s3_credentials(url, options))
    if region := options.get("region"):
        config["region"] = region
    if endpoint := options.get("endpoint"):
        # Under this name too, for AWS_ENDPOINT_URL_S3 would overrule the plain one.
        config |= {"endpoint": endpoint, "aws_endpoint_url_s3": endpoint}
    config["virtual_hosted_style_request"] = _flag(url, options, "virtual_hosted", default=not endpoint)
    config["disable_bulk_delete"] = True  # one DELETE each, which every S3-compatible store knows
    return config


def _s3_credentials(url: str, options: Mapping[str, str]) -> dict[str, str | bool]:
    given = {name: options[name] for name in _KEYS if options.get(name)}
    if options.get("profile") or options.get("credentials_file"):
        if given:
            raise Invalid(f"{url}: give either access keys or a profile, not both")
        given = read_profile(options.get("credentials_file", ""), options.get("profile") or "default")
    if not given:
        return {}
    if not (given.get("access_key_id") and given.get("secret_access_key")):
        raise Invalid(f"{url}: access_key_id and secret_access_key go together")
    # Said outright, for AWS_SESSION_TOKEN and AWS_SKIP_SIGNATURE would be mixed with keys they do not belong to.
    return {"session_token": "", "skip_signature": False, **given}


def _client(url: str, endpoint: str) -> "ClientConfig":
    if endpoint:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:  # obstore panics on such a one
            raise Invalid(f"{url}: the endpoint {endpoint!r} is not an http:// or https:// address")
    return {"connect_timeout": "5s", "timeout": "60s", "allow_http": endpoint.startswith("http://")}


def _check_names(url: str, options: Mapping[str, str], known: set[str]) -> None:
    for name in options:
        if name not in known:
            raise Invalid(f"{url}: the option {name!r} is not known", hint=f"known are {', '.join(sorted(known))}")


def _flag(url: str, options: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = options.get(name, "")
    if value.lower() not in ("", "true", "false"):
        raise Invalid(f"{url}: {name} is true or false, not {value!r}")
    return value.lower() == "true" if value else default


def _unfit(url: str, error: Exception) -> LochanError:
    return Invalid(translate(error, url, "").message.replace("/: ", ": ", 1), hint="check the options of this store")


def read_profile(file: str, profile: str) -> dict[str, str]:
    """The access keys of one profile of an AWS credentials file (INI, as `aws configure` writes it), by our names.
    `file` is `~/.aws/credentials` when empty."""
    path = Path(file or "~/.aws/credentials").expanduser()
    parser = ConfigParser(interpolation=None, default_section="")  # AWS's own `default` is a profile like any other
    try:
        parser.read_string(path.read_text())
    except OSError as error:
        raise NotFound(f"the credentials file {path} cannot be read: {error.strerror}") from error
    except (Error, UnicodeDecodeError):
        # The cause is left out on purpose: its text may quote a line with a secret.
        raise Invalid(f"{path} is not a credentials file (INI)") from None
    if not parser.has_section(profile):
        known = ", ".join(parser.sections()) or "none"
        raise NotFound(f"the profile {profile!r} is not in {path}", hint=f"there are: {known}")
    section = parser[profile]
    return {ours: section[theirs] for theirs, ours in _PROFILE_NAMES.items() if section.get(theirs)}
