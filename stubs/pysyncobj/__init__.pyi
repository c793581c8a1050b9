from pysyncobj.config import FAIL_REASON as FAIL_REASON, SyncObjConf as SyncObjConf
from pysyncobj.node import Node as Node, TCPNode as TCPNode
from pysyncobj.syncobj import (
    _COMMAND_TYPE as _COMMAND_TYPE,
    _RAFT_STATE as _RAFT_STATE,
    SyncObj as SyncObj,
    SyncObjConsumer as SyncObjConsumer,
    SyncObjException as SyncObjException,
)
