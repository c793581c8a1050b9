"""Quotas on this node: the bounds of each tenant and caller, and their use.

Each node counts rates on its own. So no call waits for another node, and a node is never
asked for more than the quota; who calls several nodes gets as much from each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from quorate.plugin import Caller, Command, keys
from quorate.plugin.resource.tenants import EVERYONE, QUOTAS, USAGES
from quorate.shards.refusals import ExhaustedError
from quorate.v1 import quota_pb2 as pb
from quorate.v1.batch_pb2 import ItemRefusal

FAMILIES: Final = (QUOTAS, USAGES)
TENANT: Final = "tenant"
IDENTITY: Final = "identity"
ADDRESS: Final = "address"
COMMANDS: Final = "commands_per_s"
CALLS: Final = "calls_per_s"
WATCHES: Final = "watches"
CONNECTIONS: Final = "connections"
#: What a tenant has stored; it is measured now and then.
STORED: Final = ("rows", "bytes")

#: When something may have been closed, or deleted and measured again.
_OPEN_RETRY_MS: Final = 1_000
_STORED_RETRY_MS: Final = 10_000
#: Callers that are known at a time; those that hold nothing are forgotten beyond it.
_MOST_ACCOUNTS: Final = 10_000


class Subject(NamedTuple):
    """The owner of a quota."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def subject_of(caller: Caller) -> Subject:
    """Return the subject of a caller's quota: its name, or else its address."""
    return Subject(IDENTITY, caller.name) if caller.name else Subject(ADDRESS, caller.address)


class Rate:
    """A token bucket: admits an amount per second, and the remainder of the second before.

    It holds the tokens of a second. A caller that finds one may take as many as it needs, so that
    a large batch goes through, and the next ones wait until that is paid.
    """

    __slots__ = ("_before", "_count", "_second", "_tokens", "_upto", "per_s")

    def __init__(self, per_s: int, now: float) -> None:
        self.per_s = per_s
        self._tokens = float(per_s)
        self._upto = now
        self._second = self._count = self._before = 0

    def wait_ms(self, now: float) -> int:
        """Return the milliseconds until an amount is admitted; 0: now."""
        self._tokens = min(self.per_s, self._tokens + (now - self._upto) * self.per_s)
        self._upto = now
        return 0 if self._tokens > 0 else 1 + int((-self._tokens / self.per_s) * 1_000)

    def take(self, amount: int, now: float) -> None:
        """Let something through."""
        self._tokens -= amount
        self._turn(now)
        self._count += amount

    def last(self, now: float) -> int:
        """Return the amount of the last whole second."""
        self._turn(now)
        return self._before

    def _turn(self, now: float) -> None:
        second = int(now)
        if second != self._second:
            self._before = self._count if second == self._second + 1 else 0
            self._second, self._count = second, 0


