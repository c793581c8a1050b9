"""What clients did and saw, and whether lists that only grow can have been like that."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from tests.support.sim.history import Violation
from tests.support.sim.v1.lists_pb2 import Append, Appended, GoneOff

ONE_ORDER: Final = "lists have one order"


class Ledger:
    """Judges each thing when it is known; `violated` is called with what does not hold.

    A list is judged by its longest known order: all that anybody sees is the beginning of it. What
    was answered or seen before a read began is in what it reads.
    """

    def __init__(self, violated: Callable[[Violation], None]) -> None:
        self._violated: Final = violated
        self.appends: Final[dict[int, Append]] = {}
        #: The longest that was seen of each list.
        self.orders: Final[defaultdict[str, list[int]]] = defaultdict(list)
        self._places: Final[dict[int, int]] = {}
        self._answers: Final[dict[int, Appended]] = {}
        self._by_place: Final[dict[tuple[str, int], int]] = {}
        self._ids: Final[dict[int, int]] = {}
        self._refused: Final[set[int]] = set()
        #: The length that each list surely has by now.
        self.floors: Final[defaultdict[str, int]] = defaultdict(int)

    def began(self, append: Append) -> None:
        """Take note of an append that somebody asks for."""
        self.appends[append.operation] = append

    def answered(self, append: Append, answer: Appended) -> None:
        """Judge an answer."""
        operation, key = append.operation, append.key
        known = self._answers.setdefault(operation, answer)
        if known != answer:
            self.fail("answered alike", f"{operation} was answered {known}, then {answer}")
        if self._ids.setdefault(answer.id, operation) != operation:
            self.fail("ids are unique", f"{operation} has the id {answer.id} of another append")
        at = self._by_place.setdefault((key, answer.length), operation)
        if at != operation:
            self.fail(ONE_ORDER, f"{operation} and {at} are both number {answer.length} of {key}")
        order = self.orders[key]
        if len(order) >= answer.length and order[answer.length - 1] != operation:
            self.fail(ONE_ORDER, f"{operation} is not number {answer.length} of {key}: {order}")
        self.floors[key] = max(self.floors[key], answer.length)

    def refused(self, append: Append) -> None:
        """Take note that somebody was told that an append never happens."""
        self._refused.add(append.operation)
        if append.operation in self._places:
            self.fail("refused is not applied", f"{append.operation} was refused, and is there")

    def saw(self, key: str, operations: Sequence[int], who: str, floor: int = 0) -> None:
        """Judge a list that somebody saw; `floor` is what it had when they asked."""
        order, length = self.orders[key], len(operations)
        common = min(length, len(order))
        if list(operations[:common]) != order[:common]:
            self.fail(ONE_ORDER, f"{who} sees {key} as {list(operations)}, others as {order}")
        if length < floor:
            self.fail(
                "reads never go back",
                f"{who} sees {length} operations of {key}, which had {floor} before",
            )
        for place in range(common, length):
            self._take(key, place + 1, operations[place], who)
        self.floors[key] = max(self.floors[key], length)

    def ended(self, key: str, operations: Sequence[int], who: str) -> None:
        """Judge a list at the end of the run."""
        self.saw(key, operations, who, max(self.floors[key], len(self.orders[key])))

    def alarmed(self, operation: int, gone: GoneOff | None) -> None:
        """Judge the alarm of an operation at the end of the run."""
        wanted = self.appends[operation].ttl_ms
        times = 0 if gone is None else gone.times
        if operation not in self._places or not wanted:
            if times:
                self.fail("alarms go off once", f"that of {operation}, which has none, went off")
        elif times != 1:
            self.fail("alarms go off once", f"that of {operation} went off {times} times")
        elif gone is not None and gone.at_ms < gone.due_ms:
            self.fail("alarms go off once", f"that of {operation} went off too early: {gone}")

    def alarms(self) -> int:
        """Return how many alarms have to go off."""
        return sum(self.appends[each].ttl_ms > 0 for each in self._places)

    def _take(self, key: str, place: int, operation: int, who: str) -> None:
        self.orders[key].append(operation)
        append = self.appends.get(operation)
        if append is None or append.key != key:
            self.fail(ONE_ORDER, f"{who} sees {operation} in {key}, which nobody appended to it")
        if self._places.setdefault(operation, place) != place:
            self.fail("applied once", f"{who} sees {operation} twice in {key}")
        if operation in self._refused:
            self.fail("refused is not applied", f"{who} sees {operation}, which was refused")
        if self._by_place.setdefault((key, place), operation) != operation:
            at = self._by_place[key, place]
            self.fail("no answer is lost", f"{who} sees {operation} in {key} in the place of {at}")

    def fail(self, invariant: str, what: str) -> None:
        """Tell that something does not hold."""
        self._violated(Violation(invariant, what))
