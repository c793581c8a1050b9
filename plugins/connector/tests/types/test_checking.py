"""A configuration is checked against its type: every fault at once, and no secret in a word."""

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, create_model
from quorate.plugin import Invalid
from quorate_connector.api import ConnectorType, SecretRef
from quorate_connector.types.checking import (
    LARGEST_CONFIG,
    checked,
    clear_text,
    progress_of,
)
from quorate_connector.types.shipped import SHIPPED

TYPES = {each.name: each for each in SHIPPED}
SECRET = "hunter2"

GOOD: dict[str, dict[str, Any]] = {
    "file": {"topic": "orders", "path": "/var/orders"},
    "kafka": {"topic": "orders", "brokers": ["k1:9092", "[::1]:9092"], "remote_topic": "orders"},
    "mqtt_bridge": {"topic": "orders/#", "address": "far.example:1883"},
    "webhook": {"topic": "orders", "url": "https://hooks.example/orders?a=b"},
}

FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("file", {"topic": ""}, "topic"),
    ("file", {"path": "relative"}, "path"),
    ("file", {"path": "/a\0b"}, "path"),
    ("file", {"format": "xml"}, "format"),
    ("file", {"sync": "perhaps"}, "sync"),
    ("file", {"pfad": SECRET}, "pfad"),
    ("kafka", {"brokers": []}, "brokers"),
    ("kafka", {"brokers": ["k1:9092", f"{SECRET}"]}, "brokers[1]"),
    ("kafka", {"brokers": ["k1:0"]}, "brokers[0]"),
    ("kafka", {"brokers": ["k1:65536"]}, "brokers[0]"),
    ("kafka", {"remote_topic": "a b"}, "remote_topic"),
    ("kafka", {"acks": 1}, "acks"),
    ("kafka", {"linger_ms": -1}, "linger_ms"),
    ("kafka", {"security": "sasl_plain", "username": "ada"}, "password"),
    ("kafka", {"security": "sasl_plain", "password": "env:P"}, "username"),
    ("kafka", {"password": SECRET}, "password"),
    ("kafka", {"password": f"{SECRET}:{SECRET}"}, "password"),
    ("kafka", {"password": "env:"}, "password"),
    ("kafka", {"password": "env:9A"}, "password"),
    ("kafka", {"password": "file:relative"}, "password"),
    ("kafka", {"password": "file:/a\nb"}, "password"),
    ("kafka", {"password": 17}, "password"),
    ("mqtt_bridge", {"address": "far.example"}, "address"),
    ("mqtt_bridge", {"qos": 3}, "qos"),
    ("mqtt_bridge", {"remote_prefix": "a/#"}, "remote_prefix"),
    ("mqtt_bridge", {"password": SECRET}, "password"),
    ("webhook", {"url": "ftp://hooks.example"}, "url"),
    ("webhook", {"url": "https://"}, "url"),
    ("webhook", {"url": "https://[::1"}, "url"),
    ("webhook", {"url": "https://a.example:99999"}, "url"),
    ("webhook", {"url": "https://a b.example"}, "url"),
    ("webhook", {"url": f"https://ada:{SECRET}@hooks.example"}, "url"),
    ("webhook", {"headers": {"Authorization": SECRET}}, "headers.Authorization"),
    ("webhook", {"headers": {"X-Api-Key": SECRET}}, "headers.X-Api-Key"),
    ("webhook", {"headers": {"a b": "c"}}, "headers.a b"),
    ("webhook", {"headers": {"X-A": "b\r\nc"}}, "headers.X-A"),
    ("webhook", {"secret_headers": {"Authorization": SECRET}}, "secret_headers.Authorization"),
    ("webhook", {"batch": 0}, "batch"),
]


def config_of(name: str, **changes: Any) -> bytes:
    return json.dumps({**GOOD[name], **changes}).encode()


def fault_of(name: str, config: bytes) -> Invalid:
    with pytest.raises(Invalid) as caught:
        checked(TYPES, name, config)
    assert SECRET not in str(caught.value)
    # What is logged with an exception holds it neither.
    assert caught.value.__cause__ is caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize("name", list(GOOD))
def test_what_is_stored_is_complete_and_checks_as_itself(name: str) -> None:
    stored = checked(TYPES, name, config_of(name))

    assert list(json.loads(stored)) == list(TYPES[name].model.model_fields)
    assert checked(TYPES, name, stored) == stored


