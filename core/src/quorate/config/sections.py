"""The core sections of the file: what may be set, its unit, its default and its limits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from quorate.config.addresses import Address, Host, Port, is_loopback, join_address, split_address

#: A node's HTTP port is its gRPC port plus this, unless it is set.
HTTP_PORT_DISTANCE: Final = 100
#: Slots of a group; no group can have more shards.
SLOTS: Final = 1024
#: More replicas of a shard make writes slower and nothing safer.
MOST_REPLICAS: Final = 9
#: Each has ports of its own, before those at `HTTP_PORT_DISTANCE`.
MOST_WORKERS: Final = 64
#: As many workers as there are cores.
AUTO: Final = "auto"

KIB: Final = 1024
MIB: Final = 1024 * KIB

#: The type of the errors that `clash` makes.
CLASH: Final = "clash"


def clash(what: str, fix: str, *keys: tuple[str, ...]) -> PydanticCustomError:
    """Make the error of settings that contradict each other.

    `keys` are relative to the model that raises; the first one that the user has set is blamed.
    """
    return PydanticCustomError(CLASH, "{what}", {"what": what, "fix": fix, "keys": keys})


def _check_workers(workers: object) -> object:
    if workers != AUTO and (type(workers) is not int or not 1 <= workers <= MOST_WORKERS):
        raise ValueError(f'must be a number of processes from 1 to {MOST_WORKERS}, or "{AUTO}"')
    return workers


#: Known to everybody: it keeps clusters apart, and no stranger out.
DEFAULT_TOKEN: Final = "quorate"

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=64)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Workers = Annotated[int | Literal["auto"], BeforeValidator(_check_workers)]


class Section(BaseModel):
    """What every core section shares: it does not change, and refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeSection(Section):
    """This process: its name, where it listens, where it keeps what it must not lose."""

    name: Name = Field(default="node1", description="Name of this node, unique in the cluster.")
    host: Host = Field(
        default="127.0.0.1",
        description="Address that the node listens on, for gRPC, HTTP and other nodes.",
    )
    port: Port = Field(
        default=7401,
        description="TCP port of gRPC: the address that clients and other nodes are given.",
    )
    http_port: Port = Field(
        default=7401 + HTTP_PORT_DISTANCE,
        description="TCP port of metrics and health over HTTP; follows `port` at a distance of "
        f"{HTTP_PORT_DISTANCE} when it is not set.",
    )
    peer_port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=0,
        description="TCP port of the connections from other nodes, which learn it over gRPC; 0: any"
        " free one. Set it where a firewall stands between the nodes.",
    )
    reflection: bool = Field(
        default=False,
        description="Tell callers over gRPC which services and messages there are, for tools such "
        "as grpcurl.",
    )
    dir: Path = Field(
        default=Path("quorate-data"),
        description="Directory of the log and the shards' databases; a relative path is taken "
        "from the working directory.",
    )
    machine: Name | None = Field(
        default=None,
        description="Name of the machine that the node runs on: of the groups with `replicas`, no "
        "two replicas of a shard are on one machine. Not set: a machine of its own.",
    )
    zone: Name | None = Field(
        default=None,
        description="Name of what fails together with the machine, such as a rack or a data "
        "centre: the replicas of a shard are spread over zones.",
    )
    workers: Workers = Field(
        default=1,
        description="Processes of this machine, each a member of the cluster with a core and ports "
        f'of its own, behind `port`; "{AUTO}": one for each core. The same on every machine that '
        "founds the cluster.",
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
        """Where gRPC listens, as `host:port`."""
        return join_address(self.host, self.port)

    @property
    def http_address(self) -> str:
        """Where HTTP listens, as `host:port`."""
        return join_address(self.host, self.http_port)

    @property
    def peer_address(self) -> str:
        """Where other nodes connect, as `host:port`."""
        return join_address(self.host, self.peer_port)


class ClusterSection(Section):
    """The cluster that this node belongs to, and how it is founded."""

    token: SecretStr = Field(
        default=SecretStr(DEFAULT_TOKEN),
        min_length=1,
        description="Shared by all nodes of a cluster and by no other cluster; "
        '`{ file = "..." }` names a file with it.',
    )
    initial_members: Mapping[Name, Address] = Field(
        default_factory=dict,
        description='Nodes that found the cluster, each as name = "host:port"; the same on all of '
        "them. Read once, when the cluster is founded.",
    )
    join: Mapping[Name, Address] = Field(
        default_factory=dict,
        description="Nodes of a cluster that is there already, each as name = "
        '"host:port": a node with an empty directory waits to be added to it with `quorate member '
        "add`, and never founds one. Not beside `initial_members`.",
    )

    @field_validator("join")
    @classmethod
    def _joins_or_founds(cls, join: Mapping[str, str], info: ValidationInfo) -> Mapping[str, str]:
        if join and info.data.get("initial_members"):
            raise clash(
                "a node founds a cluster or joins one",
                "take out join, or initial_members for a node that is added to a running cluster",
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
                    f"{first} and {name} have one address, {address}",
                    "give every member an address of its own",
                    (str(info.field_name), name),
                )
        return members


class GroupSection(Section):
    """A Raft group: into how many shards it is divided, and on how many nodes each of them is."""

    shards: Annotated[int, Field(ge=1, le=SLOTS)] | None = Field(
        default=None,
        description="Shards that the group is founded with; later the replicated slot map counts. "
        "Not set: those that its plugin declares.",
    )
    replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)] | None = Field(
        default=None,
        description="Replicas of each shard, on as many machines; the same on every node. Not set: "
        "a replica on every node.",
    )
    split_above_rows: PositiveInt | None = Field(
        default=None,
        description="A shard with more rows is split by itself. This and the following settings "
        "should be the same on every node. Not set: not for its rows.",
    )
    split_above_bytes: PositiveInt | None = Field(
        default=None,
        description="A shard whose rows have more bytes is split by itself. Not set: not for them.",
    )
    split_above_writes: PositiveInt | None = Field(
        default=None,
        description="A shard with more writes per second, over `split_pause_s`, is split by "
        "itself. Not set: not for its writes.",
    )
    split_pause_s: Annotated[float, Field(gt=0)] = Field(
        default=300,
        description="Time between two looks at the rows and writes of a shard, and so between two "
        "splits of it.",
    )
    most_shards: Annotated[int, Field(ge=1, le=SLOTS)] = Field(
        default=64, description="No shard is split by itself when the group has as many."
    )


