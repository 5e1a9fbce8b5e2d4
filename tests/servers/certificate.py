"""A certificate of 127.0.0.1 and the authority that signed it, as files in PEM."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Identity(NamedTuple):
    authority: Path  # what a client trusts
    certificate: Path
    key: Path


def identity(folder: Path) -> Identity:
    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    address = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    found = Identity(folder / "authority.pem", folder / "certificate.pem", folder / "key.pem")
    root = _begun("authority", authority).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    _write(found.authority, root, authority)
    _write(found.certificate, _begun("127.0.0.1", own).add_extension(address, critical=False), authority)
    found.key.write_bytes(own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return found


def _begun(name: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    made = datetime.now(UTC) - timedelta(hours=1)
    return (
        x509.CertificateBuilder(_name("authority"), _name(name), key.public_key(), x509.random_serial_number())
        .not_valid_before(made)
        .not_valid_after(made + timedelta(days=2))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _write(file: Path, certificate: x509.CertificateBuilder, authority: ec.EllipticCurvePrivateKey) -> None:
    file.write_bytes(certificate.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM))
