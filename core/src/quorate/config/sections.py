"""The core sections of the file: the settings with their units, defaults and limits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from quorate.config.addresses import is_loopback
from quorate.config.fields import KIB, MIB, Name, NonNegativeInt, PositiveInt, Section, clash
from quorate.config.members import ClusterSection, GroupSection, NodeSection


class StorageSection(Section):
    """Memory and disk of the node's databases; each value is for the whole node."""

    block_cache_bytes: PositiveInt = 64 * MIB
    """Memory for blocks read from disk, shared by all databases."""
    write_buffer_bytes: PositiveInt = 64 * MIB
    """Memory for writes not yet flushed: a quarter for the log, the rest shared by all shards."""
    log_tail_entries: PositiveInt = 10_000
    """Applied log entries that a shard keeps for replicas that lag."""
    log_tail_bytes: PositiveInt = 256_000_000
    """Limit on bytes of applied log entries that a shard keeps."""
    history_bytes: NonNegativeInt = 128 * MIB
    """Approximate limit on bytes of events that a shard keeps for watches, even of events younger
    than five minutes; the leader's setting applies. 0: no limit.
    """


class ScrubSection(Section):
    """The rates at which the node continuously checks its disk for damage."""

    file_bytes_per_s: PositiveInt = 4 * MIB
    """Bytes of files to read per second and compare with their earlier checksums."""
    row_bytes_per_s: PositiveInt = 64 * KIB
    """Bytes of rows, of the shards that the node leads, to compare per second with the other
    replicas.
    """


class CanarySection(Section):
    """Probes of every shard that does not rest: a write and a read, as of a client."""

    period_ms: NonNegativeInt = 30_000
    """Interval in ms in which each shard is probed once; at most two shards are probed per second.
    0: no probes.
    """
    slow_ms: PositiveInt = 2_000
    """Duration of a probe, its write and read together, above which an alarm is raised, in ms."""


class RecorderSection(Section):
    """The flight recorder: the node's last minutes in the file `recorder` of its directory."""

    bytes: NonNegativeInt = 16 * MIB
    """Size of the flight recorder in bytes; its oldest records are overwritten. 0: no recorder."""


class TracesSection(Section):
    """Traces for OpenTelemetry: the time that single calls take, over all nodes."""

    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/\s]+$")
    """The collector that receives the spans by OTLP over gRPC, such as http://127.0.0.1:4317, or
    https:// for TLS. Not set: no traces.
    """
    ratio: float = Field(default=0.01, ge=0, le=1)
    """Share of calls to trace among those without a caller's sampling decision."""
    callers: bool = True
    """Follow the sampling decisions of callers. If false, `ratio` applies to all calls."""
    waiting_spans: PositiveInt = 4_096
    """Limit on spans that wait for the collector; more are dropped, and counted."""


class TimingSection(Section, validate_default=True):
    """The timing of Raft and of the write path."""

    heartbeat_ms: PositiveInt = 100
    """Interval between heartbeats of a leader, in milliseconds."""
    election_min_ms: PositiveInt = 500
    """Shortest silence after which a replica calls an election, in ms."""
    election_max_ms: PositiveInt = 1_000
    """Longest silence after which a replica calls an election, in ms."""
    rest_ms: NonNegativeInt = 200
    """Time without commands and reads after which a shard rests, in ms: it sends no heartbeats of
    its own until the next command or read. 0: shards never rest.
    """
    max_linger_ms: NonNegativeInt = 3
    """Longest time, in ms, that a write waits for others to share its entry when none is in flight,
    a read for others to share its round of confirmation, and a commit index for an entry to carry
    it.
    """
    max_behind_ms: NonNegativeInt = 25
    """Longest time that a write waits for the entry in flight before its own is made, in ms. A busy
    shard thus makes fewer entries; a larger value helps if messages between nodes take longer.
    """
    write_timeout_ms: PositiveInt = 30_000
    """Time after which a write times out, in milliseconds."""
    slow_write_ms: PositiveInt = 1_000
    """Time after which a write is reported as slow, in milliseconds."""

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


