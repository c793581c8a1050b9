"""One good small plugin, broken in 39 ways, one at a time: each is told with line and repair."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from quorate.builtin.cluster import plugin as cluster
from quorate.builtin.tenant import plugin as tenant
from quorate.cli.installed import InstalledPlugins
from quorate.cli.plugin_commands import misnamed
from quorate.plugin.checks import problems_of
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin
from quorate.plugin.problems import PluginProblem

if TYPE_CHECKING:
    from core.tests.plugin.conftest import Site
    from core.tests.plugin.resource.conftest import Proto

PROTO = """
Shelf: string tenant, string name, string kind, int64 deleting_at_ms
ShelfRequest: Shelf shelf
ShelfName: string tenant, string name
PutShelves: repeated Shelf shelves
DeleteShelves: repeated ShelfName names
SweepShelves: repeated bytes keys
Thing: string tenant, string shelf, string name, string kind, int64 life_ms, repeated string tags
ThingRequest: Thing thing, FieldMask update_mask
ThingName: string tenant, string shelf, string name
CreateThings: repeated Thing things
UpdateThings: repeated Thing things, FieldMask update_mask
ThingKey: string tenant, string shelf, string name
DeleteThings: repeated ThingKey keys
ExpireThings: repeated bytes keys
MoveThings: repeated ThingName names
List: string tenant, string shelf, string prefix, string kind, uint32 page_size, bytes page_token
Page: repeated Thing things, bytes next_page_token
State: string tenant, string shelf, string name, uint64 number, int64 written_at_ms, Thing state
Touch: string name
rpc PutShelf(ShelfRequest) Shelf
rpc PutShelfBatch(PutShelves) BatchReply
rpc DeleteShelfBatch(DeleteShelves) BatchReply
rpc CreateThing(ThingRequest) Thing
rpc CreateThingBatch(CreateThings) BatchReply
rpc UpdateThingBatch(UpdateThings) BatchReply
rpc DeleteThingBatch(DeleteThings) BatchReply
rpc MoveThingBatch(MoveThings) BatchReply
rpc GetThing(ThingName) Thing
rpc ListThings(List) Page
"""

SOURCE = """
from mistaken_pb import *
from quorate.plugin import *
from quorate.plugin.advanced import *

def check(thing, path):
    if not thing.kind:
        raise Invalid(f"{path}kind", "must not be empty")

def check_touch(touch):
    if not touch.name:
        raise Invalid("name", "must not be empty")

def move(txn, item):
    return None

async def tidy(node, shard): ...

SHELVES = Resource(
    family="things.shelves",
    row=Shelf,
    service=SERVICE,
    group="things",
    key=("tenant", "name"),
    shard_by=("tenant",),
    tenant="tenant",
    life=Life(sweep=SweepShelves),
    serving=Serving(
        internal=("deleting_at_ms",),
        methods=("PutShelf", "PutShelfBatch", "DeleteShelfBatch"),
    ),
    examples=(Shelf(tenant="acme", name="top"),),
)
THINGS = Resource(
    family="things.things",
    row=Thing,
    service=SERVICE,
    group="things",
    key=("tenant", "shelf", "name"),
    shard_by=("tenant",),
    life=Life(parent=SHELVES, limit=1_000, ttl=Ttl(field="life_ms", expire=ExpireThings)),
    check=check,
    serving=Serving(methods=(
        "CreateThing", "CreateThingBatch", "UpdateThingBatch", "DeleteThingBatch",
        "MoveThingBatch", "GetThing", "ListThings",
    )),
    examples=(Thing(tenant="acme", shelf="top", name="a", kind="x"),),
    verbs={"Move": Verb(apply=move, examples=(ThingName(tenant="t", shelf="s", name="n"),))},
)

@hookimpl
def quorate_declarations():
    return [
        RaftGroup(name="things", shards=4),
        SHELVES,
        THINGS,
        Command(
            message=Touch,
            group="things",
            shard_key=lambda touch: touch.name.encode(),
            examples=(Touch(name="a"),),
            apply=lambda txn, touch: None,
            validate=check_touch,
            public=True,
            access=Access(right="write", domain="things", key="name"),
        ),
        Controller(
            name="things.tidying",
            group="things",
            run_once=tidy,
            interval_s=5,
            wake_on=("things.things",),
        ),
        Metric(name="quorate_things_moves_total", kind="counter", help="Moves."),
        Extension(
            point="cluster.console_pages",
            name="things",
            value=ConsolePage(title="Things", tables={"Things": ("things", "thing", "list")}),
        ),
    ]
