"""Traces over a client and three nodes, as the collector of them gets them."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, NamedTuple, TypeVar
from urllib.request import Request, urlopen

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from quorate.client import AsyncClient, Client
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.cluster.cluster import Settings
from quorate.testing.waiting import until
from quorate.v1 import kv_pb2

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]

PUT = "quorate.v1.KvService/Put"
GET = "quorate.v1.KvService/Get"
EXECUTE = "quorate.v1.CommandService/Execute"
STAGES = {"append", "replicate", "apply"}

T = TypeVar("T")


class Span(NamedTuple):
    """What the tests look at."""

    id: str
    trace: str
    name: str
    node: str
    parent: str
    links: frozenset[str]
    begun: int
    ended: int
    failed: bool


class Collected:
    """A collector: it takes OTLP over gRPC."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[Span] = []
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        export = grpc.unary_unary_rpc_method_handler(
            self._take,
            trace_service_pb2.ExportTraceServiceRequest.FromString,
            trace_service_pb2.ExportTraceServiceResponse.SerializeToString,
        )
        service = trace_service_pb2.DESCRIPTOR.services_by_name["TraceService"].full_name
        handler = grpc.method_handlers_generic_handler(service, {"Export": export})
        self._server.add_generic_rpc_handlers((handler,))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def close(self) -> None:
        self._server.stop(None).wait()

    def of(self, trace: str) -> dict[str, list[Span]]:
        """Return the spans of a trace by their names."""
        found = defaultdict(list)
        with self._lock:
            for span in self._spans:
                if span.trace == trace:
                    found[span.name].append(span)
        return found

    def named(self, name: str) -> list[Span]:
        with self._lock:
            return [span for span in self._spans if span.name == name]

    def _take(self, request: Any, _: object) -> Any:
        for resource in request.resource_spans:
            attributes = {each.key: each.value for each in resource.resource.attributes}
            assert attributes["service.name"].string_value == "quorate"
            node = attributes["service.instance.id"].string_value
            with self._lock:
                for scope in resource.scope_spans:
                    self._spans += [_span(node, each) for each in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()


def _span(node: str, span: Any) -> Span:
    return Span(
        span.span_id.hex(),
        span.trace_id.hex(),
        span.name,
        node,
        span.parent_span_id.hex(),
        frozenset(link.span_id.hex() for link in span.links),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.code == span.status.STATUS_CODE_ERROR,
    )


class Application:
    """An application with spans of its own."""

    def __init__(self, sampler: Sampler = ALWAYS_ON) -> None:
        self.spans = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler)
        self.provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.tracer = self.provider.get_tracer("application")

    def trace(self, name: str) -> str:
        """Return the id of the trace of the one span of a name."""
        [context] = [each.context for each in self.spans.get_finished_spans() if each.name == name]
        assert context is not None
        return f"{context.trace_id:032x}"

    def ids(self, name: str) -> set[str]:
        found = [each.context for each in self.spans.get_finished_spans() if each.name == name]
        return {f"{each.span_id:016x}" for each in found if each is not None}


def order(endpoints: str, provider: TracerProvider) -> None:
    tracer = provider.get_tracer("shop")
    with Client(endpoints, tracer_provider=provider) as q, tracer.start_as_current_span("order"):
        q.kv.put("orders/1", b"paid")


@pytest.fixture(scope="module")
def collected() -> Iterator[Collected]:
    collected = Collected()
    yield collected
    collected.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, collected: Collected) -> Iterator[Cluster]:
    settings: Settings = {
        "traces": {"endpoint": f"http://127.0.0.1:{collected.port}", "ratio": 0.0},
        # Every write is slow, so that the log and the flight recorder tell of it.
        "timing": {"slow_write_ms": 1},
    }
    directory = tmp_path_factory.mktemp("traces")
    with Cluster(directory, settings=settings, tls=False) as cluster:
        yield cluster.ready()


