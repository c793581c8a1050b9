"""What other processes rely on: names that stand in logs, on disks and in other plugins."""

from quorate.plugin import RaftGroup
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import declarations_of
from quorate_mqtt import plugin
from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer

#: The families of what tenants define, of topics and of retained messages.
FAMILIES = {
    "mqtt.acl_rules",
    "mqtt.auto_subscriptions",
    "mqtt.blacklist_entries",
    "mqtt.retained_messages",
    "mqtt.rewrite_rules",
    "mqtt.topics_of_tenants",
    "mqtt.topic_deletions",
    "mqtt.topics",
    "mqtt.user_credentials",
    "mqtt.users",
}


def test_the_names_that_are_kept_for_ever(catalog: Catalog) -> None:
    families = {family.name for family in catalog.declared["mqtt"].families}

    assert [group.name for group in declarations_of(plugin, RaftGroup)] == ["mqtt"]
    assert families >= FAMILIES


def test_every_family_of_rows_can_be_watched_but_hashes_and_counts(catalog: Catalog) -> None:
    private = {
        family.name
        for family in catalog.declared["mqtt"].families
        if family.name in FAMILIES and family.row is None
    }

    assert private == {"mqtt.user_credentials", "mqtt.topics_of_tenants"}


def test_no_stored_row_has_a_map(catalog: Catalog) -> None:
    """The bytes of a map depend on the order in which it was filled."""
    for family in catalog.declared["mqtt"].families:
        for field in family.row.DESCRIPTOR.fields if family.row is not None else ():
            entry = field.message_type
            assert entry is None or not entry.GetOptions().map_entry, f"{family.name}.{field.name}"


def test_other_plugins_take_part_through_the_extension_points(catalog: Catalog) -> None:
    assert isinstance(catalog.extensions[TOPIC_FINALIZERS]["mqtt.retained_message"], TopicFinalizer)
    assert "mqtt" in catalog.extensions["tenant.cascades"]


def test_what_timers_controllers_and_services_alone_propose_is_not_public(
    catalog: Catalog,
) -> None:
    public = {
        command.message.__name__ for command in catalog.declared["mqtt"].commands if command.public
    }

    assert not public & {
        "CreateUsers",
        "UpdateUsers",
        "FinishTopics",
        "EndBlacklistEntries",
        "ExpireRetainedMessages",
    }
