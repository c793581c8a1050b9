"""The cache of a broker: what it knows, it knows from the changes that a watch gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import cast

import pytest
from quorate.client import (
    AsyncClient,
    ChangeKind,
    InvalidError,
    RejectedError,
    UnavailableError,
    WatchedChange,
)
from quorate.plugin import keys
from quorate_mqtt.client import Access, AccessCache, Action, Mqtt, Reason
from quorate_mqtt.rules import ACL_RULE, BLACKLIST_ENTRY
from quorate_mqtt.users.resource import USER
from quorate_mqtt.v1 import acl_rules_pb2 as acl, blacklist_pb2 as blacklist
from quorate_mqtt.v1.acl_rules_pb2 import AclRule
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry
from quorate_mqtt.v1.users_pb2 import User

FAMILY = {User: USER.family, AclRule: ACL_RULE.family, BlacklistEntry: BLACKLIST_ENTRY.family}
LISTED = WatchedChange(kind=ChangeKind.LISTED)
RESYNC = WatchedChange(kind=ChangeKind.RESYNC)


def change(row: User | AclRule | BlacklistEntry, kind: ChangeKind) -> WatchedChange:
    key = keys.pack(row.tenant, row.name)
    value = b"" if kind is ChangeKind.DELETED else row.SerializeToString()
    return WatchedChange(kind=kind, family=FAMILY[type(row)], key=key, value=value)


def cache_of(*rows: User | AclRule | BlacklistEntry) -> AccessCache:
    cache = AccessCache()
    see(cache, [*(change(row, ChangeKind.ROW) for row in rows), LISTED])
    return cache


def see(cache: AccessCache, changes: Iterable[WatchedChange]) -> None:
    for each in changes:
        cache.see(each)


def rule(topic: str, *, name: str = "rule", tenant: str = "north") -> AclRule:
    return AclRule(
        tenant=tenant,
        name=name,
        subject_kind=acl.ACL_SUBJECT_CLIENT_ID,
        subject="*",
        topic=topic,
        action=acl.ACL_ACTION_ALL,
        permission=acl.ACL_PERMISSION_DENY,
    )


EVE = BlacklistEntry(
    tenant="north", name="no-eve", kind=blacklist.BLACKLIST_KIND_USER, subject="eve"
)
ROOT = User(tenant="north", name="root", superuser=True)


def publish(topic: str, username: str = "") -> Access:
    return Access(client_id="c1", username=username, action=Action.PUBLISH, topic=topic)


def test_nothing_is_decided_before_all_rows_were_given() -> None:
    cache = AccessCache()
    cache.see(change(rule("a"), ChangeKind.ROW))

    with pytest.raises(UnavailableError, match="not been read yet"):
        cache.decide("north", publish("b"))

    cache.see(LISTED)
    assert cache.decide("north", publish("b")).allowed
    assert not cache.decide("north", publish("a")).allowed


def test_tenants_are_apart() -> None:
    cache = cache_of(rule("a"), EVE, ROOT)

    assert cache.decide("south", publish("a", "eve")).reason is Reason.NO_RULE
    assert cache.decide("south", publish("a", "root")).reason is Reason.NO_RULE


@pytest.mark.parametrize(
    ("row", "access", "reason"),
    [
        (rule("a"), publish("a"), Reason.DENIED_BY_RULE),
        (EVE, publish("b", "eve"), Reason.BLACKLISTED),
        (ROOT, publish("a", "root"), Reason.SUPERUSER),
    ],
)
@pytest.mark.parametrize("kind", [ChangeKind.PUT, ChangeKind.CREATED, ChangeKind.UPDATED])
def test_a_change_counts_at_once(
    row: User | AclRule | BlacklistEntry, access: Access, reason: Reason, kind: ChangeKind
) -> None:
    cache = cache_of()

    cache.see(change(row, kind))
    assert cache.decide("north", access).reason is reason

    cache.see(change(row, ChangeKind.DELETED))
    assert cache.decide("north", access).reason is Reason.NO_RULE


def test_a_superuser_may_become_a_user_like_others() -> None:
    cache = cache_of(ROOT, rule("a"))

    cache.see(change(User(tenant="north", name="root"), ChangeKind.PUT))

    assert cache.decide("north", publish("a", "root")).reason is Reason.DENIED_BY_RULE


def test_what_was_in_force_decides_until_all_rows_were_given_again() -> None:
    cache = cache_of(rule("a"))

    see(cache, [RESYNC, change(rule("b"), ChangeKind.ROW)])
    assert not cache.decide("north", publish("a")).allowed
    assert cache.decide("north", publish("b")).allowed

    cache.see(LISTED)
    assert cache.decide("north", publish("a")).allowed
    assert not cache.decide("north", publish("b")).allowed


def test_nothing_is_decided_once_the_rules_are_not_followed() -> None:
    cache = cache_of()
    cache.end("it has ended")

    with pytest.raises(UnavailableError, match="it has ended"):
        cache.decide("north", publish("a"))


def test_whoever_makes_the_cache_decides_where_no_rule_does() -> None:
    cache = AccessCache(allow_unmatched=False)
    cache.see(LISTED)

    assert not cache.decide("north", publish("a")).allowed


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidError, match="topic"):
        cache_of().decide("north", publish("a/#"))


def test_the_rows_of_other_families_are_left_alone() -> None:
    cache = cache_of()

    cache.see(
        WatchedChange(
            kind=ChangeKind.ROW,
            family="mqtt.topics",
            key=keys.pack("north", "a"),
            value=rule("a").SerializeToString(),
        )
    )

    assert cache.decide("north", publish("a")).allowed


class Watching:
    """Stands in for a client whose watch gives some changes, and then is refused."""

    def __init__(self, *changes: WatchedChange) -> None:
        self._changes = changes
        self.refused = asyncio.Event()

    def records(self, resource: object) -> None:
        """Nothing is written or read."""

    async def watch(
        self, families: Sequence[str], *, marks: bool
    ) -> AsyncGenerator[WatchedChange, None]:
        assert marks
        assert set(families) == set(FAMILY.values())
        for each in self._changes:
            yield each
        await self.refused.wait()
        raise RejectedError("FAILED_PRECONDITION", "no plugin mqtt")


async def test_a_watch_that_is_refused_gives_no_cache() -> None:
    watching = Watching(change(rule("a"), ChangeKind.ROW))
    watching.refused.set()

    with pytest.raises(RejectedError, match="no plugin mqtt"):
        async with Mqtt(cast(AsyncClient, watching)).following_access():
            pass


async def test_a_cache_decides_no_more_once_its_watch_was_refused() -> None:
    watching = Watching(change(rule("a"), ChangeKind.ROW), LISTED)

    async with Mqtt(cast(AsyncClient, watching)).following_access() as cache:
        assert not cache.decide("north", publish("a")).allowed
        watching.refused.set()
        with pytest.raises(UnavailableError, match="no plugin mqtt"):
            await refusal_of(cache)


async def test_a_cache_decides_no_more_when_its_block_was_left() -> None:
    async with Mqtt(cast(AsyncClient, Watching(LISTED))).following_access() as cache:
        assert cache.decide("north", publish("a")).allowed

    with pytest.raises(UnavailableError, match="not followed any more"):
        cache.decide("north", publish("a"))


async def refusal_of(cache: AccessCache) -> None:
    while True:
        cache.decide("north", publish("a"))
        await asyncio.sleep(0)
