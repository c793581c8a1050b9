import json
from typing import Any

import pytest
from quorate_name_server.remoting.frames import Frames, MalformedError
from quorate_name_server.remoting.headers import (
    Request,
    Response,
    decode,
    encode,
    encode_one_way,
)

#: As a broker sends it that was started with ROCKETMQ_SERIALIZE_TYPE=ROCKETMQ.
BINARY = bytes.fromhex(
    "0067 00 01df 00000007 00000002 00000000 0000002f"
    "0016 6865617274626561745469 6d656f75744d696c6c6973 00000005 3130303030"
    "0008 7a6f6e654e616d65 00000000"
)


def of_json(said: object) -> Request:
    return decode((0, json.dumps(said).encode(), b"body"))


def test_a_header_says_what_a_stock_tool_says() -> None:
    header = (
        b'{"code":105,"extFields":{"topic":"T1"},"flag":0,"language":"JAVA","opaque":14,'
        b'"serializeTypeCurrentRPC":"JSON","version":479}'
    )

    assert decode((0, header, b"")) == Request(105, 14, 0, 479, {"topic": "T1"})


def test_missing_keys_have_defaults_and_unknown_ones_are_left_alone() -> None:
    assert of_json({"more": [], "language": "KLINGON"}) == Request(0, 0, body=b"body")


def test_values_of_fields_are_text_or_nothing() -> None:
    fields = of_json({"extFields": {"a": 1, "b": True, "c": None, "d": "x"}}).fields

    assert fields == {"a": "1", "b": "true", "c": None, "d": "x"}


def test_a_binary_header_says_the_same() -> None:
    request = decode((1, BINARY, b"body"))

    fields = {"heartbeatTimeoutMillis": "10000", "zoneName": None}
    assert request == Request(103, 7, 2, 479, fields, b"body")
    assert request.one_way
    assert not request.is_response


@pytest.mark.parametrize("end", range(len(BINARY)))
def test_a_binary_header_that_is_cut_off_is_refused(end: int) -> None:
    with pytest.raises(MalformedError):
        decode((1, BINARY[:end], b""))


@pytest.mark.parametrize(
    "said",
    [
        [],
        None,
        {"code": "one"},
        {"code": [1]},
        {"opaque": 1 << 31},
        {"opaque": 1e999},
        {"extFields": [1]},
    ],
)
def test_a_json_header_that_is_none_is_refused(said: Any) -> None:
    with pytest.raises(MalformedError):
        of_json(said)


@pytest.mark.parametrize("header", [b"", b"\xff", b"[" * 100_000, b'{"opaque":' + b"9" * 9_999])
def test_bytes_that_are_no_json_are_refused(header: bytes) -> None:
    with pytest.raises(MalformedError):
        decode((0, header, b""))


def test_headers_of_another_kind_are_refused() -> None:
    with pytest.raises(MalformedError, match="kind 2"):
        decode((2, b"", b""))


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (Response(), {"code": 0}),
        (Response(17, "no é"), {"code": 17, "remark": "no é"}),
        (Response(fields={}), {"code": 0, "extFields": {}}),
        (Response(fields={"changed": "true"}), {"code": 0, "extFields": {"changed": "true"}}),
    ],
)
def test_a_response_bears_the_number_of_its_request(
    response: Response, said: dict[str, Any]
) -> None:
    response.body = b"body"

    [(kind, header, body)] = Frames().feed(encode(response, -7))

    expected = {"flag": 1, "language": "PYTHON", "opaque": -7, "version": 479} | said
    assert (kind, json.loads(header), body) == (0, expected, b"body")


def test_a_one_way_request_asks_for_no_answer() -> None:
    [found] = Frames().feed(encode_one_way(905, {"minBrokerId": "1"}, 3))

    request = decode(found)
    assert request == Request(905, 3, 2, 479, {"minBrokerId": "1"})
    assert request.one_way