class LimitsSection(Section, validate_default=True):
    """Limits on sizes and numbers; larger requests are refused before they are logged.

    For the resources that clients hold on the node, 0 is no limit.
    """

    key_bytes: PositiveInt = 4 * KIB
    """Longest key, in bytes."""
    value_bytes: PositiveInt = 1 * MIB
    """Longest value, in bytes."""
    command_bytes: PositiveInt = 4 * MIB
    """Largest encoded command, in bytes."""
    grpc_message_bytes: PositiveInt = 16 * MIB
    """Largest gRPC message, received or sent, in bytes."""
    effects_bytes: PositiveInt = 16 * MIB
    """Largest total write of one command, in bytes; a command that writes more is refused."""
    reply_bytes: PositiveInt = 4 * MIB
    """Largest answer of one command, in bytes; a command with a larger one is refused, and writes
    nothing.
    """
    batch_items: PositiveInt = 10_000
    """Maximum number of batch items."""
    stream_commands: PositiveInt = 10_000
    """Limit on commands of one CommandService.Stream that wait for their answers; at the limit, the
    stream is not read any further.
    """
    stream_bytes: PositiveInt = 16 * MIB
    """The same, in bytes."""
    named_sessions: PositiveInt = 10_000
    """Limit on named sessions, such as those of loads, per identity and shard."""
    connections: NonNegativeInt | None = Field(
        default=None,
        description="Limit on connections of clients; an address gets at most as many as are left "
        "for others, and connections beyond that are closed. 0: no limit. Not set: half of the "
        f"files that the process may open, and at most {CONNECTIONS}.",
    )
    streams_per_connection: PositiveInt = 10_000
    """Limit on concurrent calls of a connection; further ones wait at the client."""
    open_calls: NonNegativeInt = 20_000
    """Limit on concurrent calls of clients, streams and watches among them; a caller gets at most
    as many as are left for others, and further calls are refused with a retry-after. 0: no limit,
    here and below.
    """
    open_watches: NonNegativeInt = 10_000
    """The same for watches: each may hold a page of about 1 MiB."""
    open_views: NonNegativeInt = 256
    """The same for views, of which there are never more than 256."""
    inflight_bytes: NonNegativeInt | None = Field(
        default=None,
        description="Limit on bytes of requests in progress and of replies not yet sent, shared in "
        f"the same way. Not set: {_INFLIGHT_BYTES}, or {_INFLIGHT_MESSAGES} times "
        "`grpc_message_bytes` if that is more.",
    )
    idle_connection_s: NonNegativeInt = 600
    """Seconds after which a connection without a call is closed; one with an incomplete first
    request is closed half as many seconds later. 0: never.
    """
    slow_reader_s: NonNegativeInt = 60
    """Seconds after which a call is ended if its client reads nothing of the reply, or has sent
    only part of its request. 0: never.
    """

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


class TlsSection(Section, validate_default=True):
    """TLS: the certificates of the node, and the authorities for those of others."""

    cert_file: Path | None = None
    """The node's certificate chain, a PEM file; requires `key_file`."""
    key_file: Path | None = None
    """The private key of the certificate, a PEM file."""
    ca_file: Path | None = None
    """Authorities that sign the certificates of other nodes, a PEM file."""
    client_ca_file: Path | None = None
    """Further authorities that sign certificates of clients, besides `ca_file`, a PEM file; they
    must not sign names of nodes.
    """
    require_client_cert: bool = False
    """Refuse clients without a certificate, and verify that of each calling node."""
    insecure: bool = False
    """Allow addresses beyond loopback without TLS."""

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

    engine: EngineName = "http2"
    """Implementation that serves gRPC: `http2`, the node's own, or `grpcio`, the previous one,
    which the next release removes. Callers see no difference.
    """


class AuditSection(Section):
    """The audit log: caller, method, key, time, address and outcome of each call."""

    file: Path | None = None
    """File of the audit log, a JSON object per line. Not set: no audit log."""
    file_bytes: PositiveInt = 64 * MIB
    """Size at which the file is rotated."""
    files: PositiveInt = 8
    """Number of rotated files to keep; `.1` is the newest."""
    omit: tuple[str, ...] = ("quorate.v1.SendHeartbeats",)
    """Plugins by their names, `admin`, and commands by their full names, to leave out of the audit
    log.
    """
    writers: bool = False
    """Whether each row records its last writer, for `quorate audit writer`. The leader's setting
    applies: set it on all nodes.
    """


class ConsoleSection(Section):
    """Actions in the console; without them it only shows the cluster."""

    actions: bool = False
    """Whether operators can act in the console, with the rights of their tokens; only once the
    cluster authenticates callers.
    """
    backup_dir: Path | None = None
    """Directory on this node for backups taken in the console, each in a directory of its own. Not
    set: the console takes no backups.
    """

    @field_validator("backup_dir", mode="before")
    @classmethod
    def _on_this_node(cls, backup_dir: object) -> object:
        if "://" in str(backup_dir):
            raise ValueError("must be a directory on this node (`quorate backup` writes to others)")
        return backup_dir


class AuthSection(Section, validate_default=True):
    """Authentication of callers besides certificates and stored tokens."""

    root_token_file: Path | None = None
    """File with an emergency token that has all rights, whatever is stored. One word of 32
    characters or more; read again when it changes, and disabled while empty.
    """
    issuer_keys_file: Path | None = None
    """Public keys of the issuer of JWTs: a JWK set, or a PEM file with one key."""
    issuer: str = ""
    """Required claim `iss` of a JWT; set it together with the keys."""
    audience: str = ""
    """Value that the claim `aud` of a JWT must be or contain; set it together with the keys."""
    name_claim: str = Field(default="sub", min_length=1)
    """The claim of a JWT that names the user."""

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

    enabled: tuple[str, ...] = ()
    """Installed plugins that this node serves."""
    retired: tuple[str, ...] = ()
    """Plugins that no longer serve but still have data on disk."""

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
    groups: Mapping[Name, GroupSection] = Field(default_factory=dict)
    """Raft groups by name, each with its number of shards and replicas; a group that is not named
    here has the shards that its plugin declares, on every node.
    """
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
