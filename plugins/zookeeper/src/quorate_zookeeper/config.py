"""The section `[plugins.zookeeper]` of the configuration file."""

import ipaddress
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class ZooKeeperConfig(BaseModel):
    """How this node serves the clients of ZooKeeper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address at which clients are served.")
    port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port at which clients are served, which is 2181 of a stock server; 0: it is "
        "not served.",
    )
    tls_port: int = Field(
        0, ge=0, le=65_535, description="Port at which clients are served by TLS; 0: it is not."
    )
    cert_file: str = Field("", description="Certificate of the port with TLS.")
    key_file: str = Field(
        "", description="Key of that certificate; empty: the file of the certificate holds it."
    )
    client_ca_file: str = Field(
        "", description="Authorities that sign the certificates of clients; empty: they need none."
    )
    tls_1_2: bool = Field(
        False,
        description="Whether that port takes TLS 1.2, too: for clients on Java 8, and for Kafka, "
        "which asks for it unless `zookeeper.ssl.protocol` says otherwise.",
    )
    insecure: bool = Field(
        False, description="Whether other machines may connect to the port without TLS."
    )
    user: str = Field(
        "",
        description="As whom ZooKeeper's clients call, once the cluster asks who calls: a user "
        "with `write` on `zookeeper`. Empty: each as the user of its certificate; others are "
        "refused.",
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
        description="Maximum size of a reply in bytes; what needs a larger one is refused with -5, "
        "marshalling error. Clients end the connection over a reply of more than their "
        "`jute.maxbuffer`, and try again: set this to the smallest of theirs.",
    )
    connections: int = Field(10_000, ge=1, description="Maximum number of connections.")
    connections_per_host: int = Field(
        0, ge=0, description="Maximum number of connections of one address; 0: no limit."
    )
    four_letter_words: tuple[str, ...] = Field(
        ("srvr", "ruok", "isro", "stat", "mntr", "conf", "envi", "wchs"),
        description='Four-letter commands that are answered; `"*"` means all.',
    )
    watch_bytes: int = Field(
        256 << 20,
        ge=1 << 20,
        description="Maximum memory of watches on this node in bytes: each counts its path and 256 "
        "bytes. A connection may have an eighth of it; a request for one more is refused with -1, "
        "system error.",
    )
    enforce_quotas: bool = Field(
        False, description="Whether writes over a hard limit of a quota are refused."
    )
    super_digest: SecretStr = Field(
        SecretStr(""),
        description="`user:hash` of the digest identity that may do everything; empty: none.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tls_port and not self.cert_file:
            raise ValueError("tls_port needs cert_file")
        if self.min_session_timeout_ms > self.max_session_timeout_ms:
            raise ValueError("min_session_timeout_ms is larger than max_session_timeout_ms")
        if self.port and not _is_loopback(self.host) and not self.insecure:
            raise ValueError(
                f"{self.host} can be reached from other machines, and port {self.port} is served "
                "without TLS; set tls_port and no port, or insecure = true if the network is "
                "trusted"
            )
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
