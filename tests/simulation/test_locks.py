"""What locks promise holds under faults: workers come, are forgotten, come back and write late.

Workers learn of their tokens only by the answers that they get, and write with the newest or with
an older one. The answers tell in which order of the log writes were let through.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import pytest
from quorate.apply import fences
from quorate.plugin import Fence
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import catalog_of
from quorate.testing.simulated import Acknowledged, Ended, Write, simulate_clients
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import PutPair
from quorate_coordination import holding, locks as handlers
from quorate_coordination.families import CLAIMS, LOCKS, lock_fence
from quorate_coordination.locks import ANY_NUMBER
from quorate_coordination.v1 import leases_pb2, locks_pb2 as pb

GROUP: Final = "metadata"
TTL_MS: Final = 1_000
SECONDS: Final = 6.0
#: How many hold each lock together.
LOCKS_THERE: Final = {
    "jobs/alone": 1,
    "jobs/two": 2,
    "jobs/all": ANY_NUMBER,
    "jobs/free": 1,
}
WORKERS: Final = range(6)
#: Pairs that lie with the locks, and such as lie anywhere.
PAIRS: Final = ("jobs/last", "a", "b", "c")
ACQUIRE: Final = pb.AcquireLocks.DESCRIPTOR.full_name
RELEASE: Final = pb.ReleaseLocks.DESCRIPTOR.full_name
PUT: Final = PutPair.DESCRIPTOR.full_name


@dataclass
class Workers:
    """What workers do, and what they and the judge know."""

    #: By lock and worker: the tokens that the worker was given, with its permits.
    given: dict[tuple[str, int], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: By lease: how often a worker began a life, and which is its current one.
    lives: Counter[int] = field(default_factory=Counter)
    #: By fence and pair: in the order of the log, the tokens that were let through.
    passed: dict[tuple[bytes, str], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: By fence: the revision at which a token was given up, as answered.
    released: dict[tuple[bytes, int], int] = field(default_factory=dict)
    #: What was given up, and is written with at once: by lock, token and permit.
    late: list[tuple[str, int, int]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def draw(self, rng: Random) -> Write:
        """Draw what a worker does next."""
        if self.late and rng.random() < 0.5:
            lock, token, permit = self.late.pop()
            return _put(PAIRS[0], lock, token, permit)
        worker, lock = rng.choice(WORKERS), rng.choice(list(LOCKS_THERE))
        kind = rng.choices(("acquire", "release", "renew", "write", "die"), (30, 15, 30, 40, 2))[0]
        lease = f"jobs/{worker}-{self.lives[worker]}"
        if kind == "acquire":
            return Write(
                pb.AcquireLocks(
                    locks=[
                        pb.Acquisition(
                            lock=lock,
                            lease=lease,
                            id=str(worker),
                            sharing=LOCKS_THERE[lock],
                            lease_ttl_ms=TTL_MS,
                        )
                    ]
                )
            )
        if kind == "release":
            name = pb.ClaimName(lock=lock, lease=lease, id=str(worker))
            return Write(pb.ReleaseLocks(claims=[name]))
        if kind == "renew":
            renewals = [
                leases_pb2.LeaseRenewal(name=f"jobs/{each}-{self.lives[each]}") for each in WORKERS
            ]
            return Write(leases_pb2.RenewLeases(leases=rng.sample(renewals, 3)))
        if kind == "die":
            # Nobody renews its lease any more, but what it sends still comes.
            self.lives[worker] += 1
        tokens = self.given[lock, worker]
        if not tokens:
            return Write(PutPair(key=b"unfenced"))
        token, permit = tokens[-1] if rng.random() < 0.6 else rng.choice(tokens)
        return _put(rng.choice(PAIRS), lock, token, permit)

    def judge(self, fact: Acknowledged | Ended) -> None:
        """Take note of answers, and judge the order of the log at its end."""
        match fact:
            case Acknowledged(command=command, outcome=outcome):
                if command.type == PUT and command.fence is not None:
                    if outcome.refusal is not None:
                        self.seen[outcome.refusal.code] += 1
                        return
                    key = PutPair.FromString(command.payload).key.decode()
                    self.seen["let through"] += 1
                    self.passed[command.fence.name, key].append(
                        (outcome.revision, command.fence.token)
                    )
                elif command.type in (ACQUIRE, RELEASE) and outcome.refusal is None:
                    self._learn(fact)
            case Ended(rows=rows):
                self._judge_rows(rows)
                self._judge_order()

    def _learn(self, fact: Acknowledged) -> None:
        for answer in BatchReply.FromString(fact.outcome.reply).replies:
            claim = pb.Claim.FromString(answer)
            if not claim.token:
                self.seen["waits"] += bool(claim.number)
                continue
            if fact.command.type == RELEASE:
                self.seen["released"] += 1
                if claim.sharing < ANY_NUMBER:
                    name = lock_fence(claim.lock, claim.permit)
                    self.released[name, claim.token] = fact.outcome.revision
                    self.late.append((claim.lock, claim.token, claim.permit))
                continue
            self.seen["held"] += 1
            tokens = self.given[claim.lock, int(claim.id)]
            if (claim.token, claim.permit) not in tokens:
                tokens.append((claim.token, claim.permit))

    def _judge_order(self) -> None:
        lasting: dict[tuple[bytes, str], int] = {}
        for (name, key), passed in self.passed.items():
            for revision, token in sorted(passed):
                assert token >= lasting.get((name, key), 0), (
                    f"token {token} of {name!r} was let through to {key} after {lasting[name, key]}"
                )
                lasting[name, key] = token
                ended = self.released.get((name, token))
                assert key != PAIRS[0] or ended is None or revision < ended, (
                    f"token {token} of {name!r} was let through after it was given up"
                )

    def _judge_rows(self, rows: Mapping[str, Mapping[bytes, Any]]) -> None:
        claims = [pb.Claim.FromString(row.value) for row in rows[CLAIMS].values()]
        for row in rows[LOCKS].values():
            lock = pb.Lock.FromString(row.value)
            held = [claim for claim in claims if claim.lock == lock.name and claim.token]
            assert len(held) == lock.holders <= lock.sharing
            assert len({claim.permit for claim in held}) == len(held) or lock.sharing != 2
            waiting = [claim for claim in claims if claim.lock == lock.name and not claim.token]
            assert len(waiting) == lock.waiters
            first = min((claim.number for claim in waiting), default=1 << 64)
            assert all(claim.number < first for claim in held), "a claim was overtaken"
            assert not waiting or lock.holders == lock.sharing, "a claim waits for a lock with room"


def _put(key: str, lock: str, token: int, permit: int) -> Write:
    return Write(PutPair(key=key.encode()), Fence(lock_fence(lock, permit), token))


def judged(seeds: range) -> Counter[str]:
    """Run seeds; return what was seen."""
    seen: Counter[str] = Counter()
    catalog = catalog_of(["coordination", "kv"])
    for seed in seeds:
        seen += run(catalog, seed)
    print(f"\nseeds {seeds.start} to {seeds.stop - 1}: {dict(seen)}")
    return seen


def run(catalog: Catalog, seed: int) -> Counter[str]:
    """Run one seed."""
    workers = Workers()
    counts = simulate_clients(
        catalog, GROUP, workers.draw, seed=seed, seconds=SECONDS, judges=[workers.judge]
    )
    return workers.seen + Counter(faults=counts["faults"])


KINDS: Final = ("held", "waits", "released", "let through", "FENCED", "faults")


@pytest.mark.ci
def test_what_locks_promise_holds_under_faults() -> None:
    seen = judged(range(1, 9))

    assert all(seen[kind] > 50 for kind in KINDS), seen


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_what_locks_promise_holds_in_five_hundred_seeds() -> None:
    seen = judged(range(1_000, 1_500))

    assert all(seen[kind] > 5_000 for kind in KINDS), seen


def _without_fences(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fences, "refusal_of", lambda *_, **__: None)


def _forgetful_fences(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fences, "raise_to", lambda *_, **__: None)


def _tokens_by_the_clock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(holding, "next_token", lambda txn: txn.proposed_at_ms // 1_000)


def _fence_left_at_release(patch: pytest.MonkeyPatch) -> None:
    give_up = handlers._give_up

    class Left:
        def __init__(self, txn: Any) -> None:
            self._txn: Final = txn

        def raise_fence(self, name: bytes, token: int, *, held: bool = False) -> None:
            if not token % 2:
                self._txn.raise_fence(name, token, held=held)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._txn, name)

    patch.setattr(handlers, "_give_up", lambda txn, claim: give_up(Left(txn), claim))


def _always_room(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(handlers, "_fits", lambda lock, claim: True)


def _nobody_next(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(handlers, "_waiting", lambda txn, lock: iter(()))


@pytest.mark.ci
@pytest.mark.parametrize(
    "bug",
    [
        _without_fences,
        _forgetful_fences,
        _tokens_by_the_clock,
        _fence_left_at_release,
        _always_room,
        _nobody_next,
    ],
)
def test_a_bug_is_found(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    catalog = catalog_of(["coordination", "kv"])
    for seed in range(1, 21):
        try:
            run(catalog, seed)
        except AssertionError as found:
            print(f"\nseed {seed}: {found}")
            return
    pytest.fail("twenty seeds did not find it; the simulation has a hole")
