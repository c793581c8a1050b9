"""The core sections of the file: the settings with their units, defaults and limits."""

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
#: Each worker has ports of its own, below those at `HTTP_PORT_DISTANCE`.
MOST_WORKERS: Final = 64
#: As many workers as there are cores.
AUTO: Final = "auto"

KIB: Final = 1024
MIB: Final = 1024 * KIB

#: The type of the errors that `clash` makes.
CLASH: Final = "clash"


def clash(what: str, fix: str, *keys: tuple[str, ...]) -> PydanticCustomError:
    """Return the error for settings that contradict each other.

    `keys` are relative to the model that raises; the first one that the user has set is blamed.
    """
    return PydanticCustomError(CLASH, "{what}", {"what": what, "fix": fix, "keys": keys})


def _check_workers(workers: object) -> object:
    if workers != AUTO and (type(workers) is not int or not 1 <= workers <= MOST_WORKERS):
        raise ValueError(f'must be a number of processes from 1 to {MOST_WORKERS}, or "{AUTO}"')
    return workers


#: Public: it keeps clusters apart, but no intruder out.
DEFAULT_TOKEN: Final = "quorate"

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=64)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Workers = Annotated[int | Literal["auto"], BeforeValidator(_check_workers)]


class Section(BaseModel):
    """The base of every core section: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeSection(Section):
    """This process: its name, its addresses and its data directory."""

    name: Name = Field(default="node1", description="Name of this node, unique in the cluster.")
    host: Host = Field(
        default="127.0.0.1",
        description="Address that the node listens on, for gRPC, HTTP and other nodes.",
    )
    port: Port = Field(
        default=7401,
        description="TCP port of gRPC, for clients and other nodes.",
    )
    http_port: Port = Field(
        default=7401 + HTTP_PORT_DISTANCE,
        description="TCP port of metrics and health over HTTP. Not set: `port` plus "
        f"{HTTP_PORT_DISTANCE}.",
    )
    peer_port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=0,
        description="TCP port for connections from other nodes, which learn it over gRPC; 0: any "
        "free port. Set it if there is a firewall between the nodes.",
    )
    reflection: bool = Field(
        default=False,
        description="Serve gRPC reflection, which tools such as grpcurl need.",
    )
    dir: Path = Field(
        default=Path("quorate-data"),
        description="Directory of the log and the shards' databases; a relative path starts at the "
        "working directory.",
    )
    machine: Name | None = Field(
        default=None,
        description="Name of the machine that the node runs on: in groups with `replicas`, no two "
        "replicas of a shard are placed on one machine. Not set: a machine of its own.",
    )
    zone: Name | None = Field(
        default=None,
        description="Failure domain of the machine, such as a rack or a data centre: the replicas "
        "of a shard are spread over zones.",
    )
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

    token: SecretStr = Field(
        default=SecretStr(DEFAULT_TOKEN),
        min_length=1,
        description="Shared by all nodes of a cluster and by no other cluster; "
        '`{ file = "..." }` names a file with it.',
    )
    initial_members: Mapping[Name, Address] = Field(
        default_factory=dict,
        description='Nodes that found the cluster, each as name = "host:port"; the same on every '
        "one of them. Read once, when the cluster is founded.",
    )
    join: Mapping[Name, Address] = Field(
        default_factory=dict,
        description='Nodes of an existing cluster, each as name = "host:port": a node with an '
        "empty directory waits until `quorate member add` adds it, and never founds a cluster. "
        "Cannot be combined with `initial_members`.",
    )

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

    shards: Annotated[int, Field(ge=1, le=SLOTS)] | None = Field(
        default=None,
        description="Shards that the group is founded with; later the replicated slot map decides. "
        "Not set: the number that its plugin declares.",
    )
    replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)] | None = Field(
        default=None,
        description="Replicas of each shard, each on another machine; the same on every node. Not "
        "set: a replica on every node.",
    )
    split_above_rows: PositiveInt | None = Field(
        default=None,
        description="Split a shard with more rows automatically. This and the following settings "
        "should be the same on every node. Not set: no limit.",
    )
    split_above_bytes: PositiveInt | None = Field(
        default=None,
        description="Split a shard with more bytes of rows automatically. Not set: no limit.",
    )
    split_above_writes: PositiveInt | None = Field(
        default=None,
        description="Split a shard with more writes per second, averaged over `split_pause_s`, "
        "automatically. Not set: no limit.",
    )
    split_pause_s: Annotated[float, Field(gt=0)] = Field(
        default=300,
        description="Interval in seconds between checks of the rows and writes of a shard, and so "
        "between its automatic splits.",
    )
    most_shards: Annotated[int, Field(ge=1, le=SLOTS)] = Field(
        default=64, description="Shards of the group at which automatic splits stop."
    )


class StorageSection(Section):
    """Memory and disk of the node's databases; each value is for the whole node."""

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
        default=256_000_000, description="Limit on bytes of applied log entries that a shard keeps."
    )
    history_bytes: NonNegativeInt = Field(
        default=128 * MIB,
        description="Approximate limit on bytes of events that a shard keeps for watches, even of "
        "events younger than five minutes; the leader's setting applies. 0: no limit.",
    )


