"""Where the rows are: users for everybody to see, and the hashes of their passwords for nobody."""

from typing import Final

from quorate.plugin import ColumnFamily, Txn

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.kind import Kind
from quorate_mqtt.names import check_identity
from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.v1.definitions_pb2 import DefinitionName
from quorate_mqtt.v1.users_pb2 import (
    CreateUsersCommand,
    Credential,
    DeleteUsersCommand,
    NewUser,
    PutUsersCommand,
    UpdateUsersCommand,
    User,
    UserChange,
)

#: Private: it is not watched, listed or exported. Its keys are those of the users.
CREDENTIALS: Final = "mqtt.user_credentials"


def _forget_credential(txn: Txn, key: bytes, user: User | None) -> None:
    if user is None:
        txn.delete(CREDENTIALS, key)


USERS: Final = Kind(
    family="mqtt.users",
    row=User,
    noun="user",
    deletion=Batch[DefinitionName](message=DeleteUsersCommand, field="names"),
    check_name=check_identity,
    follow=_forget_credential,
)
CREATION: Final = Batch[NewUser](message=CreateUsersCommand, field="users")
PUT: Final = Batch[NewUser](message=PutUsersCommand, field="users")
CHANGE: Final = Batch[UserChange](message=UpdateUsersCommand, field="users")

FAMILIES: Final = (
    USERS.column_family,
    ColumnFamily(name=CREDENTIALS, group=GROUP, shard_key=tenant_shard_of),
)


def stored(credential: Credential) -> bytes:
    """Return the row of a credential."""
    return credential.SerializeToString(deterministic=True)
