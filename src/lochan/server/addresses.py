"""Addresses of the two ends of a connection, as texts."""

from ipaddress import IPv6Address, ip_address


def is_loopback(host: str) -> bool:
    """Whether what goes there, or comes from there, never leaves this machine. Of names only `localhost` is known."""
    try:
        found = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host.lower() == "localhost"
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def client_text(host: str, port: int) -> str:
    """As Granian writes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
