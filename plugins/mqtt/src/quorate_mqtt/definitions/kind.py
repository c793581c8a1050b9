"""A kind of definitions: where its rows are, and what goes with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from google.protobuf.message import Message
from quorate.plugin import ColumnFamily, Txn, Updates, keys

from quorate_mqtt.batches import Batch
from quorate_mqtt.names import check_name
from quorate_mqtt.resource import Holding
from quorate_mqtt.rows.reading import Shelf, value_as
from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.v1.acl_rules_pb2 import AclRule
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry
from quorate_mqtt.v1.definitions_pb2 import DefinitionName
from quorate_mqtt.v1.rewrite_rules_pb2 import RewriteRule
from quorate_mqtt.v1.users_pb2 import User

Definition = AclRule | AutoSubscription | BlacklistEntry | RewriteRule | User
D = TypeVar("D", AclRule, AutoSubscription, BlacklistEntry, RewriteRule, User)

#: What an update changes of a definition: all but these.
UPDATES: Final = Updates(fixed=frozenset({"tenant", "name", "created_at_ms", "updated_at_ms"}))


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[D]):
    """One kind of definitions, each of which has a tenant and a name that is unique in it."""

    family: str
    row: type[D]
    #: What one is called in a message to its user.
    noun: str
    deletion: Batch[DefinitionName]
    #: Refuses what cannot be a name.
    check_name: Callable[[str, str], None] = check_name
    #: Refuses a definition that must not be written at the transaction's time.
    refuse: Callable[[Txn, D], None] | None = None
    #: Writes what goes with the row of a key; None: the row is deleted.
    follow: Callable[[Txn, bytes, D | None], None] | None = None

    @property
    def column_family(self) -> ColumnFamily:
        """The rows: those of a tenant lie together."""
        return ColumnFamily(name=self.family, group=GROUP, row=self.row, shard_key=tenant_shard_of)

    @property
    def shelf(self) -> Shelf[D]:
        """What the rows are read with."""
        return Shelf(family=self.family, shard_of=tenant_shard_of, show=value_as(self.row))

    @property
    def holding(self) -> Holding:
        """How the rows of a tenant are erased."""
        return Holding(family=self.family, erase=self._erase)

    def check(self, named: DefinitionName | D, path: str = "") -> None:
        """Refuse what names no tenant, or cannot name a definition."""
        self.check_parts(named.tenant, named.name, path)

    def check_parts(self, tenant: str, name: str, path: str = "") -> None:
        """Refuse the same, said in other words than a definition's."""
        check_name(f"{path}tenant", tenant)
        self.check_name(f"{path}name", name)

    def _erase(self, rows: Sequence[bytes]) -> Message:
        named = map(keys.unpack, rows)
        return self.deletion.of(
            [
                DefinitionName(tenant=str(tenant), name=str(name), missing_ok=True)
                for tenant, name in named
            ]
        )


def key_of(named: DefinitionName | Definition) -> bytes:
    """Return the key of a definition: those of a tenant lie together, by name."""
    return keys.pack(named.tenant, named.name)
