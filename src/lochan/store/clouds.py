"""S3, Google Cloud Storage and Azure: makes obstore's clients from the options of a lake, and translates obstore's
errors.

Options always win. For what they leave out, obstore may use its own sources: AWS_*, GOOGLE_* and AZURE_* variables,
then the credentials of the machine.

obstore puts most information into the text of its errors, so the status and the store's code are read from there. An
error that is not known for certain is Transient: never a success, a conflict or an absence."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from obstore import exceptions
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from lochan.errors import AlreadyExists, Invalid, LochanError, NotFound, Transient, Unavailable
from lochan.store.profile import ProfileCredentials

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig


RAISED = (exceptions.BaseError, OSError, ValueError)  # a missing object is a FileNotFoundError, a bad path a ValueError
UNORDERED = "S3 directory buckets and Azure's hierarchical namespaces cannot hold a lake"

_STATUS = re.compile(r"(?:status code: |\(code: )(\d{3})")  # the second form is that of one delete among many
_CODE = re.compile(r"<Code>(\w+)</Code>")
_DETAIL = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)
# The last one is in the answer to a delete on Azure, which has a sentence and no code.
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified container does not exist")
_BAD_REQUEST = ("KeyTooLong", "InvalidBucketName", "InvalidURI", "InvalidArgument", "InvalidObjectName", "TooLarge")
_BAD_CREDENTIALS = (
    "ExpiredToken",
    "InvalidToken",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "AuthorizationHeader",
)
_METADATA_SERVICE = "169.254.169.254"  # where a cloud machine asks for credentials when none are given


def translate(error: Exception, url: str, path: str, *, writing: bool = False, creating: bool = False) -> LochanError:
    text = str(error).partition("\n\nDebug source")[0]
    status = status_of(error)
    code = _first(_CODE, text)
    what = f"{url}/{path}: {_summary(text, status, code)}"
    if any(name in text for name in _NO_BUCKET) or (writing and isinstance(error, FileNotFoundError)):
        # Not NotFound, which means that one object is absent: a lake whose bucket is gone must not look empty.
        return Unavailable(f"{url}: the bucket does not exist", hint="make the bucket, or correct the lake's URL")
    if isinstance(error, FileNotFoundError):
        return NotFound(f"{path} is not in {url}")
    if isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError):
        return _conflict(what, url, path, status, code) if creating else Transient(what)
    if isinstance(error, ValueError | exceptions.InvalidPathError | exceptions.UnknownConfigurationKeyError):
        return Invalid(what)
    return _by_status(what, text, status, code)


def status_of(error: Exception) -> int:
    """Returns the HTTP status of the answer, or 0 if there was none."""
    return int(_first(_STATUS, str(error)) or 0)


def _conflict(what: str, url: str, path: str, status: int, code: str) -> LochanError:
    """Returns the error of a create. A 412 is final. A 409 on S3 is not: two writers met, and either, or neither, may
    have won, but obstore reports AlreadyExists. Only Azure answers 409 with a code if the blob exists."""
    if status == 412 or "AlreadyExists" in code:
        return AlreadyExists(f"{path} is already in {url}")
    return Transient(what)


def _by_status(what: str, text: str, status: int, code: str) -> LochanError:
    if status in (401, 403) or any(name in code for name in _BAD_CREDENTIALS):
        return Unavailable(what, hint=_EXPIRED if "Expired" in code else _SKEWED if "Skewed" in code else _CREDENTIALS)
    if status == 400 and any(name in code for name in _BAD_REQUEST):
        return Invalid(what)
    if status in (404, 405, 501):
        return Unavailable(what, hint="check the lake's URL and endpoint; the store must know conditional writes")
    if "redirect" in text:
        return Unavailable(what, hint="check the region and the endpoint of the store")
    return Transient(what, hint=_CREDENTIALS if _METADATA_SERVICE in text else "")


def _summary(text: str, status: int, code: str) -> str:
    if not code:
        return text.partition("\n")[0][-300:]
    detail = _first(_DETAIL, text).strip()
    return " ".join(part for part in (str(status or ""), f"{code}:" if detail else code, detail) if part)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group(1) if found else ""


_CREDENTIALS = "check the credentials given for this store, and that they may read, write, list and delete there"
_EXPIRED = "the credentials have expired, as those with a session token do: get new ones and try again"
_SKEWED = "this machine's clock and the store's are too far apart"


NO_RETRIES: "RetryConfig" = {"max_retries": 0}

_KEYS = ("access_key_id", "secret_access_key", "session_token")
_S3 = {*_KEYS, "region", "endpoint", "profile", "credentials_file", "virtual_hosted"}
_GCS = {"service_account", "service_account_key", "application_credentials", "bearer_token", "endpoint"}
_AZURE = {"account_name", "account_key", "sas_token", "client_id", "client_secret", "tenant_id", "endpoint"}
_RENAMED = {"gs": {"endpoint": "base_url"}, "az": {"sas_token": "sas_key"}}


def connect(scheme: str, bucket: str, prefix: str, options: Mapping[str, str]) -> ObjectStore:
    """Returns the client of a store. Raises Invalid for unknown options and those that do not fit together. Sends
    nothing to the store yet."""
    url = f"{scheme}://{bucket}"
    if not bucket:
        raise Invalid(f"{url} has no bucket")
    _check_names(url, options, {"s3": _S3, "gs": _GCS, "az": _AZURE}[scheme])
    client = _client(url, options.get("endpoint", ""))
    at = prefix or None
    try:
        if scheme == "s3":
            return S3Store(
                bucket,
                prefix=at,
                config=_s3(url, options),  # type: ignore[arg-type]
                client_options=client,
                retry_config=NO_RETRIES,
                credential_provider=_profile(url, options),
            )
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
        # Under this name too, because AWS_ENDPOINT_URL_S3 would override the plain one.
        config |= {"endpoint": endpoint, "aws_endpoint_url_s3": endpoint}
    config["virtual_hosted_style_request"] = _flag(url, options, "virtual_hosted", default=not endpoint)
    config["disable_bulk_delete"] = True  # one DELETE each, which every S3-compatible store supports
    return config


def _s3_credentials(url: str, options: Mapping[str, str]) -> dict[str, str | bool]:
    given = {name: options[name] for name in _KEYS if options.get(name)}
    if not given and not _has_profile(options):
        return {}
    if given and not (given.get("access_key_id") and given.get("secret_access_key")):
        raise Invalid(f"{url}: access_key_id and secret_access_key go together")
    # Set explicitly, because AWS_SESSION_TOKEN and AWS_SKIP_SIGNATURE would be mixed with keys they do not belong to.
    return {"session_token": "", "skip_signature": False, **given}


# Options that obstore shows under a name that it does not accept.
_SHOWN_AS = {"endpoint_url_s3": "aws_endpoint_url_s3"}


def for_urls(store: ObjectStore) -> Any:
    """Returns the same store, to sign URLs with. The empty session token of `_s3_credentials` would be part of them,
    and no store accepts that; keys that a function returns are not mixed with others either."""
    if not isinstance(store, S3Store) or store.config.get("session_token") != "":
        return store
    config = {_SHOWN_AS.get(name, name): value for name, value in store.config.items() if name != "session_token"}
    id, secret = config.pop("access_key_id", ""), config.pop("secret_access_key", "")

    def keys() -> Any:
        return {"access_key_id": id, "secret_access_key": secret, "token": None, "expires_at": None}

    return S3Store(prefix=store.prefix, config=config, client_options=store.client_options, credential_provider=keys)  # type: ignore[arg-type]


def _profile(url: str, options: Mapping[str, str]) -> ProfileCredentials | None:
    if not _has_profile(options):
        return None
    if any(options.get(name) for name in _KEYS):
        raise Invalid(f"{url}: give either access keys or a profile, not both")
    return ProfileCredentials(options.get("credentials_file", ""), options.get("profile") or "default")


def _has_profile(options: Mapping[str, str]) -> bool:
    return bool(options.get("profile") or options.get("credentials_file"))


def _client(url: str, endpoint: str) -> "ClientConfig":
    if endpoint:
        try:
            parts = urlsplit(endpoint)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            fits = False
        if not fits:  # obstore panics on such an endpoint
            raise Invalid(f"{url}: the endpoint {endpoint!r} is not an http:// or https:// address")
    return {"connect_timeout": "5s", "timeout": "60s", "allow_http": endpoint.startswith("http://")}


def _check_names(url: str, options: Mapping[str, str], known: set[str]) -> None:
    for name in options:
        if name not in known:
            raise Invalid(f"{url}: unknown option {name!r}", hint=f"the options are {', '.join(sorted(known))}")


def _flag(url: str, options: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = options.get(name, "")
    if value.lower() not in ("", "true", "false"):
        raise Invalid(f"{url}: {name} is true or false, not {value!r}")
    return value.lower() == "true" if value else default


def _unfit(url: str, error: Exception) -> LochanError:
    return Invalid(translate(error, url, "").message.replace("/: ", ": ", 1), hint="check the options of this store")
