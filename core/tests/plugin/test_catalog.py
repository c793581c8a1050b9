from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from quorate.plugin import ColumnFamily, Command, RaftGroup, Txn
from quorate.plugin.advanced import constant_key
from quorate.plugin.catalog import Catalog, Route, build

if TYPE_CHECKING:
    from core.tests.plugin.conftest import Site

#: `singles` follows from the commands, and these plugins have none that stands for one of a batch.
INDEXES = [field.name for field in dataclasses.fields(Catalog) if field.name != "singles"]


@pytest.fixture
def catalog(site: Site) -> Catalog:
    for name in ("mint", "basil", "thyme"):
        site.add_whole(name)
    return site.catalog()


def fingerprint_with(site: Site, message: type[Message]) -> str:
    """The fingerprint of a node with one plugin that has one command."""
    site.clear()
    site.add(
        "herb",
        [
            Command(
                message=message,
                group="metadata",
                examples=(message(),),
                shard_key=constant_key,
                apply=lambda _, __: None,
            )
        ],
    )
    return site.catalog().fingerprint()


def test_every_index_is_ordered_by_name(catalog: Catalog) -> None:
    for index in INDEXES:
        found = list(getattr(catalog, index))
        assert len(found) > 1, index
        assert found == sorted(found), index


def test_the_indexes_hold_what_the_plugins_declare(catalog: Catalog) -> None:
    assert list(catalog.declared) == ["basil", "mint", "thyme"]
    assert catalog.groups["mint"] == RaftGroup(name="mint", shards=3)
    assert list(catalog.groups) == ["basil", "metadata", "mint", "thyme"]
    assert catalog.families["mint.people"].mirrored
    assert catalog.commands["acme.mint.v1.Greet"].group == "mint"
    assert list(catalog.queries) == [f"acme.{name}.v1.Ask" for name in ("basil", "mint", "thyme")]
    assert catalog.caches["mint.hot"].families == ("mint.greetings",)
    assert catalog.controllers["mint.greeting"].wake_on == ("mint.greetings",)
    assert catalog.timers["mint.expiry"].batch == 1_000
    assert catalog.services["acme.mint.v1.GreetService"].full_name == "acme.mint.v1.GreetService"
    assert catalog.metrics["quorate_mint_greetings_total"].kind == "counter"
    assert catalog.extensions["mint.words"] == {"hello": "Hello"}
    assert catalog.extensions["absent.points"] == {"basil": None, "mint": None, "thyme": None}
    assert catalog.sections["mint"].__name__ == "Section"
    assert catalog.declared["mint"].lifespan is not None


def test_the_catalog_of_no_plugins_has_the_group_of_the_host_alone() -> None:
    empty = build([])
    assert dict(empty.groups) == {"metadata": RaftGroup(name="metadata")}
    assert all(not getattr(empty, index) for index in INDEXES if index != "groups")


@pytest.mark.parametrize("index", INDEXES)
def test_nothing_in_the_catalog_can_be_changed(catalog: Catalog, index: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(catalog, index, {})
    frozen: Any = getattr(catalog, index)
    name = next(iter(frozen))
    with pytest.raises(TypeError):
        frozen["new"] = frozen[name]
    with pytest.raises(TypeError):
        del frozen[name]


def test_what_the_indexes_hold_cannot_be_changed(catalog: Catalog) -> None:
    inner: Any = catalog.extensions["mint.words"]
    with pytest.raises(TypeError):
        inner["bye"] = "Bye"
    frozen: list[tuple[Any, str]] = [
        (catalog.routes["acme.mint.v1.Greet"], "group"),
        (catalog.declared["mint"], "all"),
        (catalog.families["mint.people"], "group"),
        (catalog.commands["acme.mint.v1.Greet"], "group"),
    ]
    for each, field in frozen:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(each, field, "other")


def test_the_order_of_discovery_makes_no_difference(site: Site) -> None:
    for name in ("mint", "basil", "thyme"):
        site.add_whole(name)
    catalogs = [build(order) for order in permutations(site.plugins())]
    for index in INDEXES:
        assert len({tuple(getattr(each, index)) for each in catalogs}) == 1, index
    assert len({each.fingerprint() for each in catalogs}) == 1


def test_a_route_is_all_that_dispatch_needs(site: Site) -> None:
    def greet(_txn: Txn, command: Message) -> Message:
        return StringValue(value=f"hello {getattr(command, 'text', '')}")

    site.add_whole("mint")
    message = site.message("acme.herb.v1.Greet")
    site.add(
        "herb",
        [
            RaftGroup(name="herb"),
            ColumnFamily(name="herb.rows", group="herb", row=message),
            ColumnFamily(name="herb.by_age", group="herb"),
            ColumnFamily(name="herb.elsewhere", group="metadata", row=message),
            Command(
                message=message,
                group="herb",
                examples=(message(),),
                shard_key=constant_key,
                apply=greet,
                reads=("mint.people",),
            ),
        ],
    )
    catalog = site.catalog()
    assert catalog.routes["acme.herb.v1.Greet"] == Route(
        group="herb",
        plugin="herb",
        parse=message.FromString,
        apply=greet,
        writes=frozenset({"herb.rows", "herb.by_age"}),
        reads=frozenset({"herb.rows", "herb.by_age", "mint.people"}),
    )
    route = catalog.routes["acme.herb.v1.Greet"]
    parsed = route.parse(message(text="you").SerializeToString())
    assert parsed == message(text="you")
    nothing: Any = None
    assert route.apply(nothing, parsed) == StringValue(value="hello you")


Fields = Mapping[str, str]


def fingerprint(site: Site, fields: Fields, name: str = "acme.v1.Greet") -> str:
    return fingerprint_with(site, site.message(name, fields))


def test_the_fingerprint_is_the_same_wherever_the_vocabulary_is(site: Site) -> None:
    fields = {"text": "text", "count": "number"}
    assert fingerprint(site, fields) == fingerprint(site, fields)
    assert len(fingerprint(site, fields)) == 64


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("acme.v1.Greet", {"text": "text", "count": "number", "more": "text"}),
        ("acme.v1.Greet", {"text": "text"}),
        ("acme.v1.Greet", {"text": "text", "amount": "number"}),
        ("acme.v1.Greet", {"count": "number", "text": "text"}),
        ("acme.v1.Greet", {"text": "text", "count": "text"}),
        ("acme.v1.Greet", {"text": "texts", "count": "number"}),
        ("acme.v1.Greet", {"text": "text", "count": "self"}),
        ("acme.v1.Welcome", {"text": "text", "count": "number"}),
    ],
)
def test_the_fingerprint_tells_commands_apart(site: Site, name: str, fields: Fields) -> None:
    base = fingerprint(site, {"text": "text", "count": "number"})
    assert fingerprint(site, fields, name) != base


def test_the_fingerprint_tells_the_messages_in_a_command_apart(site: Site) -> None:
    def nesting(inner: Fields) -> str:
        message = site.message("acme.v1.Greet", {"part": "part"}, part=inner)
        return fingerprint_with(site, message)

    assert nesting({"a": "text"}) == nesting({"a": "text"})
    assert nesting({"a": "text"}) != nesting({"a": "text", "b": "text"})


def test_the_fingerprint_tells_versions_and_plugins_apart(site: Site) -> None:
    site.add("basil")
    site.add("mint")
    basil, mint = site.plugins()
    versions = [
        [basil, mint],
        [basil],
        [mint],
        [],
        [dataclasses.replace(basil, version="9.9.9"), mint],
    ]
    assert len({build(each).fingerprint() for each in versions}) == len(versions)
