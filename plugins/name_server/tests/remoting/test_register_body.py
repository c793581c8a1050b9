import json
import re
import zlib
from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given, strategies as st
from quorate_name_server.remoting.java_json import BodyError
from quorate_name_server.remoting.register_body import LARGEST_BODY, read_body
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

from tests.support.rocketmq.recorded import compressed, registrations

MAPPED = (
    b'{"filterServerList":["10.0.0.9:1"],"topicConfigSerializeWrapper":{'
    b'"dataVersion":{"counter":3,"stateVersion":2,"timestamp":1},'
    b'"topicConfigTable":{"ST1":{"attributes":{},"order":false,"perm":6,"readQueueNums":2,'
    b'"topicFilterType":"SINGLE_TAG","topicName":"ST1","topicSysFlag":1,"writeQueueNums":2}},'
    b'"topicQueueMappingInfoMap":{"ST1":{"bname":"broker-a","currIdMap":{0:0,1:1},"dirty":false,'
    b'"epoch":7,"scope":"__global__","topic":"ST1","totalQueues":2}}}}'
)


def read(body: bytes, version: int = 479) -> pb.Registration:
    said = pb.Registration()
    read_body(said, body, version=version)
    return said


def test_a_stock_broker_registers_its_topics() -> None:
    said = read(registrations()[0])

    topics = {each.topic: each.queues for each in said.topics}
    assert len(topics) == 13
    assert topics["TBW102"] == rows.Queues(read_queues=8, write_queues=8, perm=7)
    assert (said.data_version.counter, said.data_version.state_version) == (0, 0)
    assert said.HasField("filter_servers")
    assert not said.filter_servers.addresses


def test_static_topics_bring_their_mappings() -> None:
    said = read(MAPPED)

    [mapping] = said.mappings
    assert (mapping.topic, mapping.broker) == ("ST1", "broker-a")
    assert mapping.mapping == rows.QueueMapping(
        total_queues=2,
        epoch=7,
        scope="__global__",
        queues=[
            rows.MappedQueue(logical=0, physical=0),
            rows.MappedQueue(logical=1, physical=1),
        ],
    )
    assert list(said.filter_servers.addresses) == ["10.0.0.9:1"]
    assert said.topics[0].queues.topic_sys_flag == 1


def test_a_compressed_body_says_the_same_but_for_flags() -> None:
    quoted = re.sub(rb"([{,])(\d+):", rb'\1"\2":', MAPPED)

    said = read(compressed(quoted))

    plain = read(MAPPED)
    plain.topics[0].queues.topic_sys_flag = 0
    assert said == plain


def test_an_old_broker_compresses_no_mappings() -> None:
    whole = json.loads(registrations()[0])
    whole["topicConfigSerializeWrapper"]["topicQueueMappingInfoMap"] = {}
    end = pack(">i", 0)
    plain = zlib.decompress(compressed(json.dumps(whole).encode()))
    assert plain.endswith(end)

    said = read(zlib.compress(plain.removesuffix(end)), version=401)

    assert len(said.topics) == len(whole["topicConfigSerializeWrapper"]["topicConfigTable"])


def test_a_very_old_broker_sends_its_topics_alone() -> None:
    wrapper = json.loads(MAPPED.replace(b"{0:0,1:1}", b"{}"))["topicConfigSerializeWrapper"]

    said = read(json.dumps(wrapper).encode(), version=36)

    assert [each.topic for each in said.topics] == ["ST1"]
    assert said.data_version.timestamp == 1


def test_a_registration_without_a_body_has_no_topics() -> None:
    said = read(b"")

    assert said.HasField("data_version")
    assert said.HasField("filter_servers")
    assert not said.topics


def test_filter_servers_that_are_not_named_stay() -> None:
    assert not read(b'{"topicConfigSerializeWrapper":{}}').HasField("filter_servers")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"topicConfigSerializeWrapper":[1]}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":3}}}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"perm":"six"}}}}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"perm":-1}}}}',
        b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":1e99}}}',
        b'{"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{"T":{"currIdMap":{"a":1}}}}}',
        b'{"filterServerList":7}',
        b"\x78nothing",
        zlib.compress(b"")[:-1],
        zlib.compress(pack(">i", 9)),
        zlib.compress(pack(">i", -9) + b"{}"),
        zlib.compress(pack(">i", 2) + b"{}" + pack(">i", 1 << 30)),
    ],
)
def test_what_is_no_registration_is_refused(body: bytes) -> None:
    with pytest.raises(BodyError):
        read(body)


def test_a_compressed_body_is_no_larger_than_a_frame() -> None:
    with pytest.raises(BodyError, match="more than 16,777,216 bytes"):
        read(zlib.compress(bytes(LARGEST_BODY + 1)))


@given(st.data())
def test_a_changed_body_is_read_or_refused(data: st.DataObject) -> None:
    body = bytearray(data.draw(st.sampled_from([MAPPED, *registrations()])))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))

    with suppress(BodyError):
        read(bytes(body))
