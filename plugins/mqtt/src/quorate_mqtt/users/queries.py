"""The read of logins: it runs where the rows are."""

from collections.abc import Iterator

from quorate.plugin import Reader, read_values

from quorate_mqtt.definitions.kind import key_of
from quorate_mqtt.users.families import CREDENTIALS, USERS
from quorate_mqtt.v1.users_pb2 import Credential, FindLogins, Login, User


def find_logins(reader: Reader, query: FindLogins) -> Iterator[Login]:
    """Yield the users that there are with their credentials, in the order of their keys."""
    names = sorted({key_of(each) for each in query.names})
    users = read_values(reader, USERS.family, names)
    credentials = read_values(reader, CREDENTIALS, names)
    for user, credential in zip(users, credentials, strict=True):
        if user is not None and credential is not None:
            yield Login(user=User.FromString(user), credential=Credential.FromString(credential))


def order(login: Login) -> bytes:
    """Return the key by which the logins of several shards are merged."""
    return key_of(login.user)
