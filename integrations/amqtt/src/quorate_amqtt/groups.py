"""Shared subscriptions: the members of each group, and the broker of each member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from quorate.client import AsyncClient, ChangeKind, WatchedChange
from quorate.plugin import keys
from quorate_mqtt.shared_groups.resource import SHARED_GROUP_MEMBER
from quorate_mqtt.v1.shared_groups_pb2 import SharedGroupMember

from quorate_amqtt.topic_trees import FilterTree


@dataclass(frozen=True, slots=True)
class Member:
    """A client that takes its turn in a group."""

    group: str
    filter: str
    client_id: str
    broker_epoch: int


class Groups:
    """Members by group and filter. Each message goes to one matching member, in turns."""

    def __init__(self) -> None:
        self._members: Final[dict[tuple[str, str], dict[str, Member]]] = {}
        #: Groups by their filters.
        self._filters: Final[FilterTree[str]] = FilterTree()
        self._turns: Final[dict[str, int]] = {}
        self._given: set[tuple[str, str, str]] | None = set()

    async def follow(self, q: AsyncClient, tenant: str) -> None:
        """Keep up to date, without an end."""
        watch = q.watch(SHARED_GROUP_MEMBER.family, prefix=keys.pack(tenant), marks=True)
        async with aclosing(watch) as changes:
            async for change in changes:
                self.see(change)

    def see(self, change: WatchedChange) -> None:
        """Apply a change of members."""
        match change.kind:
            case ChangeKind.RESYNC:
                self._given = set()
            case ChangeKind.LISTED:
                if self._given is not None:
                    for group, topic_filter, client_id in self._all() - self._given:
                        self.drop(group, topic_filter, client_id)
                self._given = None
            case ChangeKind.BOOKMARK:
                pass
            case _:
                _, group, client_id, topic_filter = map(str, keys.unpack(change.key))
                if change.kind is ChangeKind.DELETED:
                    self.drop(group, topic_filter, client_id)
                    return
                epoch = SharedGroupMember.FromString(change.value).broker_epoch
                self.put(Member(group, topic_filter, client_id, epoch))
                if self._given is not None:
                    self._given.add((group, topic_filter, client_id))

    def put(self, member: Member) -> None:
        """Add a member."""
        group = self._members.setdefault((member.group, member.filter), {})
        group[member.client_id] = member
        self._filters.put(member.filter, member.group, member.filter)

    def drop(self, group: str, topic_filter: str, client_id: str) -> None:
        """Take a member out, if it is one."""
        members = self._members.get((group, topic_filter), {})
        members.pop(client_id, None)
        if not members and self._members.pop((group, topic_filter), None) is not None:
            self._filters.drop(topic_filter, group)
            self._turns.pop(group, None)

    def chosen(self, topic: str) -> Iterator[Sequence[Member]]:
        """Yield the members of each group that has subscribed to a topic, by their turns.

        The first that can be reached gets the message.
        """
        if not self._filters:
            return
        fitting: dict[str, list[Member]] = {}
        for group, topic_filter in self._filters.match(topic):
            fitting.setdefault(group, []).extend(self._members[group, topic_filter].values())
        for group, members in fitting.items():
            turn = self._turns[group] = (self._turns.get(group, 0) + 1) % len(members)
            yield members[turn:] + members[:turn]

    def others(self, member: Member, broker_epoch: int) -> list[Member]:
        """Return the members beside one, through one broker."""
        members = self._members.get((member.group, member.filter), {}).values()
        return [
            each
            for each in members
            if each.broker_epoch == broker_epoch and each.client_id != member.client_id
        ]

    def _all(self) -> set[tuple[str, str, str]]:
        return {
            (group, topic_filter, client_id)
            for (group, topic_filter), members in self._members.items()
            for client_id in members
        }
