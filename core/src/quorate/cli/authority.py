"""A small certificate authority in a directory: `ca.pem`, `ca.key`, and a pair for each name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from quorate.cli.failures import failure

AUTHORITY: Final = "ca"
DAYS: Final = 365
#: A clock may be behind by so much.
_EARLIER: Final = timedelta(minutes=5)


def make_authority(directory: Path, days: int = DAYS) -> None:
    """Write an authority's certificate and key; fails where there is one already."""
    directory.mkdir(parents=True, exist_ok=True)
    if (directory / f"{AUTHORITY}.key").exists():
        raise failure(
            f"{directory} has an authority already", "use it, or name another directory with --dir"
        )
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named("Quorate trial CA")
    builder = _builder(name, name, key, days).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    _write(directory, AUTHORITY, builder, key, key)


def sign(directory: Path, name: str, hosts: list[str], days: int = DAYS) -> None:
    """Write a certificate for these hosts, and its key."""
    if Path(name).name != name or name == AUTHORITY:
        raise failure(f"{name!r} cannot be the name of a file", "choose another name")
    try:
        authority = x509.load_pem_x509_certificate((directory / f"{AUTHORITY}.pem").read_bytes())
        signing = serialization.load_pem_private_key(
            (directory / f"{AUTHORITY}.key").read_bytes(), password=None
        )
    except FileNotFoundError as error:
        raise failure(
            f"{directory} has no authority", "make one with `quorate cert init`"
        ) from error
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives = x509.SubjectAlternativeName([_alternative(each) for each in hosts])
    builder = _builder(_named(name), authority.subject, key, days)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    _write(directory, name, builder.add_extension(alternatives, critical=False), key, signing)


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=days))
    )


def _write(
    directory: Path,
    name: str,
    builder: x509.CertificateBuilder,
    key: EllipticCurvePrivateKey,
    signing: EllipticCurvePrivateKey,
) -> None:
    signed = builder.sign(signing, hashes.SHA256())
    private = directory / f"{name}.key"
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    (directory / f"{name}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
