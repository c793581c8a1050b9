"""Which logins cost scrypt, which do not, and which are refused."""

from __future__ import annotations

import asyncio
from asyncio import gather, run
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.testing import MemoryNode
from quorate_mqtt.users import logins, passwords
from quorate_mqtt.users.logins import Attempt, Logins
from quorate_mqtt.users.passwords import Passwords
from quorate_mqtt.users.service import LOGINS
from quorate_mqtt.v1.definitions_pb2 import DefinitionName
from quorate_mqtt.v1.users_pb2 import (
    AuthenticateRequest,
    AuthenticateResponse,
    AuthenticateUsersRequest,
    CreateUserRequest,
    Credential,
    UpdateUserRequest,
)

PASSWORD = b"correct horse"
ADA = b"ada"


@pytest.fixture(autouse=True)
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Hash with less work, and return the passwords that were hashed since."""
    monkeypatch.setattr(passwords, "COST", 16)
    hashed: list[bytes] = []
    scrypt = passwords._scrypt

    def noted(password: bytes, credential: Credential) -> bytes:
        hashed.append(password)
        return scrypt(password, credential)

    monkeypatch.setattr(passwords, "_scrypt", noted)
    return hashed


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    service = servicer("UserService")
    for name in ("ada", "ben"):
        request = CreateUserRequest(tenant="acme", name=name, password=PASSWORD)
        run(service.Create(request, None))
    return service


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def credential(password: bytes = PASSWORD) -> Credential:
    return run(Passwords().credential_of(password))


def attempt(
    found: Credential | None, password: bytes = PASSWORD, user: bytes = ADA, peer: str = ""
) -> Attempt:
    return Attempt(user, password, found, peer)


def verdicts(tried: Logins, attempts: Sequence[Attempt]) -> list[bool | str]:
    found = run(tried.are_right(attempts))
    return [each.code if isinstance(each, Rejected) else each for each in found]


def authenticate(service: Any, password: bytes = PASSWORD, name: str = "ada") -> bool:
    request = AuthenticateRequest(tenant="acme", name=name, password=password)
    answer: AuthenticateResponse = run(service.Authenticate(request, None))
    return answer.authenticated


def test_a_password_is_hashed_once_however_often_it_comes(
    service: Any, hashed: list[bytes]
) -> None:
    hashed.clear()

    assert all(authenticate(service) for _ in range(5))

    assert hashed == [PASSWORD]


def test_a_wrong_password_is_hashed_every_time(service: Any, hashed: list[bytes]) -> None:
    authenticate(service)
    hashed.clear()

    assert not any(authenticate(service, b"wrong") for _ in range(3))

    assert hashed == [b"wrong"] * 3


def test_a_password_of_another_user_is_not_recognised(service: Any, hashed: list[bytes]) -> None:
    authenticate(service)
    hashed.clear()

    assert authenticate(service, PASSWORD, "ben")
    assert not authenticate(service, PASSWORD, "nobody")

    assert hashed == [PASSWORD] * 2


def test_a_password_that_was_recognised_ends_when_it_is_changed(service: Any) -> None:
    assert authenticate(service)
    assert authenticate(service)

    run(service.Update(UpdateUserRequest(tenant="acme", name="ada", password=b"new"), None))

    assert not authenticate(service)
    assert authenticate(service, b"new")


def test_a_password_that_was_recognised_ends_with_its_user(
    service: Any, hashed: list[bytes]
) -> None:
    assert authenticate(service)

    run(service.Delete(DefinitionName(tenant="acme", name="ada"), None))

    assert not authenticate(service)
    # Somebody else may have the name later, even with the same password.
    run(service.Create(CreateUserRequest(tenant="acme", name="ada", password=PASSWORD), None))
    hashed.clear()
    assert authenticate(service)
    assert hashed == [PASSWORD]


def test_the_superuser_flag_is_that_of_now(service: Any) -> None:
    request = AuthenticateRequest(tenant="acme", name="ada", password=PASSWORD)
    assert not run(service.Authenticate(request, None)).superuser

    run(service.Update(UpdateUserRequest(tenant="acme", name="ada", superuser=True), None))

    assert run(service.Authenticate(request, None)).superuser


def test_a_password_is_recognised_for_its_time(clock: Clock, hashed: list[bytes]) -> None:
    tried, adas = Logins(Passwords(), clock), credential()
    hashed.clear()
    for passed_s, times in ((0.0, 1), (logins.REMEMBERED_S - 1, 1), (1.0, 2)):
        clock.now_s += passed_s
        assert verdicts(tried, [attempt(adas)]) == [True]
        assert len(hashed) == times


def test_the_oldest_of_too_many_passwords_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, hashed: list[bytes]
) -> None:
    monkeypatch.setattr(logins, "MOST_REMEMBERED", 2)
    tried, found = Logins(Passwords(), clock), credential()
    for user in (b"1", b"2", b"3"):
        verdicts(tried, [attempt(found, user=user)])
    hashed.clear()

    verdicts(tried, [attempt(found, user=user) for user in (b"3", b"2")])
    assert hashed == []
    verdicts(tried, [attempt(found, user=b"1")])
    assert hashed == [PASSWORD]


def test_processes_recognise_nothing_of_each_other(clock: Clock) -> None:
    adas = credential()
    one, other = (logins.VerifiedPasswords(clock) for _ in range(2))

    assert one.proof_of(attempt(adas)) == one.proof_of(attempt(adas))
    assert one.proof_of(attempt(adas)) != other.proof_of(attempt(adas))


def test_equal_logins_at_once_share_a_hash(hashed: list[bytes], clock: Clock) -> None:
    tried, adas = Logins(Passwords(), clock), credential()
    hashed.clear()

    assert verdicts(tried, [attempt(adas)] * 20) == [True] * 20
    assert hashed == [PASSWORD]
    # Of nobody: what is shared would say by its time that there is no such user.
    hashed.clear()
    assert verdicts(tried, [attempt(None, user=user) for user in (b"x", b"y")]) == [False] * 2
    assert hashed == [PASSWORD] * 2


class Slow(Passwords):
    """Finds every password right, once it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def is_that_of(self, password: bytes, credential: Credential | None) -> bool:
        self.asked.set()
        await self.may_answer.wait()
        return True


