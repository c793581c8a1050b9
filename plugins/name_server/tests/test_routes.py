from quorate.testing import MemoryNode
from quorate_name_server.service import NameService
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows, service_pb2 as answers

QUEUES = rows.Queues(read_queues=8, write_queues=8, perm=6)


def registration(**said: object) -> pb.Registration:
    about = {
        "cluster": "C1",
        "name": "broker-a",
        "address": "10.0.0.1:10911",
        "topics": [pb.TopicQueues(topic=topic, queues=QUEUES) for topic in ("orders", "bills")],
    }
    return pb.Registration(**about | said)  # type: ignore[arg-type]


async def test_a_topic_of_a_registered_broker_has_a_route() -> None:
    names = NameService(MemoryNode(["name_server"]))

    reply = await names.Register(pb.RegisterBrokers(brokers=[registration()]), None)
    routes = await names.GetRoutes(answers.GetRoutesRequest(topics=["orders", "none"]), None)

    assert not reply.refusals
    [route] = routes.routes
    assert [(each.broker, each.queues.perm) for each in route.queues] == [("broker-a", 6)]
    assert [each.address for each in route.brokers[0].members] == ["10.0.0.1:10911"]
