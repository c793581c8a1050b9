from __future__ import annotations

import pytest
from quorate.builtin.cluster import validation
from quorate.plugin import Invalid
from quorate.v1.cluster_pb2 import RegisterBroker, SendHeartbeat, UnregisterBroker


def registration(**given: object) -> RegisterBroker:
    return RegisterBroker(**{"name": "ada", "cluster_name": "north", **given})  # type: ignore[arg-type]


def test_what_is_right_passes() -> None:
    longest = "a" * validation.LONGEST_TEXT
    validation.check_registration(
        registration(
            name=longest,
            roles=["mqtt", longest],
            labels={longest: longest, "flag": ""},
            addresses={"mqtt": "[::1]:1883"},
        ),
        "",
    )
    for ttl_ms in (0, 100, 3_600_000):
        validation.check_registration(registration(ttl_ms=ttl_ms), "")
    validation.check_epoch(SendHeartbeat(name="ada", epoch=1), "")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (registration(cluster_name=""), "cluster_name: must not be empty"),
        (
            registration(cluster_name="a" * 256),
            "cluster_name: must have at most 255 characters, not 256",
        ),
        (
            registration(cluster_name="a\nb"),
            "cluster_name: must not hold control characters or line breaks",
        ),
        (registration(roles=["mqtt", ""]), "roles[1]: must not be empty"),
        (registration(roles=["mqtt", "mqtt"]), "roles: must not name a role twice"),
        (registration(labels={"": "a"}), "labels: must not be empty"),
        (
            registration(labels={"zone": "a\x00"}),
            "labels[zone]: must not hold control characters or line breaks",
        ),
        (registration(addresses={"": "127.0.0.1:1"}), "addresses: must not be empty"),
        (registration(addresses={"mqtt": ""}), "addresses[mqtt]: must not be empty"),
        (registration(ttl_ms=99), "ttl_ms: must be 0 or from 100 to 3600000, not 99"),
        (
            registration(ttl_ms=2**64 - 1),
            f"ttl_ms: must be 0 or from 100 to 3600000, not {2**64 - 1}",
        ),
    ],
)
def test_a_wrong_registration_is_refused_with_its_field(command: RegisterBroker, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        validation.check_registration(command, "")

    assert str(refusal.value) == said


def test_a_registration_has_its_limit_as_a_whole() -> None:
    labels = {f"label-{number}": "a" * 250 for number in range(40)}
    large = registration(labels=labels)

    with pytest.raises(Invalid) as refusal:
        validation.check_registration(large, "brokers[1].")

    assert refusal.value.field == "brokers[1]"
    assert f"at most 8192 bytes, not {large.ByteSize()}" in refusal.value.reason


@pytest.mark.parametrize("command", [SendHeartbeat(name="ada"), UnregisterBroker(name="ada")])
def test_no_registration_is_named_without_its_epoch(
    command: SendHeartbeat | UnregisterBroker,
) -> None:
    with pytest.raises(Invalid) as refusal:
        validation.check_epoch(command, "brokers[2].")

    assert refusal.value.field == "brokers[2].epoch"
