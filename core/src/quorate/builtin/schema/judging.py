"""Compares new definitions with the newest ones where commands enter, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from typing import TypeVar

from quorate.builtin.schema.compatibility import UNCHECKED, UnreadableDefinitionError, difference
from quorate.plugin import Caller, NodeApi
from quorate.v1 import schema_pb2 as pb

C = TypeVar("C", pb.CreateSchemas, pb.UpdateSchemas, pb.PutSchemas)
_Item = pb.CreateSchema | pb.UpdateSchema | pb.PutSchema


async def judge(node: NodeApi, _: Caller, command: C) -> C:
    """Return the command with a verdict on each item, by which the handler refuses it.

    A verdict that a client sends is dropped.
    """
    judged = deepcopy(command)
    items: Sequence[_Item] = judged.schemas
    for item in items:
        item.ClearField("verdict")
    asked = [each for each in items if each.definition and _may_be_checked(each)]
    for item, verdict in zip(
        asked, await asyncio.gather(*(_verdict(node, each) for each in asked)), strict=True
    ):
        if verdict is not None:
            item.verdict.CopyFrom(verdict)
    return judged


def _may_be_checked(item: _Item) -> bool:
    return not isinstance(item, pb.CreateSchema) or item.compatibility not in UNCHECKED


async def _verdict(node: NodeApi, item: _Item) -> pb.SchemaVerdict | None:
    query = pb.ListSchemas(tenant=item.tenant, prefix=item.name, limit=1, definitions=True)
    [page] = (await node.read(query, pb.SchemaPage)).rows
    there = bool(page.schemas) and page.schemas[0].name == item.name
    stored = page.schemas[0] if there else pb.Schema()
    mode = item.compatibility or stored.compatibility
    if mode in UNCHECKED or (not there and isinstance(item, pb.UpdateSchema)):
        return None
    kind = stored.kind if there or isinstance(item, pb.UpdateSchema) else item.kind
    before = page.versions[0].definition if there else None
    verdict = pb.SchemaVerdict(version=stored.version, mode=mode)
    try:
        verdict.refusal = await asyncio.to_thread(difference, kind, mode, before, item.definition)
    except UnreadableDefinitionError as error:
        verdict.refusal = str(error)
    return verdict
