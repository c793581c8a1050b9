from __future__ import annotations

import threading
from asyncio import gather, run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected, RowEvent
from quorate.testing import MemoryNode
from quorate_mqtt.users import passwords
from quorate_mqtt.users.resource import CREDENTIALS, USER
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest
from quorate_mqtt.v1.users_pb2 import (
    AuthenticateRequest,
    CreateUserRequest,
    CreateUsersRequest,
    Credential,
    DeleteUsers,
    ListUsersRequest,
    UpdateUserRequest,
    UpdateUsersRequest,
    User,
)

PASSWORD = b"correct horse"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash with less work: what is tested is not how long it takes."""
    monkeypatch.setattr(passwords, "COST", 16)


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    return servicer("UserService")


def create(service: Any, name: str = "ada", tenant: str = "acme", **fields: Any) -> User:
    request = CreateUserRequest(tenant=tenant, name=name, password=PASSWORD)
    request.MergeFrom(CreateUserRequest(**fields))
    created: User = run(service.Create(request, None))
    return created


def authenticate(
    service: Any, password: bytes, name: str = "ada", tenant: str = "acme"
) -> tuple[bool, bool]:
    request = AuthenticateRequest(tenant=tenant, name=name, password=password)
    answer = run(service.Authenticate(request, None))
    return answer.authenticated, answer.superuser


def test_create_user_answers_with_what_everybody_may_see(service: Any) -> None:
    user = create(service, superuser=True, description="the first")

    assert user == User(
        tenant="acme",
        name="ada",
        description="the first",
        superuser=True,
        created_at_ms=1_000,
        updated_at_ms=1_000,
    )


def test_create_user_refuses_one_that_exists_and_keeps_its_password(service: Any) -> None:
    create(service)

    with pytest.raises(Rejected, match="ALREADY_EXISTS"):
        create(service, password=b"another")

    assert authenticate(service, PASSWORD) == (True, False)


def test_the_superuser_flag_comes_with_the_authentication(service: Any) -> None:
    create(service, superuser=True)
    create(service, "ben")

    assert authenticate(service, PASSWORD) == (True, True)
    assert authenticate(service, PASSWORD, "ben") == (True, False)
    assert authenticate(service, b"wrong") == (False, False)


@pytest.mark.parametrize("password", [b"", b"correct horse ", b"Correct horse"])
def test_a_wrong_password_does_not_authenticate(service: Any, password: bytes) -> None:
    create(service)

    assert authenticate(service, password) == (False, False)


def test_nobody_and_the_user_of_another_tenant_do_not_authenticate(service: Any) -> None:
    create(service)

    assert authenticate(service, PASSWORD, "ben") == (False, False)
    assert authenticate(service, PASSWORD, "ada", "globex") == (False, False)


def test_a_password_of_nobody_is_hashed_as_well(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks cannot tell by the time it takes whether there is such a user."""
    create(service)
    hashed: list[bytes] = []
    scrypt = passwords._scrypt

    def noted(password: bytes, credential: Credential) -> bytes:
        hashed.append(password)
        return scrypt(password, credential)

    monkeypatch.setattr(passwords, "_scrypt", noted)

    authenticate(service, b"one", "ada")
    authenticate(service, b"two", "nobody")

    assert hashed == [b"one", b"two"]


def test_no_password_is_proposed_stored_or_watched(service: Any, node: MemoryNode) -> None:
    create(service)
    run(service.Update(UpdateUserRequest(tenant="acme", name="ada", password=b"new secret"), None))

    logged = b"".join(each.SerializeToString() for each in node.proposals)
    stored = b"".join([*node.rows(USER.family).values(), *node.rows(CREDENTIALS.name).values()])

    assert PASSWORD not in logged + stored
    assert b"new secret" not in logged + stored
    [credential] = map(Credential.FromString, node.rows(CREDENTIALS.name).values())
    seen = [event for event in node.events if isinstance(event, RowEvent)]
    assert {event.family for event in seen} == {"tenant.tenants", USER.family}
    assert not any(credential.hash in (event.value or b"") for event in seen)


def test_equal_passwords_have_different_hashes(service: Any, node: MemoryNode) -> None:
    create(service)
    create(service, "ben")

    one, other = map(Credential.FromString, node.rows(CREDENTIALS.name).values())

    assert one.hash != other.hash
    assert one.salt != other.salt


def test_passwords_are_hashed_off_the_loop_and_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop_thread = threading.get_ident()
    running, most, threads = 0, 0, set()
    lock = threading.Lock()
    together = threading.Barrier(passwords.AT_A_TIME)

    def noted(password: bytes, credential: Credential) -> bytes:
        nonlocal running, most
        threads.add(threading.get_ident())
        with lock:
            running += 1
            most = max(most, running)
        together.wait(timeout=30)
        with lock:
            running -= 1
        return bytes(64)

    monkeypatch.setattr(passwords, "_scrypt", noted)

    async def hash_many() -> None:
        hashing = passwords.Passwords()
        await gather(*(hashing.credential_of(b"x") for _ in range(passwords.AT_A_TIME * 3)))

    run(hash_many())

    assert loop_thread not in threads
    assert most == passwords.AT_A_TIME


def test_update_changes_what_is_given_alone(service: Any, node: MemoryNode) -> None:
    create(service, superuser=True, description="the first")
    run(node.advance(500))

    updated = run(
        service.Update(UpdateUserRequest(tenant="acme", name="ada", superuser=False), None)
    )

    assert updated.description == "the first"
    assert (updated.superuser, updated.created_at_ms, updated.updated_at_ms) == (
        False,
        1_000,
        1_500,
    )
    assert authenticate(service, PASSWORD) == (True, False)


