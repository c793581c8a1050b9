"""Bugs that can be switched on, each in one small method: the simulation must find every one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.support.sim.profile import Faults, Profile

Wrong = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Bug:
    """One method that is wrong, and the kind of run in which that shows."""

    name: str
    #: The gap of the design that it opens again, or the subject of the rule that it breaks.
    gap: str
    #: What holds without it.
    rule: str
    owner: Any
    method: str
    wrong: Any
    profile: Profile
    #: Where the same rule is seen to a second time: (owner, method, what is there instead).
    also: tuple[tuple[Any, str, Any], ...] = ()

    @contextmanager
    def switched_on(self) -> Iterator[None]:
        """Put the wrong method in the place of the right one."""
        with ExitStack() as replaced:
            for owner, method, wrong in ((self.owner, self.method, self.wrong), *self.also):
                replaced.enter_context(self._replaced(owner, method, wrong))
            yield

    @contextmanager
    def _replaced(self, owner: Any, method: str, wrong: Any) -> Iterator[None]:
        right = vars(owner).get(method)
        if right is None and not hasattr(owner, method):
            raise AttributeError(f"bug {self.name}: there is no {method} to be wrong")
        setattr(owner, method, wrong)
        try:
            yield
        finally:
            if right is None:
                delattr(owner, method)
            else:
                setattr(owner, method, right)


BUGS: Final[dict[str, Bug]] = {}


def bug(
    owner: Any,
    method: str,
    gap: str,
    profile: Profile,
    *,
    attribute: bool = False,
    also: tuple[tuple[Any, str, Any], ...] = (),
) -> Callable[[Wrong], Wrong]:
    """Enter the decorated function into the catalogue, as what is wrong."""

    def register(wrong: Wrong) -> Wrong:
        name = wrong.__name__
        put = property(wrong) if attribute else wrong
        BUGS[name] = Bug(name, gap, wrong.__doc__ or "", owner, method, put, profile, also)
        return wrong

    return register


#: Crashes and elections all the time, and many entries.
CRASHES: Final = Profile(
    spares=0,
    seconds=5.0,
    tail=15,
    batch_bytes=1,
    sessions=1,
    watchers=1,
    faults=Faults(every_s=0.15, membership=0, empty_disk=0),
)
#: Power goes everywhere while disks are slow: what was told too early is gone.
POWER: Final = replace(
    CRASHES,
    sync_s=(0.005, 0.05),
    faults=replace(CRASHES.faults, power_loss=10, cluster_power_loss=5),
)
#: Disks are fast and ways are long: logs differ often.
CONFLICTS: Final = replace(
    CRASHES,
    proposals=120.0,
    faults=replace(CRASHES.faults, isolate_leader=8, strand_leader=8, stream_break=6, slow_way=8),
)
SNAPSHOTS: Final = replace(
    CONFLICTS,
    tail=1,
    compaction_s=0.05,
    faults=replace(CONFLICTS.faults, cut_snapshot=0.5),
)
#: Old leaders that do not know it: slow clocks and long pauses.
READS: Final = replace(
    CRASHES,
    reads=150.0,
    faults=replace(CRASHES.faults, strand_leader=12, pause=6, transfer=6),
)
