"""Offsets of consumer groups, over an `AsyncClient`."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.client import (
    AsyncClient,
    InvalidError,
    UnavailableError,
)
from quorate.client.errors import or_none
from quorate.plugin.batches import in_parts
from quorate.v1.batch_pb2 import ShardRevision

from quorate_offset.answers import each_reply
from quorate_offset.client import commits
from quorate_offset.client.commits import check_names
from quorate_offset.client.committer import INTERVAL_S, Committer
from quorate_offset.client.shards import Shards
from quorate_offset.families import GROUP, group_key
from quorate_offset.offsets.validation import LARGEST_PAGE, MOST_GROUPS
from quorate_offset.v1 import commands_pb2 as pb, queries_pb2 as asked, service_pb2 as requests

R = TypeVar("R", bound=Message)

#: Time that a committer waits for an answer.
COMMIT_S: Final = 10.0

_SERVICE: Final = "/quorate_offset.v1.OffsetService/"


class Offsets:
    """Commits, reads, sets and deletes offsets. Reads are linearizable unless `stale`."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._shards: Final = Shards(q)

    # Writes.

    async def commit(
        self,
        tenant: str,
        group: str,
        topic: str,
        partition: int,
        offset: int,
        *,
        expected_offset: int | None = None,
        monotonic: bool = False,
        generation: int | None = None,
        metadata: str = "",
        timeout_s: float | None = None,
    ) -> int:
        """Commit one offset, and return the revision of the group's shard that contains it.

        Refused with OFFSET_MISMATCH unless the committed offset is `expected_offset` (-1: none),
        with BEHIND if `monotonic` and a larger offset is committed, and with FENCED if the group
        has a larger generation. Concurrent commits share calls.
        """
        check_names(tenant=tenant, group=group, topic=topic)
        commit = pb.OffsetCommit(
            topic=topic,
            partition=partition,
            offset=offset,
            expected_offset=expected_offset,
            metadata=metadata,
        )
        mode = pb.COMMIT_MODE_MONOTONIC if monotonic else pb.COMMIT_MODE_UNCONDITIONAL
        response = await self.commit_many(
            [
                pb.GroupCommit(
                    tenant=tenant, group=group, commits=[commit], mode=mode, generation=generation
                )
            ],
            timeout_s=timeout_s,
        )
        commits.raise_first(response.refusals)
        return _revision(response.revisions)

    async def commit_many(
        self, groups: Iterable[pb.GroupCommit], *, timeout_s: float | None = None
    ) -> requests.CommitOffsetsResponse:
        """Commit offsets of many groups, all shards in parallel; the answer names refused offsets.

        An offset whose shard did not answer is refused with UNAVAILABLE (nothing was done) or
        OUTCOME_UNKNOWN. If that holds for all of them, it is raised. OUTCOME_UNKNOWN also refuses
        an offset of a client with `exactly_once` if its shard no longer keeps the answer: it was
        committed, or refused for a lost reason.
        """
        pieces = commits.cut(groups)
        if not pieces:
            return requests.CommitOffsetsResponse()
        commands = commits.commands(pieces)
        if len(commands) > 1:
            # Each of them would be divided over all shards, into many small commands.
            named = [(piece.commit.tenant, piece.commit.group) for piece in pieces]
            shares = await self._shards.shares(named, timeout_s=timeout_s)
            runs = [[pieces[position] for position in share] for share in shares]
            pieces = [piece for run in runs for piece in run]
            commands = [command for run in runs for command in commits.commands(run)]
        reply = await self._q.execute_all(commands, timeout_s=timeout_s)
        return commits.answer(pieces, reply)

    def committer(
        self,
        *,
        monotonic: bool = True,
        interval_s: float = INTERVAL_S,
        timeout_s: float = COMMIT_S,
    ) -> Committer:
        """Return a committer of the latest offsets in the background, for `async with`.

        `timeout_s` limits one attempt; offsets that it did not commit are retried.
        """
        return Committer(
            partial(self.commit_many, timeout_s=timeout_s),
            self._shards,
            monotonic=monotonic,
            interval_s=interval_s,
            timeout_s=timeout_s,
        )

    async def fence(
        self, tenant: str, group: str, generation: int, *, timeout_s: float | None = None
    ) -> int:
        """Refuse commits of smaller generations from now on; return the revision of the fence.

        Refused with FENCED if the group has a larger generation.
        """
        check_names(tenant=tenant, group=group)
        fence = pb.GroupFence(tenant=tenant, group=group, generation=generation)
        response = await self.fence_many([fence], timeout_s=timeout_s)
        commits.raise_first(response.refusals)
        return _revision(response.revisions)

    async def fence_many(
        self, fences: Iterable[pb.GroupFence], *, timeout_s: float | None = None
    ) -> requests.FenceGroupsResponse:
        """Fence many groups, all shards in parallel; the answer names refused groups.

        Groups of a shard that did not answer are refused as by `commit_many`.
        """
        parts = [requests.FenceGroupsRequest(fences=part) for part in in_parts(fences, MOST_GROUPS)]
        if not parts:
            return requests.FenceGroupsResponse()
        reply = await self._q.execute_all(parts, timeout_s=timeout_s)
        return requests.FenceGroupsResponse(
            refusals=commits.refusals_of(reply), revisions=reply.revisions
        )

    async def reset(
        self,
        tenant: str,
        group: str,
        *,
        to_offset: int | None = None,
        to_offsets: Mapping[tuple[str, int], int] | None = None,
        to_group: str = "",
        topic: str = "",
        partition: int | None = None,
        generation: int | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Set offsets unconditionally, and return their number.

        To one offset (those of `topic` and `partition`, or all), to exactly the given ones, by
        topic and partition, or to those of another group of the tenant. A `generation` fences the
        group in the same step, so that no running consumer undoes the reset.
        """
        reset = requests.ResetRequest(tenant=tenant, group=group, generation=generation)
        if (to_offset is not None) + (to_offsets is not None) + bool(to_group) != 1:
            raise InvalidError("target", "give one of to_offset, to_offsets and to_group")
        if to_offset is not None:
            reset.to_offset.CopyFrom(
                pb.ResetToOffset(offset=to_offset, topic=topic, partition=partition)
            )
        elif to_offsets is not None:
            if topic or partition is not None:
                raise InvalidError("topic", "to_offsets names its topics and partitions itself")
            reset.to_offsets.CopyFrom(pb.OffsetList(offsets=_partition_offsets(to_offsets)))
        else:
            reset.to_group.CopyFrom(
                requests.ResetToGroup(group=to_group, topic=topic, partition=partition)
            )
        response = await self.reset_many([reset], timeout_s=timeout_s)
        commits.raise_first(response.refusals)
        return sum(response.offsets)

    async def reset_many(
        self, resets: Iterable[requests.ResetRequest], *, timeout_s: float | None = None
    ) -> requests.ResetOffsetsResponse:
        """Set offsets of many groups; the answer counts them by group, and names refused groups.

        A thousand groups share a call, and calls run in sequence. A failed call raises: the calls
        before it took effect, and repeating them is harmless without generations.
        """
        response = requests.ResetOffsetsResponse()
        for part in in_parts(resets, MOST_GROUPS):
            answered = await self._call(
                "ResetOffsets",
                requests.ResetOffsetsRequest(resets=part),
                requests.ResetOffsetsResponse,
                group_key(part[0].tenant, part[0].group),
                timeout_s,
                read=False,
            )
            for refusal in answered.refusals:
                refusal.item += len(response.offsets)
            response.MergeFrom(answered)
        return response

    async def delete(
        self,
        tenant: str,
        group: str,
        topic: str,
        partition: int | None = None,
        *,
        timeout_s: float | None = None,
    ) -> int:
        """Delete the offset of a partition, or those of a topic; return their number.

        Succeeds if there is none.
        """
        check_names(tenant=tenant, group=group, topic=topic)
        deletion = pb.OffsetDeletion(tenant=tenant, group=group, topic=topic, partition=partition)
        return await self._delete(deletion, timeout_s)

    async def delete_group(self, tenant: str, group: str, *, timeout_s: float | None = None) -> int:
        """Delete all offsets of a group; return their number.

        Succeeds if there is none. The group stays fenced for a while.
        """
        check_names(tenant=tenant, group=group)
        return await self._delete(pb.OffsetDeletion(tenant=tenant, group=group), timeout_s)

    async def _delete(self, deletion: pb.OffsetDeletion, timeout_s: float | None) -> int:
        response = await self.delete_many([deletion], timeout_s=timeout_s)
        commits.raise_first(response.refusals)
        return sum(response.offsets)

    async def delete_many(
        self, deletions: Iterable[pb.OffsetDeletion], *, timeout_s: float | None = None
    ) -> requests.DeleteOffsetsResponse:
        """Delete offsets of many groups, all shards in parallel; the answer counts them by group.

        The answer names refused groups; groups of a shard that did not answer are refused as by
        `commit_many`.
        """
        parts = [
            requests.DeleteOffsetsRequest(deletions=part)
            for part in in_parts(deletions, MOST_GROUPS)
        ]
        if not parts:
            return requests.DeleteOffsetsResponse()
        reply = await self._q.execute_all(parts, timeout_s=timeout_s)
        return requests.DeleteOffsetsResponse(
            offsets=[each.offsets for each in each_reply(reply, pb.OffsetsChanged)],
            refusals=commits.refusals_of(reply),
            revisions=reply.revisions,
        )

    # Reads.

    async def fetch(
        self,
        tenant: str,
        group: str,
        topic: str,
        partition: int,
        *,
        stale: bool = False,
        min_revision: int = 0,
        timeout_s: float | None = None,
    ) -> asked.CommittedOffset | None:
        """Return the offset of a partition; None if none is committed."""
        found = await self.fetch_group(
            tenant,
            group,
            partitions=[(topic, partition)],
            stale=stale,
            min_revision=min_revision,
            timeout_s=timeout_s,
        )
        return found.offsets[0] if found.offsets else None

    async def fetch_group(
        self,
        tenant: str,
        group: str,
        *,
        topic: str = "",
        partitions: Iterable[tuple[str, int]] = (),
        stale: bool = False,
        min_revision: int = 0,
        timeout_s: float | None = None,
    ) -> asked.GroupOffsets:
        """Return the offsets of a group: all, a topic's, or those of some partitions."""
        request = requests.FetchOffsetsRequest(
            tenant=tenant,
            group=group,
            partitions=[
                asked.TopicPartition(topic=name, partition=each) for name, each in partitions
            ],
            topic=topic,
            stale=stale,
            min_revision=min_revision,
        )
        response = await self._call(
            "FetchOffsets",
            request,
            requests.FetchOffsetsResponse,
            group_key(tenant, group),
            timeout_s,
        )
        return response.group

    async def fetch_groups(
        self,
        groups: Iterable[tuple[str, str]],
        *,
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> list[asked.GroupOffsets]:
        """Return the offsets of many groups, by tenant and name, in the order of the argument.

        All shards are read in parallel; raises if one of them cannot be read.
        """
        wanted = list(groups)
        shares = await self._shards.shares(wanted, timeout_s=timeout_s)
        parts = [part for share in shares for part in in_parts(share, MOST_GROUPS)]
        responses = await asyncio.gather(
            *(
                self._fetch_part([wanted[position] for position in part], stale, timeout_s)
                for part in parts
            )
        )
        found = {
            position: offsets
            for part, response in zip(parts, responses, strict=True)
            for position, offsets in zip(part, response.groups, strict=True)
        }
        return [found[position] for position in range(len(wanted))]

    async def lag(
        self,
        tenant: str,
        group: str,
        ends: Mapping[tuple[str, int], int],
        *,
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> requests.LagResponse:
        """Return the lag of a group behind the ends of partitions: the offsets after the last."""
        request = requests.LagRequest(
            tenant=tenant, group=group, ends=_partition_offsets(ends), stale=stale
        )
        return await self._call(
            "Lag", request, requests.LagResponse, group_key(tenant, group), timeout_s
        )

    async def state(
        self, tenant: str, group: str, *, stale: bool = False, timeout_s: float | None = None
    ) -> asked.GroupState | None:
        """Return the state of a group; None if it does not exist."""
        request = requests.GetGroupStateRequest(tenant=tenant, group=group, stale=stale)
        key = group_key(tenant, group)
        return await or_none(self._call("GetGroupState", request, asked.GroupState, key, timeout_s))

    async def states(
        self,
        tenant: str = "",
        *,
        prefix: str = "",
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[asked.GroupState, None]:
        """Yield the states of groups by tenant and name, of one tenant or of all."""
        request = requests.ListGroupStatesRequest(
            tenant=tenant, prefix=prefix, page_size=LARGEST_PAGE, stale=stale
        )
        while True:
            page = await self._call(
                "ListGroupStates", request, requests.ListGroupStatesResponse, None, timeout_s
            )
            for state in page.groups:
                yield state
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def changes_since(
        self, token: Mapping[int, int] | None = None, *, timeout_s: float | None = None
    ) -> AsyncGenerator[asked.ShardChanges, None]:
        """Yield the groups that changed after a token, until there are no more; None: all groups.

        The token holds the revision that the reader has seen of each shard. Advance it with
        `token[changes.shard] = changes.revision` once the changes are processed. A shard that
        cannot be read gives one answer with a `code` and the revision of the token, and does not
        block the others: its changes come the next time. Raises if no shard can be read.
        """
        seen = dict(token or {})
        #: The shards with more changes; empty asks all of them.
        shards: list[int] = []
        while True:
            request = requests.ListChangesRequest(
                since=[
                    ShardRevision(shard=shard, revision=revision)
                    for shard, revision in sorted(seen.items())
                ],
                shards=shards,
            )
            shards = []
            answers = self._q.stream(
                f"{_SERVICE}ListChanges",
                request,
                asked.ShardChanges,
                group=GROUP,
                timeout_s=timeout_s,
            )
            async with aclosing(answers):
                async for changes in answers:
                    seen[changes.shard] = changes.revision
                    if changes.more:
                        shards.append(changes.shard)
                    yield changes
            if not shards:
                return

    async def _fetch_part(
        self, groups: list[tuple[str, str]], stale: bool, timeout_s: float | None
    ) -> requests.FetchGroupsResponse:
        request = requests.FetchGroupsRequest(
            groups=[asked.GroupName(tenant=tenant, group=group) for tenant, group in groups],
            stale=stale,
        )
        shard_key = group_key(*groups[0])
        response = await self._call(
            "FetchGroups", request, requests.FetchGroupsResponse, shard_key, timeout_s
        )
        # All groups are of one shard, unless shards have changed since they were learned.
        for refusal in response.refusals:
            raise UnavailableError(f"{refusal.code}: {refusal.message}")
        return response

    async def _call(
        self,
        method: str,
        request: Message,
        response: type[R],
        shard_key: bytes | None,
        timeout_s: float | None,
        *,
        read: bool = True,
    ) -> R:
        return await self._q.call(
            _SERVICE + method,
            request,
            response,
            group=None if shard_key is None else GROUP,
            shard_key=shard_key,
            read=read,
            timeout_s=timeout_s,
        )


def _partition_offsets(
    offsets: Mapping[tuple[str, int], int],
) -> list[pb.PartitionOffset]:
    return [
        pb.PartitionOffset(topic=topic, partition=partition, offset=offset)
        for (topic, partition), offset in offsets.items()
    ]


def _revision(revisions: Iterable[ShardRevision]) -> int:
    return max((each.revision for each in revisions), default=0)
