"""Turns reset requests into commands, copying the offsets of other groups."""

from collections.abc import Mapping, Sequence

from quorate.plugin import NodeApi, Rejected

from quorate_offset.answers import read_groups
from quorate_offset.names import name_fault
from quorate_offset.v1.commands_pb2 import OffsetList, OffsetReset, PartitionOffset
from quorate_offset.v1.queries_pb2 import GroupName, GroupOffsets
from quorate_offset.v1.service_pb2 import ResetRequest

#: The offsets of the groups to copy, or the failure to read them, by tenant and name.
Sources = Mapping[tuple[str, str], Sequence[GroupOffsets] | Rejected]


async def read_sources(node: NodeApi, resets: Sequence[ResetRequest]) -> Sources:
    """Read the groups to copy offsets from."""
    named = sorted(
        {
            (each.tenant, each.to_group.group)
            for each in resets
            if each.HasField("to_group") and not _source_fault(each)
        }
    )
    if not named:
        return {}
    groups = [GroupName(tenant=tenant, group=group) for tenant, group in named]
    found = await read_groups(node, groups, stale=False)
    return {
        name: found.failures.get(position) or found.parts.get(name, [])
        for position, name in enumerate(named)
    }


def reset_of(request: ResetRequest, sources: Sources) -> OffsetReset:
    """Return the command of a reset; raises `Rejected` if there is nothing to copy."""
    reset = OffsetReset(
        tenant=request.tenant,
        group=request.group,
        generation=request.generation if request.HasField("generation") else None,
    )
    target = request.WhichOneof("target")
    if target == "to_group":
        reset.to_offsets.CopyFrom(_copied(request, sources))
    elif target == "to_offsets":
        reset.to_offsets.CopyFrom(request.to_offsets)
    elif target == "to_offset":
        reset.to_offset.CopyFrom(request.to_offset)
    return reset


def _copied(request: ResetRequest, sources: Sources) -> OffsetList:
    if fault := _source_fault(request):
        raise Rejected("INVALID_ARGUMENT", fault)
    wanted = request.to_group
    found = sources[request.tenant, wanted.group]
    if isinstance(found, Rejected):
        raise found
    offsets = [
        PartitionOffset(topic=each.topic, partition=each.partition, offset=each.offset)
        for part in found
        for each in part.offsets
        if wanted.topic in ("", each.topic)
        and (not wanted.HasField("partition") or wanted.partition == each.partition)
    ]
    if not offsets:
        raise Rejected(
            "NOT_FOUND",
            f"group {wanted.group} of tenant {request.tenant} has no such offsets to copy",
        )
    return OffsetList(offsets=offsets)


def _source_fault(request: ResetRequest) -> str:
    """Return the fault of the group to copy from; empty if it is valid."""
    source = request.to_group
    for path, name in (("tenant", request.tenant), ("to_group.group", source.group)):
        if fault := name_fault(name):
            return f"{path}: {fault}"
    if source.HasField("partition") and not source.topic:
        return "to_group.partition: needs a topic"
    return ""
