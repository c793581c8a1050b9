"""A log that changes a mirrored family is taken over by the groups that read it."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest
from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin
from quorate.testing import logs
from quorate.testing.installed import catalog_of
from quorate.testing.shard import MemoryShard, command_of
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants, MarkTenant, MarkTenants

TENANTS = "tenant.tenants"
NAME = "kit_sample.v1.EraseNote"


def need_acme(txn: Txn, _: object) -> None:
    if txn.get(TENANTS, keys.pack("acme")) is None:
        raise Rejected("NOT_FOUND", "there is no tenant acme")


@pytest.fixture
def reading(sample: ModuleType) -> Catalog:
    """Return the sample with a handler that reads the copies of the tenants."""
    [tenant] = catalog_of(["tenant"]).declared.values()
    plugin = Plugin(name="sample", distribution="s", version="1", module=sample)
    catalog = assemble([declare(plugin), tenant])
    route = replace(catalog.routes[NAME], apply=need_acme, reads=frozenset({TENANTS}))
    return replace(catalog, routes={**catalog.routes, NAME: route})


MADE = CreateTenants(tenants=[CreateTenant(name="acme")])
MARKED = MarkTenants(tenants=[MarkTenant(name="acme")])


def test_copies_follow_their_source_in_the_order_of_the_log(reading: Catalog) -> None:
    erase = reading.commands[NAME].examples[0]
    log = [erase, MADE, erase, MARKED, erase]

    entries = logs.by_group(reading, list(map(command_of, log)))
    group = reading.commands[NAME].group

    shard = MemoryShard(reading, group)
    outcomes = logs.apply_each(shard, entries[group])
    assert [entry.index for entry in entries["metadata"]] == [2, 4]
    assert [entry.index for entry in entries[group]] == [1, 2, 3, 4, 5]
    assert [outcome.failure is None for outcome in outcomes] == [False, True, True, True, False]


def test_the_host_s_own_entries_are_told_apart(reading: Catalog) -> None:
    log = [MADE]
    entries = logs.by_group(reading, list(map(command_of, log)))
    group = reading.commands[NAME].group

    assert [logs.is_of_a_plugin(reading, entry) for entry in entries["metadata"]] == [True]
    assert [logs.is_of_a_plugin(reading, entry) for entry in entries[group]] == [False]
