"""What a process is told on its command line."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from quorate.consensus.timing import Timing
from quorate.groups.shard.log_keeper import LogPolicy
from quorate.groups.shard.space import MARGIN_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One process; addresses are those of all nodes, its own among them."""

    node: str
    addresses: Mapping[str, str]
    #: Empty: this node joins a cluster that is there.
    initial_members: tuple[str, ...]
    directory: Path
    token: str = "test"
    fsync: bool = True
    #: Writes `acknowledged` marks to /dev/null right before an acknowledgement leaves: for strace.
    marks: bool = False
    timing: Timing = field(default_factory=Timing)
    #: The most entries that the log keeps behind the applied one.
    tail_entries: int = LogPolicy().tail_entries
    #: What stays free on the disk.
    margin_bytes: int = MARGIN_BYTES
    #: Remembers from its start on how long its loop stood still.
    stops: bool = False
    #: Applies what replicas must agree on otherwise than the others.
    deviant: bool = False

    def arguments(self) -> list[str]:
        """Return the command line that `parse` reads."""
        peers = ",".join(f"{node}={address}" for node, address in self.addresses.items())
        arguments = ["--node", self.node, "--peers", peers, "--dir", str(self.directory)]
        arguments += ["--initial-members", ",".join(self.initial_members), "--token", self.token]
        arguments += ["--heartbeat-ms", str(self.timing.heartbeat_s * 1_000)]
        arguments += ["--election-min-ms", str(self.timing.election_min_s * 1_000)]
        arguments += ["--election-max-ms", str(self.timing.election_max_s * 1_000)]
        arguments += ["--tail-entries", str(self.tail_entries)]
        arguments += ["--margin-bytes", str(self.margin_bytes)]
        arguments += [] if self.fsync else ["--no-fsync"]
        arguments += ["--marks"] if self.marks else []
        arguments += ["--stops"] if self.stops else []
        arguments += ["--deviant"] if self.deviant else []
        return arguments

    @classmethod
    def parse(cls, arguments: Sequence[str] | None = None) -> Self:
        """Read a command line."""
        parser = argparse.ArgumentParser(description="Runs one replica of one shard.")
        parser.add_argument("--node", required=True)
        parser.add_argument("--peers", required=True, help="a=127.0.0.1:1,b=127.0.0.1:2")
        parser.add_argument("--initial-members", default="", help="a,b,c; empty: join")
        parser.add_argument("--dir", required=True, type=Path)
        parser.add_argument("--token", default="test")
        parser.add_argument("--no-fsync", action="store_true")
        parser.add_argument("--marks", action="store_true")
        parser.add_argument("--stops", action="store_true")
        parser.add_argument("--deviant", action="store_true")
        parser.add_argument("--heartbeat-ms", type=float, default=100)
        parser.add_argument("--election-min-ms", type=float, default=500)
        parser.add_argument("--election-max-ms", type=float, default=1_000)
        parser.add_argument("--tail-entries", type=int, default=LogPolicy().tail_entries)
        parser.add_argument("--margin-bytes", type=int, default=MARGIN_BYTES)
        read = parser.parse_args(arguments)
        return cls(
            node=read.node,
            addresses=dict(each.split("=", 1) for each in read.peers.split(",")),
            initial_members=tuple(filter(None, read.initial_members.split(","))),
            directory=read.dir,
            token=read.token,
            fsync=not read.no_fsync,
            marks=read.marks,
            timing=Timing(
                heartbeat_s=read.heartbeat_ms / 1_000,
                election_min_s=read.election_min_ms / 1_000,
                election_max_s=read.election_max_ms / 1_000,
            ),
            tail_entries=read.tail_entries,
            margin_bytes=read.margin_bytes,
            stops=read.stops,
            deviant=read.deviant,
        )
