"""Users: public rows, and the hashes of their passwords in private rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from quorate.plugin import (
    Access,
    ColumnFamily,
    Item,
    Items,
    Query,
    Reader,
    Rejected,
    Resource,
    Serving,
    Storage,
    Txn,
    Verb,
    keys,
)
from quorate.plugin.advanced import find_row, get_row, write_row
from quorate.plugin.resource import tenant_there

from quorate_mqtt.names import check_identity
from quorate_mqtt.shards import GROUP, tenant_shard, tenant_shard_of
from quorate_mqtt.users.service import UserServicer
from quorate_mqtt.users.validation import check_new_user, check_user_change
from quorate_mqtt.v1 import users_pb2 as pb

#: Private: it is not watched, listed or exported. Its keys are those of the users.
CREDENTIALS: Final = ColumnFamily(
    name="mqtt.user_credentials", group=GROUP, shard_key=tenant_shard_of
)


def create_user(txn: Txn, new: pb.NewUser) -> pb.User:
    """Create a user with its credential."""
    wanted = new.user
    if find_row(txn, USER, wanted) is not None:
        raise Rejected(
            "ALREADY_EXISTS", f"user {wanted.name} of {wanted.tenant} already exists: update it"
        )
    return put_user(txn, new)


def put_user(txn: Txn, new: pb.NewUser) -> pb.User:
    """Create a user, or replace an existing user entirely."""
    tenant_there(txn, new.user.tenant)
    before, user = find_row(txn, USER, new.user), pb.User()
    user.CopyFrom(new.user)
    user.created_at_ms = txn.proposed_at_ms if before is None else before.created_at_ms
    _keep(txn, user, new.credential)
    return write_row(txn, USER, user)


def update_user(txn: Txn, change: pb.UserChange) -> pb.User:
    """Change the given fields of a user."""
    user = get_row(txn, USER, change)
    if change.HasField("description"):
        user.description = change.description
    if change.HasField("superuser"):
        user.superuser = change.superuser
    if change.HasField("credential"):
        _keep(txn, user, change.credential)
    return write_row(txn, USER, user)


def forget_credential(txn: Txn, before: pb.User | None, after: pb.User | None) -> None:
    """Delete the credential with its user."""
    if before is not None and after is None:
        txn.delete(CREDENTIALS.name, _key(before))


def find_logins(reader: Reader, query: pb.FindLogins) -> Iterator[pb.Login]:
    """Yield the existing users with their credentials, in the order of their keys."""
    names = sorted({keys.pack(each.tenant, each.name) for each in query.names})
    users = reader.get_values(USER.family, names)
    credentials = reader.get_values(CREDENTIALS.name, names)
    for user, credential in zip(users, credentials, strict=True):
        if user is not None and credential is not None:
            yield pb.Login(
                user=pb.User.FromString(user), credential=pb.Credential.FromString(credential)
            )


def _keep(txn: Txn, user: pb.User, credential: pb.Credential) -> None:
    txn.put(CREDENTIALS.name, _key(user), credential.SerializeToString(deterministic=True))


def _key(user: pb.User) -> bytes:
    return keys.pack(user.tenant, user.name)


_CREDENTIAL: Final = pb.Credential(
    salt=bytes(16), hash=bytes(64), cost=16_384, block_size=8, parallelism=1
)
_ADA: Final = pb.User(tenant="acme", name="ada", superuser=True)
_BEN: Final = pb.User(tenant="globex", name="ben")
_NEW: Final = tuple(pb.NewUser(user=each, credential=_CREDENTIAL) for each in (_BEN, _ADA))

_WRITE: Final = Access(right="write", domain="mqtt.users", tenant="tenant", key="name")
#: A caller with the right to open sessions of clients may verify passwords, and no other caller.
_LOG_IN: Final = Access(right="write", domain="mqtt.sessions", tenant="tenant")

USER: Final[Resource[pb.User]] = Resource(
    family="mqtt.users",
    group=GROUP,
    row=pb.User,
    service=pb.DESCRIPTOR.services_by_name["UserService"],
    serving=Serving(
        servicer=UserServicer,
        access={
            **dict.fromkeys(("Create", "Update", "Put"), _WRITE),
            **dict.fromkeys(
                ("CreateBatch", "UpdateBatch", "PutBatch"), replace(_WRITE, items="users")
            ),
            "Authenticate": _LOG_IN,
            "AuthenticateBatch": replace(_LOG_IN, items="logins"),
        },
    ),
    key=("tenant", "name"),
    check_key={"name": check_identity},
    shard_by=("tenant",),
    tenant="tenant",
    storage=Storage(changed=forget_credential),
    verbs={
        "Create": Verb(
            message=pb.CreateUsers,
            apply=create_user,
            item=Item(key=lambda new: _key(new.user)),
            check=check_new_user,
            examples=_NEW,
        ),
        "Put": Verb(
            message=pb.PutUsers,
            apply=put_user,
            item=Item(key=lambda new: _key(new.user)),
            check=check_new_user,
            examples=_NEW,
        ),
        "Update": Verb(
            message=pb.UpdateUsers,
            apply=update_user,
            check=check_user_change,
            examples=(
                pb.UserChange(tenant="globex", name="ben", credential=_CREDENTIAL),
                pb.UserChange(tenant="acme", name="ada", superuser=False),
            ),
        ),
    },
    examples=(_ADA,),
)

FIND_LOGINS: Final = Query(
    message=pb.FindLogins,
    group=GROUP,
    run=find_logins,
    items=Items.of("names", shard_key=lambda named: tenant_shard(named.tenant)),
    order=lambda login: _key(login.user),
)