class Account:
    """The use that a tenant or a caller makes of its quota."""

    def __init__(self, subject: Subject, quota: pb.Quota, now: float) -> None:
        self.subject: Final = subject
        self.watches = 0
        #: The other ends of its connections.
        self.peers: Final[set[str]] = set()
        self.refused: Final[Counter[str]] = Counter()
        self._rates: dict[str, Rate] = {}
        self.limit(quota, now)

    def limit(self, quota: pb.Quota, now: float) -> None:
        """Go by a quota from now on."""
        self.quota = quota
        rates = {}
        for name in (COMMANDS, CALLS):
            if per_s := getattr(quota, name):
                known = self._rates.get(name)
                same = known is not None and known.per_s == per_s
                rates[name] = known if known is not None and same else Rate(per_s, now)
        self._rates = rates

    @property
    def idle(self) -> bool:
        """Whether it holds nothing; its rates are forgotten with it."""
        return not self.watches and not self.peers

    def check_rate(self, name: str, now: float) -> None:
        """Raise `ExhaustedError` if it did all that it may do in a second."""
        rate = self._rates.get(name)
        if rate is not None and (wait_ms := rate.wait_ms(now)):
            what = "commands" if name == COMMANDS else "calls"
            self._refuse(name, f"has sent its {rate.per_s} {what} a second to this node", wait_ms)

    def take(self, name: str, amount: int, now: float) -> None:
        """Count an amount against its rate."""
        rate = self._rates.get(name)
        if rate is not None:
            rate.take(amount, now)

    def open_watch(self) -> None:
        """Count a watch; raises `ExhaustedError`."""
        most = self.quota.watches
        if most and self.watches >= most:
            self._refuse(WATCHES, f"has its {most} watches on this node open", _OPEN_RETRY_MS)
        self.watches += 1

    def connect(self, peer: str) -> bool:
        """Count a connection, and return whether it is new; raises `ExhaustedError`."""
        if peer in self.peers:
            return False
        most = self.quota.connections
        if most and len(self.peers) >= most:
            self._refuse(
                CONNECTIONS, f"has its {most} connections to this node open", _OPEN_RETRY_MS
            )
        self.peers.add(peer)
        return True

    def check_stored(self, stored: tuple[int, int]) -> None:
        """Raise `ExhaustedError` if it has stored all that it may."""
        for name, used in zip(STORED, stored, strict=True):
            most = getattr(self.quota, name)
            if most and used >= most:
                self._refuse(
                    name,
                    f"has {used} of its {most} {name} in the cluster: delete some",
                    _STORED_RETRY_MS,
                )

    def uses(self, stored: tuple[int, int], now: float) -> Iterator[tuple[str, int, int]]:
        """Yield the name of each bound, the bound, and its use."""
        used = {
            **dict(zip(STORED, stored, strict=True)),
            **{name: rate.last(now) for name, rate in self._rates.items()},
            WATCHES: self.watches,
            CONNECTIONS: len(self.peers),
        }
        for name in (*STORED, COMMANDS, CALLS, WATCHES, CONNECTIONS):
            if most := getattr(self.quota, name):
                yield name, most, used[name]

    def _refuse(self, name: str, what: str, retry_after_ms: int) -> None:
        self.refused[name] += 1
        raise ExhaustedError(
            f"{self.subject} {what} (quota {name})",
            retry_after_ms,
            f"{self.subject.kind}/{self.subject.name}/{name}",
        )


