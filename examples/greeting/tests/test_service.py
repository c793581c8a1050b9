from asyncio import run
from dataclasses import replace

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.testing import MemoryNode
from quorate.testing.installed import catalog_of
from quorate_greeting.api import Salutation
from quorate_greeting.service import GREETING, GreetingService
from quorate_greeting.v1.service_pb2 import (
    ForgetRequest,
    ListGreetingsRequest,
    ListTalliesRequest,
    SayHelloBatchRequest,
    SayHelloRequest,
)

SETTINGS = {"greeting": {"default_salutation": "moin", "ttl_s": 60}}


@pytest.fixture
def node() -> MemoryNode:
    return MemoryNode(["greeting"], config=SETTINGS, shards={"greeting": 4}, at_ms=1_000)


@pytest.fixture
def service(node: MemoryNode) -> GreetingService:
    servicer = node.servicer(GREETING.full_name)
    assert isinstance(servicer, GreetingService)
    return servicer


def hello(name: str, town: str = "oslo", salutation: str = "") -> SayHelloRequest:
    return SayHelloRequest(town=town, name=name, salutation=salutation)


def test_a_hello_takes_what_it_does_not_say_from_the_configuration(
    service: GreetingService, node: MemoryNode
) -> None:
    response = run(service.SayHello(hello("ada"), None))

    assert response.text == "Moin, ada!"
    assert response.greeting.expires_at_ms == 61_000
    assert node.metrics == {'quorate_greeting_hellos_total{salutation="moin"}': 1}


def test_an_unknown_salutation_is_refused_with_those_that_are_known(
    service: GreetingService, node: MemoryNode
) -> None:
    batch = SayHelloBatchRequest(hellos=[hello("ada"), hello("ben", salutation="oi")])

    with pytest.raises(Invalid) as refusal:
        run(service.SayHelloBatch(batch, None))

    assert str(refusal.value) == "hellos[1].salutation: 'oi' is none of hello, moin, welcome"
    assert node.proposals == []


def test_a_batch_is_answered_in_its_order_over_all_shards(
    service: GreetingService, node: MemoryNode
) -> None:
    towns = ["oslo", "bern", "rome", "cork", "lyon", "graz"]
    for _ in range(3):
        run(service.SayHello(hello("ada", "rome"), None))
    batch = SayHelloBatchRequest(hellos=[hello("ada", town) for town in towns])

    response = run(service.SayHelloBatch(batch, None))

    greeted = [answer.greeting.town for answer in response.responses]
    assert greeted == ["oslo", "bern", "", "cork", "lyon", "graz"]
    assert [(refusal.item, refusal.code) for refusal in response.refusals] == [(2, "TIRED")]
    assert node.metrics == {'quorate_greeting_hellos_total{salutation="moin"}': 8}


def test_who_is_forgotten_is_not_listed(service: GreetingService) -> None:
    run(service.SayHello(hello("ada"), None))
    run(service.Forget(ForgetRequest(town="oslo", name="ada"), None))

    assert not run(service.ListGreetings(ListGreetingsRequest(town="oslo"), None)).greetings
    with pytest.raises(Rejected, match="NOT_FOUND"):
        run(service.Forget(ForgetRequest(town="oslo", name="ada"), None))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100_000])
def test_pages_hold_everybody_once_and_in_order(service: GreetingService, size: int) -> None:
    names = ["ada", "adam", "adele", "ben"]
    batch = SayHelloBatchRequest(hellos=[hello(name) for name in reversed(names)])
    run(service.SayHelloBatch(batch, None))

    listed, token = [], ""
    for _ in range(-(-len(names) // size)):
        request = ListGreetingsRequest(town="oslo", page_size=size, page_token=token)
        page = run(service.ListGreetings(request, None))
        listed += [greeting.name for greeting in page.greetings]
        token = page.next_page_token

    assert listed == names
    assert token == ""


def test_a_page_has_its_limit(service: GreetingService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate_greeting.service.LARGEST_PAGE", 2)
    for name in ["ada", "ben", "cleo"]:
        run(service.SayHello(hello(name), None))

    page = run(service.ListGreetings(ListGreetingsRequest(town="oslo", page_size=3), None))

    assert [greeting.name for greeting in page.greetings] == ["ada", "ben"]
    assert page.next_page_token == "ben"


def test_another_plugin_brings_its_salutation() -> None:
    catalog = replace(
        catalog_of(["greeting"]),
        extensions={"greeting.salutations": {"ahoy": Salutation("Ahoy, {name}!")}},
    )
    service = MemoryNode(catalog=catalog).servicer(GREETING.full_name)

    response = run(service.SayHello(hello("ada", salutation="ahoy"), None))

    assert response.text == "Ahoy, ada!"


def test_tallies_are_those_that_the_controller_keeps(
    service: GreetingService, node: MemoryNode
) -> None:
    run(service.SayHello(hello("ada"), None))
    assert not run(service.ListTallies(ListTalliesRequest(), None)).tallies

    run(node.run_controller("greeting.tally_keeping"))

    [tally] = run(service.ListTallies(ListTalliesRequest(), None)).tallies
    assert (tally.salutation, tally.greetings) == ("moin", 1)
