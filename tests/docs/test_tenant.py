"""The page on tenants tells of every call and every limit, and its example runs."""

from __future__ import annotations

import ast
import re
from asyncio import run
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

from google.protobuf.empty_pb2 import Empty
from quorate.builtin.tenant import plugin
from quorate.builtin.tenant.plugin import MOST_DELETIONS, MOST_LIMITS
from quorate.plugin import NodeApi
from quorate.plugin.catalog import build
from quorate.plugin.checking import LARGEST_PAGE, LONGEST_DESCRIPTION, LONGEST_NAME, PAGE
from quorate.plugin.discovery import Plugin
from quorate.plugin.resource import TenantCascade
from quorate.plugin.resource.tenants import TENANTS
from quorate.testing import MemoryNode
from quorate.v1 import tenant_pb2
from quorate.v1.tenant_pb2 import CreateTenant, DeleteTenantRequest, FinishTenantCascade, Tenant

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "tenant.md").read_text("utf-8")


def test_every_call_is_told_with_its_messages() -> None:
    service = tenant_pb2.DESCRIPTOR.services_by_name["TenantService"]
    told = re.findall(r"^\| `(\w+)` \| `(\w+)`", TEXT, re.MULTILINE)

    assert told == [(method.name, method.input_type.name) for method in service.methods]


def test_the_limits_are_those_of_the_code() -> None:
    told = {int(number.replace(",", "")) for number in re.findall(r"\b[\d,]*\d\b", TEXT)}
    limits = {LONGEST_NAME, LONGEST_DESCRIPTION, MOST_LIMITS, MOST_DELETIONS, PAGE, LARGEST_PAGE}

    assert limits <= told


def test_the_example_runs() -> None:
    async def holds(node: NodeApi, name: str) -> bool:
        return True

    [example] = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)
    code = compile(example, "tenant.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    own = build([Plugin(name="tenant", distribution="quorate", version="1", module=plugin)])
    cascades = {name: TenantCascade(holds=holds) for name in ("offset", "mqtt")}
    node = MemoryNode(catalog=replace(own, extensions={"tenant.cascades": cascades}))
    names: dict[str, Any] = {
        "node": node,
        "service": node.servicer("quorate.v1.TenantService"),
        "CreateTenant": CreateTenant,
        "DeleteTenantRequest": DeleteTenantRequest,
        "Empty": Empty,
        "FinishTenantCascade": FinishTenantCascade,
        "Tenant": Tenant,
    }

    assert isinstance(code, CodeType)
    run(eval(code, names))

    assert names["todo"] == ["mqtt", "offset"]
    assert node.rows(TENANTS) == {}
