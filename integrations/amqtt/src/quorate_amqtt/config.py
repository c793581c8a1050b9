"""The file of a broker."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Listener(_Section):
    """Where clients connect; more about it says amqtt."""

    #: `host:port`; port 0: any that is free.
    bind: str = "127.0.0.1:1883"
    type: Literal["tcp", "ws"] = "tcp"
    #: 0: no limit.
    max_connections: int = Field(default=0, ge=0)
    #: With a certificate, connections are encrypted.
    certfile: str | None = None
    keyfile: str | None = None
    cafile: str | None = None

    def settings(self) -> dict[str, Any]:
        """Return it as amqtt's configuration has it."""
        given = self.model_dump(exclude_none=True)
        return {**given, "ssl": self.certfile is not None}


class Peers(_Section):
    """How the brokers of a cluster reach each other."""

    #: `host:port`; port 0: any that is free.
    bind: str = "127.0.0.1:0"
    #: The address for other brokers, if it is not `bind`.
    advertise: str = ""
    #: Certificate, key, and the authority whose certificates the other brokers show.
    certfile: str | None = None
    keyfile: str | None = None
    cafile: str | None = None
    #: Allows an address beyond loopback without certificates.
    insecure: bool = False

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        given = (self.certfile, self.keyfile, self.cafile)
        if any(given) and not all(given):
            raise ValueError("certfile, keyfile and cafile belong together")
        host = self.bind.rpartition(":")[0]
        if not self.certfile and not self.insecure and not _is_loopback(host):
            raise ValueError(
                f"bind is {self.bind}: give certfile, keyfile and cafile, or set insecure: true "
                "where nobody else reaches this network"
            )
        return self


class Settings(_Section):
    """A broker."""

    #: Its name in the cluster; a process that comes later under the same name takes its place.
    name: str
    #: Whose clients it serves.
    tenant: str
    #: Nodes of Quorate; by default read from the environment of the client.
    endpoints: str | None = None
    #: The brokers that are registered under this name forward messages to each other.
    cluster: str = "mqtt"
    #: Time without a sign of life after which it is held to be dead.
    ttl_ms: int = Field(default=10_000, ge=1_000)
    listeners: dict[str, Listener] = Field(default_factory=lambda: {"default": Listener()})
    peers: Peers = Field(default_factory=Peers)
    #: Clients without a user name may connect.
    anonymous: bool = False
    #: The decision where no ACL rule matches.
    allow_unmatched: bool = False
    #: How long the session of a client outlives its connection, unless it wants a clean one.
    session_expiry_s: int = Field(default=86_400, ge=1, le=0xFFFF_FFFF)
    #: Of one client; of more that wait, the oldest are dropped.
    queued_messages: int = Field(default=10_000, ge=1, le=100_000)
    #: Bytes of these.
    queued_bytes: int = Field(default=64 << 20, ge=1 << 20)
    #: The largest packet that a client may send.
    packet_bytes: int = Field(default=1 << 20, ge=1 << 10)
    #: Time that it waits for Quorate before it refuses a client.
    timeout_s: float = Field(default=15.0, gt=0)
    #: Event plugins of amqtt, by the paths of their classes.
    plugins: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_default(self) -> Self:
        if "default" not in self.listeners:
            raise ValueError("listeners must have one named default")
        return self

    @classmethod
    def of_file(cls, path: Path) -> Settings:
        """Read the file of a broker; raises `ValueError` for an invalid file."""
        try:
            given = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ValueError(f"{path} is not YAML: {error}") from error
        return cls.model_validate(given)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
