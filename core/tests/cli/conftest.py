from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from operator import or_
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from quorate.cli import tables
from quorate.cli.main import main
from quorate.plugin.advanced import generic_handler
from quorate.v1 import admin_pb2, audit_pb2, kv_pb2, watch_pb2

SOUND = '''
from collections.abc import Iterator
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.wrappers_pb2 import BytesValue, Int64Value, StringValue
from quorate.plugin import *
from quorate.plugin.advanced import *
from pydantic import BaseModel, ConfigDict, Field
from importlib import import_module

class Settings(BaseModel):
    """How notes are kept."""
    model_config = ConfigDict(frozen=True, extra="forbid")
    most: int = Field(3, description="Most notes.")

file = FileDescriptorProto(name="NAME.proto", package="notes.v1")
file.service.add(name="NoteService")
pool = DescriptorPool()
pool.Add(file)
SERVICE = pool.FindServiceByName("notes.v1.NoteService")

class Notes:
    """Serve nothing."""

async def keep(node, shard):
    """Keep."""

@hookimpl
def quorate_declarations():
    return [
        ConfigSection(model=Settings),
        RaftGroup(name="notes"),
        ColumnFamily(name="NAME.rows", group="notes", row=StringValue),
        Command(message=StringValue, group="notes", examples=(StringValue(),),
                apply=lambda txn, command: None, shard_key=constant_key),
        Query(message=BytesValue, group="notes", run=lambda reader, query: [],
              shard_key=constant_key),
        Controller(name="NAME.keeping", group="notes", run_once=keep, interval_s=1),
        Timer(name="NAME.expiry", group="notes", due=lambda keys: StringValue()),
        GrpcService(service=SERVICE, servicer=lambda node: Notes()),
        CliCommand(name="NAME", help="Look at notes.",
                   load=lambda: import_module("NAME_commands").command),
    ]
'''


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]
Install = Callable[..., None]


