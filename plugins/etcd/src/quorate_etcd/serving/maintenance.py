"""The service Maintenance: the state of this node, and requests of operators."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final, NoReturn
from zlib import crc32

from quorate.plugin import NodeApi, Rejected

from quorate_etcd import errors, families, release
from quorate_etcd.auth import callers
from quorate_etcd.serving.cluster import Cluster
from quorate_etcd.serving.identity import Identity
from quorate_etcd.v1 import guard_pb2 as guard, queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

_AlarmRequest = rpc.AlarmRequest
#: Pairs of one page while the content of a store is summed up.
_PAGE: Final = 1_000
_ALL: Final = b"\0"
_NO_SNAPSHOT: Final = (
    "Snapshot is not served: `quorate backup` saves the whole cluster, and `quorate etcd export` "
    "copies the pairs to an etcd, which makes snapshots"
)
_KINDS: Final = {rpc.NOSPACE: "NOSPACE", rpc.CORRUPT: "CORRUPT"}


class Maintenance:
    """Answers for this node as for a member."""

    def __init__(self, node: NodeApi, identity: Identity, members: Cluster) -> None:
        self._node: Final = node
        self._identity: Final = identity
        self._members: Final = members
        self._key: Final = families.store_key(identity.store)

    async def Status(self, _: rpc.StatusRequest, __: Any) -> rpc.StatusResponse:
        """Return the state of this node; it is answered without a leader, too."""
        shard, standing = self._node.shard(families.GROUP, self._key), await self.standing()
        size = self._node.shard_bytes(families.GROUP, self._key)
        leader = await self._leader(shard.leader)
        problems = [] if leader else [errors.NO_LEADER.text]
        for each in await self.alarms(linearizable=False):
            problems.append(f"memberID:{each.memberID} alarm:{_KINDS.get(each.alarm, each.alarm)}")
        return rpc.StatusResponse(
            header=self._identity.header(standing.revision),
            version=release.SERVER,
            # Clients divide by it.
            dbSize=max(1, size),
            dbSizeInUse=max(1, size),
            leader=leader,
            raftIndex=shard.committed,
            raftTerm=self._identity.term,
            raftAppliedIndex=shard.applied,
            errors=problems,
            storageVersion=release.CLUSTER,
        )

    async def Alarm(self, request: rpc.AlarmRequest, _: Any) -> rpc.AlarmResponse:
        """List the alarms, or raise or end one."""
        if request.action == _AlarmRequest.GET:
            standing = await self.standing()
            alarms = [
                each
                for each in await self.alarms()
                if request.alarm in (rpc.NONE, each.alarm)
                and request.memberID in (0, each.memberID)
            ]
            return rpc.AlarmResponse(header=self._identity.header(standing.revision), alarms=alarms)
        command = guard.SetAlarm(
            store=self._identity.store,
            alarm=rpc.AlarmMember(memberID=request.memberID, alarm=request.alarm),
            active=request.action == _AlarmRequest.ACTIVATE,
            user=callers.user.get(),
        )
        done = await self._node.propose(command, guard.Alarmed)
        return rpc.AlarmResponse(header=self._identity.header(done.revision), alarms=done.alarms)

    async def Defragment(self, _: rpc.DefragmentRequest, __: Any) -> rpc.DefragmentResponse:
        """Do nothing: the store gives space back by itself."""
        return rpc.DefragmentResponse()

    async def Hash(self, _: rpc.HashRequest, __: Any) -> rpc.HashResponse:
        """Return a sum of all pairs."""
        summed = await self._summed(0)
        return rpc.HashResponse(header=self._identity.header(summed[1]), hash=summed[0])

    async def HashKV(self, request: rpc.HashKVRequest, _: Any) -> rpc.HashKVResponse:
        """Return a sum of the pairs at a revision, which is the same on all nodes."""
        summed, revision = await self._summed(request.revision)
        standing = await self.standing()
        return rpc.HashKVResponse(
            header=self._identity.header(standing.revision),
            hash=summed,
            compact_revision=standing.compacted,
            hash_revision=request.revision or revision,
        )

    def Snapshot(self, _: rpc.SnapshotRequest, context: Any) -> AsyncIterator[rpc.SnapshotResponse]:
        """Refuse, and name the alternative."""
        raise Rejected("UNIMPLEMENTED", errors.PREFIX + _NO_SNAPSHOT)

    async def MoveLeader(self, request: rpc.MoveLeaderRequest, _: Any) -> rpc.MoveLeaderResponse:
        """Let another member lead the store's shard."""
        target = await self._members.of(request.targetID)
        if self._identity.leader != self._node.cluster().node:
            errors.NOT_LEADER.refuse()
        if target is None:
            errors.BAD_TRANSFEREE.refuse()
        try:
            await self._node.transfer_leader(target.name, families.GROUP, self._key)
        except Rejected as refusal:
            (errors.NOT_LEADER if refusal.code == "NOT_LEADER" else errors.UNHEALTHY).refuse()
        return rpc.MoveLeaderResponse()

    async def Downgrade(self, request: rpc.DowngradeRequest, _: Any) -> NoReturn:
        """Refuse what is no check: there is no older release."""
        if request.action == rpc.DowngradeRequest.CANCEL:
            errors.NOT_DOWNGRADING.refuse()
        parts = request.version.removeprefix("v").split(".")
        if not all(each.isdecimal() for each in parts):
            errors.BAD_DOWNGRADE_FORMAT.refuse()
        errors.BAD_DOWNGRADE_TARGET.refuse()

    async def standing(self, *, linearizable: bool = False) -> asked.Standing:
        """Return how the store stands."""
        found = await self._node.read(
            asked.Stand(store=self._identity.store),
            asked.Standing,
            consistency="linearizable" if linearizable else "stale",
        )
        return found.rows[0]

    async def alarms(self, *, linearizable: bool = True) -> list[rpc.AlarmMember]:
        """Return the alarms."""
        found = await self._node.read(
            guard.FindGuard(store=self._identity.store),
            guard.Guarded,
            consistency="linearizable" if linearizable else "stale",
        )
        return list(found.rows[0].guard.alarms)

    async def health(self, serializable: bool, excluded: frozenset[str]) -> str:
        """Return why the store is not healthy, or ""."""
        try:
            if not serializable and not self._identity.leader:
                return "RAFT NO LEADER"
            await self.standing(linearizable=not serializable)
            for each in await self.alarms(linearizable=False):
                if (kind := _KINDS.get(each.alarm, "")) not in excluded:
                    return f"ALARM {kind}"
        except Exception as error:  # noqa: BLE001 - it is the answer
            return f"RANGE ERROR:{error}"
        return ""

    async def _leader(self, name: str) -> int:
        """Return the number of the member that leads; 0: none is known."""
        if not name:
            return 0
        members = await self._members.all(linearizable=False)
        return next((each.ID for each in members if each.name == name), 0)

    async def _summed(self, revision: int) -> tuple[int, int]:
        """Return the sum of the pairs at a revision, and the store's revision."""
        request = rpc.RangeRequest(key=_ALL, range_end=_ALL, revision=revision)
        query = asked.Find(
            store=self._identity.store, request=request, wanted=_PAGE, user=callers.user.get()
        )
        summed, newest = 0, 0
        while True:
            found = await self._node.read(query, asked.Page)
            page = found.rows[0]
            newest = newest or page.revision
            for pair in page.kvs:
                summed = crc32(pair.SerializeToString(deterministic=True), summed)
            if not page.next:
                return summed, newest
            setattr(query, "from", page.next)
            query.request.revision = revision or newest
