"""The reads of subscription groups: they run where the rows are."""

from collections.abc import Iterator
from itertools import islice

from quorate.plugin import Reader

from quorate_offset.families import SUBSCRIPTION_GROUPS, group_key
from quorate_offset.pages import PAGE, listed_rows
from quorate_offset.v1.queries_pb2 import GetSubscriptionGroupQuery, ListSubscriptionGroupsQuery
from quorate_offset.v1.rows_pb2 import SubscriptionGroup


def get_group(reader: Reader, query: GetSubscriptionGroupQuery) -> Iterator[SubscriptionGroup]:
    """Yield one group; nothing when there is no such group."""
    stored = reader.get(SUBSCRIPTION_GROUPS, group_key(query.tenant, query.group))
    if stored is not None:
        yield SubscriptionGroup.FromString(stored)


def list_groups(reader: Reader, query: ListSubscriptionGroupsQuery) -> Iterator[SubscriptionGroup]:
    """Yield groups of this shard, by tenant and name."""
    rows = islice(listed_rows(reader, SUBSCRIPTION_GROUPS, query), query.limit or PAGE)
    return (SubscriptionGroup.FromString(row.value) for row in rows)
