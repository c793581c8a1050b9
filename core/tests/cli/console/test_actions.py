"""What an operator does in the console is shown first, confirmed once, and run as a command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import click
import pytest
from quorate.cli.console import actions
from quorate.cli.console.printed import Words
from quorate.cli.console.site import ConsoleSite
from quorate.config.sections import ConsoleSection
from quorate.observe.http import Answer, Request
from quorate.plugin import CliCommand
from quorate.plugin.advanced import ConsoleAction, ConsolePage
from quorate.plugin.catalog import build
from quorate.plugin.console import first_rows, limit_option
from quorate.plugin.discovery import installed
from quorate.v1 import admin_pb2, auth_pb2

TOY = ConsolePage(
    title="Toys",
    tables={
        "All": ("toy", "list"),
        "One": ("toy", "show", "{name}"),
        "Parts": ("toy", "parts", "--limit", "2", "--after={after=}", "{name}"),
    },
    actions={
        "break": ConsoleAction(
            title="Break a toy",
            command=("toy", "break", "--how={how}", "{name}"),
            plan=("toy", "list"),
        )
    },
)


class Toys:
    """A command group, and what it was told to break."""

    def __init__(self) -> None:
        self.broken: list[tuple[str, str]] = []
        toy = self.group = click.Group("toy")

        @toy.command("list")
        @click.pass_obj
        def list_toys(console: Any) -> None:
            console.print([{"name": "ball", "colour": "red"}])

        @toy.command("show")
        @click.argument("name")
        @click.pass_obj
        def show_toy(console: Any, name: str) -> None:
            console.print([{"weight": f"that of {name}"}])

        @toy.command("parts")
        @click.argument("name")
        @click.option("--after", default="")
        @limit_option
        @click.pass_obj
        def show_parts(console: Any, name: str, after: str, limit: int) -> None:
            if name == "stone":
                raise click.ClickException("a stone is one piece")
            parts = (each for each in ("bolt", "<nut>", "rim") if not after or each > after)
            console.print([{"name": each} for each in first_rows(parts, limit)])

        @toy.command("break")
        @click.argument("name")
        @click.option("--how", default="")
        @click.pass_obj
        def break_toy(console: Any, name: str, how: str) -> None:
            """Break the toy NAME.

            More about that.
            """
            if name == "stone":
                raise click.UsageError("a stone does not break")
            self.broken.append((name, how))
            console.print([{"name": name, "state": "broken"}])


@pytest.fixture
def toys() -> Toys:
    return Toys()


@pytest.fixture
def enabled() -> SimpleNamespace:
    return SimpleNamespace(is_on=True)


def of(toys: Toys, monkeypatch: pytest.MonkeyPatch, auth: Any, section: ConsoleSection) -> Any:
    catalog = build([each for each in installed() if each.distribution == "quorate"])
    commands = {"toy": CliCommand(name="toy", help="Toys.", load=lambda: toys.group)}
    plugin = SimpleNamespace(resources=(), cli_commands=list(commands.values()))
    plugin.plugin = SimpleNamespace(name="toy")
    declared = SimpleNamespace(
        declared={**catalog.declared, "toy": plugin},
        extensions={"cluster.console_pages": {"toy": TOY}},
    )
    status = auth_pb2.AuthStatus(enabled=auth.is_on, caller="ada")
    topology = admin_pb2.TopologyResponse
    asked = SimpleNamespace(
        call=lambda *_, **__: status, close=lambda: None, topology=lambda: topology()
    )
    monkeypatch.setattr("quorate.client.Client", lambda *_, **__: asked)
    return ConsoleSite(declared, "127.0.0.1:1", None, section)  # type: ignore[arg-type]


@pytest.fixture
def console(toys: Toys, enabled: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> ConsoleSite:
    found: ConsoleSite = of(toys, monkeypatch, enabled, ConsoleSection(actions=True))
    return found


BREAK = "actions/toy/break"


def shown(console: ConsoleSite, **query: str) -> str:
    answer = console(Request(BREAK, query, "secret"))
    assert answer.status is HTTPStatus.OK
    return answer.body.decode()


def confirmed(
    console: ConsoleSite, page: str, password: str = "secret", **changed: str
) -> tuple[Answer, str]:
    form: Mapping[str, str] = dict(
        re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page)
    )
    answer = console(Request(BREAK, {}, password, {**form, **changed}, "192.0.2.1"))
    return answer, answer.body.decode()


def test_a_row_has_links_to_what_can_be_done_about_it(console: ConsoleSite) -> None:
    page = console(Request("pages/toy", {}, "secret")).body.decode()

    assert f'href="/console/{BREAK}?{urlencode({"name": "ball"})}">break</a>' in page


def test_a_table_is_shown_when_what_it_asks_for_is_given(console: ConsoleSite) -> None:
    page = console(Request("pages/toy", {}, "secret")).body.decode()
    assert '<input name="name" value="">' in page
    assert "weight" not in page
    assert 'href="/console/pages/toy?name=ball">ball</a>' in page

    page = console(Request("pages/toy", {"name": "ball"}, "secret")).body.decode()
    assert "that of ball" in page


def test_a_table_with_pages_leads_to_the_next_one(console: ConsoleSite) -> None:
    page = console(Request("pages/toy", {"name": "ball"}, "secret")).body.decode()
    assert "&lt;nut&gt;" in page
    assert "rim" not in page
    assert 'href="/console/pages/toy?name=ball&amp;after=%3Cnut%3E">More</a>' in page

    page = console(Request("pages/toy", {"name": "ball", "after": "bolt"}, "secret")).body.decode()
    assert "rim" in page
    assert "More</a>" not in page


def test_a_table_that_is_refused_hides_no_other(console: ConsoleSite) -> None:
    answer = console(Request("pages/toy", {"name": "stone"}, "secret"))

    assert answer.status is HTTPStatus.OK
    assert "that of stone" in answer.body.decode()
    assert "Parts: a stone is one piece" in answer.body.decode()


def test_a_value_stands_for_one_that_is_not_given() -> None:
    words = Words(("toy", "show", "--after={after=}", "{name=a/b}"))

    assert words.names == ("name", "after")
    assert words.defaults == {"after": "", "name": "a/b"}
    assert words.of({"after": "", "name": "x"}) == ["toy", "show", "x"]
    assert words.of({"after": "c", "name": "-x"}) == ["toy", "show", "--after=c", "--", "-x"]


def test_what_is_going_to_run_is_shown_and_nothing_done(console: ConsoleSite, toys: Toys) -> None:
    page = shown(console, name="ball", how="with a hammer")

    assert "Break the toy NAME." in page
    assert "More about that" not in page
    assert "quorate toy break &#x27;--how=with a hammer&#x27; ball" in page
    assert "<td class=short>red</td>" in page
    assert "<strong>ada</strong>" in page
    assert toys.broken == []


def test_it_is_not_offered_for_confirmation_before_all_is_said(console: ConsoleSite) -> None:
    page = shown(console)

    assert '<input name="name" value="" required>' in page
    assert 'method="post"' not in page


def test_it_is_done_once_when_it_is_confirmed(
    console: ConsoleSite, toys: Toys, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", actions.__name__)
    page = shown(console, name="ball")
    _, done = confirmed(console, page)
    _, again = confirmed(console, page)

    assert toys.broken == [("ball", "")]
    assert "<td class=short>broken</td>" in done
    assert "renew.js" not in done
    assert "Nothing was done" in again
    assert caplog.messages == ["console: ada at 192.0.2.1 runs quorate toy break ball"]


@pytest.mark.parametrize(
    "changed",
    [{"name": "vase"}, {"how": "hard"}, {"confirmation": "guessed"}, {"password": "another"}],
)
def test_what_was_not_shown_is_not_done(
    console: ConsoleSite, toys: Toys, changed: dict[str, str]
) -> None:
    page = shown(console, name="ball")

    assert "Nothing was done" in confirmed(console, page, **changed)[1]
    assert toys.broken == []


def test_a_confirmation_ends(
    console: ConsoleSite, toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "_GOOD_S", -1.0)

    assert "Nothing was done" in confirmed(console, shown(console, name="ball"))[1]
    assert toys.broken == []


def test_confirmations_that_wait_are_bounded(
    console: ConsoleSite, toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "_MOST", 2)
    first, *others = [shown(console, name="ball") for _ in range(3)]

    assert "Nothing was done" in confirmed(console, first)[1]
    assert "Nothing was done" not in confirmed(console, others[0])[1]
    assert len(toys.broken) == 1


def test_no_value_is_an_option(console: ConsoleSite, toys: Toys) -> None:
    confirmed(console, shown(console, name="--help"))

    assert toys.broken == [("--help", "")]


def test_what_fails_is_said(console: ConsoleSite) -> None:
    answer, page = confirmed(console, shown(console, name="stone"))

    assert answer.status is HTTPStatus.BAD_REQUEST
    assert "a stone does not break" in page


def test_nothing_is_done_while_nobody_is_asked_who_calls(
    toys: Toys, monkeypatch: pytest.MonkeyPatch, enabled: SimpleNamespace
) -> None:
    enabled.is_on = False
    console = of(toys, monkeypatch, enabled, ConsoleSection(actions=True))
    page = shown(console, name="ball")
    form = {"name": "ball", "how": "", "confirmation": ""}

    assert "quorate auth enable" in page
    assert 'method="post"' not in page
    assert "quorate auth enable" in console(Request(BREAK, {}, "", form)).body.decode()
    assert toys.broken == []


def test_nothing_is_offered_or_done_unless_a_setting_allows_it(
    toys: Toys, monkeypatch: pytest.MonkeyPatch, enabled: SimpleNamespace
) -> None:
    console = of(toys, monkeypatch, enabled, ConsoleSection())
    form = {"name": "ball", "how": "", "confirmation": ""}

    assert "actions/" not in console(Request("pages/toy", {}, "secret")).body.decode()
    assert console(Request(BREAK, {"name": "ball"}, "secret")).status is HTTPStatus.NOT_FOUND
    assert console(Request(BREAK, {}, "secret", form)).status is HTTPStatus.NOT_FOUND
    assert toys.broken == []


def test_a_form_that_is_sent_to_another_page_does_nothing(console: ConsoleSite) -> None:
    assert console(Request("pages/toy", {}, "secret", {})).status is HTTPStatus.NOT_FOUND


def test_a_page_that_fails_says_why_and_harms_no_other(
    console: ConsoleSite, toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(toys.group.commands, "list", click.Command("list", callback=lambda: 1 // 0))
    failed = console(Request("pages/toy", {}, "secret"))

    assert failed.status is HTTPStatus.INTERNAL_SERVER_ERROR
    assert "ZeroDivisionError" in failed.body.decode()
    assert console(Request("actions", {}, "secret")).status is HTTPStatus.OK


def test_a_backup_goes_into_a_directory_of_its_own(
    toys: Toys, monkeypatch: pytest.MonkeyPatch, enabled: SimpleNamespace, tmp_path: Any
) -> None:
    section = ConsoleSection(actions=True, backup_dir=tmp_path)
    console = of(toys, monkeypatch, enabled, section)
    ran: list[list[str]] = []

    def run(_: object, words: list[str]) -> Any:
        ran.append(words)
        return SimpleNamespace(rows=[], sentences=[])

    monkeypatch.setattr(console._commands, "run", run)
    request = Request("actions/backup", {"now": "../../etc"}, "secret")
    page = console(request).body.decode()
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    console(Request("actions/backup", {}, "secret", form))

    [[command, directory]] = ran
    assert command == "backup"
    assert re.fullmatch(re.escape(f"{tmp_path}/") + r"\d{8}T\d{6}Z", directory)
