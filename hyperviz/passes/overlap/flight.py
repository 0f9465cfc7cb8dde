"""How many bytes are in flight, and waiting for some before others are issued so that there are never more than a limit."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from hyperviz.passes.overlap.places import Key, Places


def keep_within(places: Places, limit: int | None) -> int:
    """Lets reductions be waited for earlier, the oldest first, wherever a launch would exceed a limit.

    In flight is what a gather fills before it is used, and what a reduction reads, which torch keeps until the wait. Gathers were
    placed within the limit already and stay; no reduction is waited for before the place where it was.

    Args:
        places: backs are moved.
        limit: in bytes; None for no limit.

    Returns:
        The most bytes that are in flight at once.
    """
    flight, most = _Flight(places), 0
    coming = [(places.start(index), index) for index in range(len(places.transfers))]
    heapq.heapify(coming)
    while coming:
        start, index = heapq.heappop(coming)
        flight.land_before(start)
        if limit is not None and not flight.make_room(index, limit):
            heapq.heappush(coming, (places.start(index), index))
            continue
        flight.take_off(index)
        most = max(most, flight.num_bytes)
    return most


@dataclass(slots=True)
class _Flight:
    """What is in flight at one place.

    Attributes:
        places: of all transfers.
        num_bytes: in flight.
        landings: (where it is waited for, which), a heap; some have landed before.
        flying: transfers in flight, in the order in which they were issued.
    """

    places: Places
    num_bytes: int = 0
    landings: list[tuple[Key, int]] = field(default_factory=list)
    flying: dict[int, None] = field(default_factory=dict)

    def take_off(self, index: int) -> None:
        self.flying[index] = None
        self.num_bytes += self.places.transfers[index].num_bytes
        heapq.heappush(self.landings, (self.places.stop(index), index))

    def land(self, index: int) -> None:
        if index in self.flying:
            del self.flying[index]
            self.num_bytes -= self.places.transfers[index].num_bytes

    def land_before(self, place: Key) -> None:
        while self.landings and self.landings[0][0] < place:
            self.land(heapq.heappop(self.landings)[1])

    def make_room(self, coming: int, limit: int) -> bool:
        """Waits for reductions, the oldest first, until another transfer fits, or none is left that can be waited for here.

        Returns:
            False if the other is issued behind a wait instead, which stood before it; it comes again there.
        """
        transfers, start = self.places.transfers, self.places.start(coming)
        for index in list(self.flying):
            if self.num_bytes + transfers[coming].num_bytes <= limit:
                return True
            if transfers[index].is_gather:
                continue
            if self.places.wait_by(index, start):
                self.places.held_back[index] = f"to make room for {transfers[coming].name}"
                self.land(index)
            elif self.places.issue_behind(coming, index):
                heapq.heappush(self.landings, (self.places.stop(index), index))
                return False
        return True
