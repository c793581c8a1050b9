"""What must hold in every history, one property a file."""

from quorate.testing.sim.durable import DurableLogs
from quorate.testing.sim.history import Invariant
from quorate.testing.sim.invariants.acknowledged_survives import AcknowledgedSurvives
from quorate.testing.sim.invariants.applied_durably import AppliedDurably
from quorate.testing.sim.invariants.applied_once import AppliedOnce
from quorate.testing.sim.invariants.complete_watches import CompleteWatches
from quorate.testing.sim.invariants.configuration_of_log import ConfigurationOfLog
from quorate.testing.sim.invariants.durable_promises import DurablePromises
from quorate.testing.sim.invariants.election_safety import ElectionSafety
from quorate.testing.sim.invariants.exactly_once import ExactlyOnce
from quorate.testing.sim.invariants.fenced_proposals import FencedProposals
from quorate.testing.sim.invariants.leader_completeness import LeaderCompleteness
from quorate.testing.sim.invariants.linearizable_reads import LinearizableReads
from quorate.testing.sim.invariants.liveness import Liveness
from quorate.testing.sim.invariants.log_and_data import LogAndData
from quorate.testing.sim.invariants.log_matching import LogMatching
from quorate.testing.sim.invariants.monotonic import Monotonic
from quorate.testing.sim.invariants.never_below_match import NeverBelowMatch
from quorate.testing.sim.invariants.never_stops import NeverStops
from quorate.testing.sim.invariants.one_change_at_a_time import OneChangeAtATime
from quorate.testing.sim.invariants.quorum_commit import QuorumCommit
from quorate.testing.sim.invariants.rows_of_log import RowsOfLog
from quorate.testing.sim.invariants.single_vote import SingleVote
from quorate.testing.sim.invariants.stale_reads import StaleReads
from quorate.testing.sim.invariants.state_machine_safety import StateMachineSafety
from quorate.testing.sim.replays import Replays


def all_invariants() -> list[Invariant]:
    """Return every invariant, as judges of a new history; whoever others ask comes first."""
    logs, replays = DurableLogs(), Replays()
    return [
        logs,
        replays,
        NeverStops(),
        ElectionSafety(),
        SingleVote(),
        LogMatching(),
        DurablePromises(logs),
        QuorumCommit(logs),
        StateMachineSafety(),
        LeaderCompleteness(),
        Monotonic(),
        AppliedDurably(logs),
        AppliedOnce(replays),
        AcknowledgedSurvives(replays),
        RowsOfLog(replays),
        ExactlyOnce(),
        LinearizableReads(),
        StaleReads(),
        CompleteWatches(replays),
        LogAndData(),
        ConfigurationOfLog(),
        OneChangeAtATime(),
        NeverBelowMatch(),
        FencedProposals(replays),
        Liveness(),
    ]
