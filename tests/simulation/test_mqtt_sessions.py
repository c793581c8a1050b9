"""What sessions promise holds under faults: expiry, take-over and wills race each other.

Replies alone tell which generation a session has, and which deliveries there are; so clients that
name one are played in the handlers, and everything else is judged by the answers and the rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest
from google.protobuf.message import Message
from quorate.apply.outcomes import Outcome
from quorate.plugin import Row, Txn, keys
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import catalog_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker
from quorate.v1.tenant_pb2 import Tenant
from quorate_mqtt.duties.index import DUTIES, find_duties
from quorate_mqtt.session_quota.quota import COUNTS
from quorate_mqtt.sessions import ending
from quorate_mqtt.sessions.connecting import Arrivals
from quorate_mqtt.sessions.families import CONNECTIONS, DELIVERIES, SESSIONS, SUBSCRIPTIONS, WILLS
from quorate_mqtt.sessions.ledger import Ledger
from quorate_mqtt.sessions.rows import kept_of
from quorate_mqtt.sessions.validation import NEVER
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1.duties_pb2 import Duty, FindDuties, HandOverDuties
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectReply,
    ConnectSessions,
    DisconnectOrphans,
    DisconnectReply,
    DisconnectSession,
    DisconnectSessions,
    ImportSession,
    ImportSessions,
    Session,
    SessionConnect,
)
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription, SetSubscriptions
from quorate_mqtt.v1.wills_pb2 import Will, WillDelivery

from tests.support.sim import facts
from tests.support.sim.history import Violation
from tests.support.sim.plugins import simulate

TENANT: Final = "acme"
BROKERS: Final = {"north": 1, "south": 2}
COPIED: Final = {
    "tenant.tenants": {keys.pack(TENANT): Tenant(name=TENANT).SerializeToString()},
    "cluster.brokers": {
        keys.pack(name): Broker(name=name, epoch=epoch, roles=["mqtt"]).SerializeToString()
        for name, epoch in BROKERS.items()
    },
}
CONNECT: Final = ConnectSessions.DESCRIPTOR.full_name
DISCONNECT: Final = DisconnectSessions.DESCRIPTOR.full_name
IMPORT: Final = ImportSessions.DESCRIPTOR.full_name
ORPHANS: Final = DisconnectOrphans.DESCRIPTOR.full_name
HAND_OVER: Final = HandOverDuties.DESCRIPTOR.full_name
CLIENTS: Final = [f"client-{number}" for number in range(12)]
STEPS: Final = 100
SECONDS: Final = 5.0
#: For so long `north` is gone, and for so long it is there.
AWAY_MS: Final = 700
#: What stands for the generation that a session has, and for the one before.
CURRENT: Final = 1
FORMER: Final = 2


class Absent:
    """A transaction in whose copy of the brokers `north` is missing now and then."""

    def __init__(self, txn: Txn) -> None:
        self._txn: Final = txn
        self._away: Final = txn.now_ms // AWAY_MS % 2 == 1

    def scan(self, family: str, start: bytes, end: bytes, **how: Any) -> Iterator[Row]:
        """Yield the rows of those who are there."""
        for row in self._txn.scan(family, start, end, **how):
            if not (self._away and family == "cluster.brokers" and row.key == keys.pack("north")):
                yield row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._txn, name)


class Promises:
    """Judges the answers of each shard in the order of their revisions, and the rows at its end."""

    name = "what sessions promise"
    judges = (facts.Acknowledged, facts.Ended)

    def __init__(self) -> None:
        self.seen: Final[Counter[str]] = Counter()
        self._shards: Final[set[str]] = set()
        self._answered: Final[dict[str, list[facts.Acknowledged]]] = {}

    def see(self, fact: facts.Fact) -> None:
        """Note answers, and judge where a replica ends."""
        match fact:
            case facts.Acknowledged(outcome=Outcome(refusal=None), command=command):
                if command.type in (CONNECT, DISCONNECT, IMPORT):
                    self._answered.setdefault(fact.shard, []).append(fact)
            case facts.Ended(rows=rows):
                self._judge_rows({family: _values(found) for family, found in rows.items()})
                if fact.shard not in self._shards:
                    self._shards.add(fact.shard)
                    answered = self._answered.get(fact.shard, [])
                    self._judge_answers(sorted(answered, key=lambda each: each.outcome.revision))
                    self._count(rows)

    def _judge_answers(self, answered: Sequence[facts.Acknowledged]) -> None:
        newest: dict[bytes, int] = {}
        for fact in answered:
            reply = BatchReply.FromString(fact.outcome.reply)
            self.seen.update(refusal.code for refusal in reply.refusals)
            if fact.command.type == IMPORT:
                self.seen["imported"] += reply.items - len(reply.refusals)
                continue
            if fact.command.type == DISCONNECT:
                ended = [DisconnectReply.FromString(each).ended for each in reply.replies]
                self.seen["ended at once"] += sum(ended)
                continue
            command = ConnectSessions.FromString(fact.command.payload)
            for each, answer in zip(command.connections, reply.replies, strict=True):
                connected = ConnectReply.FromString(answer)
                client = client_shard(each.tenant, each.client_id)
                if connected.generation <= newest.get(client, 0):
                    raise Violation(self.name, f"generation {connected.generation} is used again")
                newest[client] = connected.generation
                self.seen["resumed" if connected.session_present else "begun"] += 1
                self.seen["taken over"] += bool(connected.taken_over_from)

    def _judge_rows(self, rows: dict[str, dict[bytes, bytes]]) -> None:
        sessions = {key: Session.FromString(value) for key, value in rows[SESSIONS].items()}
        for family in (SUBSCRIPTIONS, WILLS):
            for key in rows[family]:
                client = keys.pack(*keys.unpack(key)[:2])
                if client not in sessions:
                    raise Violation(self.name, f"{family} has {key!r} of a session that ended")
        for client in rows[WILLS]:
            if not sessions[client].has_will:
                raise Violation(self.name, f"the will of {client!r} is that of an earlier connect")
        connected = Counter(
            session.broker_epoch for session in sessions.values() if not session.disconnected_at_ms
        )
        self._compare(
            "connections", rows[CONNECTIONS], {keys.pack(e): n for e, n in connected.items()}
        )
        tallies = {keys.pack(TENANT): len(sessions)} if sessions else {}
        self._compare("sessions", rows[COUNTS], tallies)
        self._judge_deliveries(rows)

    def _judge_deliveries(self, rows: dict[str, dict[bytes, bytes]]) -> None:
        duties = set()
        for key, value in rows[DELIVERIES].items():
            delivery = WillDelivery.FromString(value)
            duties.add(keys.pack(delivery.assignee_epoch, DELIVERIES, key))
        if duties != set(rows[DUTIES]):
            raise Violation(self.name, "the duties of brokers are not those of their deliveries")
        lives = [WillDelivery.FromString(each).will.payload for each in rows[DELIVERIES].values()]
        again = [payload for payload, count in Counter(lives).items() if count > 1]
        if again:
            raise Violation(self.name, f"the will of one connection is delivered twice: {again}")

    def _compare(self, what: str, found: dict[bytes, bytes], wanted: dict[bytes, int]) -> None:
        counted = {key: int.from_bytes(value) for key, value in found.items()}
        if counted != wanted:
            raise Violation(self.name, f"{what} are counted as {counted}, and are {wanted}")

    def _count(self, rows: Any) -> None:
        deliveries = [WillDelivery.FromString(row.value) for row in rows[DELIVERIES].values()]
        self.seen["delivered"] += len(deliveries)
        self.seen["handed over"] += sum(each.assignments > 1 for each in deliveries)


def _values(rows: dict[bytes, Row]) -> dict[bytes, bytes]:
    return {key: row.value for key, row in rows.items()}


def load(seed: int) -> list[Message]:
    """Return commands over a few clients, which two brokers take from each other."""
    rng = Random(f"{seed}/sessions")
    log: list[Message] = []
    for _ in range(STEPS):
        broker = rng.choice(list(BROKERS))
        arrivals = [arrival(rng, client) for client in rng.sample(CLIENTS, 4)]
        log.append(
            ConnectSessions(broker=broker, broker_epoch=BROKERS[broker], connections=arrivals)
        )
        log.append(
            SetSubscriptions(
                subscriptions=[
                    SetSubscription(tenant=TENANT, client_id=client, filter=f"a/{rng.randrange(3)}")
                    for client in rng.sample(CLIENTS, 3)
                ]
            )
        )
        leaving = [
            DisconnectSession(
                tenant=TENANT,
                client_id=client,
                generation=rng.choice((CURRENT, CURRENT, FORMER)),
                discard_will=rng.random() < 0.2,
            )
            for client in rng.sample(CLIENTS, 3)
        ]
        log.append(DisconnectSessions(sessions=leaving))
        if rng.random() < 0.3:
            imports = [
                ImportSession(tenant=TENANT, client_id=client, expiry_interval_s=rng.choice((1, 2)))
                for client in rng.sample(CLIENTS, 4)
            ]
            log.append(ImportSessions(sessions=imports))
        if rng.random() < 0.3:
            log.append(DisconnectOrphans(keys=[client_shard(TENANT, each) for each in CLIENTS]))
            at_all = [
                Duty(broker_epoch=1, family=DELIVERIES, key=keys.pack(TENANT, each, 1))
                for each in CLIENTS
            ]
            log.append(HandOverDuties(duties=at_all))
    return log


def arrival(rng: Random, client: str) -> SessionConnect:
    """Return a connect of a client, most of them with a will."""
    wanted = SessionConnect(
        tenant=TENANT,
        client_id=client,
        connection_id=rng.randrange(3),
        expiry_interval_s=rng.choice((0, 1, 1, 2, NEVER)),
        clean_start=rng.random() < 0.2,
    )
    if rng.random() < 0.7:
        wanted.will.CopyFrom(Will(topic="gone", delay_interval_s=rng.choice((0, 1, 1, 3))))
    return wanted


def played(catalog: Catalog) -> Catalog:
    """Have the handlers see what clients, controllers and the mirrors would have told them."""
    right = {name: catalog.routes[name].apply for name in (CONNECT, DISCONNECT, ORPHANS, HAND_OVER)}

    def connect(txn: Txn, command: Message) -> Message | None:
        named = _copied(ConnectSessions, command)
        for each in named.connections:
            if each.HasField("will"):
                # The will tells which connection it is of.
                each.will.payload = f"{each.client_id} {txn.revision}".encode()
        return right[CONNECT](txn, named)

    def disconnect(txn: Txn, command: Message) -> Message | None:
        named = _copied(DisconnectSessions, command)
        for each in named.sessions:
            row = txn.get(SESSIONS, client_shard(each.tenant, each.client_id))
            if row is not None:
                each.generation = kept_of(row)[0] - (each.generation == FORMER)
        return right[DISCONNECT](txn, named)

    def orphans(txn: Txn, command: Message) -> Message | None:
        return right[ORPHANS](Absent(txn), command)

    def hand_over(txn: Txn, command: Message) -> Message | None:
        there: Any = Absent(txn)
        return right[HAND_OVER](there, HandOverDuties(duties=find_duties(there, FindDuties())))

    play = {CONNECT: connect, DISCONNECT: disconnect, ORPHANS: orphans, HAND_OVER: hand_over}
    routes = {name: replace(catalog.routes[name], apply=apply) for name, apply in play.items()}
    return replace(catalog, routes={**catalog.routes, **routes})


def _copied(kind: type[Any], command: Message) -> Any:
    copy = kind()
    copy.CopyFrom(command)
    return copy


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return played(catalog_of(["cluster", "mqtt", "tenant"]))


def judged(catalog: Catalog, seeds: range) -> Counter[str]:
    """Run seeds; return what was seen."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        promises = Promises()
        counts = simulate(
            catalog, load(seed), seed=seed, seconds=SECONDS, judges=[promises], copied=COPIED
        )
        seen += promises.seen
        seen["faults"] += counts["faults"]
    print(f"\nseeds {seeds.start} to {seeds.stop - 1}: {dict(seen)}")
    return seen


