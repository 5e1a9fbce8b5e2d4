"""A real OpenLDAP server for tests, on free ports of this machine with a temporary folder of its own.

    with slapd() as directory:
        directory.add_user("ada", password="…")
        directory.add_group("engineers", members=["ada"])
        directory.stop()              # nobody listens any more
        directory.pause()             # it accepts connections and says nothing

The program is Debian's (package slapd), without the service and the directory that the package would set up: they run
beside it at most. As root it becomes the package's user `openldap`.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers.certificate import Identity, identity
from tests.servers.port import free_port

BASE = "dc=example,dc=org"
PEOPLE, GROUPS, SERVICES = (f"ou={each},{BASE}" for each in ("people", "groups", "services"))
READER, READER_PASSWORD = f"cn=lake,{SERVICES}", "the reader's secret"
_ROOT, _ROOT_PASSWORD = f"cn=root,{BASE}", "the root's secret"
_USER = "openldap"
_START_SECONDS = 30
_SCHEMAS = Path("/etc/ldap/schema")
_MANAGE_REFERRAL = ("2.16.840.1.113730.3.4.2", True, None)  # a control: the entry itself, and not what it points to
_WANTS_TLS = "security simple_bind=128"
_CONFIGURATION = """
include {schemas}/core.schema
include {schemas}/cosine.schema
include {schemas}/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/pid
argsfile {folder}/arguments
TLSCACertificateFile {tls.authority}
TLSCertificateFile {tls.certificate}
TLSCertificateKeyFile {tls.key}
database mdb
suffix "{base}"
rootdn "{root}"
rootpw "{password}"
directory {folder}/data
dbnosync
index objectClass,uid,cn,member eq
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
"""


class DirectoryServer:
    def __init__(self, folder: Path, tls: Identity) -> None:
        self.tls = tls
        self.port, self.tls_port = free_port(), free_port()
        self.url, self.tls_url = f"ldap://127.0.0.1:{self.port}", f"ldaps://127.0.0.1:{self.tls_port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *_as_user(),
                    _program(),
                    *("-f", str(self._folder / "slapd.conf")),
                    *("-h", f"{self.url}/ {self.tls_url}/"),
                    *("-d", "stats"),  # which also keeps it in the foreground
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.tls_port), timeout=2).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"slapd did not start:\n{self.log()}")

    def stop(self) -> None:
        if self._process is not None:
            self.resume()
            self._process.terminate()
            self._process.wait(_START_SECONDS)
            self._process = None

    def pause(self) -> None:
        """The system still accepts connections for it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        """The operations that clients have asked for, a line each; no passwords."""
        return (self._folder / "log").read_text(errors="replace")

    def add_user(self, name: str, password: str, **attributes: str | Sequence[str]) -> str:
        """Its DN."""
        from ldap3.utils.dn import escape_rdn

        dn = f"uid={escape_rdn(name)},{PEOPLE}"
        given = {"cn": name, "sn": name, "userPassword": password, **attributes}
        self._do("add", dn, "inetOrgPerson", given)
        return dn

    def delete(self, dn: str) -> None:
        self._do("delete", dn)

    def add_group(self, name: str, members: Sequence[str], **attributes: str) -> str:
        """Its DN. Members are DNs, and there must be one."""
        dn = f"cn={name},{GROUPS}"
        self._do("add", dn, "groupOfNames", {"member": list(members), **attributes})
        return dn

    def members(self, group: str) -> list[str]:
        with self._connection() as connection:
            connection.search(group, "(objectClass=*)", "BASE", attributes=["member"])
            return [each.decode() for each in connection.response[0]["raw_attributes"]["member"]]

    def set_members(self, group: str, members: Sequence[str]) -> None:
        self._do("modify", group, {"member": [("MODIFY_REPLACE", list(members))]})

    def add_referral(self, dn: str, url: str) -> None:
        self._do("add", dn, ["referral", "extensibleObject"], {"ref": url}, [_MANAGE_REFERRAL])

    def delete_referral(self, dn: str) -> None:
        self._do("delete", dn, [_MANAGE_REFERRAL])

    def require_tls_for_passwords(self, on: bool) -> None:
        """A restart. Whoever gives a password in the clear is refused, right or wrong."""
        self.stop()
        file = self._folder / "slapd.conf"
        lines = [each for each in file.read_text().splitlines() if each != _WANTS_TLS]
        file.write_text("\n".join([_WANTS_TLS, *lines] if on else lines))
        self.start()

    def _do(self, operation: str, *given: Any) -> None:
        with self._connection() as connection:
            getattr(connection, operation)(*given)

    def _connection(self) -> Any:
        from ldap3 import Connection, Server

        return Connection(Server(self.url, get_info="NO_INFO"), _ROOT, _ROOT_PASSWORD, raise_exceptions=True)


@contextmanager
def slapd() -> Iterator[DirectoryServer]:
    """With three empty units (people, groups, services) and the account that may read them."""
    install()
    with tempfile.TemporaryDirectory(prefix="lochan-slapd-") as name:
        folder = Path(name)
        server = DirectoryServer(folder, identity(folder))
        _configure(folder, server.tls)
        server.start()
        try:
            _fill(server)
            yield server
        finally:
            server.stop()


def _configure(folder: Path, tls: Identity) -> None:
    (folder / "data").mkdir()
    (folder / "slapd.conf").write_text(
        _CONFIGURATION.format(
            schemas=_SCHEMAS,
            folder=folder,
            tls=tls,
            base=BASE,
            root=_ROOT,
            password=_ROOT_PASSWORD,
            reader=READER,
        )
    )
    if os.getuid() == 0:
        account = pwd.getpwnam(_USER)
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, account.pw_uid, account.pw_gid)


def _fill(server: DirectoryServer) -> None:
    server._do("add", BASE, ["dcObject", "organization"], {"o": "Example"})
    for each in (PEOPLE, GROUPS, SERVICES):
        server._do("add", each, "organizationalUnit")
    server._do("add", READER, ["organizationalRole", "simpleSecurityObject"], {"userPassword": READER_PASSWORD})


def _as_user() -> list[str]:
    """The server ends with the thread that started it, however that ends, so the main thread should start it."""
    command = ["setpriv", "--pdeathsig", "TERM"]
    if os.getuid() == 0:
        account = pwd.getpwnam(_USER)
        command += [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    return command


def install() -> None:
    if _find():
        return
    if os.getuid() != 0:
        raise RuntimeError("OpenLDAP is needed for this: install Debian's package slapd")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    alone = b"slapd slapd/no_configuration boolean true\n"  # the package then starts no service
    subprocess.run(["debconf-set-selections"], input=alone, check=True)
    for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "slapd"]):
        subprocess.run(["apt-get", *words], check=True, env=quiet, stdout=subprocess.DEVNULL)


def _program() -> str:
    found = _find()
    if found is None:
        raise RuntimeError("there is no slapd in /usr/sbin or on the PATH")
    return found


def _find() -> str | None:
    return shutil.which("slapd") or shutil.which("slapd", path="/usr/sbin")
