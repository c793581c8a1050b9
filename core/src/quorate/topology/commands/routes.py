"""The routes of core's own commands, which every program of a cluster is given."""

from collections.abc import Mapping
from typing import Final

from quorate.apply.control import ControlRoute, by_name, in_first
from quorate.apply.levels import ASKED_FROM, CHECKED_FROM, MERGED_FROM
from quorate.files import commands as files
from quorate.topology.commands import levels, members, merges, sessions, shards, splits, upkeep
from quorate.v1 import control_pb2 as pb

#: By the full name of the message.
ROUTES: Final[Mapping[str, ControlRoute]] = by_name(
    ControlRoute(pb.OpenSession, sessions.open_session),
    ControlRoute(pb.SealSession, sessions.seal_session),
    ControlRoute(pb.CloseSession, sessions.close_session),
    ControlRoute(pb.AdoptSlots, shards.adopt_slots, of_frozen=True),
    ControlRoute(pb.PlaceLeader, shards.place_leader),
    ControlRoute(pb.AdoptMirror, upkeep.adopt_mirror),
    ControlRoute(pb.ReportDeclaration, in_first(levels.report_declaration)),
    ControlRoute(pb.CreateShards, in_first(shards.create_shards)),
    ControlRoute(pb.RecoverShard, in_first(shards.recover_shard)),
    ControlRoute(pb.BeginMemberChange, in_first(members.begin)),
    ControlRoute(pb.FinishMemberChange, in_first(members.finish)),
    ControlRoute(pb.MoveReplica, in_first(members.begin_move)),
    ControlRoute(pb.FinishMove, in_first(members.finish_move)),
    ControlRoute(pb.DrainNode, in_first(members.drain)),
    ControlRoute(pb.RaiseLevels, in_first(levels.raise_levels)),
    ControlRoute(pb.PurgePlugin, upkeep.purge_plugin),
    ControlRoute(pb.BeginSplit, in_first(splits.begin)),
    ControlRoute(pb.CutShard, splits.cut_shard),
    ControlRoute(pb.AbandonSplit, splits.abandon_split),
    ControlRoute(pb.FinishSplit, in_first(splits.finish)),
    ControlRoute(pb.ForgetSlots, splits.forget_slots),
    ControlRoute(pb.RaiseGeneration, upkeep.raise_generation),
    ControlRoute(pb.BeginMerge, in_first(merges.begin), MERGED_FROM),
    ControlRoute(pb.FreezeShard, merges.freeze_shard, MERGED_FROM, of_frozen=True),
    ControlRoute(pb.FinishMerge, in_first(merges.finish), MERGED_FROM),
    ControlRoute(pb.CancelMerge, in_first(merges.cancel), MERGED_FROM),
    ControlRoute(pb.SettleMerge, in_first(merges.settle), MERGED_FROM),
    ControlRoute(pb.ForgetFences, sessions.forget_fences, ASKED_FROM),
    ControlRoute(pb.CheckRows, upkeep.check_rows, CHECKED_FROM),
    ControlRoute(pb.ReportRows, upkeep.report_rows, CHECKED_FROM),
    ControlRoute(pb.PutCanary, upkeep.put_canary, CHECKED_FROM),
    ControlRoute(pb.TrimHistory, upkeep.trim_history),
    *files.ROUTES,
)