def put(key: bytes) -> kv_pb2.PutPair:
    return kv_pb2.PutPair(key=key, value=b"1")


def while_led(cluster: Cluster, act: Callable[[NodeProcess], T]) -> tuple[NodeProcess, T]:
    """Return what was done while a node led, and it; it is done again if another one does then."""
    while True:
        leader = cluster.leader()
        done = act(leader)
        if cluster.leader() is leader:
            return leader, done


def test_a_write_through_a_follower_is_one_trace(cluster: Cluster, collected: Collected) -> None:
    def write(leader: NodeProcess) -> tuple[NodeProcess, Application]:
        follower = next(each for each in cluster.nodes.values() if each is not leader)
        application = Application()
        with (
            Client(cluster.endpoints, tracer_provider=application.provider) as q,
            application.tracer.start_as_current_span("work"),
        ):
            q.at(follower.name).call(f"/{PUT}", put(b"a"), kv_pb2.PutPairReply)
        return follower, application

    leader, (follower, application) = while_led(cluster, write)
    trace = application.trace(PUT)
    assert trace == application.trace("work")
    names = {PUT, "forward", "queue", "entry", *STAGES}
    until(lambda: set(collected.of(trace)) == names or None)
    spans = {name: found for name, [found] in collected.of(trace).items()}
    assert {spans[PUT].parent} == application.ids(PUT)
    assert spans["forward"].parent == spans[PUT].id
    assert spans["entry"].parent == spans["queue"].parent == spans["forward"].id
    assert {spans[stage].parent for stage in STAGES} == {spans["entry"].id}
    assert spans["entry"].links == {spans["forward"].id}
    assert spans["queue"].links == {spans["entry"].id}
    for name in (PUT, "forward"):
        assert spans[name].node == follower.name
    for name in ("queue", "entry", *STAGES):
        assert spans[name].node == leader.name
    assert not any(span.failed for span in spans.values())

    # The stages are one after the other, and take the whole time of the entry.
    assert spans["queue"].ended == spans["entry"].begun == spans["append"].begun
    assert spans["append"].ended == spans["replicate"].begun
    assert spans["replicate"].ended == spans["apply"].begun
    assert spans["apply"].ended == spans["entry"].ended
    assert spans["queue"].begun < spans["entry"].begun < spans["entry"].ended
    warned_about(leader, trace)
    for node in (leader, follower):
        assert trace in exemplars(node, "quorate_rpc_duration_seconds") | exemplars(
            node, "quorate_write_duration_seconds"
        )


def test_the_spans_of_an_application_go_on_in_the_nodes(
    cluster: Cluster, collected: Collected
) -> None:
    application = Application()
    order(cluster.endpoints, application.provider)
    trace = application.trace("order")
    until(lambda: set(collected.of(trace)) >= {EXECUTE, *STAGES} or None)
    [served] = collected.of(trace)[EXECUTE]
    assert {served.parent} == application.ids("quorate.v1.PutPair")


def warned_about(node: NodeProcess, trace: str) -> None:
    def warned() -> bool | None:
        lines = node.said.splitlines()
        return any("takes" in line and f"trace={trace}" in line for line in lines) or None

    until(warned)


def exemplars(node: NodeProcess, name: str) -> set[str]:
    """Return the traces that a histogram shows as examples."""
    asked = Request(
        f"http://{node.http_address}/metrics", headers={"Accept": "application/openmetrics-text"}
    )
    with urlopen(asked, timeout=20) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    shown = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    [samples] = [each.samples for each in shown if each.name == name]
    return {each.exemplar.labels["trace_id"] for each in samples if each.exemplar}