def test_a_login_goes_on_when_the_one_that_began_it_is_gone(clock: Clock) -> None:
    adas = credential()

    async def leave() -> None:
        slow = Slow()
        tried = Logins(slow, clock)
        first = asyncio.create_task(tried.are_right([attempt(adas)]))
        await slow.asked.wait()
        first.cancel()
        await gather(first, return_exceptions=True)
        assert first.cancelled()
        slow.asked.clear()
        second = asyncio.create_task(tried.are_right([attempt(adas)]))
        slow.may_answer.set()
        assert await second == [True]
        # It has waited for the verification that was under way.
        assert not slow.asked.is_set()

    run(leave())


@pytest.mark.parametrize("known", [True, False])
def test_wrong_passwords_of_a_user_are_rationed(
    clock: Clock, hashed: list[bytes], known: bool
) -> None:
    tried, adas = Logins(Passwords(), clock), credential() if known else None
    wrong = [attempt(adas, b"%d" % number) for number in range(logins.WRONG_AT_ONCE + 5)]
    hashed.clear()

    found = verdicts(tried, wrong)

    assert found == [False] * logins.WRONG_AT_ONCE + ["RESOURCE_EXHAUSTED"] * 5
    assert len(hashed) == logins.WRONG_AT_ONCE
    # Others are not concerned, and after a while there is one more.
    assert verdicts(tried, [attempt(adas, b"x", b"ben")]) == [False]
    clock.now_s += logins.WRONG_EVERY_S
    assert verdicts(tried, wrong[:2]) == [False, "RESOURCE_EXHAUSTED"]