class StorageSection(Section):
    """Memory and disk of the node's databases; each number is for the whole node."""

    block_cache_bytes: PositiveInt = Field(
        default=64 * MIB, description="Memory for blocks read from disk, shared by all databases."
    )
    write_buffer_bytes: PositiveInt = Field(
        default=64 * MIB,
        description="Memory for writes not yet flushed: a quarter for the log, the rest shared by "
        "all shards.",
    )
    log_tail_entries: PositiveInt = Field(
        default=10_000, description="Applied log entries that a shard keeps for replicas that lag."
    )
    log_tail_bytes: PositiveInt = Field(
        default=256_000_000, description="Bytes of applied log entries that a shard keeps at most."
    )
    history_bytes: NonNegativeInt = Field(
        default=128 * MIB,
        description="Bytes of events that a shard keeps for watches, about and at most, even if "
        "they are younger than five minutes; it is the leader's setting that counts. 0: no bound.",
    )


class ScrubSection(Section):
    """How fast the node looks for damage on its disk, which it always does."""

    file_bytes_per_s: PositiveInt = Field(
        default=4 * MIB,
        description="Bytes of files that are read per second and compared with what they were.",
    )
    row_bytes_per_s: PositiveInt = Field(
        default=64 * KIB,
        description="Bytes of rows of the shards that the node leads that are compared per second "
        "with the other replicas.",
    )


class CanarySection(Section):
    """A write and a read in every shard that does not rest, as a client would make them."""

    period_ms: int = Field(
        default=30_000,
        ge=0,
        description="Time in which each shard is asked once, in ms; at most two are asked per "
        "second. 0: none is.",
    )
    slow_ms: PositiveInt = Field(
        default=2_000,
        description="Time of a write and a read together after which an alarm is raised, in ms.",
    )


class RecorderSection(Section):
    """The flight recorder: the node's last minutes in the file `recorder` of its directory."""

    bytes: int = Field(
        default=16 * MIB,
        ge=0,
        description="Size of the flight recorder in bytes; its oldest records are overwritten. 0: "
        "there is none.",
    )


