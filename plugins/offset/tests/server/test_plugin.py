"""What other processes rely on: names that stand in logs, on disks and on dashboards."""

from quorate_offset import plugin


def test_the_names_that_are_kept_for_ever() -> None:
    assert [group.name for group in plugin.quorate_raft_groups()] == ["offset"]
    assert [family.name for family in plugin.quorate_column_families()] == [
        "offset.offsets",
        "offset.groups",
        "offset.marks",
        "offset.changes",
        "offset.floors",
    ]
    assert [command.message.DESCRIPTOR.full_name for command in plugin.quorate_commands()] == [
        "quorate_offset.v1.CommitOffsetsCommand",
        "quorate_offset.v1.FenceGroupsCommand",
        "quorate_offset.v1.ResetOffsetsCommand",
        "quorate_offset.v1.DeleteOffsetsCommand",
        "quorate_offset.v1.PutSubscriptionGroupsCommand",
        "quorate_offset.v1.DeleteSubscriptionGroupsCommand",
        "quorate_offset.v1.ExpireGroupsCommand",
    ]


def test_the_names_that_operators_see() -> None:
    assert [each.name for each in plugin.quorate_controllers()] == [
        "offset.expiry",
        "offset.tenant_deletion",
    ]
    assert [metric.name for metric in plugin.quorate_metrics()] == [
        "quorate_offset_commits_total",
        "quorate_offset_sync_rows_read_total",
        "quorate_offset_sync_groups_total",
        "quorate_offset_expired_groups_total",
    ]
    assert [service.full_name for service in plugin.quorate_grpc_services()] == [
        "quorate_offset.v1.OffsetService",
        "quorate_offset.v1.SubscriptionGroupService",
    ]


def test_clients_cannot_expire_groups() -> None:
    internal = [each.message.__name__ for each in plugin.quorate_commands() if not each.public]

    assert internal == ["ExpireGroupsCommand"]


def test_everything_of_a_group_lies_in_its_shard() -> None:
    keyed = [family.shard_key for family in plugin.quorate_column_families()]
    group = b"\x02acme\x00\x02billing\x00"
    rows = [group + b"\x02orders\x00\x14", group, group, bytes(8) + group]

    assert [shard_key and shard_key(row) for shard_key, row in zip(keyed, rows, strict=False)] == [
        group
    ] * 4
