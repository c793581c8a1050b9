"""Every way in which a plugin can be wrong, each alone and all of them together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Protocol

import click
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from pydantic import BaseModel, ConfigDict
from quorate.plugin import (
    Cache,
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    Extension,
    ExtensionPoint,
    GrpcService,
    Items,
    Metric,
    NodeApi,
    Query,
    RaftGroup,
    Timer,
    hookimpl,
)
from quorate.plugin.advanced import constant_key
from quorate.plugin.problems import PluginErrors
from quorate.v1 import view_pb2

if TYPE_CHECKING:
    from core.tests.plugin.conftest import Site

#: Installs what is wrong, in plugins that no other case names, and returns every expected problem.
Wrong = Callable[["Site"], list[str]]
CASES: list[Wrong] = []


def wrong(case: Wrong) -> Wrong:
    CASES.append(case)
    return case


def of(plugin: str, text: str) -> str:
    """A problem of a plugin that `Site.add` installed."""
    return f"{plugin} (acme-{plugin} 1.2.3): {text}"


def command(message: type[Message], **changed: Any) -> Command[Message]:
    fields = {
        "group": "metadata",
        "examples": (message(),),
        "apply": lambda _, __: None,
        "shard_key": constant_key,
        **changed,
    }
    return Command(message=message, **fields)


def query(message: type[Message], **changed: Any) -> Query[Message]:
    fields = {"group": "metadata", "run": lambda _, __: [], "shard_key": constant_key, **changed}
    return Query(message=message, **fields)


def controller(name: str, *wake_on: str, group: str = "metadata") -> Controller:
    async def idle(_node: object, _shard: object) -> None: ...

    return Controller(name=name, group=group, run_once=idle, interval_s=1, wake_on=wake_on)


def timer(name: str, group: str = "metadata") -> Timer:
    return Timer(name=name, group=group, due=lambda _: StringValue())


def cache(name: str, *families: str, group: str = "metadata") -> Cache:
    return Cache(name=name, group=group, families=families, factory=lambda: None)  # type: ignore[arg-type, return-value]


def service(full_name: str) -> GrpcService:
    package, _, name = full_name.rpartition(".")
    file = FileDescriptorProto(name=f"{full_name}.proto", package=package)
    file.service.add(name=name)
    pool = DescriptorPool()
    pool.Add(file)
    return GrpcService(service=pool.FindServiceByName(full_name), servicer=lambda _: object())


def cli_command(name: str) -> CliCommand:
    return CliCommand(name=name, help="Greet.", load=lambda: click.Command(name))


def metric(name: str) -> Metric:
    return Metric(name=name, kind="counter", help="Things that were counted.")


def _around() -> Callable[[], Any]:
    def around() -> Any:
        return (yield)

    return around


def failing() -> object:
    raise LookupError("no such thing")


# What discovery finds.


@wrong
def import_error(site: Site) -> list[str]:
    site.source("unimportable", "import no_such_module_anywhere")
    site.distribution("acme-unimportable", {"unimportable": "unimportable"})
    ask = site.message("acme.unimportable.v1.Ask")
    reads = ["unimportable.rows"]
    # Whoever builds on it is right to.
    site.add(
        "unimportable_user",
        [
            ColumnFamily(name="unimportable_user.rows", group="unimportable"),
            query(ask, reads=(*reads,)),
            cache("unimportable_user.hot", *reads),
            controller("unimportable_user.work", *reads),
            Extension(point="unimportable.points", name="a", value=1),
        ],
    )
    return [
        of(
            "unimportable",
            "importing unimportable raised ModuleNotFoundError: No module named "
            "'no_such_module_anywhere'; repair the import",
        )
    ]


@wrong
def two_distributions_under_one_name(site: Site) -> list[str]:
    site.add("twin", [ColumnFamily(name="stray", group="nowhere")])
    site.distribution("other-twin", {"twin": "in_memory_twin"}, version="7.0")
    return [
        of(
            "twin",
            "the name is claimed by acme-twin 1.2.3 and other-twin 7.0; "
            "uninstall all but one of the distributions",
        )
    ]


@wrong
def a_core_version_out_of_range(site: Site) -> list[str]:
    site.add("future", failing, requires=["quorate>=3,<4"])
    return [
        of(
            "future",
            "it needs quorate <4,>=3, and this is quorate 0.1.0; "
            "install a release of acme-future made for quorate 0.1.0",
        )
    ]


@wrong
def a_name_that_cannot_name_a_plugin(site: Site) -> list[str]:
    site.add("raft", failing)
    return [
        of(
            "raft",
            "the entry point's name 'raft' cannot name a plugin; "
            "use small letters, digits and _, and none of core, enabled, raft, retired",
        )
    ]


# What the hooks themselves show.


@wrong
def a_misspelt_hook(site: Site) -> list[str]:
    site.add("misspelt", attributes={"quorate_declaration": hookimpl(lambda: [])})
    return [
        of(
            "misspelt",
            "quorate_declaration is not a hook; rename or remove it; "
            "did you mean quorate_declarations?",
        )
    ]


@wrong
def a_hook_that_resembles_none(site: Site) -> list[str]:
    site.add("estranged", attributes={"frobnicate": hookimpl(lambda: [])})
    return [
        of(
            "estranged",
            "frobnicate is not a hook; rename or remove it; the hooks are quorate_declarations "
            "and quorate_lifespan",
        )
    ]


@wrong
def the_hooks_of_former_releases(site: Site) -> list[str]:
    kinds = ["cli_commands", "commands", "data_routes", "resources"]
    site.add("dated", attributes={f"quorate_{kind}": hookimpl(lambda: []) for kind in kinds})
    return [
        of(
            "dated",
            f"the hook quorate_{kind} has been removed; "
            "return its declarations from quorate_declarations, which takes all kinds",
        )
        for kind in kinds
    ]


@wrong
def an_unmarked_function_with_a_hooks_name(site: Site) -> list[str]:
    site.add("unmarked", attributes={"quorate_declarations": list})
    return [
        of("unmarked", "quorate_declarations is not marked as a hook; decorate it with @hookimpl")
    ]


@wrong
def hooks_that_raise(site: Site) -> list[str]:
    def leaving() -> object:
        raise SystemExit(4)

    site.add("leaving", leaving)
    site.add("raising", failing)
    return [
        of("leaving", "quorate_declarations raised SystemExit: 4; repair the hook"),
        of("raising", "quorate_declarations raised LookupError: no such thing; repair the hook"),
    ]


@wrong
def wrong_return_types(site: Site) -> list[str]:
    def spelt_out() -> object:
        yield metric("quorate_returning_things_total")

    answers: list[Callable[[], object]] = [lambda: None, lambda: {}, lambda: "", spelt_out]
    for number, answer in enumerate(answers):
        site.add(f"returning{number}", answer)
    return [
        of(
            f"returning{number}",
            f"quorate_declarations returned {what}; return a list or tuple of declarations",
        )
        for number, what in enumerate(["NoneType", "dict", "str", "generator"])
    ]


@wrong
def wrong_item_types(site: Site) -> list[str]:
    greet = site.message("acme.mixed.v1.Greet")
    site.add("mixed", [RaftGroup(name="mixed"), "mixed_more", greet, command(greet), 7])
    return [
        of(
            "mixed",
            f"quorate_declarations returned an item of type {what}; "
            "return a list or tuple of declarations",
        )
        for what in ("str", type(greet).__name__, "int")
    ]


@wrong
def fields_of_the_wrong_type(site: Site) -> list[str]:
    greet = site.message("acme.misfit.v1.Greet")
    text: Any = "hello"
    site.add(
        "misfit",
        [
            RaftGroup(name="misfit", shards=text),
            ColumnFamily(name="misfit.rows", group="misfit", row=text),
            command(greet, examples=["a list"], group=None, apply=text),
            query(Message),
            ConfigSection(model=text),
            ExtensionPoint(name="misfit.points", type=text),
        ],
    )
    return [
        of("misfit", text)
        for text in [
            "a RaftGroup has shards='hello'; give it shards: int",
            "a ColumnFamily has row='hello'; give it row: type[Message] | None",
            "a Command has group=None; give it group: str",
            "a Command has examples=['a list']; give it examples: tuple[M, ...]",
            "a Command has apply='hello'; give it apply: Callable[[Txn, M], Message | None]",
            f"a Query has message={Message!r}; give it message: type[M]",
            "a ConfigSection has model='hello'; give it model: type[BaseModel]",
            "a ExtensionPoint has type='hello'; give it type: type[object]",
        ]
    ]


@wrong
def wrong_hook_arguments(site: Site) -> list[str]:
    def demanding(node: object, more: int) -> list[object]:
        return [node, more]

    site.add(
        "demanding",
        attributes={
            "quorate_declarations": hookimpl(demanding),
            "quorate_lifespan": hookimpl(lambda application: application),
        },
    )
    return [
        of("demanding", f"{hook} asks for more than the hook gives; define it as {right}")
        for hook, right in [
            (
                "quorate_declarations(node: 'object', more: 'int') -> 'list[object]'",
                "quorate_declarations()",
            ),
            ("quorate_lifespan(application)", "quorate_lifespan(node)"),
        ]
    ]


@wrong
def forbidden_hook_options(site: Site) -> list[str]:
    hooks = [
        ("tryfirst", "tryfirst", hookimpl(tryfirst=True)(lambda: [])),
        ("trylast and wrapper", "wrapper", hookimpl(wrapper=True, trylast=True)(_around())),
        ("optionalhook", "optional", hookimpl(optionalhook=True)(lambda: [])),
        ("specname", "named", hookimpl(specname="quorate_declarations")(lambda: [])),
        ("hookwrapper", "around", hookimpl(hookwrapper=True)(_around())),
    ]
    for _, name, hook in hooks:
        site.add(f"option_{name}", attributes={"quorate_declarations": hook})
    return [
        of(
            f"option_{name}",
            f"quorate_declarations uses the hook option {option}; use plain @hookimpl",
        )
        for option, name, _ in sorted(hooks, key=lambda each: each[1])
    ]


@wrong
def async_hooks(site: Site) -> list[str]:
    async def later() -> list[object]:
        return []

    async def living(node: NodeApi) -> AsyncIterator[None]:
        yield None

    hooks = {"quorate_declarations": hookimpl(later), "quorate_lifespan": hookimpl(living)}
    site.add("waiting", attributes=hooks)
    return [
        of("waiting", "quorate_declarations is an async function; use plain def"),
        of(
            "waiting",
            "quorate_lifespan is an async function; decorate it with @asynccontextmanager",
        ),
    ]


# Names.


@wrong
def names_outside_the_prefix(site: Site) -> list[str]:
    site.add(
        "rambling",
        [
            *(
                ColumnFamily(name=name, group="metadata")
                for name in (
                    "healthy.greetings",
                    "rows",
                    "other.rows",
                    "rambling.Rows",
                    "rambling.a.b",
                    "rambling_too.rows",
                )
            ),
            cache("cached"),
            controller("healthy.greeting"),
            timer("rambling."),
            ExtensionPoint(name="words", type=str),
            ExtensionPoint(name="healthy.words", type=int),
            metric("greetings_total"),
            metric("quorate_rambling"),
            # A name that is not the plugin's clashes with nobody's.
            metric("quorate_healthy_greetings_total"),
        ],
    )
    dotted = [
        ("column family", "healthy.greetings"),
        ("column family", "rows"),
        ("column family", "other.rows"),
        ("column family", "rambling.Rows"),
        ("column family", "rambling.a.b"),
        ("column family", "rambling_too.rows"),
        ("cache", "cached"),
        ("controller", "healthy.greeting"),
        ("timer", "rambling."),
        ("extension point", "words"),
        ("extension point", "healthy.words"),
    ]
    metrics = ["greetings_total", "quorate_rambling", "quorate_healthy_greetings_total"]
    return [
        *(
            of(
                "rambling",
                f"{kind} {name} is not named after the plugin; "
                "name it rambling.<noun>, in small letters",
            )
            for kind, name in dotted
        ),
        *(
            of(
                "rambling",
                f"metric {name} is not named after the plugin; "
                "name it quorate_rambling_<noun>_<unit>, in small letters",
            )
            for name in metrics
        ),
    ]


@wrong
def a_cli_command_of_the_host(site: Site) -> list[str]:
    names = ("usurper", "usurper_too")
    for name in names:
        site.add(name, [cli_command("plugin"), cli_command(name)])
    text = "command-line command plugin is the host's own; give it another name"
    return [of(name, text) for name in names]


class Talks:
    """Serves `kv.KvService` as nobody can use it."""

    def __init__(self, _: object) -> None: ...

    def whisper(self, request: object, context: object) -> None: ...

    def _think(self) -> None: ...


@wrong
def a_servicer_that_is_not_what_its_service_says(site: Site) -> list[str]:
    declared = view_pb2.DESCRIPTOR.services_by_name["ViewService"]
    site.add("talk", [GrpcService(service=declared, servicer=Talks)])
    lacks = [
        of(
            "talk",
            f"servicer Talks lacks the method {name} of service quorate.v1.ViewService; write "
            f"`async def {name}(self, request, context)`, or remove the rpc from the .proto file",
        )
        for name in declared.methods_by_name
    ]
    return [
        *lacks,
        of(
            "talk",
            "servicer Talks has a public method whisper, and service quorate.v1.ViewService has "
            "none of that name; name it like an rpc of the service, declare the rpc, or make it "
            "private: _whisper",
        ),
    ]


@wrong
def one_name_in_two_plugins(site: Site) -> list[str]:
    greet, ask = site.message("acme.shared.v1.Greet"), site.message("acme.shared.v1.Ask")
    for name in ("sharer", "sharer_x"):
        site.add(
            name,
            [
                command(greet),
                query(ask),
                service("acme.shared.v1.GreetService"),
                cli_command("share"),
                Extension(point="spare.points", name="share", value=1),
            ],
        )
    clashes = [
        "command acme.shared.v1.Greet",
        "command-line command share",
        "extension share of spare.points",
        "query acme.shared.v1.Ask",
        "service acme.shared.v1.GreetService",
    ]
    fix = "rename it in one of them, or leave one of them disabled"
    return [
        *(of("sharer", f"{clash} is also declared by sharer_x; {fix}") for clash in clashes),
        *(of("sharer_x", f"{clash} is also declared by sharer; {fix}") for clash in clashes),
    ]


@wrong
def one_metric_that_is_named_after_two_plugins(site: Site) -> list[str]:
    for name in ("meter", "meter_x"):
        site.add(name, [metric("quorate_meter_x_total")])
    return [
        of(
            one,
            f"metric quorate_meter_x_total is also declared by {other}; "
            "rename it in one of them, or leave one of them disabled",
        )
        for one, other in [("meter", "meter_x"), ("meter_x", "meter")]
    ]


@wrong
def one_name_twice_in_a_plugin(site: Site) -> list[str]:
    greet = site.message("acme.doubled.v1.Greet")
    site.add(
        "doubled", [*[ColumnFamily(name="doubled.rows", group="metadata")] * 3, command(greet)]
    )
    return [of("doubled", "column family doubled.rows is declared 3 times; keep one of them")]


# Groups.


@wrong
def groups_with_different_settings(site: Site) -> list[str]:
    site.add("narrow", [RaftGroup(name="contested", shards=1)])
    site.add("wide", [RaftGroup(name="contested", shards=9)])
    text = (
        "group contested is declared with shards=1 by narrow and shards=9 by wide; "
        "declare it equally everywhere"
    )
    return [of("narrow", text), of("wide", text)]


@wrong
def a_group_of_the_host_with_other_settings(site: Site) -> list[str]:
    # The healthy plugin declares it too, rightly.
    site.add("greedy", [RaftGroup(name="metadata", shards=2)])
    return [
        of(
            "greedy",
            "group metadata is declared with shards=2, and the host gives it shards=1; "
            "declare RaftGroup(name='metadata'), or leave it out",
        )
    ]


@wrong
def groups_that_cannot_be_made(site: Site) -> list[str]:
    site.add("vague_not", [RaftGroup(name="empty", shards=1)])
    site.add("vague", [RaftGroup(name="Vague"), RaftGroup(name="empty", shards=0)])
    return [
        of(
            "vague",
            f"group {group} cannot be made; "
            "name it in small letters and give it at least one shard",
        )
        for group in ("'Vague' with shards=1", "'empty' with shards=0")
    ]


@wrong
def undeclared_groups(site: Site) -> list[str]:
    greet, ask = site.message("acme.lost.v1.Greet"), site.message("acme.lost.v1.Ask")
    site.add(
        "lost",
        [
            ColumnFamily(name="lost.rows", group="nowhere"),
            cache("lost.hot", group="nowhere"),
            controller("lost.work", group="nowhere"),
            timer("lost.expiry", "nowhere"),
            command(greet, group="nowhere"),
            query(ask, group="nowhere"),
        ],
    )
    return [
        of(
            "lost",
            f"{user} is in group nowhere, which no plugin declares; "
            "declare RaftGroup(name='nowhere'), or correct the name",
        )
        for user in [
            "column family lost.rows",
            "cache lost.hot",
            "controller lost.work",
            "timer lost.expiry",
            "command acme.lost.v1.Greet",
            "query acme.lost.v1.Ask",
        ]
    ]


# Commands and queries.


@wrong
def both_or_neither_of_shard_key_and_items(site: Site) -> list[str]:
    both, neither = (
        site.message("acme.undecided.v1.Both"),
        site.message("acme.undecided.v1.Neither"),
    )
    items: Items[Message, bytes] = Items(
        get=lambda _: [], shard_key=constant_key, make=lambda message, _: message
    )
    site.add("undecided", [command(both, items=items), command(neither, shard_key=None)])
    fix = "give it shard_key, or items when it is a batch"
    return [
        of("undecided", f"command acme.undecided.v1.{name} of shard_key and items; {fix}")
        for name in ("Both has both", "Neither has neither")
    ]


@wrong
def no_examples_and_examples_of_another_type(site: Site) -> list[str]:
    bare, odd = site.message("acme.speechless.v1.Bare"), site.message("acme.speechless.v1.Odd")
    site.add(
        "speechless",
        [
            command(bare, examples=()),
            command(odd, examples=(odd(), StringValue(), StringValue(), bare())),
        ],
    )
    return [
        of("speechless", text)
        for text in [
            "command acme.speechless.v1.Bare has no examples; "
            "give it at least one, for the conformance kit",
            "an example of command acme.speechless.v1.Odd is a Bare; "
            "give examples of the command's own message",
            "an example of command acme.speechless.v1.Odd is a StringValue; "
            "give examples of the command's own message",
        ]
    ]


@wrong
def functions_that_are_async_or_are_not(site: Site) -> list[str]:
    async def waiting(*_: object) -> None: ...

    def plain(*_: object) -> None: ...

    class Waiting:
        async def __call__(self, *_: object) -> None: ...

    greet, see = site.message("acme.asyncs.v1.Greet"), site.message("acme.asyncs.v1.See")
    slow = Waiting()
    site.add(
        "asyncs",
        [
            command(greet, validate=slow, admit=plain, apply=waiting),
            query(see, run=waiting),
            Controller(
                name="asyncs.work",
                group="metadata",
                run_once=plain,  # type: ignore[arg-type]
                interval_s=1,
            ),
            Timer(name="asyncs.bell", group="metadata", due=waiting),  # type: ignore[arg-type]
        ],
    )
    name = greet.DESCRIPTOR.full_name
    fix = "define it with def: it works on its arguments, and awaits nothing"
    return [
        of("asyncs", f"the handler of {name} is an async function; {fix}"),
        of("asyncs", f"validate of command {name} is an async function; {fix}"),
        of("asyncs", f"run of query {see.DESCRIPTOR.full_name} is an async function; {fix}"),
        of("asyncs", f"due of timer asyncs.bell is an async function; {fix}"),
        of("asyncs", f"admit of command {name} is not an async function; define it with async def"),
        of(
            "asyncs",
            "run_once of controller asyncs.work is not an async function; define it with async def",
        ),
    ]


@wrong
def a_family_whose_rows_no_command_goes_by(site: Site) -> list[str]:
    keyed, constant = site.message("acme.placeless.v1.A"), site.message("acme.placeless.v1.B")
    group = "placeless"
    site.add(
        "placeless",
        [
            RaftGroup(name=group),
            ColumnFamily(name="placeless.rows", group=group, row=StringValue),
            ColumnFamily(name="placeless.totals", group=group),
            ColumnFamily(name="placeless.keyed", group=group, shard_key=bytes),
            ColumnFamily(name="placeless.constant", group="metadata"),
            command(keyed, group=group, shard_key=lambda _: b"k"),
            command(constant),
        ],
    )
    return [
        of(
            "placeless",
            "column family placeless.rows has no shard_key, and every command of the plugin in "
            "group placeless has one: its rows would stay when shards grow; give it "
            "shard_key: from the key of a row to the shard key of the commands that write it",
        )
    ]


@wrong
def a_query_over_all_shards_without_an_order(site: Site) -> list[str]:
    ask, sorted_ask = site.message("acme.chaotic.v1.Ask"), site.message("acme.chaotic.v1.AskSorted")
    site.add(
        "chaotic",
        [query(ask, shard_key=None), query(sorted_ask, shard_key=None, order=constant_key)],
    )
    return [
        of(
            "chaotic",
            "query acme.chaotic.v1.Ask runs on all shards and has no order; "
            "give it shard_key, or order to merge its answers by",
        )
    ]


@wrong
def a_query_that_goes_by_a_key_and_by_items(site: Site) -> list[str]:
    ask, fine = site.message("acme.torn.v1.Ask"), site.message("acme.torn.v1.AskAll")
    items: Items[Any, Any] = Items(
        get=lambda _: [], shard_key=lambda _: b"", make=lambda whole, _: whole
    )
    site.add(
        "torn",
        [
            query(ask, items=items, order=constant_key),
            query(fine, shard_key=None, items=items, order=constant_key),
        ],
    )
    return [of("torn", "query acme.torn.v1.Ask has both shard_key and items; keep one of them")]


@wrong
def reads_of_what_is_not_there_or_elsewhere(site: Site) -> list[str]:
    greet, ask = site.message("acme.nosy.v1.Greet"), site.message("acme.nosy.v1.Ask")
    reads = ("healthy.greetings", "healthy.people", "healthy.rubbish", "nobody.rows")
    site.add("nosy", [command(greet, reads=(*reads,)), query(ask, reads=reads)])
    return [
        of("nosy", f"{reader} {text}")
        for reader in ("command acme.nosy.v1.Greet", "query acme.nosy.v1.Ask")
        for text in [
            "in group metadata reads column family healthy.greetings of group healthy; "
            "read families of the own group, or mirrored ones",
            "reads column family healthy.rubbish, which no plugin declares; "
            "correct the name, or enable the plugin that owns it",
            "reads column family nobody.rows, which no plugin declares; "
            "correct the name, or enable the plugin that owns it",
        ]
    ]


# Families and those who follow them.


@wrong
def followers_of_what_has_no_rows(site: Site) -> list[str]:
    families = ("healthy.greetings", "healthy.by_age", "nobody.rows")
    site.add("follower", [cache("follower.hot", *families), controller("follower.work", *families)])
    return [
        of("follower", f"{follower} follows column family {text}")
        for follower in ("cache follower.hot", "controller follower.work")
        for text in [
            "healthy.by_age, which has no row message; "
            "follow a family that is declared with its row message",
            "nobody.rows, which no plugin declares; "
            "correct the name, or enable the plugin that owns it",
        ]
    ]


@wrong
def families_with_settings_that_exclude_each_other(site: Site) -> list[str]:
    site.add(
        "contrary",
        [
            RaftGroup(name="contrary"),
            ColumnFamily(name="contrary.far", group="contrary", row=StringValue, mirrored=True),
            ColumnFamily(name="contrary.bare", group="metadata", mirrored=True),
            ColumnFamily(name="contrary.past", group="contrary", previous=True),
        ],
    )
    private = "is private, and is mirrored or keeps previous values; give it a row message"
    return [
        of(
            "contrary",
            "column family contrary.far of group contrary is mirrored; "
            "mirror families of group metadata alone",
        ),
        of("contrary", f"column family contrary.bare {private}"),
        of("contrary", f"column family contrary.past {private}"),
    ]


# Extensions and configuration.


@wrong
def an_extension_of_the_wrong_type(site: Site) -> list[str]:
    site.add(
        "mistaken",
        [
            Extension(point="healthy.words", name="seven", value=7),
            Extension(point="healthy.words", name="hi", value="Hi"),
        ],
    )
    return [of("mistaken", "extension seven of healthy.words is a int; give a str")]


@wrong
def a_point_with_a_protocol_that_cannot_be_checked(site: Site) -> list[str]:
    class Speaker(Protocol):
        def speak(self) -> str: ...

    site.add(
        "opaque",
        [
            ExtensionPoint(name="opaque.speakers", type=Speaker),
            Extension(point="opaque.speakers", name="one", value=1),
        ],
    )
    return [
        of(
            "opaque",
            "extension point opaque.speakers has the protocol Speaker, which isinstance refuses; "
            "mark the protocol with @runtime_checkable",
        )
    ]


@wrong
def bad_config_sections(site: Site) -> list[str]:
    class Loose(BaseModel):
        model_config = ConfigDict(frozen=True)

    class Melting(BaseModel):
        model_config = ConfigDict(extra="forbid")

    site.add("unsettled", [ConfigSection(model=Loose)])
    site.add("soft", [*[ConfigSection(model=Melting)] * 2])
    return [
        of("soft", "2 config sections are declared; declare one model"),
        *[
            of(
                "soft",
                "the config section Melting is not usable; "
                "it must not change: set frozen=True in its model_config",
            )
        ]
        * 2,
        of(
            "unsettled",
            "the config section Loose is not usable; "
            'it must refuse unknown keys: set extra="forbid" in its model_config',
        ),
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_wrong_plugin_is_told_apart_and_nothing_else_is_said(site: Site, case: Wrong) -> None:
    site.add_whole("healthy")
    expected = case(site)
    assert site.problems() == expected


def test_everything_that_is_wrong_is_found_in_one_go(site: Site) -> None:
    site.add_whole("healthy")
    expected = [problem for case in CASES for problem in case(site)]
    assert sorted(site.problems()) == sorted(expected)
    with pytest.raises(PluginErrors, match=f"^{len(expected)} plugin problems found"):
        site.catalog()


def test_a_plugin_that_declares_everything_rightly_has_no_problems(site: Site) -> None:
    site.add_whole("healthy")
    site.add_whole("hearty")
    assert list(site.catalog().declared) == ["healthy", "hearty"]


def test_equal_declarations_of_a_group_merge(site: Site) -> None:
    for name in ("left", "right"):
        site.add(name, [RaftGroup(name="shared", shards=4)])
    assert site.catalog().groups["shared"] == RaftGroup(name="shared", shards=4)
