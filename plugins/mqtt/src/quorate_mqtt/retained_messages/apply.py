"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.plugin import Txn, answer_each, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.retained_messages.families import EXPIRY, RETAINED, key_of
from quorate_mqtt.tenants.rows import there
from quorate_mqtt.v1.retained_messages_pb2 import (
    DeleteRetainedMessages,
    ExpireRetainedMessages,
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedMessage,
    RetainedName,
    RetainedStamp,
)


def put_retained_messages(txn: Txn, command: PutRetainedMessages) -> BatchReply:
    """Make or replace retained messages."""
    return answer_each(txn, command.messages, _put)


def delete_retained_messages(txn: Txn, command: DeleteRetainedMessages) -> BatchReply:
    """Delete retained messages, where there are some."""
    return answer_each(txn, command.names, _delete)


def expire_retained_messages(txn: Txn, command: ExpireRetainedMessages) -> BatchReply:
    """Delete the messages whose deadline stands and has come: a later one may have moved it."""
    for key in still_due(txn, EXPIRY, command.keys):
        _erase(txn, key)
    return BatchReply(items=len(command.keys))


def _put(txn: Txn, put: PutRetainedMessageRequest) -> RetainedStamp:
    there(txn, put.tenant)
    stored_at_ms = txn.proposed_at_ms
    expires_at_ms = stored_at_ms + put.expiry_ms if put.expiry_ms else 0
    message = RetainedMessage(
        tenant=put.tenant,
        topic=put.topic,
        payload=put.payload,
        qos=put.qos,
        properties=put.properties,
        stored_at_ms=stored_at_ms,
        expires_at_ms=expires_at_ms,
    )
    key = key_of(put)
    txn.put(RETAINED, key, message.SerializeToString(deterministic=True))
    txn.schedule(EXPIRY, key, expires_at_ms or None)
    return RetainedStamp(stored_at_ms=stored_at_ms, expires_at_ms=expires_at_ms)


def _delete(txn: Txn, named: RetainedName) -> None:
    _erase(txn, key_of(named))


def _erase(txn: Txn, key: bytes) -> None:
    txn.delete(RETAINED, key)
    txn.schedule(EXPIRY, key, None)