class TracesSection(Section):
    """Traces for OpenTelemetry: where the time of single calls goes, over all nodes."""

    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^/\s]+$",
        description="The collector that gets the spans by OTLP over gRPC: http://127.0.0.1:4317, "
        "or https:// for TLS. Without it nothing is traced.",
    )
    ratio: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Share that is traced of the calls whose callers do not say whether they are "
        "to be.",
    )
    callers: bool = Field(
        default=True,
        description="Trace the calls whose callers say so, and not those whose callers say no. "
        "Otherwise the share is of all calls.",
    )
    waiting_spans: PositiveInt = Field(
        default=4_096,
        description="Most spans that wait for the collector; more are dropped, and counted.",
    )


class TimingSection(Section):
    """The clockwork of Raft and of the write path."""

    heartbeat_ms: PositiveInt = Field(
        default=100, description="Time between two heartbeats of a leader, in milliseconds."
    )
    election_min_ms: PositiveInt = Field(
        default=500,
        validate_default=True,
        description="Shortest silence after which a replica calls an election, in ms.",
    )
    election_max_ms: PositiveInt = Field(
        default=1_000,
        validate_default=True,
        description="Longest silence after which a replica calls an election, in ms.",
    )
    rest_ms: int = Field(
        default=200,
        ge=0,
        description=(
            "Time without commands and reads after which a shard rests, in ms: it has no "
            "heartbeats of its own, and wakes with the next of them. 0: shards never rest."
        ),
    )
    max_linger_ms: int = Field(
        default=3,
        ge=0,
        description=(
            "Longest time that a write waits for others to share its entry when none is in flight, "
            "a read for others to share its question, and a commit index for an entry to carry "
            "them, in ms."
        ),
    )
    max_behind_ms: int = Field(
        default=25,
        ge=0,
        description=(
            "Longest time that a write waits for the entry in flight before its own is made, in "
            "ms. A busy shard then makes few entries; more helps where messages between nodes take "
            "longer than that."
        ),
    )
    write_timeout_ms: PositiveInt = Field(
        default=30_000, description="Time after which a write is given up, in milliseconds."
    )
    slow_write_ms: PositiveInt = Field(
        default=1_000, description="Time after which a write is reported as slow, in milliseconds."
    )

    @field_validator("election_min_ms")
    @classmethod
    def _election_outlasts_a_heartbeat(cls, election_min_ms: int, info: ValidationInfo) -> int:
        heartbeat_ms = info.data.get("heartbeat_ms")
        if heartbeat_ms is not None and election_min_ms < heartbeat_ms:
            raise clash(
                f"an election after {election_min_ms} ms comes before the next heartbeat, "
                f"sent every {heartbeat_ms} ms: no leader would last",
                "make election_min_ms at least heartbeat_ms, better five times it",
                ("election_min_ms",),
                ("heartbeat_ms",),
            )
        return election_min_ms

    @field_validator("election_max_ms")
    @classmethod
    def _election_range(cls, election_max_ms: int, info: ValidationInfo) -> int:
        election_min_ms = info.data.get("election_min_ms")
        if election_min_ms is not None and election_max_ms < election_min_ms:
            raise clash(
                f"election_max_ms ({election_max_ms}) is below election_min_ms ({election_min_ms})",
                "make it larger, better twice election_min_ms",
                ("election_max_ms",),
                ("election_min_ms",),
            )
        return election_max_ms

    @property
    def caution(self) -> str | None:
        """What an accepted but tight pair of heartbeat and election costs; None for a sound one."""
        if self.election_min_ms >= 3 * self.heartbeat_ms:
            return None
        return (
            f"timing.election_min_ms ({self.election_min_ms}) is under three heartbeats "
            f"(timing.heartbeat_ms is {self.heartbeat_ms}): a replica asks for an election after "
            "one or two late heartbeats; pre-votes keep the leader in place, but each one costs "
            "messages, and a leader that lost its majority leads until three heartbeats passed"
        )


#: Limits in bytes that hold one of another limit.
_HOLDS: Final = {
    "effects_bytes": (
        "command_bytes",
        "{} bytes of effects cannot hold what the largest command brings, {} bytes",
    ),
    "grpc_message_bytes": (
        "command_bytes",
        "a gRPC message of {} bytes cannot hold the largest command, {} bytes",
    ),
    "inflight_bytes": (
        "grpc_message_bytes",
        "{} bytes in flight have no room for the largest gRPC message, {} bytes",
    ),
}


