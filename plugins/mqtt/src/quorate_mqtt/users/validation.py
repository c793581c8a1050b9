"""Checks of requests and commands for users that need no rows."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_bytes, check_description, check_longest, check_name

from quorate_mqtt.names import check_identity
from quorate_mqtt.v1 import users_pb2 as pb

LONGEST_PASSWORD: Final = 1_024
LONGEST_ADDRESS: Final = 255
#: Limit of a batch: each password takes a core for tens of milliseconds.
MOST_USERS: Final = 100
#: Limit of a batch that authenticates: most passwords are recognised.
MOST_LOGINS: Final = 1_000
_HASH_BYTES: Final = 64


def check_creation(request: pb.CreateUserRequest, path: str = "") -> None:
    """Reject a user without a name or a password."""
    _check_named(request.tenant, request.name, path)
    check_description(f"{path}description", request.description)
    check_password(f"{path}password", request.password)


def check_change(request: pb.UpdateUserRequest, path: str = "") -> None:
    """Reject a change without a user name, or with an invalid field."""
    _check_named(request.tenant, request.name, path)
    check_description(f"{path}description", request.description)
    if request.HasField("password"):
        check_password(f"{path}password", request.password)


def check_authentication(request: pb.AuthenticateRequest, path: str = "") -> None:
    """Reject a login without a user name; an empty password is merely wrong."""
    _check_named(request.tenant, request.name, path)
    check_bytes(f"{path}password", request.password, LONGEST_PASSWORD)
    check_longest(f"{path}address", request.address, LONGEST_ADDRESS)


def check_new_user(new: pb.NewUser, path: str = "") -> None:
    """Reject a command without a user or a credential."""
    _check_named(new.user.tenant, new.user.name, f"{path}user.")
    check_description(f"{path}user.description", new.user.description)
    _check_credential(f"{path}credential", new.credential)


def check_user_change(change: pb.UserChange, path: str = "") -> None:
    """Reject a command with an invalid description or an incomplete credential."""
    check_description(f"{path}description", change.description)
    if change.HasField("credential"):
        _check_credential(f"{path}credential", change.credential)


def check_password(field: str, password: bytes) -> None:
    """Reject a password that is empty or too long."""
    if not password:
        raise Invalid(field, "must not be empty")
    check_bytes(field, password, LONGEST_PASSWORD)


def _check_named(tenant: str, name: str, path: str) -> None:
    check_name(f"{path}tenant", tenant)
    check_identity(f"{path}name", name)


def _check_credential(field: str, credential: pb.Credential) -> None:
    if not credential.salt or len(credential.hash) != _HASH_BYTES:
        raise Invalid(field, f"must have a salt and a hash of {_HASH_BYTES} bytes")
