"""The page on what is promised names what there is."""

from __future__ import annotations

import re
import tomllib

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tests.support.workspace import ROOT, distributions

TEXT = (ROOT / "docs" / "reference" / "promise.md").read_text(encoding="utf-8")


def test_the_tests_that_hold_it_are_there() -> None:
    named = re.findall(r"`(tests/compat[\w/.]*|tests/cluster[\w/.]+)`", TEXT)
    assert len(named) == 3
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_distribution_with_messages_has_a_golden_set() -> None:
    for each in distributions():
        protos = list(each.source.glob("src/*/v1/*.proto"))
        assert bool(protos) == bool(list(each.source.glob("tests/golden/*.binpb"))), each.name


def test_the_services_between_nodes_are_there() -> None:
    golden = (ROOT / "core" / "tests" / "golden" / "quorate.binpb").read_bytes()
    files = FileDescriptorSet.FromString(golden).file
    services = {service.name for file in files for service in file.service}
    between = re.findall(r"`(?:quorate\.v1\.)?(\w+Service)`", TEXT)
    assert len(between) == 4
    assert set(between) <= services


def test_the_change_log_has_its_headings() -> None:
    settings = tomllib.loads((ROOT / "towncrier.toml").read_text(encoding="utf-8"))
    headings = {each["name"] for each in settings["tool"]["towncrier"]["type"]}
    assert {re.sub(r"\s", " ", each) for each in re.findall(r"\*(\w+\s?\w*)\*", TEXT)} <= headings
