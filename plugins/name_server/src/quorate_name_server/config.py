"""The section `[plugins.name_server]` of the configuration file."""

import ipaddress
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class NameServerConfig(BaseModel):
    """How this node answers for brokers and routes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: Literal["consistent", "available"] = Field(
        "available",
        description="How reads are answered that do not say it themselves: `consistent` with every "
        "change that was answered before, `available` with what this node knows, also without a "
        "majority.",
    )
    register_timeout_s: float = Field(
        3.0,
        gt=0,
        description="Time after which a registration that no majority took is remembered by this "
        "node alone, in seconds.",
    )
    unconfirmed_bytes: int = Field(
        1 << 26,
        ge=0,
        description="Registrations that this node remembers without a majority, in bytes; 0 "
        "remembers none.",
    )
    remoting_host: str = Field(
        "127.0.0.1", description="Address at which RocketMQ's own protocol is served."
    )
    remoting_port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port at which RocketMQ's own protocol is served, which is 9876 of a stock "
        "name server; 0: it is not served.",
    )
    controller_port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port at which brokers of RocketMQ find their controller, at the same address; "
        "0: it is not served.",
    )
    remoting_connections: int = Field(
        10_000, ge=1, description="Connections of RocketMQ's protocol at most, of each port."
    )
    remoting_user: str = Field(
        "",
        description="As whom RocketMQ's clients and brokers call, once the cluster asks who calls: "
        "a user with `write` on `name_server`. Empty: each as the user of its certificate; others "
        "are refused.",
    )
    remoting_cert_file: str = Field(
        "",
        description="Certificate with which connections are served that begin with TLS; it is read "
        "again when it has changed. Empty: what `[tls]` says, its demand for clients' certificates "
        "among it.",
    )
    remoting_key_file: str = Field(
        "", description="Key of that certificate; empty: the file of the certificate holds it."
    )
    remoting_client_ca_file: str = Field(
        "", description="Who has to have signed the certificates of clients; empty: they need none."
    )
    remoting_tls_only: bool = Field(
        False, description="Whether connections that do not begin with TLS are closed."
    )
    remoting_insecure: bool = Field(
        False,
        description="Whether other machines may connect without TLS: RocketMQ's protocol asks "
        "nobody who they are.",
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
                f"{self.remoting_host} can be reached from other machines, and connections without "
                "TLS are served; set remoting_tls_only = true, or remoting_insecure = true if the "
                "network is trusted"
            )
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
