"""The first start of a server: its administrator, its addresses, its certificate."""

import json
import socket
import ssl
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from tests.servers.certificate import Identity, identity
from tests.servers.first_start import LINK, environment, serving, token_in
from tests.servers.lochan import LOCHAN, LochanServer, free_ports, lochan_server


def lochan(lake: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LOCHAN, "--lake", str(lake), *words], capture_output=True, text=True, env=environment(**more), timeout=120
    )


def test_a_server_that_cannot_listen_prints_no_link(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert lochan(lake, "init").returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        s3, api = f"127.0.0.1:{free_ports(1)[0]}", f"127.0.0.1:{taken.getsockname()[1]}"
        refused = lochan(lake, "serve", "--s3-listen", s3, "--api-listen", api)
    assert refused.returncode != 0 and "cannot use" in refused.stderr and "Traceback" not in refused.stderr
    assert "admin" not in lochan(lake, "auth", "users", "list").stdout
    assert "/setup#" not in refused.stdout
    with serving(lake, s3, api) as output:
        assert LINK.search(output), output
    assert lochan(lake, "auth", "users", "create", "ada").returncode == 0
    with serving(lake, s3, api) as output:
        assert "/setup#" not in output  # somebody is there, who can make others


def test_the_link_makes_one_administrator(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert lochan(lake, "init").returncode == 0
    s3, api = (f"127.0.0.1:{port}" for port in free_ports(2))
    with serving(lake, s3, api) as output:
        old = token_in(output)
    with serving(lake, s3, api) as output:
        token = token_in(output)
        assert set_up(api, token="")[0] == set_up(api, token=old)[0] == 403  # it ended with its server
        assert ask(api, "GET", "/setup_lakefs") == (200, {"state": "not_initialized", "comm_prefs_missing": False})
        assert set_up(api, token=token, username="no/name")[0] == 400
        status, keys = set_up(api, token=token, username="ada")
        assert status == 200
        assert set_up(api, token=token)[0] == 409  # it is used up
        assert ask(api, "GET", "/setup_lakefs")[1]["state"] == "initialized"
        made = {name: keys[name] for name in ("access_key_id", "secret_access_key")}
        assert ask(api, "POST", "/auth/login", made)[0] == 200
    assert "ada" in lochan(lake, "auth", "users", "list").stdout


def test_a_key_of_the_environment_makes_it_without_a_link(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert lochan(lake, "init").returncode == 0
    s3, api = (f"127.0.0.1:{port}" for port in free_ports(2))
    secret = "a-secret-from-the-environment-0000"
    given = {"LOCHAN_ADMIN_ACCESS_KEY_ID": "LOCHANTESTADMIN00001", "LOCHAN_ADMIN_SECRET_ACCESS_KEY": secret}
    with serving(lake, s3, api, **given) as output:
        assert "/setup#" not in output and secret not in output
        body = {"access_key_id": "LOCHANTESTADMIN00001", "secret_access_key": secret}
        assert ask(api, "POST", "/auth/login", body)[0] == 200


def test_half_of_a_key_is_refused_before_anything_listens(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert lochan(lake, "init").returncode == 0
    s3, api = (f"127.0.0.1:{port}" for port in free_ports(2))
    words = ("serve", "--s3-listen", s3, "--api-listen", api)
    refused = lochan(lake, *words, LOCHAN_ADMIN_ACCESS_KEY_ID="LOCHANTESTADMIN00001")
    assert refused.returncode != 0 and "only one half" in refused.stderr
    assert "S3 gateway" not in refused.stdout


@pytest.mark.parametrize("missing", ["cert", "key"])
def test_an_unusable_certificate_is_a_clear_error(tmp_path: Path, missing: str) -> None:
    lake, found = tmp_path / "lake", identity(tmp_path)
    assert lochan(lake, "init").returncode == 0
    files = {"cert": str(found.certificate), "key": str(found.key)} | {missing: str(tmp_path / "nowhere.pem")}
    settings = {f"LOCHAN_TLS__{name.upper()}": file for name, file in files.items()}
    refused = lochan(lake, "serve", **settings)
    assert refused.returncode != 0 and "cannot be used" in refused.stderr and "Traceback" not in refused.stderr


def set_up(api: str, **body: str) -> tuple[int, Any]:
    return ask(api, "POST", "/setup", body)


def ask(api: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = HTTPConnection(api, timeout=60)
    text = None if body is None else json.dumps(body)
    connection.request(method, f"/api/v1{path}", text, {"content-type": "application/json"})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read() or b"null")
    connection.close()
    return found


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory, trusted: Identity) -> Iterator[LochanServer]:
    """TLS configured by settings alone."""
    env = {"LOCHAN_TLS__CERT": str(trusted.certificate), "LOCHAN_TLS__KEY": str(trusted.key)}
    with lochan_server(tmp_path_factory.mktemp("secure") / "lake", env=env) as running:
        yield running


def context(trusted: Identity, version: ssl.TLSVersion) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(trusted.authority))
    made.set_ciphers("DEFAULT:@SECLEVEL=0")
    made.minimum_version = made.maximum_version = version
    return made


@pytest.mark.parametrize("listener", ["s3", "flat", "api"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_of_tls_are_spoken(
    secure: LochanServer, trusted: Identity, listener: str, version: ssl.TLSVersion
) -> None:
    host, _, port = getattr(secure, listener).rpartition(":")
    connection = HTTPSConnection(host, int(port), timeout=60, context=context(trusted, version))
    connection.request("GET", "/_health/alive")
    assert connection.getresponse().status == (200 if listener == "api" else 403)
    connection.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_older_versions_are_not(secure: LochanServer, trusted: Identity, version: ssl.TLSVersion) -> None:
    host, _, port = secure.s3.rpartition(":")
    old = context(trusted, version)
    with (
        socket.create_connection((host, int(port)), timeout=60) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        old.wrap_socket(plain, server_hostname=host)


def test_basic_is_taken_over_tls(secure: LochanServer, trusted: Identity) -> None:
    host, _, port = secure.api.rpartition(":")
    connection = HTTPSConnection(host, int(port), timeout=60, context=context(trusted, ssl.TLSVersion.TLSv1_3))
    basic = b64encode(f"{secure.access_key}:{secure.secret_key}".encode()).decode()
    connection.request("GET", "/api/v1/query", headers={"authorization": f"Basic {basic}"})
    assert connection.getresponse().status == 200
    connection.close()