def test_the_order_of_what_is_given_does_not_matter() -> None:
    backwards = dict(reversed(GOOD["kafka"].items()))

    assert checked(TYPES, "kafka", json.dumps(backwards, indent=4).encode()) == checked(
        TYPES, "kafka", config_of("kafka")
    )


@pytest.mark.parametrize(("name", "changes", "field"), FAULTS)
def test_a_wrong_field_is_named(name: str, changes: dict[str, Any], field: str) -> None:
    fault = fault_of(name, config_of(name, **changes))

    assert fault.field == f"definition.config.{field}"


@pytest.mark.parametrize("name", list(GOOD))
def test_missing_fields_are_named_all_at_once(name: str) -> None:
    missing = [
        each for each, field in TYPES[name].model.model_fields.items() if field.is_required()
    ]

    fault = fault_of(name, b"{}")

    assert fault.field == "definition.config"
    assert fault.reason == f"{len(missing)} fields are wrong: " + "; ".join(
        f"{each} is missing" for each in missing
    )


def test_faults_of_every_kind_are_told_at_once() -> None:
    fault = fault_of(
        "kafka",
        config_of(
            "kafka",
            brokers=[SECRET],
            passwort=SECRET,
            password=SECRET,
            security="sasl_plain",
            acks=7,
        ),
    )

    told = fault.reason.partition(": ")[2].split("; ")
    assert [each.split()[0] for each in told] == [
        "brokers[0]",
        "acks",
        "username",
        "password",
        "passwort",
    ]


@pytest.mark.parametrize("config", [b"", b"hunter2", b"[1]", b'"hunter2"', b"null", b"\xff", b"{"])
def test_what_is_no_object_is_no_configuration(config: bytes) -> None:
    assert fault_of("file", config).field == "definition.config"


def test_a_type_that_nobody_offers() -> None:
    fault = fault_of("nobody", b"{}")

    assert fault.field == "definition.type"
    assert fault.reason.endswith("known types: file, kafka, mqtt_bridge, webhook")


def test_a_configuration_that_is_too_large() -> None:
    fault = fault_of("file", b" " * (LARGEST_CONFIG + 1))

    assert fault.field == "definition.config"
    assert str(LARGEST_CONFIG) in fault.reason


def test_a_name_of_a_field_that_cannot_be_shown() -> None:
    fault = fault_of("file", json.dumps({**GOOD["file"], "a\n" + "b" * 999: 1}).encode())

    assert fault.field == "definition.config." + "a\\n" + "b" * 61


def test_a_configuration_that_outgrows_the_limit_with_its_defaults() -> None:
    def config(filling: int) -> bytes:
        headers = {f"H{number:02}": "v" * 4_000 for number in range(16)}
        given = {**GOOD["webhook"], "headers": {**headers, "H": "v" * filling}}
        return json.dumps(given, separators=(",", ":")).encode()

    fault = fault_of("webhook", config(LARGEST_CONFIG - len(config(0))))

    assert "with its defaults" in fault.reason
    assert checked(TYPES, "webhook", config(LARGEST_CONFIG - len(config(0)) - 200))


def test_a_reference_tells_where_the_secret_is() -> None:
    reference = SecretRef.of("file:/run/secrets/kafka:1")

    assert (reference.source, reference.place) == ("file", "/run/secrets/kafka:1")
    parsed = TYPES["kafka"].model.model_validate_json(config_of("kafka", password="env:P"))
    assert isinstance(parsed.password, SecretRef)  # type: ignore[attr-defined]  # of this model


class Open(BaseModel):
    topic: str


class Bucket(BaseModel):
    kind: Literal["bucket"]


class Table(BaseModel):
    kind: Literal["table"]


class Storing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    store: Annotated[Bucket | Table, Field(discriminator="kind")]


def test_a_kind_that_is_none_is_not_repeated() -> None:
    types = {"storing": ConnectorType(name="storing", model=Storing)}

    with pytest.raises(Invalid) as refused:
        checked(types, "storing", json.dumps({"store": {"kind": SECRET}}).encode())

    assert refused.value.field == "definition.config.store"
    assert refused.value.reason == "is of no kind that this type knows"