#: Most connections of clients by default, where the process may open files enough.
CONNECTIONS: Final = 10_000
#: Bytes of requests and answers by default: enough for four of the largest messages. In memory
#: they take about five times as much.
_INFLIGHT_BYTES: Final = 64 * MIB
_INFLIGHT_MESSAGES: Final = 4


class LimitsSection(Section):
    """The largest things that the node takes; more is refused before it is logged.

    Of what clients hold of the node, 0 is no bound.
    """

    key_bytes: PositiveInt = Field(default=4 * KIB, description="Longest key, in bytes.")
    value_bytes: PositiveInt = Field(default=1 * MIB, description="Longest value, in bytes.")
    command_bytes: PositiveInt = Field(
        default=4 * MIB, validate_default=True, description="Largest encoded command, in bytes."
    )
    grpc_message_bytes: PositiveInt = Field(
        default=16 * MIB,
        validate_default=True,
        description="Largest gRPC message, received or sent, in bytes.",
    )
    effects_bytes: PositiveInt = Field(
        default=16 * MIB,
        validate_default=True,
        description="All that one command writes, in bytes; a command that writes more is refused.",
    )
    reply_bytes: PositiveInt = Field(
        default=4 * MIB,
        description="Largest answer of one command, in bytes; a command that answers more is "
        "refused, and writes nothing.",
    )
    batch_items: PositiveInt = Field(default=10_000, description="Most items in one batch.")
    stream_commands: PositiveInt = Field(
        default=10_000,
        description="Most commands of one CommandService.Stream that wait for their answers; "
        "beyond it the stream is not read on.",
    )
    stream_bytes: PositiveInt = Field(default=16 * MIB, description="The same, in bytes.")
    named_sessions: PositiveInt = Field(
        default=10_000,
        description="Most sessions with a name, as those of loads, of one identity in one shard.",
    )
    connections: NonNegativeInt | None = Field(
        default=None,
        description="Most connections of clients; an address gets at most as many as are left for "
        "others, and what is beyond that is closed. 0: no bound. Not set: as many as half of the "
        f"files that the process may open, and at most {CONNECTIONS}.",
    )
    streams_per_connection: PositiveInt = Field(
        default=10_000,
        description="Most calls of one connection at a time; what is beyond them waits at the "
        "client.",
    )
    open_calls: NonNegativeInt = Field(
        default=20_000,
        description="Most calls of clients at a time, streams and watches among them; a caller "
        "gets at most as many as are left for others, and further ones are refused with a "
        "retry-after. 0: no bound, here and below.",
    )
    open_watches: NonNegativeInt = Field(
        default=10_000, description="The same of watches: each may hold a page of about 1 MiB."
    )
    open_views: NonNegativeInt = Field(
        default=256, description="The same of views, of which there are never more than 256."
    )
    inflight_bytes: NonNegativeInt | None = Field(
        default=None,
        description="Most bytes of requests that are worked on and of answers that are not sent "
        f"yet, shared in the same way. Not set: {_INFLIGHT_BYTES}, or {_INFLIGHT_MESSAGES} times "
        "`grpc_message_bytes` if that is more.",
    )
    idle_connection_s: NonNegativeInt = Field(
        default=600,
        description="Seconds after which a connection without a call is closed, and, half as many "
        "later, one whose first request has not come to its end. 0: never.",
    )
    slow_reader_s: NonNegativeInt = Field(
        default=60,
        description="Seconds after which a call is ended whose client takes nothing of what is "
        "sent, or whose request has begun and not come as a whole. 0: never.",
    )

    @field_validator("command_bytes")
    @classmethod
    def _command_holds_a_row(cls, command_bytes: int, info: ValidationInfo) -> int:
        row_bytes = info.data.get("key_bytes", 0) + info.data.get("value_bytes", 0)
        if command_bytes < row_bytes:
            raise clash(
                f"a command of {command_bytes} bytes cannot hold the longest key and value, "
                f"{row_bytes} bytes",
                "make command_bytes larger, or key_bytes and value_bytes smaller",
                ("command_bytes",),
                ("value_bytes",),
                ("key_bytes",),
            )
        return command_bytes

    @field_validator("effects_bytes", "grpc_message_bytes", "inflight_bytes")
    @classmethod
    def _holds_the_largest(cls, size: int | None, info: ValidationInfo) -> int | None:
        field = str(info.field_name)
        other, found = _HOLDS[field]
        least = info.data.get(other, 0)
        # One that is not set, or is no bound, holds everything.
        if size and size < least:
            fix = f"make {field} larger, or {other} smaller"
            raise clash(found.format(size, least), fix, (field,), (other,))
        return size

    def most_inflight_bytes(self) -> int:
        """Return the bound of bytes in flight; 0: there is none."""
        if self.inflight_bytes is not None:
            return self.inflight_bytes
        return max(_INFLIGHT_BYTES, _INFLIGHT_MESSAGES * self.grpc_message_bytes)

    def most_connections(self, files: int) -> int:
        """Return the bound of connections where a process may open so many files; 0: none."""
        if self.connections is not None:
            return self.connections
        # The other half is for data, logs and other nodes, which cannot be refused.
        return max(1, min(CONNECTIONS, files // 2))


class TlsSection(Section):
    """How clients and peers know whom they talk to."""

    cert_file: Path | None = Field(
        default=None, description="The node's certificate chain, a PEM file; goes with `key_file`."
    )
    key_file: Path | None = Field(
        default=None,
        validate_default=True,
        description="The private key of the certificate, a PEM file.",
    )
    ca_file: Path | None = Field(
        default=None,
        validate_default=True,
        description="Certificates that the other nodes' are checked against, a PEM file.",
    )
    client_ca_file: Path | None = Field(
        default=None,
        description="Certificates that clients' are checked against besides those of "
        "`ca_file`, a PEM file; an authority that signs no name of a node.",
    )
    require_client_cert: bool = Field(
        default=False,
        description="Refuse clients without a certificate, and check that of each node that calls.",
    )
    insecure: bool = Field(
        default=False, description="Listen on addresses beyond loopback although TLS is off."
    )

    @field_validator("key_file")
    @classmethod
    def _key_and_certificate(cls, key_file: Path | None, info: ValidationInfo) -> Path | None:
        if "cert_file" in info.data and (key_file is None) != (info.data["cert_file"] is None):
            pair = ("cert_file", "key_file")
            present, absent = pair if key_file is None else pair[::-1]
            raise clash(f"{present} is set without {absent}", f"set {absent} too", (present,))
        return key_file

    @field_validator("ca_file")
    @classmethod
    def _certificate_and_ca(cls, ca_file: Path | None, info: ValidationInfo) -> Path | None:
        if ca_file is None and info.data.get("cert_file") and info.data.get("key_file"):
            raise clash(
                "cert_file is set without ca_file, which the other nodes are checked against",
                "set ca_file too",
                ("cert_file",),
            )
        return ca_file

    @property
    def enabled(self) -> bool:
        """Whether the node is to serve TLS."""
        return self.cert_file is not None


#: What serves gRPC.
EngineName = Literal["http2", "grpcio"]


class RpcSection(Section):
    """How calls are served."""

    engine: EngineName = Field(
        default="http2",
        description="What serves gRPC: `http2`, which is the node's own, or `grpcio`, which served "
        "it before and goes with the next release. Callers see no difference.",
    )


class AuditSection(Section):
    """Who did what to which key, when, from where, and how it ended."""

    file: Path | None = Field(
        default=None,
        description="File of the audit log, a JSON object per line; without it nothing is "
        "recorded.",
    )
    file_bytes: PositiveInt = Field(
        default=64 * MIB, description="Size at which the file is renamed, and a new one is begun."
    )
    files: PositiveInt = Field(
        default=8, description="Renamed files that are kept: `.1` is the newest of them."
    )
    omit: tuple[str, ...] = Field(
        default=("quorate.v1.SendHeartbeats",),
        description="What is not recorded: plugins by their names, `admin`, and commands by their "
        "full names.",
    )
    writers: bool = Field(
        default=False,
        description="Whether each row keeps who last wrote it, for `quorate audit writer`. It is "
        "the leader's setting that counts: set it on all nodes.",
    )


class ConsoleSection(Section):
    """What can be done in the console; it shows the cluster whatever is set here."""

    actions: bool = Field(
        default=False,
        description="Whether operators can act in the console, with the rights of their tokens; "
        "only once the cluster asks callers who they are.",
    )
    backup_dir: Path | None = Field(
        default=None,
        description="Directory on this node into which backups go that are taken in the console, "
        "each in a directory of its own. Not set: none is taken there.",
    )

    @field_validator("backup_dir", mode="before")
    @classmethod
    def _on_this_node(cls, backup_dir: object) -> object:
        if "://" in str(backup_dir):
            raise ValueError("must be a directory on this node (`quorate backup` writes to others)")
        return backup_dir


class AuthSection(Section):
    """What proves who calls, beside certificates and tokens that the cluster keeps."""

    root_token_file: Path | None = Field(
        default=None,
        description="A file with a token that may do everything, whatever is stored: the emergency "
        "door. One word of 32 characters or more; read again when it changes, and no door while it "
        "is empty.",
    )
    issuer_keys_file: Path | None = Field(
        default=None,
        description="The public keys of who issues JWTs: a JWK set, or a PEM file with one key.",
    )
    issuer: str = Field(
        default="", description="What the claim `iss` of a JWT must be; goes with the keys."
    )
    audience: str = Field(
        default="",
        validate_default=True,
        description="What the claim `aud` of a JWT must be or hold; goes with the keys.",
    )
    name_claim: str = Field(
        default="sub", min_length=1, description="The claim of a JWT that names the user."
    )

    @field_validator("audience")
    @classmethod
    def _an_issuer_is_whole(cls, audience: str, info: ValidationInfo) -> str:
        given = [info.data.get("issuer_keys_file"), info.data.get("issuer"), audience]
        if any(given) and not all(given):
            raise clash(
                "an issuer of JWTs has keys, a name and an audience",
                "set issuer_keys_file, issuer and audience, or none of them",
                ("audience",),
                ("issuer",),
                ("issuer_keys_file",),
            )
        return audience


class PluginsSection(Section):
    """Which plugins serve; each plugin's own settings stand in `[plugins.<name>]`."""

    enabled: tuple[str, ...] = Field(
        default=(), description="Installed plugins that this node serves."
    )
    retired: tuple[str, ...] = Field(
        default=(), description="Plugins that serve no more although their data is still on disk."
    )

    @field_validator("enabled", "retired")
    @classmethod
    def _named_once(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for position, name in enumerate(names):
            if name in names[:position]:
                raise clash(f"{name!r} is named twice", "name it once", (str(info.field_name),))
        return names

    @field_validator("retired")
    @classmethod
    def _retired_or_enabled(cls, retired: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        both = sorted(set(retired) & set(info.data.get("enabled", ())))
        if both:
            raise clash(
                f"{', '.join(both)} cannot be enabled and retired at once",
                "take it out of one of the two lists",
                ("retired",),
            )
        return retired


class CoreSections(Section):
    """The whole file but for the plugins' own sections."""

    node: NodeSection = NodeSection()
    cluster: ClusterSection = ClusterSection()
    groups: Mapping[Name, GroupSection] = Field(
        default_factory=dict,
        description="Raft groups by name, each with its number of shards and of their replicas; a "
        "group that is not named here has the shards that its plugin declares, on every node.",
    )
    storage: StorageSection = StorageSection()
    timing: TimingSection = TimingSection()
    scrub: ScrubSection = ScrubSection()
    canary: CanarySection = CanarySection()
    recorder: RecorderSection = RecorderSection()
    traces: TracesSection = TracesSection()
    limits: LimitsSection = LimitsSection()
    tls: TlsSection = Field(default=TlsSection(), validate_default=True)
    rpc: RpcSection = RpcSection()
    audit: AuditSection = AuditSection()
    console: ConsoleSection = ConsoleSection()
    auth: AuthSection = AuthSection()
    plugins: PluginsSection = PluginsSection()

    @field_validator("tls")
    @classmethod
    def _open_address_needs_tls(cls, tls: TlsSection, info: ValidationInfo) -> TlsSection:
        node = info.data.get("node")
        if node is None or is_loopback(node.host) or tls.enabled or tls.insecure:
            return tls
        raise clash(
            f"{node.host} can be reached from other machines, and TLS is off",
            "set tls.cert_file and tls.key_file, or tls.insecure = true if the network is trusted",
            ("node", "host"),
        )
