"""The header blocks of calls mean what was asked, and repeat."""

from __future__ import annotations

import hpack
import pytest
from quorate.http2.grpc.metadata import timeout_in
from quorate.http2.grpc.request_heads import RequestHeads


def fields(block: bytes) -> list[tuple[bytes, bytes]]:
    found = hpack.Decoder().decode(block, raw=True)
    return [(bytes(each[0]), bytes(each[1])) for each in found]


@pytest.fixture
def heads() -> RequestHeads:
    return RequestHeads("https", "a.example:1", "tests")


def test_a_head_has_the_fields_of_a_call(heads: RequestHeads) -> None:
    assert fields(heads.of_path("/a.B/C")) == [
        (b":method", b"POST"),
        (b":scheme", b"https"),
        (b":path", b"/a.B/C"),
        (b":authority", b"a.example:1"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        (b"user-agent", b"tests"),
        (b"grpc-accept-encoding", b"identity, gzip"),
    ]


@pytest.mark.parametrize(
    "seconds",
    [1e-9, 0.001, 0.0011, 0.999, 0.9999, 1.0, 59.99, 99_999.9, 100_000.1, 9.99e7, 1e8, 1e10],
)
def test_a_timeout_is_not_shorter_than_asked_and_hardly_longer(
    heads: RequestHeads, seconds: float
) -> None:
    [(name, value)] = fields(heads.of_timeout(seconds))
    assert name == b"grpc-timeout"
    found = timeout_in(value)
    assert found is not None
    assert seconds <= found <= seconds * 1.01 + 0.001
    assert heads.of_timeout(seconds) is heads.of_timeout(seconds)


def test_timeouts_are_few(heads: RequestHeads) -> None:
    assert len({heads.of_timeout(4 + number / 10_000) for number in range(10_000)}) <= 101


def test_what_is_remembered_is_bounded(heads: RequestHeads) -> None:
    for number in range(10_000):
        [field] = fields(heads.of_metadata((("trace", f"{number}"),)))
        assert field == (b"trace", b"%d" % number)
        heads.of_timeout(number + 1)
    assert len(heads._metadata) <= 256
    assert len(heads._timeouts) <= 256


def test_no_table_on_the_way_may_keep_what_is_secret(heads: RequestHeads) -> None:
    block = heads.of_metadata([("authorization", "Bearer x"), ("a", "b")])
    secret, plain = hpack.Decoder().decode(block)
    assert isinstance(secret, hpack.NeverIndexedHeaderTuple)
    assert not isinstance(plain, hpack.NeverIndexedHeaderTuple)
