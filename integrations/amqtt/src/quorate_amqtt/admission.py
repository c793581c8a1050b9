"""Decides on connects and sessions, before anything in Quorate is touched for a client."""

from __future__ import annotations

import time
import uuid
from typing import Final

from quorate.client import InvalidError, QuorateError, RejectedError
from quorate.plugin import Invalid
from quorate_mqtt.authorisation import Reason as Decided
from quorate_mqtt.client import Access, AccessCache, Action, LoginCache
from quorate_mqtt.names import check_identity, check_topic_name
from quorate_mqtt.v1 import wills_pb2

from quorate_amqtt.config import Settings
from quorate_amqtt.connection import Connection
from quorate_amqtt.fields import Reason
from quorate_amqtt.packets import V3, Connect, Will
from quorate_amqtt.properties import PASSED_ON, Properties, encode


class Refused(Exception):
    """A client may not connect; CONNACK says why."""

    def __init__(self, reason: Reason, why: str) -> None:
        super().__init__(why)
        self.reason: Final = reason


class Admission:
    """Authenticates clients and authorizes their actions."""

    def __init__(self, settings: Settings, access: AccessCache, logins: LoginCache) -> None:
        self._settings: Final = settings
        self._access: Final = access
        self._logins: Final = logins

    def refusal(
        self,
        connection: Connection,
        action: Action,
        topic: str = "",
        qos: int = 0,
        *,
        retain: bool = False,
    ) -> Reason | None:
        """Return why a client may not do something; None: it may."""
        access = Access(
            client_id=connection.connect.client_id,
            username=connection.connect.username or "",
            address=connection.address,
            action=action,
            topic=topic,
            qos=qos,
            retain=retain,
        )
        decision = self._access.decide(self._settings.tenant, access)
        if decision.allowed:
            return None
        return Reason.BANNED if decision.reason is Decided.BLACKLISTED else Reason.NOT_AUTHORIZED

    async def admit(self, connection: Connection) -> Properties:
        """Refuse a client that may not connect; return the properties of CONNACK for MQTT 5.

        Afterwards the client has an id, and its session an expiry interval.
        """
        connect, assigned_client_id = connection.connect, None
        if connect.properties.authentication_method is not None:
            raise Refused(Reason.BAD_AUTHENTICATION, "no method of authentication is known")
        if not connect.client_id:
            if connect.version == V3 and not connect.clean_start:
                raise Refused(Reason.INVALID_CLIENT_ID, "a session to be kept needs an id")
            assigned_client_id = connect.client_id = f"auto-{uuid.uuid4().hex}"
        will = connect.will
        if will is not None and (fault := topic_fault(will.topic)):
            raise Refused(Reason.INVALID_TOPIC, f"its will: {fault}")
        await self._authenticate(connection)
        if will is not None and self.refusal(
            connection, Action.PUBLISH, will.topic, will.qos, retain=will.retain
        ):
            why = f"it may not publish to {will.topic}, as its will does"
            raise Refused(Reason.NOT_AUTHORIZED, why)
        connection.expiry_s = self._expiry_of(connect)
        said_s = connect.properties.session_expiry_s or 0
        return Properties(
            assigned_client_id=assigned_client_id,
            session_expiry_s=None if said_s == connection.expiry_s else connection.expiry_s,
            maximum_packet_bytes=self._settings.packet_bytes,
        )

    def _expiry_of(self, connect: Connect) -> int:
        longest_s = self._settings.session_expiry_s
        if connect.version == V3:
            return 0 if connect.clean_start else longest_s
        return min(connect.properties.session_expiry_s or 0, longest_s)

    async def _authenticate(self, connection: Connection) -> None:
        """Refuse a client with wrong credentials, and a client that is denied to connect."""
        connect = connection.connect
        username = connect.username or ""
        try:
            check_identity("client_id", connect.client_id)
        except Invalid as invalid:
            raise Refused(Reason.INVALID_CLIENT_ID, f"client id: {invalid.reason}") from None
        if not username and connect.password is not None:
            raise Refused(Reason.BAD_PASSWORD, "it has a password, and no user name")
        if not username and not self._settings.anonymous:
            raise Refused(Reason.NOT_AUTHORIZED, "it has no user name")
        if username:
            await self._check_password(username, connect.password or b"", connection.address)
        if refusal := self.refusal(connection, Action.CONNECT):
            raise Refused(refusal, "the blacklist keeps it out")

    async def _check_password(self, username: str, password: bytes, address: str) -> None:
        try:
            check_identity("username", username)
            tenant = self._settings.tenant
            answer = await self._logins.authenticate(tenant, username, password, address)
        except (Invalid, InvalidError) as error:
            raise Refused(Reason.BAD_PASSWORD, str(error)) from None
        except RejectedError as error:
            raise Refused(Reason.SERVER_BUSY, str(error)) from None
        except QuorateError as error:
            raise Refused(Reason.SERVER_UNAVAILABLE, str(error)) from None
        if not answer.authenticated:
            raise Refused(Reason.BAD_PASSWORD, "that is not its password")


def topic_fault(topic: str) -> str:
    """Return why clients may not publish to a topic; empty: they may."""
    try:
        check_topic_name("topic", topic)
    except Invalid as invalid:
        return f"topic: {invalid.reason}"
    return "topics that begin with $ are the broker's own" if topic.startswith("$") else ""


def stored_will(will: Will | None) -> wills_pb2.Will | None:
    """Return a will as Quorate keeps it; its properties stand in it as in a packet."""
    if will is None:
        return None
    return wills_pb2.Will(
        topic=will.topic,
        payload=will.payload,
        qos=will.qos,
        retain=will.retain,
        properties=encode(will.properties, (*PASSED_ON, "message_expiry_s")),
        delay_interval_s=will.properties.will_delay_s or 0,
    )


def expiry_of(seconds: int | None) -> int:
    """Return when a message with this interval expires, in milliseconds; zero: never."""
    return 0 if seconds is None else int(time.time() * 1_000) + seconds * 1_000
