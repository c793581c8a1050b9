"""What users declare."""

from typing import Final

from quorate.plugin import DataRoute, Items, Query, keys

from quorate_mqtt.definitions import vocabulary
from quorate_mqtt.definitions.kind import key_of
from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import GROUP, tenant_shard, tenant_shard_of
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.users import queries
from quorate_mqtt.users.apply import create_users, put_users, update_users
from quorate_mqtt.users.families import CHANGE, CREATION, FAMILIES, PUT, USERS
from quorate_mqtt.users.service import LOGINS, SERVICE
from quorate_mqtt.users.validation import check_new_user, check_user_change
from quorate_mqtt.v1.definitions_pb2 import DefinitionName
from quorate_mqtt.v1.users_pb2 import (
    CreateUsersCommand,
    Credential,
    FindLogins,
    NewUser,
    PutUsersCommand,
    UpdateUsersCommand,
    User,
    UserChange,
)

_CREDENTIAL: Final = Credential(
    salt=bytes(16), hash=bytes(64), cost=16_384, block_size=8, parallelism=1
)
_ADA: Final = NewUser(user=User(tenant="acme", name="ada", superuser=True), credential=_CREDENTIAL)
_BEN: Final = NewUser(user=User(tenant="globex", name="ben"), credential=_CREDENTIAL)
_ADAS_CHANGE: Final = UserChange(tenant="acme", name="ada", superuser=False)
_BENS_CHANGE: Final = UserChange(tenant="globex", name="ben", credential=_CREDENTIAL)

RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        CREATION.command(
            key=lambda new: key_of(new.user),
            shard_of=tenant_shard_of,
            check=check_new_user,
            examples=([_BEN, _ADA],),
        ),
        CHANGE.command(
            key=lambda change: keys.pack(change.tenant, change.name),
            shard_of=tenant_shard_of,
            check=check_user_change,
            examples=([_BENS_CHANGE, _ADAS_CHANGE],),
        ),
        PUT.command(
            key=lambda new: key_of(new.user),
            shard_of=tenant_shard_of,
            check=check_new_user,
            examples=([_BEN, _ADA],),
        ),
        vocabulary.deletion(USERS, [DefinitionName(tenant="acme", name="ada")]),
    ),
    routes=(
        DataRoute(message=CreateUsersCommand, apply=create_users, reads=(TENANTS,)),
        DataRoute(message=UpdateUsersCommand, apply=update_users),
        DataRoute(message=PutUsersCommand, apply=put_users, reads=(TENANTS,)),
        vocabulary.deletion_route(USERS),
    ),
    queries=(
        Query(
            message=FindLogins,
            group=GROUP,
            run=queries.find_logins,
            items=Items(
                get=lambda query: query.names,
                shard_key=lambda named: tenant_shard(named.tenant),
                make=lambda _, names: FindLogins(names=names),
            ),
            order=queries.order,
        ),
    ),
    metrics=(LOGINS,),
    services=(SERVICE,),
    holdings=(USERS.holding,),
)
