from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from quorate.plugin import Invalid, Rejected, keys
from quorate.testing import MemoryNode, MemoryTxn
from quorate_mqtt.rules import BLACKLIST_ENTRY, END, end_entries
from quorate_mqtt.v1.blacklist_pb2 import (
    BLACKLIST_KIND_CIDR,
    BLACKLIST_KIND_CLIENT_ID,
    BLACKLIST_KIND_IP,
    BLACKLIST_KIND_USER,
    BlacklistEntry,
    BlacklistEntryRequest,
    BlacklistKind,
    CreateBlacklistEntries,
    EndBlacklistEntries,
    ListBlacklistEntriesRequest,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName

SUBJECTS = {
    "BLACKLIST_KIND_CLIENT_ID": "sensor-1",
    "BLACKLIST_KIND_USER": "ada",
    "BLACKLIST_KIND_IP": "10.0.0.1",
    "BLACKLIST_KIND_CLIENT_ID_PATTERN": "sensor-*",
    "BLACKLIST_KIND_USER_PATTERN": "a?a",
    "BLACKLIST_KIND_CIDR": "10.0.0.0/8",
}


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    return servicer("BlacklistService")


def entry(name: str = "one", ends_at_ms: int = 0, **fields: Any) -> BlacklistEntry:
    subject = {"kind": BLACKLIST_KIND_USER, "subject": "ada", **fields}
    return BlacklistEntry(tenant="acme", name=name, ends_at_ms=ends_at_ms, **subject)


def create(service: Any, *args: Any, **fields: Any) -> BlacklistEntry:
    request = BlacklistEntryRequest(definition=entry(*args, **fields))
    created: BlacklistEntry = run(service.Create(request, None))
    return created


#: The end is given, also where it is none.
MASK = FieldMask(paths=["ends_at_ms"])


def update(service: Any, *args: Any) -> BlacklistEntry:
    updated: BlacklistEntry = run(
        service.Update(BlacklistEntryRequest(definition=entry(*args), update_mask=MASK), None)
    )
    return updated


def names(service: Any, **fields: Any) -> list[str]:
    page = run(service.List(ListBlacklistEntriesRequest(**fields), None))
    return [each.name for each in page.entries]


def test_there_is_an_entry_of_every_kind_of_the_fact_sheet(service: Any) -> None:
    """Client, user, address, both with patterns, and networks."""
    assert list(SUBJECTS) == BlacklistKind.keys()[1:]
    for number, (kind, subject) in enumerate(SUBJECTS.items()):
        create(service, f"entry-{number}", kind=BlacklistKind.Value(kind), subject=subject)

    assert len(names(service)) == 6
    assert names(service, kind=BLACKLIST_KIND_CIDR) == ["entry-5"]
    assert names(service, subject="sensor-1") == ["entry-0"]
    assert names(service, subject="sensor-1", kind=BLACKLIST_KIND_USER) == []


def test_an_entry_ends_at_its_time_and_not_before(service: Any, node: MemoryNode) -> None:
    create(service, "short", 1_500)
    create(service, "long", 9_000)
    create(service, "for ever".replace(" ", "-"))

    run(node.advance(499))
    assert len(names(service)) == 3
    run(node.advance(1))
    assert names(service) == ["for-ever", "long"]
    run(node.advance(1_000_000))
    assert names(service) == ["for-ever"]


@pytest.mark.parametrize("ends_at_ms", [1, 999, 1_000])
def test_an_entry_that_has_ended_is_refused(service: Any, ends_at_ms: int) -> None:
    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*ended at"):
        create(service, "one", ends_at_ms)

    assert names(service) == []


def test_an_end_is_of_a_year_that_calendars_can_show(service: Any) -> None:
    create(service, "last", 253_402_300_799_999)

    for later in (253_402_300_800_000, (1 << 64) - 1):
        with pytest.raises(Invalid, match=r"definition\.ends_at_ms: must be at most .* leave"):
            create(service, "later", later)
        items = CreateBlacklistEntries(entries=[entry("later", later)])
        [refusal] = run(service.CreateBatch(items, None)).refusals
        assert refusal.message.startswith("entries[0].ends_at_ms: must be at most")
    assert names(service) == ["last"]


def test_an_ended_item_does_not_keep_the_others_out(service: Any) -> None:
    items = [entry("a", 5), entry("b", 5_000)]

    reply = run(service.CreateBatch(CreateBlacklistEntries(entries=items), None))

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "FAILED_PRECONDITION")]
    assert names(service) == ["b"]


@pytest.mark.parametrize(("ends_at_ms", "left"), [(0, ["one"]), (5_000, ["one"]), (1_200, [])])
def test_an_update_moves_the_end(
    service: Any, node: MemoryNode, ends_at_ms: int, left: list[str]
) -> None:
    create(service, "one", 2_000)
    update(service, "one", ends_at_ms)

    run(node.advance(1_100))

    assert names(service) == left


def test_an_update_to_an_end_that_has_passed_changes_nothing(
    service: Any, node: MemoryNode
) -> None:
    create(service, "one", 2_000)

    with pytest.raises(Rejected, match="FAILED_PRECONDITION"):
        update(service, "one", 500)

    run(node.advance(999))
    assert names(service) == ["one"]
    run(node.advance(1))
    assert names(service) == []


def test_what_is_deleted_and_made_again_has_its_own_end(service: Any, node: MemoryNode) -> None:
    create(service, "one", 2_000)
    run(service.Delete(DefinitionName(tenant="acme", name="one"), None))
    create(service, "one")

    run(node.advance(5_000))

    assert names(service) == ["one"]


def test_a_command_that_is_late_ends_nothing_that_was_moved() -> None:
    key = keys.pack("acme", "one")
    txn = MemoryTxn(at_ms=1_000, rows={BLACKLIST_ENTRY.family: {key: b"row"}})
    txn.schedule(END, key, 9_000)

    end_entries(txn, EndBlacklistEntries(keys=[key]))

    assert list(txn.rows(BLACKLIST_ENTRY.family)) == [key]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": 0}, "kind"),
        ({"kind": 7}, "kind"),
        ({"subject": ""}, "subject"),
        ({"kind": BLACKLIST_KIND_IP, "subject": "10.0.0.0/8"}, "subject"),
        ({"kind": BLACKLIST_KIND_IP, "subject": "nowhere"}, "subject"),
        ({"kind": BLACKLIST_KIND_CIDR, "subject": "10.0.0.1/8"}, "subject"),
        ({"kind": BLACKLIST_KIND_CLIENT_ID, "subject": "a\nb"}, "subject"),
    ],
)
def test_an_entry_that_keeps_nobody_out_is_refused(
    service: Any, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        create(service, **fields)

    assert refusal.value.field == f"definition.{field}"