def test_update_of_a_password_ends_the_old_one(service: Any) -> None:
    create(service, superuser=True)

    run(service.Update(UpdateUserRequest(tenant="acme", name="ada", password=b"new"), None))

    assert authenticate(service, PASSWORD) == (False, False)
    assert authenticate(service, b"new") == (True, True)


def test_put_makes_and_replaces_a_user(service: Any) -> None:
    for password in (b"first", b"second"):
        request = CreateUserRequest(tenant="acme", name="eve", password=password)
        request.superuser = password == b"first"
        user = run(service.Put(request, None))

    assert not user.superuser
    assert authenticate(service, b"first", "eve") == (False, False)
    assert authenticate(service, b"second", "eve") == (True, False)


def test_delete_user_forgets_the_hash(service: Any, node: MemoryNode) -> None:
    create(service)

    run(service.Delete(DefinitionName(tenant="acme", name="ada"), None))

    assert not node.rows(USER.family)
    assert not node.rows(CREDENTIALS.name)
    assert authenticate(service, PASSWORD) == (False, False)


@pytest.mark.parametrize("verb", ["Update", "Delete", "Get"])
def test_a_user_that_does_not_exist_is_not_found(service: Any, verb: str) -> None:
    message = UpdateUserRequest if verb == "Update" else DefinitionName

    with pytest.raises(Rejected, match=r"NOT_FOUND.*user ada of acme"):
        run(getattr(service, verb)(message(tenant="acme", name="ada"), None))


def test_batches_are_answered_item_by_item(service: Any) -> None:
    create(service, "taken", "globex")
    creation = CreateUsersRequest(
        users=[
            CreateUserRequest(tenant="acme", name="ada", password=b"a"),
            CreateUserRequest(tenant="acme", name="ben"),
            CreateUserRequest(tenant="globex", name="taken", password=b"t"),
            CreateUserRequest(tenant="nobody", name="cleo", password=b"c"),
        ]
    )

    created = run(service.CreateBatch(creation, None))
    updated = run(
        service.UpdateBatch(
            UpdateUsersRequest(
                users=[
                    UpdateUserRequest(tenant="acme", name="\0"),
                    UpdateUserRequest(tenant="acme", name="ada", superuser=True),
                    UpdateUserRequest(tenant="acme", name="zoe"),
                ]
            ),
            None,
        )
    )

    assert [(each.item, each.code) for each in created.refusals] == [
        (1, "INVALID_ARGUMENT"),
        (2, "ALREADY_EXISTS"),
        (3, "NOT_FOUND"),
    ]
    assert created.refusals[0].message == "users[1].password: must not be empty"
    assert User.FromString(created.replies[0]).name == "ada"
    assert [(each.item, each.code) for each in updated.refusals] == [
        (0, "INVALID_ARGUMENT"),
        (2, "NOT_FOUND"),
    ]
    assert authenticate(service, b"a") == (True, True)


def test_delete_batch_and_get_batch_answer_in_order(service: Any) -> None:
    create(service, "ada", "acme")
    create(service, "ben", "hooli")
    names = [
        DefinitionName(tenant="hooli", name="ben"),
        DefinitionName(tenant="acme", name="zoe"),
        DefinitionName(tenant="acme", name="ada"),
    ]

    found = run(service.GetBatch(GetDefinitionsRequest(names=names), None))
    deleted = run(service.DeleteBatch(DeleteUsers(names=names), None))

    assert [each.user.name for each in found.lookups] == ["ben", "", "ada"]
    assert [(each.item, each.code) for each in deleted.refusals] == [(1, "NOT_FOUND")]
    assert not run(service.List(ListUsersRequest(), None)).users


def test_lists_are_filtered_on_the_server(service: Any) -> None:
    for number in range(5):
        create(service, f"user-{number}", superuser=number % 2 == 0)

    page = run(service.List(ListUsersRequest(tenant="acme", superuser=True, page_size=2), None))
    rest = run(
        service.List(
            ListUsersRequest(tenant="acme", superuser=True, page_token=page.next_page_token), None
        )
    )
    others = run(service.List(ListUsersRequest(superuser=False), None))

    assert [user.name for user in page.users] == ["user-0", "user-2"]
    assert [user.name for user in rest.users] == ["user-4"]
    assert rest.next_page_token == b""
    assert [user.name for user in others.users] == ["user-1", "user-3"]


def test_user_names_are_what_mqtt_allows(service: Any) -> None:
    assert create(service, "ada/lovelace@exämple.org").name == "ada/lovelace@exämple.org"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "ä" * 257}, "name"),
        ({"tenant": "a/b"}, "tenant"),
        ({"password": b""}, "password"),
        ({"password": bytes(1_025)}, "password"),
        ({"description": "d" * 1_025}, "description"),
    ],
)
def test_users_have_their_bounds(service: Any, fields: dict[str, Any], field: str) -> None:
    request = {"tenant": "acme", "name": "ada", "password": PASSWORD, **fields}

    with pytest.raises(Invalid) as refusal:
        run(service.Create(CreateUserRequest(**request), None))

    assert refusal.value.field == field


def test_a_batch_has_at_most_a_hundred_passwords(service: Any, node: MemoryNode) -> None:
    users = [CreateUserRequest(tenant="acme", name=str(n), password=b"p") for n in range(101)]

    with pytest.raises(Invalid, match="at most 100"):
        run(service.CreateBatch(CreateUsersRequest(users=users), None))


def test_commands_with_hashes_are_not_public(node: MemoryNode) -> None:
    users = {
        name.rpartition(".")[2]: command.public
        for name, command in node.catalog.commands.items()
        if name.startswith("quorate_mqtt.v1.") and name.endswith("Users")
    }

    assert users == {
        "CreateUsers": False,
        "UpdateUsers": False,
        "PutUsers": False,
        "DeleteUsers": True,
    }
