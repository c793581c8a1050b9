"""The section `[plugins.zookeeper]` of the configuration file."""

import ipaddress
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class ZooKeeperConfig(BaseModel):
    """The settings by which this node serves the clients of ZooKeeper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on for clients.")
    port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port for clients, 2181 on a stock server; 0 disables it.",
    )
    tls_port: int = Field(
        0, ge=0, le=65_535, description="Port for clients with TLS; 0 disables it."
    )
    cert_file: str = Field("", description="Certificate of the TLS port.")
    key_file: str = Field(
        "", description="Key of that certificate; empty: the certificate file contains it."
    )
    client_ca_file: str = Field(
        "", description="Certificate authorities of clients; empty: clients need no certificate."
    )
    tls_1_2: bool = Field(
        False,
        description="Whether the TLS port accepts TLS 1.2, too: for clients on Java 8, and for "
        "Kafka, which uses it unless `zookeeper.ssl.protocol` is set.",
    )
    insecure: bool = Field(
        False, description="Whether other machines may connect to the port without TLS."
    )
    user: str = Field(
        "",
        description="User of ZooKeeper's clients once the cluster requires authentication, with "
        "`write` on `zookeeper`. Empty: each client is the user of its certificate; clients "
        "without one are refused.",
    )
    min_session_timeout_ms: int = Field(
        4_000, ge=100, description="The shortest timeout of a session, in milliseconds."
    )
    max_session_timeout_ms: int = Field(
        40_000, ge=100, description="The longest timeout of a session, in milliseconds."
    )
    request_bytes: int = Field(
        1_048_575,
        ge=1_024,
        le=3 << 20,
        description="Maximum size of a request in bytes; a larger one ends its connection.",
    )
    reply_bytes: int = Field(
        32 << 20,
        ge=1_048_575,
        le=64 << 20,
        description="Maximum size of a reply in bytes; a request that needs a larger one is "
        "refused with -5, marshalling error. Clients close the connection on a reply larger than "
        "their `jute.maxbuffer`, and retry: set this to the smallest `jute.maxbuffer` of a client.",
    )
    connections: int = Field(10_000, ge=1, description="Maximum number of connections.")
    connections_per_host: int = Field(
        0, ge=0, description="Maximum number of connections per address; 0: no limit."
    )
    four_letter_words: tuple[str, ...] = Field(
        ("srvr", "ruok", "isro", "stat", "mntr", "conf", "envi", "wchs"),
        description='Four-letter commands to answer; `"*"` means all.',
    )
    watch_bytes: int = Field(
        256 << 20,
        ge=1 << 20,
        description="Maximum memory of watches on this node in bytes: each counts its path and 256 "
        "bytes. A connection may use an eighth of it; a request beyond that is refused with -1, "
        "system error.",
    )
    enforce_quotas: bool = Field(
        False, description="Whether writes over a hard limit of a quota are refused."
    )
    super_digest: SecretStr = Field(
        SecretStr(""),
        description="`user:hash` of the digest identity with all rights; empty: none.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tls_port and not self.cert_file:
            raise ValueError("tls_port needs cert_file")
        if self.min_session_timeout_ms > self.max_session_timeout_ms:
            raise ValueError("min_session_timeout_ms is larger than max_session_timeout_ms")
        if self.port and not _is_loopback(self.host) and not self.insecure:
            raise ValueError(
                f"{self.host} is reachable from other machines, and port {self.port} has no TLS; "
                "set tls_port and no port, or insecure = true if the network is trusted"
            )
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