KINDS: Final = (
    "begun",
    "resumed",
    "taken over",
    "TAKEN_OVER",
    "NOT_FOUND",
    "ended at once",
    "delivered",
    "handed over",
    "imported",
    "ALREADY_CONNECTED",
    "faults",
)


@pytest.mark.ci
def test_what_sessions_promise_holds_under_faults(catalog: Catalog) -> None:
    seen = judged(catalog, range(1, 3))

    assert all(seen[kind] > 5 for kind in KINDS), seen


@pytest.mark.full
@pytest.mark.timeout(900)
def test_what_sessions_promise_holds_in_fifty_seeds(catalog: Catalog) -> None:
    seen = judged(catalog, range(1_000, 1_050))

    assert all(seen[kind] > 100 for kind in KINDS), seen


def keep_subscriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "delete_subscriptions", lambda txn, client: None)


class NeverFewer(defaultdict[int, int]):
    """Counts that do not fall."""

    def __setitem__(self, epoch: int, count: int) -> None:
        super().__setitem__(epoch, max(count, self.get(epoch, 0)))


def forget_who_left(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Ledger.__init__

    def begin_so(ledger: Ledger, txn: Txn) -> None:
        begin(ledger, txn)
        monkeypatch.setattr(ledger, "connections", NeverFewer(int))

    monkeypatch.setattr(Ledger, "__init__", begin_so)


def begin_generations_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    class Anew:
        def __init__(self, txn: Any) -> None:
            self._txn: Final = txn
            self.revision: Final = 1

        def __getattr__(self, name: str) -> Any:
            return getattr(self._txn, name)

    right = Arrivals.__init__
    monkeypatch.setattr(
        Arrivals,
        "__init__",
        lambda self, txn, broker, epoch: right(self, Anew(txn), broker, epoch),
    )


def keep_the_will(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate_mqtt.wills.delivering.discard", lambda txn, client: None)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("forget", "violation"),
    [
        (keep_subscriptions, "of a session that ended"),
        (forget_who_left, "connections are counted"),
        (begin_generations_anew, "is used again"),
        (keep_the_will, "of a session that ended|of an earlier connect|delivered twice"),
    ],
)
def test_a_handler_that_forgets_a_promise_is_found(
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    forget: Callable[[pytest.MonkeyPatch], None],
    violation: str,
) -> None:
    forget(monkeypatch)

    with pytest.raises(AssertionError, match=violation):
        judged(catalog, range(1, 9))