class Quotas:
    """The quotas of all, as rows say them; the view of a cache.

    While there is none, `on` is False and nothing is counted.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.on = False
        #: Whether a quota bounds what tenants have stored, and one connections.
        self.measures = False
        self.counts_connections = False
        self._clock: Final = clock
        self._quotas: Final[dict[Subject, pb.Quota]] = {}
        self._accounts: Final[dict[Subject, Account]] = {}
        #: By tenant, then by shard: rows and bytes.
        self._stored: Final[dict[str, dict[str, tuple[int, int]]]] = {}

    # The view.

    def reset(self) -> None:
        """Forget every row."""
        self._quotas.clear()
        self._stored.clear()
        self._settle()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        """Take over a row."""
        if family == USAGES:
            usage = pb.TenantUsage.FromString(row)
            self._stored.setdefault(usage.tenant, {})[usage.shard] = usage.rows, usage.bytes
        else:
            quota = pb.Quota.FromString(row)
            self._quotas[Subject(quota.kind, quota.name)] = quota
            self._settle()

    def delete(self, family: str, key: bytes) -> None:
        """Forget a deleted row."""
        first, second = keys.unpack(key)
        if family == USAGES:
            shards = self._stored.get(str(first), {})
            shards.pop(str(second), None)
            if not shards:
                self._stored.pop(str(first), None)
        else:
            self._quotas.pop(Subject(str(first), str(second)), None)
            self._settle()

    def _settle(self) -> None:
        now = self._clock()
        for subject, account in list(self._accounts.items()):
            quota = self._quota(subject)
            if quota is None:
                del self._accounts[subject]
            else:
                account.limit(quota, now)
        quotas = self._quotas.values()
        self.measures = any(each.rows or each.bytes for each in quotas)
        self.counts_connections = any(each.connections for each in quotas)
        self.on = bool(quotas)

    # What is used.

    def account(self, subject: Subject) -> Account | None:
        """Return the account of a tenant or a caller; None: it has no quota."""
        found = self._accounts.get(subject)
        if found is None and (quota := self._quota(subject)) is not None:
            if len(self._accounts) >= _MOST_ACCOUNTS:
                self._forget()
            found = self._accounts[subject] = Account(subject, quota, self._clock())
        return found

    def charge(
        self,
        command: Command[Any],
        message: Message,
        caller: Caller,
        refused: Collection[ItemRefusal] = (),
    ) -> tuple[ItemRefusal, ...]:
        """Count a command of a caller and of the tenants that its items are for.

        Return the refusals of items whose tenants have used up their quotas; `refused` are left out
        already. Raises `ExhaustedError` if its caller has, or if nothing is left of the command;
        then it counts for nobody.
        """
        now = self._clock()
        # A stream from before the first quota knows no address.
        named = caller.name or caller.address
        own = self.account(subject_of(caller)) if named else None
        if own is not None:
            own.check_rate(COMMANDS, now)
        items = () if command.items is None else command.items.get(message)
        left = len(items) - len(refused)
        found: tuple[ItemRefusal, ...] = ()
        if command.items is not None and command.items.tenant is not None:
            without = {each.item for each in refused}
            tenants = {
                item: command.items.tenant(each)
                for item, each in enumerate(items)
                if item not in without
            }
            found = self._charge_tenants(tenants, now, stored=not command.frees)
        if own is not None:
            own.take(COMMANDS, left - len(found) or 1, now)
        return found

    def _charge_tenants(
        self, tenants: Mapping[int, str], now: float, *, stored: bool
    ) -> tuple[ItemRefusal, ...]:
        """Count items for their tenants; return, or raise, the refusals of those with no more."""
        over: dict[str, ExhaustedError] = {}
        counted: list[tuple[Account, int]] = []
        for tenant, count in Counter(tenants.values()).items():
            account = self.account(Subject(TENANT, tenant))
            if account is None:
                continue
            try:
                if stored:
                    account.check_stored(self.stored(tenant))
                account.check_rate(COMMANDS, now)
            except ExhaustedError as refusal:
                over[tenant] = refusal
            else:
                counted.append((account, count))
        found = tuple(
            ItemRefusal(item=item, code=why.code, message=str(why))
            for item, tenant in tenants.items()
            if (why := over.get(tenant)) is not None
        )
        if found and len(found) == len(tenants):
            raise next(iter(over.values()))
        for account, count in counted:
            account.take(COMMANDS, count, now)
        return found

    def stored(self, tenant: str) -> tuple[int, int]:
        """Return the rows and bytes of a tenant as they were measured."""
        parts = self._stored.get(tenant, {}).values()
        return sum(rows for rows, _ in parts), sum(size for _, size in parts)

    def measured(self, shard: str) -> dict[str, tuple[int, int]]:
        """Return the measured use of the tenants in a shard."""
        return {tenant: shards[shard] for tenant, shards in self._stored.items() if shard in shards}

    def has_own(self, subject: Subject) -> bool:
        """Whether a subject has a quota of its own."""
        return subject in self._quotas

    def uses(self) -> Iterator[tuple[Subject, str, int, int, int]]:
        """Yield subject, quota, bound, use and refusals of all that are known here."""
        now = self._clock()
        named = (each for each in self._quotas if each.name != EVERYONE)
        for subject in [*(Subject(TENANT, each) for each in self._stored), *named]:
            self.account(subject)
        for subject, account in list(self._accounts.items()):
            stored = self.stored(subject.name) if subject.kind == TENANT else (0, 0)
            for name, most, used in account.uses(stored, now):
                yield subject, name, most, used, account.refused[name]

    def _quota(self, subject: Subject) -> pb.Quota | None:
        own = self._quotas.get(subject)
        return own if own is not None else self._quotas.get(Subject(subject.kind, EVERYONE))

    def _forget(self) -> None:
        for subject in [each for each, account in self._accounts.items() if account.idle]:
            del self._accounts[subject]
