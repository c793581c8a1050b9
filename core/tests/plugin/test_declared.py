from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.plugin import (
    ColumnFamily,
    Extension,
    ExtensionPoint,
    Metric,
    NodeApi,
    RaftGroup,
    Timer,
    hookimpl,
    hookspecs,
)
from quorate.plugin.catalog import build
from quorate.plugin.declared import declare, hook_names
from quorate.plugin.problems import PluginProblem

if TYPE_CHECKING:
    from core.tests.plugin.conftest import Site


def test_each_plugin_is_asked_once_by_name_and_its_lifespan_is_not_called(site: Site) -> None:
    fired: list[str] = []

    def recording(said: str) -> Any:
        def answer() -> list[object]:
            fired.append(said)
            return []

        return answer

    for plugin in ("melon", "apple", "zebra"):
        lifespan = hookimpl(lambda node: recording("lifespan"))
        site.add(plugin, recording(plugin), attributes={"quorate_lifespan": lifespan})
    found = site.plugins()
    assert fired == []
    build(found[::-1])
    assert fired == ["apple", "melon", "zebra"]


def test_there_are_two_hooks_and_each_has_a_specification() -> None:
    assert hook_names() == ("quorate_declarations", "quorate_lifespan")
    assert all(getattr(hookspecs, f"{hook}").quorate_spec for hook in hook_names())


def test_declarations_are_told_apart_by_kind(site: Site) -> None:
    family = ColumnFamily(name="mixed.rows", group="mixed")
    metric = Metric(name="quorate_mixed_rows_total", kind="counter", help="Rows.")
    group, point = RaftGroup(name="mixed"), ExtensionPoint(name="mixed.things", type=int)
    extension = Extension(point="mixed.things", name="one", value=1)
    timer = Timer(name="mixed.end", group="mixed", due=lambda keys: Empty())
    more = ColumnFamily(name="mixed.more", group="mixed")
    site.add("mixed", [extension, metric, family, point, timer, group, more])
    declared = declare(site.plugins()[0])
    assert declared.problems == ()
    assert (declared.groups, declared.families) == ((group,), (family, more))
    assert (declared.metrics, declared.timers) == ((metric,), (timer,))
    assert (declared.points, declared.extensions) == ((point,), (extension,))


def test_a_wrong_declaration_leaves_the_others(site: Site) -> None:
    site.add("mixed", [RaftGroup(name="mixed"), 7])
    declared = declare(site.plugins()[0])
    assert [(each.what, each.fix) for each in declared.problems] == [
        (
            "quorate_declarations returned an item of type int",
            "return a list or tuple of declarations",
        )
    ]
    assert declared.groups == (RaftGroup(name="mixed"),)


def test_a_plugin_without_hooks_declares_nothing(site: Site) -> None:
    site.add("silent")
    declared = declare(site.plugins()[0])
    assert (declared.problems, declared.lifespan) == ((), None)
    assert [*declared.families, *declared.commands, *declared.extensions] == []


def test_what_hooks_raise_is_the_cause_of_the_problem(site: Site) -> None:
    error = LookupError("no such thing")

    def raising() -> object:
        raise error

    site.add("raising", raising)
    (problem,) = declare(site.plugins()[0]).problems
    assert problem.__cause__ is error


def test_an_interrupt_in_a_hook_is_no_problem_of_the_plugin(site: Site) -> None:
    def interrupted() -> object:
        raise KeyboardInterrupt

    site.add("slow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        declare(site.plugins()[0])


def test_a_plugin_that_cannot_be_used_has_no_answers_at_all(site: Site) -> None:
    site.distribution("acme-gone", {"gone": "no_such_module_anywhere"})
    declared = declare(site.plugins()[0])
    assert declared.all == ()
    assert len(declared.problems) == 1


async def test_the_lifespan_is_given_the_node(site: Site) -> None:
    seen: list[object] = []

    @hookimpl
    @asynccontextmanager
    async def living(node: NodeApi) -> AsyncIterator[None]:
        seen.append(node)
        yield
        seen.append("left")

    site.add("alive", attributes={"quorate_lifespan": living})
    lifespan = site.catalog().declared["alive"].lifespan
    assert lifespan is not None
    node = cast("NodeApi", object())
    async with lifespan(node):
        assert seen == [node]
    assert seen == [node, "left"]


def test_a_lifespan_that_is_none_is_told_with_its_plugin(site: Site) -> None:
    site.add("hollow", attributes={"quorate_lifespan": hookimpl(lambda node: None)})
    lifespan = site.catalog().declared["hollow"].lifespan
    assert lifespan is not None
    with pytest.raises(PluginProblem) as caught:
        lifespan(cast("NodeApi", object()))
    assert str(caught.value) == (
        "hollow (acme-hollow 1.2.3): quorate_lifespan returned NoneType; "
        "decorate it with @asynccontextmanager"
    )


def test_a_hook_may_be_imported_from_elsewhere_and_take_defaults(site: Site) -> None:
    site.add(
        "lenient",
        attributes={"quorate_declarations": hookimpl(lambda more=(): list(more)), "quorate_x": 1},
    )
    assert declare(site.plugins()[0]).problems == ()
