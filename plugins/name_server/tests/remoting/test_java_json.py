import json
import time

import pytest
from hypothesis import given, settings, strategies as st
from quorate_name_server.remoting.java_json import BodyError, dumps, dumps_standard, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.dictionaries(st.integers(), inner)
    ),
    max_leaves=20,
)


def test_numeric_keys_stand_bare_and_all_keys_are_sorted() -> None:
    value = {"brokerName": "b", "brokerAddrs": {10: "é", -1: 'a"b'}, "live": True}

    assert (
        dumps(value) == '{"brokerAddrs":{-1:"a\\"b",10:"é"},"brokerName":"b","live":true}'.encode()
    )
    assert dumps_standard(value) == (
        b'{"brokerAddrs":{"-1":"a\\"b","10":"\\u00e9"},"brokerName":"b","live":true}'
    )


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{0:"a", -1 : "b","1":{2:3}}', {"0": "a", "-1": "b", "1": {"2": 3}}),
        (b'{"a{1:2}":"{3:4}","\\"{5:6":{7:[8,9]}}', {"a{1:2}": "{3:4}", '"{5:6': {"7": [8, 9]}}),
        (b"[1,2]", [1, 2]),
    ],
)
def test_bare_keys_are_read_where_they_are_keys(body: bytes, value: object) -> None:
    assert loads(body) == value


@settings(max_examples=40)
@given(VALUES)
def test_what_is_written_is_read_the_same(value: object) -> None:
    quoted = json.loads(json.dumps(value))

    assert loads(dumps(value)) == quoted
    assert json.loads(dumps_standard(value)) == quoted


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"{a:1}", b'{"a":NaN}'])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(BodyError):
        loads(body)


@pytest.mark.parametrize("piece", [b'\\"', b"a", b"{", b"1", b" "])
def test_what_is_no_json_is_refused_soon(piece: bytes) -> None:
    """It is read in time that grows as it does."""
    began_s = time.process_time()
    with pytest.raises(BodyError):
        loads(b'{"' + piece * 50_000)
    assert time.process_time() - began_s < 5
