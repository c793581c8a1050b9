"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import Mapping
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Access, GrpcService, Invalid, Metric, NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_greeting.api import Salutation
from quorate_greeting.caches import Tallies
from quorate_greeting.config import GreetingConfig
from quorate_greeting.salutations import POINT
from quorate_greeting.v1 import service_pb2
from quorate_greeting.v1.commands_pb2 import ForgetCommand, SayHelloBatchCommand, SayHelloCommand
from quorate_greeting.v1.queries_pb2 import ListGreetingsQuery
from quorate_greeting.v1.rows_pb2 import Greeting
from quorate_greeting.v1.service_pb2 import (
    ForgetRequest,
    ForgetResponse,
    ListGreetingsRequest,
    ListGreetingsResponse,
    ListTalliesRequest,
    ListTalliesResponse,
    SayHelloBatchRequest,
    SayHelloBatchResponse,
    SayHelloRequest,
    SayHelloResponse,
)

HELLOS: Final = Metric(
    name="quorate_greeting_hellos_total",
    kind="counter",
    help="Hellos that were said on this node.",
    labels=("salutation",),
)
PAGE_SIZE: Final = 100
LARGEST_PAGE: Final = 1_000


class GreetingService:
    """Serves greetings on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._config: Final = node.config(GreetingConfig)
        self._salutations: Final[Mapping[str, Salutation]] = node.extensions(POINT.name, Salutation)

    async def SayHello(self, request: SayHelloRequest, context: object) -> SayHelloResponse:
        """Greet one person."""
        return self._said(await self._node.propose(self._hello(request), Greeting))

    async def SayHelloBatch(
        self, request: SayHelloBatchRequest, context: object
    ) -> SayHelloBatchResponse:
        """Greet many people in one proposal a shard."""
        hellos = [
            self._hello(hello, f"hellos[{position}].")
            for position, hello in enumerate(request.hellos)
        ]
        reply = await self._node.propose(SayHelloBatchCommand(hellos=hellos), BatchReply)
        return SayHelloBatchResponse(
            responses=[
                self._said(Greeting.FromString(greeting)) if greeting else SayHelloResponse()
                for greeting in reply.replies
            ],
            refusals=reply.refusals,
        )

    async def Forget(self, request: ForgetRequest, context: object) -> ForgetResponse:
        """Forget one person."""
        await self._node.propose(ForgetCommand(town=request.town, name=request.name), Empty)
        return ForgetResponse()

    async def ListGreetings(
        self, request: ListGreetingsRequest, context: object
    ) -> ListGreetingsResponse:
        """List a page of a town's greetings."""
        size = min(request.page_size or PAGE_SIZE, LARGEST_PAGE)
        query = ListGreetingsQuery(
            town=request.town,
            name_prefix=request.name_prefix,
            after_name=request.page_token,
            limit=size + 1,
        )
        found = [greeting async for greeting in self._node.query(query, Greeting)]
        page = found[:size]
        more = len(found) > size
        return ListGreetingsResponse(greetings=page, next_page_token=page[-1].name if more else "")

    async def ListTallies(
        self, request: ListTalliesRequest, context: object
    ) -> ListTalliesResponse:
        """List the tallies as this node knows them; no shard is asked."""
        return ListTalliesResponse(tallies=self._node.cache(Tallies).in_order())

    def _hello(self, request: SayHelloRequest, path: str = "") -> SayHelloCommand:
        salutation = request.salutation or self._config.default_salutation
        if salutation not in self._salutations:
            known = ", ".join(sorted(self._salutations))
            raise Invalid(f"{path}salutation", f"{salutation!r} is none of {known}")
        return SayHelloCommand(
            town=request.town,
            name=request.name,
            salutation=salutation,
            ttl_ms=self._config.ttl_s * 1_000,
        )

    def _said(self, greeting: Greeting) -> SayHelloResponse:
        self._node.count(HELLOS.name, salutation=greeting.salutation)
        text = self._salutations[greeting.salutation].text(greeting.name)
        return SayHelloResponse(greeting=greeting, text=text)


GREETING: Final = GrpcService(
    service=service_pb2.DESCRIPTOR.services_by_name["GreetingService"],
    servicer=GreetingService,
    access={
        **dict.fromkeys(("SayHello", "Forget"), Access(right="write", key="town")),
        "SayHelloBatch": Access(right="write", items="hellos", key="town"),
        "ListGreetings": Access(right="read", key="town"),
        "ListTallies": Access(right="read"),
    },
)