def test_a_read_through_a_follower_and_a_refusal_are_traces(
    cluster: Cluster, collected: Collected
) -> None:
    follower = cluster.followers()[0]
    application = Application()
    with Client(cluster.endpoints, tracer_provider=application.provider) as q:
        q.kv.put("read", b"1")
        q.at(follower.name).call(
            f"/{GET}", kv_pb2.GetPairRequest(key=b"read"), kv_pb2.GetPairResponse
        )
        with pytest.raises(Exception, match="key"):
            q.at(follower.name).call(f"/{PUT}", put(b""), kv_pb2.PutPairReply)

    read = application.trace(GET)
    until(lambda: collected.of(read)[GET] or None)
    assert {span.node for span in collected.of(read)[GET]} >= {follower.name}
    refused = application.trace(PUT)
    until(lambda: collected.of(refused)[PUT] or None)
    assert [span.failed for span in collected.of(refused)[PUT]] == [True]


def test_an_entry_is_linked_with_each_call_that_it_holds(
    cluster: Cluster, collected: Collected
) -> None:
    async def write(leader: NodeProcess) -> Application:
        application = Application()
        async with AsyncClient(cluster.endpoints, tracer_provider=application.provider) as q:
            at = q.at(leader.name)
            async with asyncio.TaskGroup() as calls:
                for number in range(60):
                    call = at.call(f"/{PUT}", put(b"linked/%d" % number), kv_pb2.PutPairReply)
                    calls.create_task(call)
        return application

    _, application = while_led(cluster, lambda leader: asyncio.run(write(leader)))
    parents = application.ids(PUT)
    assert len(parents) == 60

    def served() -> set[str]:
        return {span.id for span in collected.named(PUT) if span.parent in parents}

    def entries() -> list[Span]:
        return [span for span in collected.named("entry") if span.links & served()]

    until(lambda: len(served()) == 60 == sum(len(entry.links) for entry in entries()) or None)
    assert len(entries()) < 60
    assert frozenset().union(*(entry.links for entry in entries())) == served()
    for entry in entries():
        assert entry.parent in entry.links
    # Each call tells by itself how long it waited, and for which entry.
    queues = [span for span in collected.named("queue") if span.parent in served()]
    holding = {entry.id: entry.links for entry in entries()}
    assert len(queues) == 60
    for queue in queues:
        [linked] = queue.links
        assert queue.parent in holding[linked]


async def test_commands_that_share_a_call_are_linked_with_the_one_that_names_its_trace(
    cluster: Cluster, collected: Collected
) -> None:
    application = Application()
    async with AsyncClient(cluster.endpoints, tracer_provider=application.provider) as q:
        await q.kv.put("shared", b"1")
        application.spans.clear()
        await asyncio.gather(*(q.kv.put(f"shared/{number}", b"1") for number in range(20)))

    spans = application.spans.get_finished_spans()
    assert [span.name for span in spans] == ["quorate.v1.PutPair"] * 20

    def served(context: Any) -> bool:
        return bool(collected.of(f"{context.trace_id:032x}"))

    def known() -> bool | None:
        return (
            all(
                served(span.context) or any(served(link.context) for link in span.links)
                for span in spans
            )
            or None
        )

    await asyncio.to_thread(until, known)
    carriers = [span for span in spans if served(span.context)]
    assert len(carriers) < 20
    for span in spans:
        assert span in carriers or len(span.links) == 1
    assert sum(len(carrier.links) for carrier in carriers) == 20 - len(carriers)


def test_nothing_is_traced_whose_caller_says_no_or_nothing(
    cluster: Cluster, collected: Collected
) -> None:
    leader = cluster.leader().name
    silent, wanted = Application(ALWAYS_OFF), Application()
    before = len(collected.named(PUT))
    for provider in (silent.provider, None, wanted.provider):
        with Client(cluster.endpoints, tracer_provider=provider) as q:
            q.at(leader).call(f"/{PUT}", put(b"silent"), kv_pb2.PutPairReply)

    until(lambda: collected.of(wanted.trace(PUT))[PUT] or None)
    assert len(collected.named(PUT)) == before + 1
