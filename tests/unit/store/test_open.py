"""From a URL and options to a store, and the errors for those that do not fit."""

from pathlib import Path

import pytest
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from lochan.errors import Invalid, LochanError, NotFound
from lochan.store.clouds import connect
from lochan.store.local import LocalStore
from lochan.store.open import open_store
from lochan.store.profile import ProfileCredentials
from lochan.store.remote import RemoteStore
from tests.run import run

KEYS = {"access_key_id": "AK", "secret_access_key": "the-secret"}
ENDPOINT = {"endpoint": "http://127.0.0.1:9"}


@pytest.mark.parametrize("form", ["{}", "file://{}", "file://localhost{}"])
def test_a_folder_by_path_or_url(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "my lake"
    with pytest.raises(NotFound, match="my lake"):
        open_store(form.format(folder))
    store = open_store(form.format(folder), create=True)
    assert isinstance(store, LocalStore)
    assert store.url == f"file://{folder}"
    assert open_store(store.url).url == store.url


def test_a_folder_whose_name_has_a_percent_sign(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "100%41"), create=True)
    run(store.put("k", b"1"))
    assert run(open_store(store.url).get("k")) == b"1"


def test_memory_is_shared_by_name() -> None:
    run(open_store("memory://shared").put("k", b"1"))
    assert run(open_store("memory://shared").get("k")) == b"1"
    for other in ("memory://other", "memory://"):
        with pytest.raises(NotFound):
            run(open_store(other).get("k"))


