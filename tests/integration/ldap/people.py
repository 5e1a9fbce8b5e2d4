"""Who is in the directory of these tests, and the settings by which it is found."""

from tests.servers.slapd import GROUPS, PEOPLE, READER, READER_PASSWORD, DirectoryServer

# No text that anything else would say: where one of these is found, a password has leaked.
PASSWORDS = {
    "ada": "canary-of-ada-é*)(uid=",
    "grace": "canary-of-grace",
    "carl": "canary-of-carl",
}


def settings_of(directory: DirectoryServer, **other: str) -> dict[str, str]:
    given = {
        "url": directory.url,
        "ca_file": str(directory.tls.authority),
        "bind_dn": READER,
        "bind_password": READER_PASSWORD,
        "user_base": PEOPLE,
        "group_base": GROUPS,
        "timeout_s": "3",
        **other,
    }
    return {f"LOCHAN_LOGIN__LDAP__{name.upper()}": value for name, value in given.items()}
