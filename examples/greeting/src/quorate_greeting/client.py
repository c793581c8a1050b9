"""Greetings for Python programs: `Greetings(q)` over an `AsyncClient`, and its twin."""

from collections.abc import AsyncGenerator
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.client import AsyncClient, Blocking, Client, blocking, iterating

from quorate_greeting.families import GROUP, town_shard
from quorate_greeting.v1.commands_pb2 import ForgetCommand
from quorate_greeting.v1.rows_pb2 import Greeting
from quorate_greeting.v1.service_pb2 import (
    ListGreetingsRequest,
    ListGreetingsResponse,
    SayHelloRequest,
    SayHelloResponse,
)

_SERVICE: Final = "/quorate_greeting.v1.GreetingService/"


class Greetings:
    """Greets people, and lists the greetings."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def say_hello(self, town: str, name: str, *, salutation: str = "") -> str:
        """Greet one person, and return the text; the node chooses a missing salutation."""
        response = await self._q.call(
            f"{_SERVICE}SayHello",
            SayHelloRequest(town=town, name=name, salutation=salutation),
            SayHelloResponse,
            group=GROUP,
            shard_key=town_shard(town),
        )
        return response.text

    async def forget(self, town: str, name: str) -> None:
        """Forget one person: a command that needs nothing of the node, and shares its calls."""
        await self._q.execute(ForgetCommand(town=town, name=name), Empty)

    async def list(self, town: str, *, name_prefix: str = "") -> AsyncGenerator[Greeting, None]:
        """Yield a town's greetings in the order of the names."""
        request = ListGreetingsRequest(town=town, name_prefix=name_prefix)
        while True:
            page = await self._q.call(
                f"{_SERVICE}ListGreetings",
                request,
                ListGreetingsResponse,
                group=GROUP,
                shard_key=town_shard(town),
                read=True,
            )
            for greeting in page.greetings:
                yield greeting
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token


class SyncGreetings(Blocking[Greetings]):
    """The same over a `Client`, without `await`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, Greetings(q.asynchronous))

    say_hello = blocking(Greetings.say_hello)
    forget = blocking(Greetings.forget)
    list = iterating(Greetings.list)
