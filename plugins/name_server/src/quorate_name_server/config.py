"""The section `[plugins.name_server]` of the configuration file."""

import ipaddress
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class NameServerConfig(BaseModel):
    """The settings by which this node serves brokers and routes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: Literal["consistent", "available"] = Field(
        "available",
        description="Default mode of reads: `consistent` reflects every change acknowledged "
        "before, `available` answers from this node's memory, also without a majority.",
    )
    register_timeout_s: float = Field(
        3.0,
        gt=0,
        description="Time after which a registration without a majority is kept by this node "
        "alone, in seconds.",
    )
    unconfirmed_bytes: int = Field(
        1 << 26,
        ge=0,
        description="Maximum size of registrations kept without a majority, in bytes; 0 keeps "
        "none.",
    )
    remoting_host: str = Field(
        "127.0.0.1", description="Address to listen on for RocketMQ's own protocol."
    )
    remoting_port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port for RocketMQ's own protocol, 9876 on a stock name server; 0 disables it.",
    )
    controller_port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port for brokers of RocketMQ that look for their controller, on the same "
        "address; 0 disables it.",
    )
    remoting_connections: int = Field(
        10_000, ge=1, description="Maximum number of connections of RocketMQ's protocol per port."
    )
    remoting_user: str = Field(
        "",
        description="User of RocketMQ's clients and brokers once the cluster requires "
        "authentication, with `write` on `name_server`. Empty: each is the user of its "
        "certificate; peers without one are refused.",
    )
    remoting_cert_file: str = Field(
        "",
        description="Certificate for connections that begin with TLS, reloaded when the file "
        "changes. Empty: the settings of `[tls]` apply, including its demand for client "
        "certificates.",
    )
    remoting_key_file: str = Field(
        "", description="Key of that certificate; empty: the certificate file contains it."
    )
    remoting_client_ca_file: str = Field(
        "", description="Certificate authorities of clients; empty: clients need no certificate."
    )
    remoting_tls_only: bool = Field(
        False, description="Whether connections without TLS are closed."
    )
    remoting_insecure: bool = Field(
        False,
        description="Whether other machines may connect without TLS: RocketMQ's protocol does not "
        "authenticate clients.",
    )

    @model_validator(mode="after")
    def _check_remoting(self) -> Self:
        for name in ("remoting_key_file", "remoting_client_ca_file"):
            if getattr(self, name) and not self.remoting_cert_file:
                raise ValueError(f"{name} needs remoting_cert_file; set it, or leave both to [tls]")
        open_to_all = not (_is_loopback(self.remoting_host) or self.remoting_tls_only)
        is_served = self.remoting_port or self.controller_port
        if is_served and open_to_all and not self.remoting_insecure:
            raise ValueError(
                f"{self.remoting_host} is reachable from other machines, and connections without "
                "TLS are accepted; set remoting_tls_only = true, or remoting_insecure = true if "
                "the network is trusted"
            )
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
