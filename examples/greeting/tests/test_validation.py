import pytest
from quorate.plugin import Invalid
from quorate_greeting.v1.commands_pb2 import ForgetCommand, SayHelloBatchCommand, SayHelloCommand
from quorate_greeting.validation import LONGEST_NAME, check_forget, check_hello, check_hellos


def hello(
    town: str = "oslo", name: str = "ada", salutation: str = "hello", ttl_ms: int = 1
) -> SayHelloCommand:
    return SayHelloCommand(town=town, name=name, salutation=salutation, ttl_ms=ttl_ms)


def test_what_is_right_passes() -> None:
    check_hello(hello(name="a" * LONGEST_NAME))
    check_hellos(SayHelloBatchCommand(hellos=[hello(), hello(name="ben")]))
    check_forget(ForgetCommand(town="oslo", name="ada"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (hello(town=""), "town: must not be empty"),
        (hello(name=" "), "name: must not be empty"),
        (hello(salutation=""), "salutation: must not be empty"),
        (hello(ttl_ms=0), "ttl_ms: must be from 1 to 31536000000, not 0"),
        (
            hello(ttl_ms=31_536_000_001),
            "ttl_ms: must be from 1 to 31536000000, not 31536000001",
        ),
        (hello(name="a" * 101), "name: must have at most 100 characters, not 101"),
    ],
)
def test_a_wrong_hello_is_refused_with_its_field(command: SayHelloCommand, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_hello(command)

    assert str(refusal.value) == said


def test_a_wrong_hello_of_a_batch_is_refused_with_its_position() -> None:
    with pytest.raises(Invalid) as refusal:
        check_hellos(SayHelloBatchCommand(hellos=[hello(), hello(name="")]))

    assert str(refusal.value) == "hellos[1].name: must not be empty"


@pytest.mark.parametrize(
    ("command", "field"),
    [(ForgetCommand(name="ada"), "town"), (ForgetCommand(town="oslo"), "name")],
)
def test_nobody_is_forgotten_without_a_name(command: ForgetCommand, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_forget(command)

    assert refusal.value.field == field
