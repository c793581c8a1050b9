"""The section `[plugins.etcd]` of the configuration file."""

import re
from collections.abc import Mapping
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_STORE_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class EtcdConfig(BaseModel):
    """The settings by which this node serves the clients of etcd."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on for clients.")
    port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port of the store without a name, 2379 on a stock server; 0 disables it.",
    )
    stores: Mapping[str, int] = Field(
        {},
        description="Ports of further stores by their names; each store has keys, leases and "
        "revisions of its own.",
    )
    client_urls: Mapping[str, str] = Field(
        {},
        description="URLs at which clients reach the stores of this node, by the names of the "
        "stores, where these are not those of the host and the port.",
    )
    insecure: bool = Field(
        False, description="Whether other machines may connect to ports without TLS."
    )
    user: str = Field(
        "",
        description="User of etcd's clients once the cluster requires authentication, with `write` "
        "on `etcd`. Empty: each client is the user of its certificate; clients without one are "
        "refused.",
    )
    max_txn_ops: int = Field(
        128, ge=1, le=2_048, description="Maximum number of operations of a transaction."
    )
    request_bytes: int = Field(
        1_572_864,
        ge=1_024,
        # A pair and the one that it has replaced are one answer of the core, of at most 16 MiB.
        le=7 << 20,
        description="Maximum size of a request in bytes; a larger write is refused.",
    )
    range_bytes: int = Field(
        256 << 20,
        ge=1 << 20,
        description="Maximum size of an answer to a range in bytes; a larger one is refused.",
    )
    ranges_bytes: int = Field(
        512 << 20,
        ge=1 << 20,
        description="Maximum size of all answers to ranges that a store makes on this node at a "
        "time, in bytes; beyond it requests are refused.",
    )
    watch_buffer_bytes: int = Field(
        8 << 20,
        ge=1 << 16,
        description="Events that wait for a stream of watches in bytes; a client that reads no "
        "faster gets the later ones from the history.",
    )
    watches: int = Field(
        100_000, ge=1, description="Maximum number of watches of a store on this node."
    )
    connection_watches: int = Field(
        20_000, ge=1, description="Maximum number of watches of a client's connection."
    )
    leases: int = Field(100_000, ge=1, description="Maximum number of leases of a store.")
    min_lease_ttl_s: int = Field(
        2, ge=1, le=3_600, description="The shortest time to live of a lease, in seconds."
    )
    auth_token_ttl_s: int = Field(
        86_400,
        ge=1,
        description="For how long a token, which replaces the password, is valid, in seconds; 300 "
        "on a stock server.",
    )
    progress_interval_s: float = Field(
        600.0,
        gt=0,
        description="Interval of the notes of progress that watches ask for, in seconds.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, port in self.stores.items():
            if _STORE_NAME.fullmatch(name) is None:
                raise ValueError(
                    f"store {name!r}: a name has small letters, digits, - and _, begins with a "
                    "letter and is at most 32 long"
                )
            if not 0 < port < 65_536:
                raise ValueError(f"store {name!r}: port {port} is not between 1 and 65535")
        ports = [port for _, port in self.served()]
        if len(set(ports)) < len(ports):
            raise ValueError("two stores have the same port")
        return self

    def served(self) -> list[tuple[str, int]]:
        """Return the names and ports of the stores that this node serves."""
        unnamed = [("", self.port)] if self.port else []
        return [*unnamed, *self.stores.items()]
