"""TLS of the secure port, and the subject of a client's certificate."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

from quorate_zookeeper.config import ZooKeeperConfig

#: Names of attributes as Java shows them; others stay unchanged.
_SHORT: Final = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_ESCAPED: Final = ',+"\\<>;'


def context_of(config: ZooKeeperConfig) -> ssl.SSLContext:
    """Return the TLS context of the secure port; raises `OSError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    oldest = ssl.TLSVersion.TLSv1_2 if config.tls_1_2 else ssl.TLSVersion.TLSv1_3
    context.minimum_version = oldest
    # Without a password OpenSSL would prompt at the terminal, and the node would block.
    context.load_cert_chain(config.cert_file, config.key_file or None, password="")
    if config.client_ca_file:
        context.load_verify_locations(config.client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def subject_of(transport: asyncio.BaseTransport) -> str:
    """Return the subject of a client's certificate as Java formats it; empty without one."""
    certificate = transport.get_extra_info("peercert")
    if not certificate:
        return ""
    parts = [
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in part)
        for part in reversed(certificate.get("subject", ()))
    ]
    return ",".join(parts)


def user_of(transport: asyncio.BaseTransport) -> str:
    """Return the common name of a client's certificate; empty without one."""
    certificate = transport.get_extra_info("peercert") or {}
    attributes = (each for part in certificate.get("subject", ()) for each in part)
    return next((str(value) for name, value in attributes if name == "commonName"), "")


def _escaped(value: str) -> str:
    return "".join(f"\\{each}" if each in _ESCAPED else each for each in value)
