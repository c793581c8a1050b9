"""Deletes the rows of a plugin that no node serves any more, shard by shard, through their logs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import grpc
import grpc.aio

from quorate.apply.control import METADATA
from quorate.groups.groups import Groups
from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import UnreadableError
from quorate.observe.failpoints import failpoint
from quorate.plugin import Rejected, Stub
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.v1 import admin_pb2, control_pb2

#: A node that does not answer within this time is not running.
_ANSWER_S: Final = 2.0
_SERVICE: Final = admin_pb2.DESCRIPTOR.services_by_name["AdminService"]


async def purge(
    catalog: Catalog,
    shards: NodeShards,
    groups: Groups,
    channels: NodeChannels,
    plugin: str,
    count_only: bool,
) -> AsyncIterator[admin_pb2.PurgedRows]:
    """Yield what was deleted, or counted, step by step.

    A purge that was interrupted is finished by another one: each deletes what is there. Raises
    `Rejected` while a node that runs serves the plugin, `NotProposedError`, `UnreadableError` and
    `OutcomeUnknownError`.
    """
    served = catalog.declared.get(plugin)
    if served is not None and served.plugin.built_in:
        raise Rejected("PLUGIN_SERVED", f"{plugin} is built in: every node serves it")
    metadata = shards.get(METADATA)
    if metadata is None or metadata.configuration is None:
        raise UnreadableError("this node does not belong to its cluster; ask another node")
    members = {member.peer.node for member in metadata.configuration.members}
    others = sorted(members - {shards.me.node})
    asked = await asyncio.gather(*(_serves(channels, plugin, node) for node in others))
    serving = [node for node, serves in zip(others, asked, strict=True) if serves]
    if served is not None:
        serving.append(shards.me.node)
    if serving:
        raise Rejected(
            "PLUGIN_SERVED",
            f"plugin {plugin} is served by {', '.join(sorted(serving))}; take it out of"
            " [plugins] enabled, name it in [plugins] retired on every node, and restart them;"
            " nothing was deleted",
        )
    for shard in shards.slot_map.all():
        async for rows in _purge(groups, shard, plugin, count_only):
            yield rows


async def _serves(channels: NodeChannels, plugin: str, node: str) -> bool:
    try:
        route = await channels.route(node, _ANSWER_S)
        status = await Stub(route.channel, _SERVICE).Status(
            admin_pb2.NodeStatusRequest(), timeout=_ANSWER_S
        )
    except (UnreachableError, grpc.aio.AioRpcError):
        return False
    return any(each.name == plugin for each in status.plugins)


async def _purge(
    groups: Groups, shard: ShardId, plugin: str, count_only: bool
) -> AsyncIterator[admin_pb2.PurgedRows]:
    step = control_pb2.PurgePlugin(plugin=plugin, count_only=count_only)
    while True:
        answer = await groups.propose_control(shard, step)
        found = control_pb2.PurgePluginReply.FromString(answer.reply)
        if not found.family:
            return
        if not count_only:
            failpoint("purge.step")
        yield admin_pb2.PurgedRows(shard=str(shard), family=found.family, rows=found.rows)
        step.after_family, step.after_key = found.family, found.last_key
