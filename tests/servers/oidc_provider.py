"""A provider of OpenID Connect for tests: `oidc-provider` of npm on a free port, which also lies when it is told to.

    with oidc_provider(free_port(), [f"http://{api}/api/v1/auth/oidc/callback"]) as provider:
        provider.has("1815", preferred_username="ada", groups=["engineers"])
        provider.lies("audience")

npm installs it once, by the lock file beside it, into `.cache`.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

import urllib3

from tests.servers.port import wait_until_healthy

CLIENT_ID, CLIENT_SECRET = "lochan", "the-secret-of-the-client-of-the-tests"
_SOURCE = Path(__file__).parent / "oidc"
_MODULES = Path(__file__).parents[2] / ".cache" / "oidc-provider"
_INSTALL_SECONDS = 600
_HOPS_MAX = 12


@dataclass
class OidcServer:
    issuer: str
    accounts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def has(self, subject: str, **claims: Any) -> None:
        self.accounts[subject] = claims
        self._tell(accounts=self.accounts)

    def lies(self, how: str = "") -> None:
        """Empty: it no longer does."""
        self._tell(lie=how)

    def _tell(self, **world: Any) -> None:
        request = urllib.request.Request(f"{self.issuer}/_test", data=json.dumps(world).encode(), method="POST")
        urllib.request.urlopen(request, timeout=20).close()


class Browser:
    """Follows redirects one by one, with the cookies of each server. `address` is where it is, on this machine."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._pools = urllib3.PoolManager(source_address=(address, 0))
        self.cookies: dict[str, dict[str, str]] = {}

    def ask(self, method: str, url: str, fields: dict[str, str] | None = None) -> urllib3.BaseHTTPResponse:
        host = urllib3.util.parse_url(url).netloc or ""
        jar = self.cookies.setdefault(host, {})
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar else {}
        body = None if fields is None else urlencode(fields)
        if body is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        answer = self._pools.request(method, url, body=body, headers=headers, redirect=False, retries=False, timeout=60)
        for each in answer.headers.getlist("set-cookie"):
            name, _, rest = each.partition("=")
            value = rest.partition(";")[0]
            if value:
                jar[name] = value
            else:
                jar.pop(name, None)
        return answer

    def sign_in(self, url: str, subject: str) -> str:
        """Goes to the provider, says there who it is, and returns where the provider sends it back to."""
        for _ in range(_HOPS_MAX):
            answer = self.ask("GET", url)
            if answer.status in (302, 303):
                url = urljoin(url, answer.headers["location"])
            else:
                page = answer.data.decode()
                prompt = re.search(r'name="prompt" value="(\w+)"', page)
                assert answer.status == 200 and prompt, (answer.status, page[:500])
                action = re.search(r'action="([^"]+)"', page)
                assert action, page[:500]
                answer = self.ask("POST", action[1], {"prompt": prompt[1], "login": subject, "password": "any"})
                assert answer.status in (302, 303), answer.data[:500]
                url = urljoin(url, answer.headers["location"])
            if "/auth/oidc/callback?" in url:
                return url
        raise AssertionError(f"the provider did not come back: {url}")


@contextmanager
def oidc_provider(port: int, callbacks: Sequence[str]) -> Iterator[OidcServer]:
    """The port is given: whoever trusts it has to know its address before."""
    modules = _installed()
    with tempfile.TemporaryDirectory(prefix="lochan-oidc-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["node", str(_SOURCE / "provider.mjs"), str(port), *callbacks],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OIDC_MODULES": str(modules)},
            )
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}/.well-known/openid-configuration", process, log)
            yield OidcServer(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait(20)


def _installed() -> Path:
    """The lock lets several test runs start at once: one installs, the others wait."""
    _MODULES.mkdir(parents=True, exist_ok=True)
    ready, lock_file = _MODULES / "installed-lock.json", _SOURCE / "package-lock.json"
    with (_MODULES / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_bytes() != lock_file.read_bytes():
            if shutil.which("npm") is None:
                raise RuntimeError("Node.js is needed: the tests start a provider of OpenID Connect with it")
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(_SOURCE / name, _MODULES / name)
            command = ["npm", "ci", "--no-fund", "--no-audit", "--loglevel=error"]
            subprocess.run(command, cwd=_MODULES, check=True, timeout=_INSTALL_SECONDS)
            shutil.copy(lock_file, ready)
    return _MODULES