class ScrubSection(Section):
    """The rates at which the node continuously checks its disk for damage."""

    file_bytes_per_s: PositiveInt = Field(
        default=4 * MIB,
        description="Bytes of files to read per second and compare with their earlier checksums.",
    )
    row_bytes_per_s: PositiveInt = Field(
        default=64 * KIB,
        description="Bytes of rows, of the shards that the node leads, to compare per second with "
        "the other replicas.",
    )


class CanarySection(Section):
    """Probes of every shard that does not rest: a write and a read, as of a client."""

    period_ms: int = Field(
        default=30_000,
        ge=0,
        description="Interval in ms in which each shard is probed once; at most two shards are "
        "probed per second. 0: no probes.",
    )
    slow_ms: PositiveInt = Field(
        default=2_000,
        description="Duration of a probe, its write and read together, above which an alarm is "
        "raised, in ms.",
    )


class RecorderSection(Section):
    """The flight recorder: the node's last minutes in the file `recorder` of its directory."""

    bytes: int = Field(
        default=16 * MIB,
        ge=0,
        description="Size of the flight recorder in bytes; its oldest records are overwritten. 0: "
        "no recorder.",
    )


class TracesSection(Section):
    """Traces for OpenTelemetry: the time that single calls take, over all nodes."""

    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^/\s]+$",
        description="The collector that receives the spans by OTLP over gRPC, such as "
        "http://127.0.0.1:4317, or https:// for TLS. Not set: no traces.",
    )
    ratio: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Share of calls to trace among those without a caller's sampling decision.",
    )
    callers: bool = Field(
        default=True,
        description="Follow the sampling decisions of callers. If false, `ratio` applies to all "
        "calls.",
    )
    waiting_spans: PositiveInt = Field(
        default=4_096,
        description="Limit on spans that wait for the collector; more are dropped, and counted.",
    )