@pytest.fixture(autouse=True)
def quiet_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run where no configuration is found, on a terminal of a known width."""
    for name in [name for name in os.environ if name.startswith("QUORATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)


@pytest.fixture
def compiler() -> None:
    """Demand the protobuf compiler, which only an environment with the extra `dev` has."""
    if find_spec("grpc_tools") is None:
        pytest.skip("grpcio-tools holds protobuf below 6: the tox env `proto` runs this test")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `quorate` with these arguments, in this process."""

    def run(*args: str) -> Ran:
        code = main(args)
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return run


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a person read the output."""
    monkeypatch.setattr(tables, "is_terminal", lambda: True)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Return a function that installs a plugin with this source, for the time of the test."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def install(
        name: str,
        source: str = SOUND,
        *,
        commands: str = "",
        requires: str = "",
        edit: tuple[str, str] = ("NAME", "NAME"),
    ) -> None:
        metadata = site / f"quorate_{name}-1.2.3.dist-info"
        metadata.mkdir()
        text = f"Metadata-Version: 2.1\nName: quorate-{name}\nVersion: 1.2.3\n"
        (metadata / "METADATA").write_text(text + (requires and f"Requires-Dist: {requires}\n"))
        (metadata / "entry_points.txt").write_text(f"[quorate]\n{name} = {name}_plugin\n")
        (site / f"{name}_plugin.py").write_text(source.replace(*edit).replace("NAME", name))
        if commands:
            (site / f"{name}_commands.py").write_text(commands)

    yield install
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(site)):
            del sys.modules[module]


class FakeNode:
    """A node that answers what a test tells it to, and writes down what operators ask of it."""

    def __init__(self) -> None:
        self.address = ""
        self.topology = admin_pb2.TopologyResponse()
        self.status = admin_pb2.NodeStatusResponse()
        self.asked: list[Message] = []
        #: The node that waits; None: there is none.
        self.met: admin_pb2.MeetMemberResponse | None = admin_pb2.MeetMemberResponse(
            replica=2, member=1, member_answers=True
        )
        self.progress: Sequence[admin_pb2.MemberProgress] = ()
        #: Why it takes merges back; empty: it carries them out.
        self.unmerged = ""
        #: One for each time that it is asked.
        self.placements: list[admin_pb2.PlacementResponse] = []
        self.purged: Sequence[admin_pb2.PurgedRows] = ()
        self.parts: Sequence[admin_pb2.BackupPart] = ()
        self.records: Sequence[audit_pb2.AuditRecords] = ()
        self.writer = audit_pb2.RowWriter()
        #: What the first watch gives; one that does not end with a resync is then refused.
        self.watched: Sequence[watch_pb2.WatchResponse] = ()
        self.pairs: dict[bytes, kv_pb2.KeyedPair] = {}
        #: How many reads are yet to end as a connection that breaks ends them.
        self.breaks = 0

    def know(self, *nodes: str, **addresses: str) -> None:
        """Let this node be known under these names, others under their addresses."""
        self.topology = admin_pb2.TopologyResponse(
            cluster_id=b"\xab\xcd",
            nodes=[
                admin_pb2.NodeAddress(node=node, address=address)
                for node, address in {**dict.fromkeys(nodes, self.address), **addresses}.items()
            ],
            shards=[
                admin_pb2.ShardPlace(
                    group="metadata",
                    slots=b"\xff" * 128,
                    nodes=[*nodes, *addresses],
                    leader=nodes[0],
                    term=3,
                )
            ],
        )

    def Topology(self, request: Message, context: Any) -> Message:
        return self.topology

    def Status(self, request: Message, context: Any) -> Message:
        return self.status

    def TransferLeader(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        return admin_pb2.TransferLeaderResponse()

    def RecoverShard(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        return admin_pb2.RecoverShardResponse(epoch=1)

    def Placement(self, request: Message, context: Any) -> Message:
        return self.placements.pop(0)

    def DrainNode(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        move = admin_pb2.PlannedMove(shard="toy/0", source="node1", target="node4")
        return admin_pb2.DrainNodeResponse(replicas=2, moves=[move])

    def MoveReplica(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        return admin_pb2.MoveReplicaResponse()

    def MergeShards(self, request: admin_pb2.MergeShardsRequest, context: Any) -> Message:
        self.asked.append(request)
        group = request.shard.partition("/")[0]
        number = 1 + max(each.number for each in self.topology.shards)
        both = [
            each
            for each in self.topology.shards
            if f"{each.group}/{each.number}" in (request.shard, request.other)
        ]
        slots = sum(byte.bit_count() for each in both for byte in each.slots)
        if self.unmerged:
            for each in both:
                each.unmerged = self.unmerged
        elif not request.check_only:
            nodes, slots_of = both[0].nodes, [each.slots for each in both]
            for each in both:
                self.topology.shards.remove(each)
            self.topology.shards.add(
                group=group,
                number=number,
                slots=bytes(map(or_, *slots_of)),
                nodes=nodes,
                leader=nodes[0],
            )
        return admin_pb2.MergeShardsResponse(shard=f"{group}/{number}", slots=slots)

    def CancelMerge(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        return admin_pb2.CancelMergeResponse()

    def PauseController(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        return admin_pb2.PauseControllerResponse()

    def ResumeController(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        return admin_pb2.ResumeControllerResponse()

    def MeetMember(self, request: Message, context: Any) -> Message:
        self.asked.append(request)
        if self.met is not None:
            return self.met
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "node2 cannot be added")
        raise AssertionError

    def AddMember(self, request: Message, context: Any) -> Iterator[Message]:
        self.asked.append(request)
        yield from self.progress

    def RemoveMember(self, request: Message, context: Any) -> Iterator[Message]:
        self.asked.append(request)
        yield from self.progress

    def PurgePlugin(self, request: Message, context: Any) -> Iterator[Message]:
        self.asked.append(request)
        yield from self.purged

    def Backup(self, request: Message, context: Any) -> Iterator[Message]:
        yield from self.parts

    def Writer(self, request: audit_pb2.FindWriter, context: Any) -> audit_pb2.RowWriter:
        self.asked.append(request)
        return self.writer

    def Follow(self, request: Message, context: Any) -> Iterator[Message]:
        self.asked.append(request)
        yield from self.records

    def Watch(self, request: Message, context: Any) -> Iterator[Message]:
        self.asked.append(request)
        given, self.watched = self.watched, ()
        yield from given
        if given and given[-1].HasField("resync"):
            return
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the test is over")

    def _break(self, context: Any) -> None:
        if self.breaks:
            self.breaks -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "Cancelling all calls")

    def Put(self, request: kv_pb2.PutPair, context: Any) -> Message:
        self.asked.append(request)
        created = request.key not in self.pairs
        self.pairs[request.key] = kv_pb2.KeyedPair(
            key=request.key, value=request.value, revision=7, ttl_ms=request.ttl_ms
        )
        return kv_pb2.PutPairReply(revision=7, created=created)

    def Get(self, request: kv_pb2.GetPairRequest, context: Any) -> Message:
        self.asked.append(request)
        self._break(context)
        return kv_pb2.GetPairResponse(pair=self.pairs.get(request.key))

    def Exists(self, request: kv_pb2.GetPairRequest, context: Any) -> Message:
        self._break(context)
        return kv_pb2.ExistsPairResponse(exists=request.key in self.pairs)

    def Delete(self, request: kv_pb2.DeletePair, context: Any) -> Message:
        self.asked.append(request)
        return kv_pb2.DeletePairReply(deleted=self.pairs.pop(request.key, None) is not None)

    def Touch(self, request: kv_pb2.TouchPair, context: Any) -> Message:
        self.asked.append(request)
        return kv_pb2.TouchPairReply(expires_at_ms=99)

    def List(self, request: kv_pb2.ListPairsRequest, context: Any) -> Message:
        """Give pages of at most two pairs."""
        self.asked.append(request)
        self._break(context)
        start = request.page_token or request.start
        keys = [
            key for key in sorted(self.pairs) if key.startswith(request.prefix) and key >= start
        ]
        size = min(2, request.page_size)
        rest = keys[size:]
        return kv_pb2.ListPairsResponse(
            pairs=[self.pairs[key] for key in keys[:size]],
            next_page_token=rest[0] if rest else b"",
        )


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNode]:
    """A node that serves on loopback, where the command line looks for the cluster."""
    fake = FakeNode()
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool)
        services = [
            admin_pb2.DESCRIPTOR.services_by_name["AdminService"],
            audit_pb2.DESCRIPTOR.services_by_name["AuditService"],
            kv_pb2.DESCRIPTOR.services_by_name["KvService"],
            watch_pb2.DESCRIPTOR.services_by_name["WatchService"],
        ]
        server.add_generic_rpc_handlers([generic_handler(each, fake) for each in services])
        fake.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        fake.know("node1")
        fake.status = admin_pb2.NodeStatusResponse(node="node1", ready=True, version="1.2.3")
        server.start()
        monkeypatch.setenv("QUORATE_ENDPOINTS", fake.address)
        yield fake
        server.stop(0).wait()


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address that nobody listens on, and nobody is given meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"
