"""The sections of a node and its cluster: addresses, members, and the shards of groups."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from quorate.config.addresses import Address, Host, Port, join_address, split_address
from quorate.config.fields import Name, PositiveInt, Section, clash

#: A node's HTTP port is its gRPC port plus this, unless it is set.
HTTP_PORT_DISTANCE: Final = 100
#: Slots of a group; no group can have more shards.
SLOTS: Final = 1024
#: More replicas of a shard make writes slower and nothing safer.
MOST_REPLICAS: Final = 9
#: Each worker has ports of its own, below those at `HTTP_PORT_DISTANCE`.
MOST_WORKERS: Final = 64
#: As many workers as there are cores.
AUTO: Final = "auto"
#: Public: it keeps clusters apart, but no intruder out.
DEFAULT_TOKEN: Final = "quorate"


def _check_workers(workers: object) -> object:
    if workers != AUTO and (type(workers) is not int or not 1 <= workers <= MOST_WORKERS):
        raise ValueError(f'must be a number of processes from 1 to {MOST_WORKERS}, or "{AUTO}"')
    return workers


Workers = Annotated[int | Literal["auto"], BeforeValidator(_check_workers)]


class NodeSection(Section):
    """This process: its name, its addresses and its data directory."""

    name: Name = "node1"
    """Name of this node, unique in the cluster."""
    host: Host = "127.0.0.1"
    """Address that the node listens on, for gRPC, HTTP and other nodes."""
    port: Port = 7401
    """TCP port of gRPC, for clients and other nodes."""
    http_port: Port = Field(
        default=7401 + HTTP_PORT_DISTANCE,
        description="TCP port of metrics and health over HTTP. Not set: `port` plus "
        f"{HTTP_PORT_DISTANCE}.",
    )
    peer_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """TCP port for connections from other nodes, which learn it over gRPC; 0: any free port. Set it
    if there is a firewall between the nodes.
    """
    reflection: bool = False
    """Serve gRPC reflection, which tools such as grpcurl need."""
    dir: Path = Path("quorate-data")
    """Directory of the log and the shards' databases; a relative path starts at the working
    directory.
    """
    machine: Name | None = None
    """Name of the machine that the node runs on: in groups with `replicas`, no two replicas of a
    shard are placed on one machine. Not set: a machine of its own.
    """
    zone: Name | None = None
    """Failure domain of the machine, such as a rack or a data centre: the replicas of a shard are
    spread over zones.
    """
    workers: Workers = Field(
        default=1,
        description="Processes on this machine, each a member of the cluster with a core and ports "
        f'of its own, behind `port`; "{AUTO}": one per core. Must be the same on every machine '
        "that founds the cluster.",
    )

    @model_validator(mode="before")
    @classmethod
    def _http_port_follows(cls, values: Any) -> Any:
        if isinstance(values, dict) and "http_port" not in values:
            port = values.get("port")
            if type(port) is int and 1 <= port <= 65535:
                return {**values, "http_port": port + HTTP_PORT_DISTANCE}
        return values

    @field_validator("http_port", mode="before")
    @classmethod
    def _http_port_fits(cls, port: Any, info: ValidationInfo) -> Any:
        follows = type(port) is int and info.data.get("port") == port - HTTP_PORT_DISTANCE
        if follows and port > 65535:
            raise clash(
                f"http_port follows at {port}, beyond 65535",
                f"choose a port up to {65535 - HTTP_PORT_DISTANCE}, or set node.http_port",
                ("http_port",),
                ("port",),
            )
        return port

    @field_validator("http_port")
    @classmethod
    def _ports_differ(cls, http_port: int, info: ValidationInfo) -> int:
        if info.data.get("port") == http_port:
            raise clash(
                f"gRPC and HTTP cannot share port {http_port}",
                "choose another http_port, or leave it out",
                ("http_port",),
                ("port",),
            )
        return http_port

    @field_validator("peer_port")
    @classmethod
    def _peer_port_differs(cls, peer_port: int, info: ValidationInfo) -> int:
        for other in ("port", "http_port"):
            if info.data.get(other) == peer_port:
                raise clash(
                    f"port {peer_port} is taken by {other}",
                    "choose another peer_port, or leave it out",
                    ("peer_port",),
                    (other,),
                )
        return peer_port

    @property
    def address(self) -> str:
        """The address that gRPC listens on, as `host:port`."""
        return join_address(self.host, self.port)

    @property
    def http_address(self) -> str:
        """The address that HTTP listens on, as `host:port`."""
        return join_address(self.host, self.http_port)

    @property
    def peer_address(self) -> str:
        """The address that other nodes connect to, as `host:port`."""
        return join_address(self.host, self.peer_port)


class ClusterSection(Section):
    """The cluster that this node belongs to, and how it is founded."""

    token: SecretStr = Field(default=SecretStr(DEFAULT_TOKEN), min_length=1)
    """Shared by all nodes of a cluster and by no other cluster; `{ file = "..." }` names a file
    with it.
    """
    initial_members: Mapping[Name, Address] = Field(default_factory=dict)
    """Nodes that found the cluster, each as name = "host:port"; the same on every one of them. Read
    once, when the cluster is founded.
    """
    join: Mapping[Name, Address] = Field(default_factory=dict)
    """Nodes of an existing cluster, each as name = "host:port": a node with an empty directory
    waits until `quorate member add` adds it, and never founds a cluster. Cannot be combined with
    `initial_members`.
    """

    @field_validator("join")
    @classmethod
    def _joins_or_founds(cls, join: Mapping[str, str], info: ValidationInfo) -> Mapping[str, str]:
        if join and info.data.get("initial_members"):
            raise clash(
                "a node founds a cluster or joins one",
                "remove join, or initial_members if the node is added to an existing cluster",
                ("join",),
                ("initial_members",),
            )
        return join

    @field_validator("initial_members", "join")
    @classmethod
    def _addresses_differ(
        cls, members: Mapping[str, str], info: ValidationInfo
    ) -> Mapping[str, str]:
        owner: dict[tuple[str, int], str] = {}
        for name, address in members.items():
            first = owner.setdefault(split_address(address), name)
            if first != name:
                raise clash(
                    f"{first} and {name} have the same address, {address}",
                    "give every member an address of its own",
                    (str(info.field_name), name),
                )
        return members


class GroupSection(Section):
    """A Raft group: its number of shards, and the replicas of each."""

    shards: Annotated[int, Field(ge=1, le=SLOTS)] | None = None
    """Shards that the group is founded with; later the replicated slot map decides. Not set: the
    number that its plugin declares.
    """
    replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)] | None = None
    """Replicas of each shard, each on another machine; the same on every node. Not set: a replica
    on every node.
    """
    split_above_rows: PositiveInt | None = None
    """Split a shard with more rows automatically. This and the following settings should be the
    same on every node. Not set: no limit.
    """
    split_above_bytes: PositiveInt | None = None
    """Split a shard with more bytes of rows automatically. Not set: no limit."""
    split_above_writes: PositiveInt | None = None
    """Split a shard with more writes per second, averaged over `split_pause_s`, automatically. Not
    set: no limit.
    """
    split_pause_s: Annotated[float, Field(gt=0)] = 300
    """Interval in seconds between checks of the rows and writes of a shard, and so between its
    automatic splits.
    """
    most_shards: Annotated[int, Field(ge=1, le=SLOTS)] = 64
    """Shards of the group at which automatic splits stop."""