def test_who_was_recognised_is_not_locked_out_by_guesses(clock: Clock) -> None:
    tried, adas = Logins(Passwords(), clock), credential()
    assert verdicts(tried, [attempt(adas)]) == [True]

    for number in range(2 * logins.WRONG_AT_ONCE):
        verdicts(tried, [attempt(adas, b"%d" % number)])

    assert verdicts(tried, [attempt(adas), attempt(adas, b"x")]) == [True, "RESOURCE_EXHAUSTED"]


def test_right_passwords_are_not_rationed(clock: Clock) -> None:
    tried = Logins(Passwords(), clock)
    for _ in range(3 * logins.WRONG_AT_ONCE):
        assert verdicts(tried, [attempt(credential())]) == [True]


def test_the_oldest_of_too_many_counts_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(logins, "MOST_COUNTED", 2)
    wrong = logins.WrongPasswords(clock)
    for user in (b"1", b"2", b"1", b"3"):
        wrong.charge(user, "")

    assert list(wrong._settled_at) == [(b"1", ""), (b"3", "")]


def test_who_guesses_does_not_lock_out_the_user(clock: Clock) -> None:
    tried, found = Logins(Passwords(), clock), credential()
    guesses = [
        attempt(found, b"%d" % number, peer="192.0.2.66") for number in range(logins.WRONG_AT_ONCE)
    ]
    verdicts(tried, guesses)

    at_home, guessing = attempt(found, peer="192.0.2.1"), attempt(found, peer="192.0.2.66")
    assert verdicts(tried, [guessing]) == ["RESOURCE_EXHAUSTED"]
    assert verdicts(tried, [at_home]) == [True]


def test_more_verifications_than_can_wait_are_refused(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, hashed: list[bytes]
) -> None:
    monkeypatch.setattr(logins, "MOST_WAITING", 3)
    tried, found = Logins(Passwords(), clock), credential()
    known = attempt(found, user=b"known")
    verdicts(tried, [known])
    hashed.clear()
    many = [attempt(found, user=b"%d" % number) for number in range(5)]

    assert verdicts(tried, [known, *many]) == [True] * 4 + ["RESOURCE_EXHAUSTED"] * 2
    assert len(hashed) == 3
    # Who was refused for that has used up nothing.
    assert verdicts(tried, many[3:]) == [True] * 2


def test_a_batch_is_answered_item_by_item(service: Any, node: MemoryNode) -> None:
    def login(name: str, password: bytes, tenant: str = "acme") -> AuthenticateRequest:
        return AuthenticateRequest(tenant=tenant, name=name, password=password)

    guesses = [login("ben", b"%d" % number) for number in range(logins.WRONG_AT_ONCE)]
    reply = run(
        service.AuthenticateBatch(
            AuthenticateUsersRequest(
                logins=[
                    login("ada", PASSWORD),
                    login("ada", b"wrong"),
                    login("", PASSWORD),
                    login("zoe", PASSWORD, "globex"),
                    login("ada", PASSWORD),
                    *guesses,
                    login("ben", b"one more"),
                ]
            ),
            None,
        )
    )

    answers = [AuthenticateResponse.FromString(each).authenticated for each in reply.replies]
    assert answers == [True, False, False, False, True, *[False] * (len(guesses) + 1)]
    assert [(each.item, each.code) for each in reply.refusals] == [
        (2, "INVALID_ARGUMENT"),
        (len(answers) - 1, "RESOURCE_EXHAUSTED"),
    ]
    assert reply.refusals[0].message.startswith("logins[2].name:")
    assert {name: value for name, value in node.metrics.items() if LOGINS.name in name} == {
        f'{LOGINS.name}{{result="right"}}': 2,
        f'{LOGINS.name}{{result="wrong"}}': 2 + len(guesses),
        f'{LOGINS.name}{{result="refused"}}': 1,
    }


def test_a_batch_has_its_bounds(service: Any) -> None:
    login = AuthenticateRequest(tenant="acme", name="ada", password=PASSWORD)

    with pytest.raises(Invalid, match=r"^logins: "):
        run(service.AuthenticateBatch(AuthenticateUsersRequest(logins=[login] * 1_001), None))
