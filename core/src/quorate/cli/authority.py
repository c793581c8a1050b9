"""A small certificate authority in a directory: `ca.pem`, `ca.key`, and a pair for each name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID

from quorate.cli.failures import failure

AUTHORITY: Final = "ca"
DAYS: Final = 365
_SIGNS: Final = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
#: Maximum lag of a clock that is accepted.
_EARLIER: Final = timedelta(minutes=5)


def make_authority(directory: Path, days: int = DAYS) -> None:
    """Write an authority's certificate and key; fails if the directory already has one."""
    directory.mkdir(parents=True, exist_ok=True)
    if any((directory / f"{AUTHORITY}.{kind}").exists() for kind in ("key", "pem")):
        raise failure(
            f"{directory} already has an authority", "use it, or name another directory with --dir"
        )
    name = _named("Quorate trial CA")
    critical = (x509.BasicConstraints(ca=True, path_length=0), _SIGNS)
    _issue(directory, AUTHORITY, name, name, None, days, critical)


def sign(
    directory: Path, name: str, hosts: list[str], days: int = DAYS, *, serves: bool = True
) -> None:
    """Write a certificate for these hosts, and its key, replacing any pair of that name.

    With `serves` false, it is valid for clients only.
    """
    if not name or Path(name).name != name or name == AUTHORITY:
        raise failure(f"{name!r} is not a valid certificate name", "choose another name")
    try:
        authority = x509.load_pem_x509_certificate((directory / f"{AUTHORITY}.pem").read_bytes())
        signing = serialization.load_pem_private_key(
            (directory / f"{AUTHORITY}.key").read_bytes(), password=None
        )
    except FileNotFoundError as error:
        raise failure(
            f"{directory} has no authority", "make one with `quorate cert init`"
        ) from error
    except (ValueError, TypeError, OSError) as error:
        raise failure(
            f"the authority in {directory} cannot be used: {error}",
            "repair ca.pem and ca.key, or make another one with `quorate cert init --dir`",
        ) from error
    if not isinstance(signing, EllipticCurvePrivateKey):
        raise failure(
            f"{directory / 'ca.key'} is not an elliptic-curve key", "sign with its own tools"
        )
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if serves:
        uses.append(ExtendedKeyUsageOID.SERVER_AUTH)
    try:
        alternatives = x509.SubjectAlternativeName([_alternative(each) for each in hosts])
        subject = _named(name)
    except ValueError as error:
        raise failure(
            f"cannot make a certificate for {', '.join(hosts)}: {error}",
            "write the names in ASCII, as in the DNS",
        ) from error
    critical = (x509.BasicConstraints(ca=False, path_length=None),)
    others = (alternatives, x509.ExtendedKeyUsage(uses))
    _issue(directory, name, subject, authority.subject, signing, days, critical, others)


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _issue(
    directory: Path,
    name: str,
    subject: x509.Name,
    issuer: x509.Name,
    signing: EllipticCurvePrivateKey | None,
    days: int,
    critical: Sequence[x509.ExtensionType],
    others: Sequence[x509.ExtensionType] = (),
) -> None:
    """Write a certificate and its new key, which signs it where `signing` is None."""
    key = ec.generate_private_key(ec.SECP256R1())
    signing = signing or key
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=days))
    )
    identifiers = (
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()),
    )
    for extension in (*identifiers, *others, *critical):
        builder = builder.add_extension(extension, critical=extension in critical)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    signed = builder.sign(signing, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    _replace(directory / f"{name}.key", private, 0o600)
    _replace(directory / f"{name}.pem", signed, 0o644)


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Replace a file atomically, because a node may read it at any time."""
    written = path.with_name(f".{path.name}.new")
    written.unlink(missing_ok=True)
    written.touch(mode, exist_ok=False)
    written.write_bytes(content)
    written.replace(path)
