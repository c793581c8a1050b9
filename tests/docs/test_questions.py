"""The page of questions: its answers are short, lead on, and agree with what there is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.support.pages import command_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "questions.md"
ANSWERS = dict(re.findall(r"^## ([^\n]+\?)\n\n(.+?)(?=\n\n##|\Z)", PAGE.read_text(), re.M | re.S))


def test_there_are_ten() -> None:
    assert len(ANSWERS) == 10


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_has_two_sentences_and_leads_on(question: str) -> None:
    answer = " ".join(ANSWERS[question].split())
    assert len(re.findall(r"\.(?= [A-Z\[`]|$)", answer)) == 2
    links = re.findall(r"\]\(([^)#]+)", answer)
    assert links
    assert all((PAGE.parent / link).is_file() for link in links)
    assert all((ROOT / name).exists() for name in re.findall(r"`([\w/]+(?:\.md|/go))`", answer))


def test_the_commands_are_there() -> None:
    named = re.findall(r"`quorate ([^`]+)`", PAGE.read_text())
    assert named
    assert all(command_of(line.split()) is not None for line in named)


def test_the_rates_are_those_of_the_readme() -> None:
    rates = re.findall(r"\d\.\d\d", ANSWERS["How fast is it?"])
    shown = (ROOT / "README.md").read_text()
    assert len(rates) == 4
    assert all(rate in shown for rate in rates)


def test_answers_are_found_as_quickly_as_the_page_tells() -> None:
    program = runpy.run_path(str(ROOT / "docs" / "render_questions.py"))
    told = dict(re.findall(r"^\| ([^|]+\?) \|.*\| (\d+) \|$", PAGE.read_text(), re.M))
    takes = {name: program["seconds"](route, program["now"]) for name, route in program["routes"]()}

    assert told.keys() == takes.keys() == ANSWERS.keys() == program["FORMER"].keys()
    assert {name: each for name, each in takes.items() if abs(each - int(told[name])) > 10} == {}
    assert max(takes.values()) <= 180
