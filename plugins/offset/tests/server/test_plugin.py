"""What other processes rely on: names that stand in logs, on disks and on dashboards."""

from quorate.plugin import Metric
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import declarations_of
from quorate_offset import plugin


def test_the_names_that_are_kept_for_ever(catalog: Catalog) -> None:
    declared = catalog.declared["offset"]
    assert [group.name for group in declared.groups] == ["offset"]
    assert [family.name for family in declared.families] == [
        "offset.offsets",
        "offset.marks",
        "offset.changes",
        "offset.floors",
        "offset.groups",
    ]
    assert [command.message.DESCRIPTOR.full_name for command in declared.commands] == [
        "quorate_offset.v1.CommitOffsetsRequest",
        "quorate_offset.v1.FenceGroupsRequest",
        "quorate_offset.v1.SetOffsets",
        "quorate_offset.v1.DeleteOffsetsRequest",
        "quorate_offset.v1.ExpireGroups",
        "quorate_offset.v1.PutGroupsRequest",
        "quorate_offset.v1.DeleteGroupsRequest",
    ]


def test_the_names_that_operators_see(catalog: Catalog) -> None:
    declared = catalog.declared["offset"]
    assert [each.name for each in declared.controllers] == [
        "offset.expiry",
        "offset.tenant_deletion",
    ]
    assert [metric.name for metric in declarations_of(plugin, Metric)] == [
        "quorate_offset_commits_total",
        "quorate_offset_sync_rows_read_total",
        "quorate_offset_sync_groups_total",
        "quorate_offset_expired_groups_total",
    ]
    assert [service.full_name for service in declared.services] == [
        "quorate_offset.v1.OffsetService",
        "quorate_offset.v1.SubscriptionGroupService",
    ]


def test_clients_cannot_expire_groups(catalog: Catalog) -> None:
    commands = catalog.declared["offset"].commands
    internal = [each.message.__name__ for each in commands if not each.public]

    assert internal == ["ExpireGroups"]


def test_everything_of_a_group_lies_in_its_shard(catalog: Catalog) -> None:
    group = b"\x02acme\x00\x02billing\x00"
    rows = {
        "offset.offsets": group + b"\x02orders\x00\x14",
        "offset.marks": group,
        "offset.changes": bytes(8) + group,
        "offset.groups": group,
    }
    keyed = {name: catalog.families[name].shard_key for name in rows}

    assert [shard_key and shard_key(rows[name]) for name, shard_key in keyed.items()] == [group] * 4
