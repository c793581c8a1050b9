"""Reads certificates: their names, issuers, usages and dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID

Certificate = x509.Certificate

#: RSA keys with fewer bits can be broken.
SHORTEST_RSA: Final = 2_048

#: A certificate is to be replaced when a tenth of its life is left, or less than this.
_EARLY: Final = timedelta(days=30)
#: Maximum number of authorities between a certificate and a trusted one.
_DEEPEST: Final = 8


def names(certificate: Certificate) -> frozenset[str]:
    """Return the DNS names that a certificate is for."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(found.value.get_values_for_type(x509.DNSName))


def may_serve(certificate: Certificate) -> bool:
    """Return whether a certificate may authenticate a server; those of clients may not."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except x509.ExtensionNotFound:
        return True
    allowed = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    return not allowed.isdisjoint(found.value)


def is_weak(key: object) -> bool:
    """Return whether a public key is an RSA key that is too short to be trusted."""
    return isinstance(key, RSAPublicKey) and key.key_size < SHORTEST_RSA


def issued_by(
    certificate: Certificate, authorities: Sequence[Certificate], others: Sequence[Certificate]
) -> bool:
    """Return whether an authority has issued a certificate, directly or through `others`."""
    current = certificate
    for _ in range(_DEEPEST):
        if current in authorities or any(_has_issued(each, current) for each in authorities):
            return True
        issuers = (each for each in others if each != current and _has_issued(each, current))
        issuer = next(issuers, None)
        if issuer is None:
            return False
        current = issuer
    return False


def renewal(certificate: Certificate) -> datetime:
    """Return when a certificate should be replaced."""
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - min(_EARLY, life / 10)


def untimely(certificate: Certificate) -> str | None:
    """Return why a certificate is not valid now; None: it is."""
    now = datetime.now(UTC)
    if now >= certificate.not_valid_after_utc:
        return f"expired on {day(certificate.not_valid_after_utc)}"
    if now < certificate.not_valid_before_utc:
        return f"begins on {day(certificate.not_valid_before_utc)}, later than this machine's clock"
    return None


def faults(
    chain: Sequence[Certificate], authorities: Sequence[Certificate], node: str
) -> Iterator[str]:
    """Yield why other nodes will refuse a node's certificate, apart from its dates."""
    own, *others = chain
    if node not in names(own):
        named = ", ".join(sorted(names(own))) or "no host"
        yield f"names {named}, and not {node!r}: add DNS:{node} to its subjectAltName"
    if not may_serve(own):
        yield "is a client's: its extended key usages need serverAuth besides clientAuth"
    if not issued_by(own, authorities, others):
        if own.issuer == own.subject:
            yield "is self-signed, and not in tls.ca_file: let the authority of the nodes sign it"
        else:
            yield (
                f"is of {own.issuer.rfc4514_string()}, which is not in tls.ca_file: let an"
                " authority of that file sign it, or add this one to the file on all nodes"
            )


def day(moment: datetime) -> str:
    """Format a time to the minute."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _has_issued(issuer: Certificate, certificate: Certificate) -> bool:
    try:
        basic = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        if not basic.ca:
            return False
        certificate.verify_directly_issued_by(issuer)
    except (x509.ExtensionNotFound, InvalidSignature, ValueError, TypeError):
        return False
    return True
