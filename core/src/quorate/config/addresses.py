"""Hosts, ports and addresses in settings and commands."""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, Field


def join_address(host: str, port: int) -> str:
    """Return `host:port`, with an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of `host:port` or `[ipv6]:port`; raise ValueError for anything else."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if not _is_ipv6(host):
            raise ValueError("must have an IPv6 address in its brackets, as in [::1]:7401")
    elif ":" in host:
        raise ValueError("an IPv6 host needs brackets, as in [::1]:7401")
    digits = port.isascii() and port.isdigit()
    if not colon or not digits or not 1 <= int(port) <= 65535 or not _is_host(host):
        raise ValueError("must be host:port, as in 127.0.0.1:7401")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a listener on `host`; names are not resolved."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_host(host: str) -> bool:
    return bool(host) and host.isprintable() and not set(host) & set(" /[]@")


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _check_host(host: str) -> str:
    if not _is_host(host) or (":" in host and not _is_ipv6(host)):
        raise ValueError("must be an address or a host name, without a port")
    return host


def _check_address(address: str) -> str:
    split_address(address)
    return address


Host = Annotated[str, AfterValidator(_check_host)]
Port = Annotated[int, Field(ge=1, le=65535)]
Address = Annotated[str, AfterValidator(_check_address)]