@pytest.mark.parametrize(
    "url, options, message",
    [
        pytest.param("ftp://x/y", {}, "choose file, memory, s3, gs or az", id="unknown scheme"),
        pytest.param("file://relative", {}, "three slashes", id="relative file URL"),
        pytest.param("s3://", {}, "has no bucket", id="no bucket"),
        pytest.param("s3://b/a/../c", {}, "cannot be stored", id="a prefix that leaves"),
        pytest.param("s3://b", {"regoin": "x"}, "unknown option 'regoin'.*region", id="a typo"),
        pytest.param("gs://b", {"region": "x"}, "unknown option 'region'", id="an option of another store"),
        pytest.param("memory://b", {"region": "x"}, "takes no options", id="options for memory"),
        pytest.param("/tmp", {"region": "x"}, "takes no options", id="options for a folder"),
        pytest.param("s3://b", {"access_key_id": "x"}, "go together", id="half a key"),
        pytest.param("s3://b", {**KEYS, "profile": "x"}, "not both", id="keys and a profile"),
        pytest.param("s3://b", {"endpoint": "localhost:9000"}, "not an http", id="endpoint without scheme"),
        pytest.param("s3://b", {"endpoint": "http://"}, "not an http", id="endpoint without host"),
        pytest.param("s3://b", {"virtual_hosted": "maybe"}, "true or false", id="neither true nor false"),
        pytest.param("gs://b", {"service_account": "/no/such.json"}, "service account", id="no such key file"),
        pytest.param("gs://b", {"service_account_key": "{"}, "service account", id="a broken key"),
        pytest.param("az://b", {}, "Account must be specified", id="no Azure account"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_reason(url: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        open_store(url, options)


def test_s3_settings() -> None:
    raw = connect("s3", "b", "p/q", {**KEYS, **ENDPOINT, "region": "eu-west-1"})
    assert isinstance(raw, S3Store)
    assert raw.prefix == "p/q"
    assert raw.config["endpoint_url_s3"] == ENDPOINT["endpoint"]  # type: ignore[typeddict-item]
    assert raw.config["virtual_hosted_style_request"] == "false"  # type: ignore[comparison-overlap]
    assert raw.config["region"] == "eu-west-1"
    assert_settings(raw, http=True)
    aws = connect("s3", "b", "", KEYS)
    assert isinstance(aws, S3Store)
    assert aws.config["virtual_hosted_style_request"] == "true"  # type: ignore[comparison-overlap]
    assert_settings(aws, http=False)


def test_google_settings() -> None:
    raw = connect("gs", "b", "p", {"bearer_token": "t", **ENDPOINT})
    assert isinstance(raw, GCSStore)
    assert raw.config == {"bucket": "b", "bearer_token": "t", "base_url": ENDPOINT["endpoint"]}
    assert raw.prefix == "p"
    assert_settings(raw, http=True)
    assert open_store("gs://b/p/", {"bearer_token": "t"}).url == "gs://b/p"


def test_azure_settings() -> None:
    raw = connect("az", "c", "p", {"account_name": "a", "account_key": "a2V5"})
    assert isinstance(raw, AzureStore)
    assert raw.config == {"container_name": "c", "account_name": "a", "account_key": "a2V5"}
    assert_settings(raw, http=False)
    signed = connect("az", "c", "", {"account_name": "a", "sas_token": "sv=1&sig=x"})
    assert isinstance(signed, AzureStore)
    assert signed.config["sas_key"] == "sv=1&sig=x"
    assert open_store("az://c/p", {"account_name": "a", "account_key": "a2V5"}).url == "az://c/p"


def test_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        "[default]\naws_access_key_id = D\naws_secret_access_key = DS%%x\n"
        "[work]\naws_access_key_id = W\naws_secret_access_key = WS\naws_session_token = WT\n"
    )
    work = connect("s3", "b", "", {"profile": "work", "credentials_file": str(file)})
    assert keys_of(work) == ("W", "WS", "WT")
    default = connect("s3", "b", "", {"credentials_file": str(file)})
    assert keys_of(default) == ("D", "DS%%x", None)
    with pytest.raises(NotFound, match=r"'play' is not in .*there are: default, work"):
        connect("s3", "b", "", {"profile": "play", "credentials_file": str(file)})
    with pytest.raises(NotFound, match="cannot be read"):
        connect("s3", "b", "", {"profile": "work", "credentials_file": str(tmp_path / "nothing")})


def test_keys_of_a_profile_that_are_replaced(tmp_path: Path) -> None:
    """An open store takes them up. While the file is broken, the last ones count."""
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = A\naws_secret_access_key = AS\n")
    opened = connect("s3", "b", "", {"credentials_file": str(file)})
    file.write_text("[default]\naws_access_key_id = B\naws_secret_access_key = BS\naws_session_token = BT\n")
    assert keys_of(opened) == ("B", "BS", "BT")
    file.write_text("[default]\naws_access_key_id = C\n")
    assert keys_of(opened) == ("B", "BS", "BT")
    file.unlink()
    assert keys_of(opened) == ("B", "BS", "BT")
    assert isinstance(opened, S3Store) and isinstance(opened.credential_provider, ProfileCredentials)
    assert opened.credential_provider()["expires_at"] is not None  # so obstore asks again


def test_a_profile_without_keys_is_not_another_identity(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[role]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = default\n")
    with pytest.raises(Invalid, match="has no access keys"):
        connect("s3", "b", "", {"profile": "role", "credentials_file": str(file)})


def keys_of(store: ObjectStore) -> tuple[str, str, str | None]:
    assert isinstance(store, S3Store) and isinstance(store.credential_provider, ProfileCredentials)
    found = store.credential_provider()
    return found["access_key_id"], found["secret_access_key"], found.get("token")


def test_a_broken_credentials_file_does_not_leak(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("the-secret-without-a-section\n")
    with pytest.raises(Invalid) as caught:
        connect("s3", "b", "", {"credentials_file": str(file)})
    assert "the-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_every_option_is_documented(scheme: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "operations" / "stores.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith(f"| `{scheme}` |")]
    with pytest.raises(Invalid) as caught:
        open_store(f"{scheme}://bucket", {"nonsense": ""})
    for option in caught.value.hint.removeprefix("the options are ").split(", "):
        assert f"`{option}`" in row


def test_no_secret_in_names_or_errors() -> None:
    store = open_store("s3://b/p", {**KEYS, **ENDPOINT})
    assert isinstance(store, RemoteStore)
    with pytest.raises(LochanError) as caught:
        run(store.get("k"))
    assert "the-secret" not in f"{store.url} {caught.value} {caught.value.__cause__!r}"


def assert_settings(raw: ObjectStore, *, http: bool) -> None:
    assert isinstance(raw, S3Store | GCSStore | AzureStore)
    assert raw.retry_config is not None
    assert raw.retry_config["max_retries"] == 0
    assert raw.client_options == {
        "connect_timeout": "5s",
        "timeout": "60s",
        "allow_http": str(http).lower(),
    }