class Raising(BaseModel):
    model_config = ConfigDict(extra="forbid")

    port: Annotated[str, AfterValidator(lambda text: {}[text])]


def test_a_validator_that_fails_otherwise_shows_nothing() -> None:
    types = {"raising": ConnectorType(name="raising", model=Raising)}

    with pytest.raises(Invalid) as refused:
        checked(types, "raising", json.dumps({"port": SECRET}).encode())

    assert refused.value.field == "definition.config"
    assert "the type raising raises KeyError" in refused.value.reason
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None


def test_a_type_names_the_fields_that_progress_belongs_to() -> None:
    model = create_model(
        "Aliased", __config__=ConfigDict(extra="forbid"), topic=(str, Field(alias="from"))
    )
    known = ConnectorType(name="aliased", model=model, progress_of=("from",))

    same, other = (
        progress_of(known, checked({"aliased": known}, "aliased", config))
        for config in (b'{"from": "a"}', b'{"from": "b"}')
    )

    assert [each.name for each in same] == ["from"]
    assert same == progress_of(known, b'{ "from" : "a" }') != other
    with pytest.raises(ValueError, match="progress_of names topic, but Aliased has no such field"):
        ConnectorType(name="aliased", model=model, progress_of=("topic",))


class Telling(BaseModel):
    model_config = ConfigDict(extra="forbid")

    passwords: list[SecretStr]


@pytest.mark.parametrize(
    ("name", "model", "words"),
    [
        ("Bad Name", TYPES["file"].model, "small letters"),
        ("open", Open, 'extra="forbid"'),
        ("telling", Telling, "SecretRef"),
    ],
)
def test_a_type_that_cannot_be_offered(name: str, model: type[BaseModel], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ConnectorType(name=name, model=model)


class Loose(BaseModel):
    """A type whose author has forgotten that values may be secrets."""

    model_config = ConfigDict(extra="forbid")

    dsn: str = ""
    api_key: str = ""
    token: str = ""
    token_count: str = ""
    passwords: dict[str, str] = {}
    options: list[dict[str, str]] = []


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"dsn": f"postgresql://ada:{SECRET}@db/orders"}, "dsn"),
        ({"api_key": SECRET}, "api_key"),
        ({"token": SECRET}, "token"),
        ({"passwords": {"ada": SECRET}}, "passwords.ada"),
        ({"options": [{"a": "b"}, {"sasl_password": SECRET}]}, "options[1].sasl_password"),
        ({"options": [{"h": f"Bearer {SECRET * 3}"}]}, "options[0].h"),
        ({"dsn": f"-----BEGIN PRIVATE KEY-----\n{SECRET}"}, "dsn"),
    ],
)
def test_a_secret_in_clear_text_is_refused_whatever_the_type_says(
    config: dict[str, Any], path: str
) -> None:
    types = {"loose": ConnectorType(name="loose", model=Loose)}
    with pytest.raises(Invalid) as caught:
        checked(types, "loose", json.dumps(config).encode())
    assert caught.value.field == f"definition.config.{path}"
    assert "env:NAME or file:/PATH" in caught.value.reason
    assert SECRET not in str(caught.value)


def test_what_only_resembles_a_secret_is_accepted() -> None:
    types = {"loose": ConnectorType(name="loose", model=Loose)}
    config = {
        "dsn": "https://db/orders?user=a:b@c",
        "api_key": "env:KEY",
        "token_count": "17",
        "passwords": {"ada": "file:/run/secrets/ada"},
    }
    assert json.loads(checked(types, "loose", json.dumps(config).encode()))["dsn"] == config["dsn"]


@pytest.mark.parametrize("text", ["v", ":", "a://:", "Bearer ", "-----BEGIN ", "a://a"])
def test_a_long_value_is_searched_once(text: str) -> None:
    # A search that began anew at each place would take hours.
    value = text * (1_000_000 // len(text))
    assert [*clear_text({"dsn": value, "url": f"a://{value}"})] == []


def test_all_secrets_are_named_at_once() -> None:
    types = {"loose": ConnectorType(name="loose", model=Loose)}
    with pytest.raises(Invalid, match=r"2 fields are wrong: api_key .*; token "):
        checked(types, "loose", json.dumps({"api_key": SECRET, "token": SECRET}).encode())
