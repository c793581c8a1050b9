"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.plugin import Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.definitions import apply as definitions
from quorate_mqtt.definitions.kind import key_of
from quorate_mqtt.users.families import CREDENTIALS, USERS, stored
from quorate_mqtt.v1.users_pb2 import (
    CreateUsersCommand,
    NewUser,
    PutUsersCommand,
    UpdateUsersCommand,
    User,
    UserChange,
)


def create_users(txn: Txn, command: CreateUsersCommand) -> BatchReply:
    """Make users with their credentials."""
    return answer_each(txn, command.users, _create)


def update_users(txn: Txn, command: UpdateUsersCommand) -> BatchReply:
    """Change of users what is given."""
    return answer_each(txn, command.users, _update)


def put_users(txn: Txn, command: PutUsersCommand) -> BatchReply:
    """Make or replace users with their credentials."""
    return answer_each(txn, command.users, _put)


def _put(txn: Txn, new: NewUser) -> User:
    user = definitions.put(USERS, txn, new.user)
    txn.put(CREDENTIALS, key_of(user), stored(new.credential))
    return user


def _create(txn: Txn, new: NewUser) -> User:
    user = definitions.create(USERS, txn, new.user)
    txn.put(CREDENTIALS, key_of(user), stored(new.credential))
    return user


def _update(txn: Txn, change: UserChange) -> User:
    user = definitions.stored_of(USERS, txn, User(tenant=change.tenant, name=change.name))
    if change.HasField("description"):
        user.description = change.description
    if change.HasField("superuser"):
        user.superuser = change.superuser
    if change.HasField("credential"):
        txn.put(CREDENTIALS, key_of(user), stored(change.credential))
    return definitions.write(USERS, txn, user)