"""


class Mistake(NamedTuple):
    name: str
    #: What is replaced, in the `.proto` or in the source, and by what.
    old: str
    new: str
    #: The text of the line that the problem names; of the last such line.
    line: str
    what: str
    fix: str


_THINGS = "THINGS = Resource("
_SHELVES = "SHELVES = Resource("
_COMMAND = "        Command("
_CONTROLLER = "        Controller("
_PAGE = "        Extension("
_FIELDS = "tenant, string shelf, string name"

MISTAKES = [
    Mistake("condition", "string kind, uint32", "string knd, uint32", _THINGS, "knd", "mean kind?"),
    Mistake("condition type", "string kind, uint32", "bool kind, uint32", _THINGS, "type", "same"),
    Mistake("prefix", "string prefix", "string prefx", _THINGS, "prefx", "did you mean prefix?"),
    Mistake(
        "token", "bytes page_token", "bytes page_tokn", _THINGS, "no page token", "bytes page_token"
    ),
    Mistake(
        "next token", "things, bytes next_page_token", "things", _THINGS, "Page", "next_page_token"
    ),
    Mistake(
        "mask",
        "UpdateThings: repeated Thing things, FieldMask update_mask",
        "UpdateThings: repeated Thing things, FieldMask updte_mask",
        _THINGS,
        "updte_mask",
        "did you mean update_mask?",
    ),
    Mistake(
        "mask type",
        "UpdateThings: repeated Thing things, FieldMask update_mask",
        "UpdateThings: repeated Thing things, string update_mask",
        _THINGS,
        "no mask",
        "FieldMask update_mask",
    ),
    Mistake(
        "key of a delete",
        f"ThingKey: string {_FIELDS}",
        "ThingKey: string tenant, string shelf",
        _THINGS,
        "no field 'name'",
        "tenant, shelf, name",
    ),
    Mistake(
        "key spelt",
        f"ThingKey: string {_FIELDS}",
        "ThingKey: string tenant, string shlf, string name",
        _THINGS,
        "no field 'shelf'",
        "did you mean shlf?",
    ),
    Mistake("key field", '"shelf", "name"),', '"shelf", "nme"),', _THINGS, "'nme' in key", "name"),
    Mistake(
        "shard_by",
        'shard_by=("tenant",),\n    life=Life(parent',
        'shard_by=("tenat",),\n    life=Life(parent',
        _THINGS,
        "'tenat' in shard_by",
        "mean tenant?",
    ),
    Mistake("tenant", '    tenant="tenant"', '    tenant="tenat"', _SHELVES, "'tenat'", "tenant?"),
    Mistake("internal", '("deleting_at_ms",)', '("deletng_at_ms",)', _SHELVES, "deletng", "mean"),
    Mistake(
        "family",
        'wake_on=("things.things",)',
        'wake_on=("things.thngs",)',
        _CONTROLLER,
        "things.thngs",
        "did you mean things.things?",
    ),
    Mistake(
        "group",
        'name="things.tidying",\n            group="things"',
        'name="things.tidying",\n            group="thngs"',
        _CONTROLLER,
        "thng",
        "things?",
    ),
    Mistake("row type", "row=Thing,", "row=THING_NAME,", _THINGS, "row='thing'", "type[R]"),
    Mistake(
        "example type",
        "(Thing(tenant=",
        "(ThingName(tenant=",
        "    examples=(Thing",
        "kind",
        "kind",
    ),
    Mistake(
        "example refused",
        'name="a", kind="x"',
        'name="a"',
        _THINGS,
        "must not be empty",
        "correct the example",
    ),
    Mistake(
        "examples of one key",
        '(Thing(tenant="acme", shelf="top", name="a", kind="x"),)',
        '(Thing(tenant="a", shelf="t", name="a", kind="x"),) * 2',
        _THINGS,
        "one key",
        "of its own",
    ),
    Mistake(
        "no examples",
        ', examples=(ThingName(tenant="t", shelf="s", name="n"),)',
        "",
        _THINGS,
        "MoveThings has no examples",
        "at least one",
    ),
    Mistake(
        "command refused",
        'Touch(name="a")',
        "Touch()",
        _COMMAND,
        "must not be empty",
        "correct the example",
    ),
    Mistake("right", 'right="write"', 'right="writ"', _COMMAND, "'writ'", "did you mean write?"),
    Mistake("verb without handler", "Verb(apply=move, ", "Verb(", _THINGS, "neither", "one of"),
    Mistake("verb misspelt", '{"Move"', '{"Mvoe"', _THINGS, "no verb Move", "did you mean Mvoe?"),
    Mistake("method", '"ListThings",', '"ListThigns",', _THINGS, "ListThigns", "mean ListThings?"),
    Mistake(
        "method not served", ', "ListThings"', "", _SHELVES, "which no resource serves", "methods"
    ),
    Mistake("limit", "limit=1_000", "limit=-1", _THINGS, "limit=-1", "at least 1"),
    Mistake(
        "lookups",
        'serving=Serving(methods=(\n        "Create',
        'serving=Serving(lookups=0, methods=(\n        "Create',
        _THINGS,
        "lookups=0",
        "from 1 to",
    ),
    Mistake("ttl field", 'field="life_ms"', 'field="lfe_ms"', _THINGS, "'lfe_ms'", "life_ms?"),
    Mistake("ttl of text", 'field="life_ms"', 'field="kind"', _THINGS, "no number", "int64"),
    Mistake(
        "history",
        "limit=1_000",
        'history=History(family="things.things", row=State, keep=-1)',
        _THINGS,
        "keeps -1 states",
        "at least 1",
    ),
    Mistake(
        "history family",
        "limit=1_000",
        'history=History(family="things.thngs", row=State, keep=2)',
        _THINGS,
        "things.thngs",
        "did you mean things.things?",
    ),
    Mistake("parent", "parent=SHELVES", "parent=Shelf", _THINGS, "parent=<class", "Resource"),
    Mistake(
        "parent not returned",
        "        SHELVES,\n",
        "",
        _THINGS,
        "no resource of the plugin",
        "return the parent",
    ),
    Mistake("family twice", "things.shelves", "things.things", _SHELVES, "declared 2 times", "one"),
    Mistake(
        "family of another",
        '"things.shelves"',
        '"tenant.tenants"',
        _SHELVES,
        "tenant.tenants is not named after",
        "name it things.",
    ),
    Mistake(
        "no interval",
        "            interval_s=5,\n",
        "",
        _CONTROLLER,
        "interval_s",
        "give the Controller its 'interval_s'",
    ),
    Mistake("interval", "interval_s=5", "interval_s=0", _CONTROLLER, "interval_s=0", "above 0"),
    Mistake(
        "page",
        '("things", "thing", "list")',
        '("things", "thng", "list")',
        _PAGE,
        "thng",
        "did you mean thing?",
    ),
]


@pytest.fixture
def problems(
    site: Site, proto: Callable[[str], Proto]
) -> Callable[[str, str], list[PluginProblem]]:
    def found(text: str, source: str) -> list[PluginProblem]:
        made = proto(text)
        names = [line.partition(":")[0] for line in text.splitlines() if ": " in line]
        messages: dict[str, Any] = {name: getattr(made, name) for name in names}
        site.module("mistaken_pb", {**messages, "SERVICE": made.service, "THING_NAME": "thing"})
        site.source("mistaken", source)
        site.distribution("acme-things", {"things": "mistaken"})
        others = (("tenant", tenant), ("cluster", cluster))
        plugins = [
            *site.plugins(),
            *(
                Plugin(name=name, distribution="quorate", version="1", module=module)
                for name, module in others
            ),
        ]
        declared = [declare(each) for each in plugins]
        installed = InstalledPlugins(declared=declared, problems=problems_of(declared))
        pages = [misnamed(each, installed.cli_commands()) for each in declared]
        return [*installed.problems, *chain.from_iterable(pages)]

    return found


def test_the_plugin_without_a_mistake_is_sound(
    problems: Callable[[str, str], list[PluginProblem]],
) -> None:
    assert problems(PROTO, SOURCE) == []


def test_the_catalogue_is_whole() -> None:
    assert len({each.name for each in MISTAKES}) == 39


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.name.replace(" ", "_"))
def test_a_mistake_is_told_with_its_line_and_repair(
    site: Site, problems: Callable[[str, str], list[PluginProblem]], mistake: Mistake
) -> None:
    assert (mistake.old in PROTO) != (mistake.old in SOURCE)
    proto, source = (text.replace(mistake.old, mistake.new) for text in (PROTO, SOURCE))
    found = [each for each in problems(proto, source) if each.plugin == "things"]
    told = "\n".join(map(str, found))
    assert found, "it is not found"
    assert any(mistake.what in each.what and mistake.fix in each.fix for each in found), told
    lines = source.splitlines()
    at = [number for number, line in enumerate(lines, start=1) if mistake.line in line]
    places = {each.where for each in found if mistake.what in each.what}
    assert f"{site.folder / 'mistaken.py'}:{at[-1]}" in places, told
    assert "Traceback" not in told
    assert "uninstall" not in told
