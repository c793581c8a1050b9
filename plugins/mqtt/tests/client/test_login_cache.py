"""The memory of a broker for right passwords: it answers on the spot, and forgets in time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from quorate.client import ChangeKind, RejectedError, UnavailableError, WatchedChange
from quorate.plugin import keys
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.client.logins import REMEMBERED_S, LoginCache
from quorate_mqtt.client.shared_calls import CALLS
from quorate_mqtt.client.users import Users
from quorate_mqtt.users.resource import USER
from quorate_mqtt.v1.users_pb2 import AuthenticateRequest, AuthenticateResponse

LISTED = WatchedChange(kind=ChangeKind.LISTED)
RESYNC = WatchedChange(kind=ChangeKind.RESYNC)
#: What the cluster says of passwords.
RIGHT, REFUSED = b"right", b"too often"


def changed(name: str, kind: ChangeKind = ChangeKind.PUT) -> WatchedChange:
    return WatchedChange(kind=kind, family=USER.family, key=keys.pack("acme", name))


class Cluster:
    """Stands in for the users of a cluster, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        #: Calls wait for it.
        self.answers = asyncio.Event()
        self.answers.set()
        self.unavailable = False
        self.now_s = 0.0
        self.cache = LoginCache(cast(Users, self), lambda: self.now_s)
        self.cache.see(LISTED)

    async def authenticate_many(self, logins: Sequence[AuthenticateRequest]) -> BatchReply:
        self.asked.append([login.name for login in logins])
        await self.answers.wait()
        if self.unavailable:
            raise UnavailableError("no majority")
        reply = BatchReply(items=len(logins))
        for position, login in enumerate(logins):
            answer = AuthenticateResponse(authenticated=login.password == RIGHT)
            if len(logins) > 1 or login.password != REFUSED:
                reply.replies.append(answer.SerializeToString())
            if login.password == REFUSED:
                reply.refusals.add(item=position, code="RESOURCE_EXHAUSTED", message="wait")
        return reply

    async def login(self, name: str = "ada", password: bytes = RIGHT) -> bool:
        return (await self.cache.authenticate("acme", name, password)).authenticated


async def test_a_right_password_is_asked_about_once() -> None:
    cluster = Cluster()

    assert [await cluster.login() for _ in range(3)] == [True, True, True]
    assert cluster.asked == [["ada"]]


async def test_a_wrong_password_is_asked_about_each_time() -> None:
    cluster = Cluster()
    assert await cluster.login()

    assert [await cluster.login(password=b"wrong") for _ in range(2)] == [False, False]
    assert len(cluster.asked) == 3
    assert await cluster.login()
    assert len(cluster.asked) == 3


@pytest.mark.parametrize("change", [changed("ada"), changed("ada", ChangeKind.DELETED), RESYNC])
async def test_a_user_that_is_changed_is_asked_about_again(change: WatchedChange) -> None:
    cluster = Cluster()
    assert await cluster.login()

    cluster.cache.see(change)

    assert await cluster.login()
    assert len(cluster.asked) == 2


@pytest.mark.parametrize("change", [changed("ada"), RESYNC])
async def test_an_answer_from_before_a_change_is_not_remembered(change: WatchedChange) -> None:
    cluster = Cluster()
    cluster.answers.clear()
    login = asyncio.create_task(cluster.login())
    while not cluster.asked:
        await asyncio.sleep(0)
    cluster.cache.see(change)
    cluster.cache.see(LISTED)
    cluster.answers.set()
    assert await login

    assert await cluster.login()
    assert len(cluster.asked) == 2


async def test_what_is_not_followed_is_not_remembered() -> None:
    cluster = Cluster()
    cluster.cache.forget()

    assert await cluster.login()
    assert await cluster.login()
    assert len(cluster.asked) == 2


async def test_another_users_change_forgets_nobody_else() -> None:
    cluster = Cluster()
    assert await cluster.login()

    cluster.cache.see(changed("ben"))

    assert await cluster.login()
    assert len(cluster.asked) == 1


async def test_a_password_is_remembered_for_its_time() -> None:
    cluster = Cluster()
    assert await cluster.login()

    cluster.now_s = REMEMBERED_S
    assert await cluster.login()

    assert len(cluster.asked) == 2


async def test_logins_of_one_moment_share_a_call() -> None:
    cluster = Cluster()

    await asyncio.gather(*(cluster.login(f"user{number}") for number in range(2_500)))

    assert [len(each) for each in cluster.asked] == [1_000, 1_000, 500]


async def test_what_comes_while_calls_are_under_way_shares_the_next_one() -> None:
    cluster = Cluster()
    cluster.answers.clear()
    logins = []
    for number in range(10):
        logins.append(asyncio.create_task(cluster.login(f"user{number}")))
        for _ in range(10):
            await asyncio.sleep(0)
    assert [len(each) for each in cluster.asked] == [1] * CALLS

    cluster.answers.set()
    assert all(await asyncio.gather(*logins))
    assert [len(each) for each in cluster.asked] == [*[1] * CALLS, 10 - CALLS]


async def test_a_refusal_is_that_of_its_login_alone() -> None:
    cluster = Cluster()

    found = await asyncio.gather(
        cluster.login("ada"), cluster.login("ben", REFUSED), return_exceptions=True
    )

    assert found[0] is True
    assert isinstance(found[1], RejectedError)
    assert found[1].code == "RESOURCE_EXHAUSTED"


async def test_a_refusal_of_all_has_no_replies() -> None:
    with pytest.raises(RejectedError, match="RESOURCE_EXHAUSTED"):
        await Cluster().login(password=REFUSED)


async def test_all_logins_of_a_call_that_fails_are_told() -> None:
    cluster = Cluster()
    cluster.unavailable = True

    found = await asyncio.gather(cluster.login("ada"), cluster.login("ben"), return_exceptions=True)

    assert [type(each) for each in found] == [UnavailableError] * 2