class TimingSection(Section):
    """The timing of Raft and of the write path."""

    heartbeat_ms: PositiveInt = Field(
        default=100, description="Interval between heartbeats of a leader, in milliseconds."
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
            "Time without commands and reads after which a shard rests, in ms: it sends no "
            "heartbeats of its own until the next command or read. 0: shards never rest."
        ),
    )
    max_linger_ms: int = Field(
        default=3,
        ge=0,
        description=(
            "Longest time, in ms, that a write waits for others to share its entry when none is in "
            "flight, a read for others to share its round of confirmation, and a commit index for "
            "an entry to carry it."
        ),
    )
    max_behind_ms: int = Field(
        default=25,
        ge=0,
        description=(
            "Longest time that a write waits for the entry in flight before its own is made, in "
            "ms. A busy shard thus makes fewer entries; a larger value helps if messages between "
            "nodes take longer."
        ),
    )
    write_timeout_ms: PositiveInt = Field(
        default=30_000, description="Time after which a write times out, in milliseconds."
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
        """A warning for a valid but tight pair of heartbeat and election timeouts, or None."""
        if self.election_min_ms >= 3 * self.heartbeat_ms:
            return None
        return (
            f"timing.election_min_ms ({self.election_min_ms}) is under three heartbeats "
            f"(timing.heartbeat_ms is {self.heartbeat_ms}): a replica calls an election after "
            "one or two late heartbeats; pre-votes keep the leader in place, but each one costs "
            "messages, and a leader that lost its majority leads until three heartbeats passed"
        )


#: Limits in bytes that must hold the largest item of another limit.
_HOLDS: Final = {
    "effects_bytes": (
        "command_bytes",
        "{} bytes of effects cannot hold the largest command, {} bytes",
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


#: Default limit on connections of clients, if the process may open enough files.
CONNECTIONS: Final = 10_000
#: Default limit on bytes of requests and answers: enough for four of the largest messages. In
#: memory they take about five times as much.
_INFLIGHT_BYTES: Final = 64 * MIB
_INFLIGHT_MESSAGES: Final = 4


class LimitsSection(Section):
    """Limits on sizes and numbers; larger requests are refused before they are logged.

    For the resources that clients hold on the node, 0 is no limit.
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
        description="Largest total write of one command, in bytes; a command that writes more is "
        "refused.",
    )
    reply_bytes: PositiveInt = Field(
        default=4 * MIB,
        description="Largest answer of one command, in bytes; a command with a larger one is "
        "refused, and writes nothing.",
    )
    batch_items: PositiveInt = Field(default=10_000, description="Maximum number of batch items.")
    stream_commands: PositiveInt = Field(
        default=10_000,
        description="Limit on commands of one CommandService.Stream that wait for their answers; "
        "at the limit, the stream is not read any further.",
    )
    stream_bytes: PositiveInt = Field(default=16 * MIB, description="The same, in bytes.")
    named_sessions: PositiveInt = Field(
        default=10_000,
        description="Limit on named sessions, such as those of loads, per identity and shard.",
    )
    connections: NonNegativeInt | None = Field(
        default=None,
        description="Limit on connections of clients; an address gets at most as many as are left "
        "for others, and connections beyond that are closed. 0: no limit. Not set: half of the "
        f"files that the process may open, and at most {CONNECTIONS}.",
    )
    streams_per_connection: PositiveInt = Field(
        default=10_000,
        description="Limit on concurrent calls of a connection; further ones wait at the client.",
    )
    open_calls: NonNegativeInt = Field(
        default=20_000,
        description="Limit on concurrent calls of clients, streams and watches among them; a "
        "caller gets at most as many as are left for others, and further calls are refused with "
        "a retry-after. 0: no limit, here and below.",
    )
    open_watches: NonNegativeInt = Field(
        default=10_000, description="The same for watches: each may hold a page of about 1 MiB."
    )
    open_views: NonNegativeInt = Field(
        default=256, description="The same for views, of which there are never more than 256."
    )
    inflight_bytes: NonNegativeInt | None = Field(
        default=None,
        description="Limit on bytes of requests in progress and of replies not yet sent, shared in "
        f"the same way. Not set: {_INFLIGHT_BYTES}, or {_INFLIGHT_MESSAGES} times "
        "`grpc_message_bytes` if that is more.",
    )
    idle_connection_s: NonNegativeInt = Field(
        default=600,
        description="Seconds after which a connection without a call is closed; one with an "
        "incomplete first request is closed half as many seconds later. 0: never.",
    )
    slow_reader_s: NonNegativeInt = Field(
        default=60,
        description="Seconds after which a call is ended if its client reads nothing of the "
        "reply, or has sent only part of its request. 0: never.",
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
        # An unset limit, or 0 for no limit, holds everything.
        if size and size < least:
            fix = f"make {field} larger, or {other} smaller"
            raise clash(found.format(size, least), fix, (field,), (other,))
        return size

    def most_inflight_bytes(self) -> int:
        """Return the limit on bytes in flight; 0: no limit."""
        if self.inflight_bytes is not None:
            return self.inflight_bytes
        return max(_INFLIGHT_BYTES, _INFLIGHT_MESSAGES * self.grpc_message_bytes)

    def most_connections(self, files: int) -> int:
        """Return the limit on connections of a process that may open `files` files; 0: no limit."""
        if self.connections is not None:
            return self.connections
        # The other half is for data, logs and other nodes, which must not be refused.
        return max(1, min(CONNECTIONS, files // 2))


class TlsSection(Section):
    """TLS: the certificates of the node, and the authorities for those of others."""

    cert_file: Path | None = Field(
        default=None, description="The node's certificate chain, a PEM file; requires `key_file`."
    )
    key_file: Path | None = Field(
        default=None,
        validate_default=True,
        description="The private key of the certificate, a PEM file.",
    )
    ca_file: Path | None = Field(
        default=None,
        validate_default=True,
        description="Authorities that sign the certificates of other nodes, a PEM file.",
    )
    client_ca_file: Path | None = Field(
        default=None,
        description="Further authorities that sign certificates of clients, besides `ca_file`, a "
        "PEM file; they must not sign names of nodes.",
    )
    require_client_cert: bool = Field(
        default=False,
        description="Refuse clients without a certificate, and verify that of each calling node.",
    )
    insecure: bool = Field(
        default=False, description="Allow addresses beyond loopback without TLS."
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
        """Whether the node serves TLS."""
        return self.cert_file is not None


#: The implementation that serves gRPC.
EngineName = Literal["http2", "grpcio"]


class RpcSection(Section):
    """The server of gRPC calls."""

    engine: EngineName = Field(
        default="http2",
        description="Implementation that serves gRPC: `http2`, the node's own, or `grpcio`, the "
        "previous one, which the next release removes. Callers see no difference.",
    )


class AuditSection(Section):
    """The audit log: caller, method, key, time, address and outcome of each call."""

    file: Path | None = Field(
        default=None,
        description="File of the audit log, a JSON object per line. Not set: no audit log.",
    )
    file_bytes: PositiveInt = Field(
        default=64 * MIB, description="Size at which the file is rotated."
    )
    files: PositiveInt = Field(
        default=8, description="Number of rotated files to keep; `.1` is the newest."
    )
    omit: tuple[str, ...] = Field(
        default=("quorate.v1.SendHeartbeats",),
        description="Plugins by their names, `admin`, and commands by their full names, to leave "
        "out of the audit log.",
    )
    writers: bool = Field(
        default=False,
        description="Whether each row records its last writer, for `quorate audit writer`. The "
        "leader's setting applies: set it on all nodes.",
    )


class ConsoleSection(Section):
    """Actions in the console; without them it only shows the cluster."""

    actions: bool = Field(
        default=False,
        description="Whether operators can act in the console, with the rights of their tokens; "
        "only once the cluster authenticates callers.",
    )
    backup_dir: Path | None = Field(
        default=None,
        description="Directory on this node for backups taken in the console, each in a directory "
        "of its own. Not set: the console takes no backups.",
    )

    @field_validator("backup_dir", mode="before")
    @classmethod
    def _on_this_node(cls, backup_dir: object) -> object:
        if "://" in str(backup_dir):
            raise ValueError("must be a directory on this node (`quorate backup` writes to others)")
        return backup_dir


class AuthSection(Section):
    """Authentication of callers besides certificates and stored tokens."""

    root_token_file: Path | None = Field(
        default=None,
        description="File with an emergency token that has all rights, whatever is stored. One "
        "word of 32 characters or more; read again when it changes, and disabled while empty.",
    )
    issuer_keys_file: Path | None = Field(
        default=None,
        description="Public keys of the issuer of JWTs: a JWK set, or a PEM file with one key.",
    )
    issuer: str = Field(
        default="", description="Required claim `iss` of a JWT; set it together with the keys."
    )
    audience: str = Field(
        default="",
        validate_default=True,
        description="Value that the claim `aud` of a JWT must be or contain; set it together with "
        "the keys.",
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
    """The plugins that this node serves; `[plugins.<name>]` has the settings of each."""

    enabled: tuple[str, ...] = Field(
        default=(), description="Installed plugins that this node serves."
    )
    retired: tuple[str, ...] = Field(
        default=(), description="Plugins that no longer serve but still have data on disk."
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
    """The whole file except the sections of plugins."""

    node: NodeSection = NodeSection()
    cluster: ClusterSection = ClusterSection()
    groups: Mapping[Name, GroupSection] = Field(
        default_factory=dict,
        description="Raft groups by name, each with its number of shards and replicas; a group "
        "that is not named here has the shards that its plugin declares, on every node.",
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
