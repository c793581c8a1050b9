"""The alerts for operators, by metric."""

from collections.abc import Mapping
from typing import Final

from quorate.observe.thresholds import FOLLOWER_LAG, LOOP_STOP_S
from quorate.plugin.advanced import Alert

ALERTS: Final[Mapping[str, Alert]] = {
    "quorate_node_info": Alert(
        name="QuorateNodeDown",
        expression='up{job="quorate"} == 0',
        meaning="A node does not answer.",
        action="Check its process and its log; a cluster of three keeps serving with two.",
        severity="critical",
    ),
    "quorate_node_ready": Alert(
        name="QuorateNodeNotReady",
        expression="quorate_node_ready == 0",
        meaning="A node has been up for ten minutes without becoming ready.",
        action="/readyz on its HTTP port lists what it waits for.",
        for_s=600,
    ),
    "quorate_raft_role": Alert(
        name="QuorateShardWithoutLeader",
        expression='sum by (shard) (quorate_raft_role{role="leader"}) == 0',
        meaning="A shard has no leader: nothing can be written to it.",
        action="`quorate status` shows which of its nodes are down: start them.",
        for_s=30,
        severity="critical",
    ),
    "quorate_raft_leader_changes_total": Alert(
        name="QuorateLeaderChanges",
        expression="increase(quorate_raft_leader_changes_total[10m]) > 3",
        meaning="A shard changes its leader too often.",
        action="Check for a slow disk, a busy processor or packet loss in the network.",
        for_s=0,
    ),
    "quorate_raft_follower_lag_entries": Alert(
        name="QuorateFollowerLags",
        expression=f"quorate_raft_follower_lag_entries > {FOLLOWER_LAG}",
        meaning="A follower lags so far that it may need a snapshot.",
        action="Compare its disk and its processor with the leader's.",
    ),
    "quorate_shard_stopped": Alert(
        name="QuorateReplicaStopped",
        expression="quorate_shard_stopped == 1",
        meaning="A replica has stopped or cannot be opened.",
        action="`quorate status` says why, and the page on recovering a shard what to do.",
        for_s=0,
        severity="critical",
    ),
    "quorate_damage_open": Alert(
        name="QuorateDamage",
        expression="quorate_damage_open > 0",
        meaning="A disk of a node has damaged data; the replica is being rebuilt.",
        action="`quorate status` describes the damage; replace the disk if it happens again.",
        for_s=0,
    ),
    "quorate_canary_failures_total": Alert(
        name="QuorateCanaryFails",
        expression="increase(quorate_canary_failures_total[5m]) > 0",
        meaning="A shard answered the canary wrongly, slowly or not at all.",
        action="`quorate status` names the shard; check its leader.",
        for_s=0,
    ),
    "quorate_write_refused_commands_total": Alert(
        name="QuorateWritesRefused",
        expression="rate(quorate_write_refused_commands_total[5m]) > 0",
        meaning="A queue, a disk or a database is full.",
        action="`quorate status` shows which node raises an alarm.",
    ),
    "quorate_log_sync_seconds": Alert(
        name="QuorateSlowDisk",
        expression="histogram_quantile(0.99,"
        " sum by (le, instance) (rate(quorate_log_sync_seconds_bucket[5m]))) > 0.1",
        meaning="The disk of a node is slow: one sync of a hundred takes more than 100 ms.",
        action="Give the node's directory a disk of its own.",
        for_s=300,
    ),
    "quorate_loop_longest_stop_seconds": Alert(
        name="QuorateLoopBlocked",
        expression=f"quorate_loop_longest_stop_seconds > {LOOP_STOP_S}",
        meaning="The event loop is blocked for longer than heartbeats should be delayed.",
        action="Check the log for slow handlers, and the host for other busy processes.",
        for_s=120,
    ),
    "quorate_apply_failures_total": Alert(
        name="QuorateHandlerFails",
        expression="increase(quorate_apply_failures_total[1h]) > 0",
        meaning="A handler of a plugin has a bug.",
        action="The log of the leader has the traceback: give it to the author of the plugin.",
        for_s=0,
    ),
    "quorate_apply_slow_writes_total": Alert(
        name="QuorateHandlerSlow",
        expression="increase(quorate_apply_slow_writes_total[1h]) > 0",
        meaning="A handler is slow and blocks its node.",
        action="The log names the command: send it with fewer items.",
        for_s=0,
    ),
    "quorate_tls_end_timestamp_seconds": Alert(
        name="QuorateCertificateEnds",
        expression="quorate_tls_end_timestamp_seconds - time() < 7 * 86400",
        meaning="A certificate expires within a week.",
        action="Replace its file; nodes load it without a restart.",
        for_s=0,
    ),
    "quorate_audit_lost_records_total": Alert(
        name="QuorateAuditLost",
        expression="rate(quorate_audit_lost_records_total[5m]) > 0",
        meaning="Records of the audit log are lost: its disk is full or too slow.",
        action="Make room on the disk of `audit.file`.",
        for_s=0,
        severity="critical",
    ),
    "quorate_disk_free_bytes": Alert(
        name="QuorateDiskFull",
        expression="quorate_disk_free_bytes < 1e9",
        meaning="The disk of a node is nearly full; the node refuses writes before it is full.",
        action="Make room, or move the node's directory to a larger disk.",
        for_s=0,
        severity="critical",
    ),
}
