"""Why two regions are not one: what stands between them, what forbids it, or what it would cost."""

from __future__ import annotations

from dataclasses import dataclass

from hyperviz.snapshot.columns import aligned, size_words, time_words

WHY_APART = ("same", "not compiled", "annotation", "order", "limits", "strategy", "far")
TIE_KINDS = ("data", "memory", "effect", "region")
_ROWS = 12


@dataclass(frozen=True, slots=True)
class Tie:
    """Two calls whose order must hold.

    Attributes:
        first: the call that comes first.
        second: the one that must stay behind it.
        kind: ``"data"``: it reads the other's result; ``"memory"``: they share memory that is written or freed; ``"effect"``: nobody can
            see what one of them concerns, or both draw random numbers; ``"region"``: both are in one region, and run as one.
    """

    first: str
    second: str
    kind: str


@dataclass(frozen=True, slots=True)
class Between:
    """An eager call that stands between two regions.

    Attributes:
        node: its name.
        role: one of ``ROLES``.
        reason: why it stays eager.
        behind: the ties that hold it behind the first region, from a member to this call; empty where none does.
        ahead: the ties that hold it ahead of the second, from this call to a member.
    """

    node: str
    role: str
    reason: str
    behind: tuple[Tie, ...] = ()
    ahead: tuple[Tie, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinCost:
    """A collective that hides less if two regions become one; what is not known is None.

    Attributes:
        launch: the node that starts it.
        duration_ms: how long it takes.
        hidden_ms: how much of it compute covers as planned.
        joined_ms: how much of it compute covers once they are one.
        allowed: whether the limits of ``"balanced"`` allow that.
    """

    launch: str
    duration_ms: float | None
    hidden_ms: float | None
    joined_ms: float | None
    allowed: bool = True


@dataclass(frozen=True, slots=True)
class Apart:
    """The answer to "why are these two not one region?".

    Attributes:
        asked: the two names as they were given, regions or nodes.
        first: the region that runs first; ``""`` where a name stands in none.
        second: the other.
        why: ``"same"``: they are one; ``"not compiled"``: one of them is in no region; ``"annotation"``: each has settings or an
            annotation of its own; ``"order"``: ``path`` forbids it; ``"limits"``: it would cost more than ``"balanced"`` allows;
            ``"strategy"``: nothing forbids it, and another strategy or other limits may join them; ``"far"``: other regions stand between.
        sentence: the answer in words.
        between: the eager calls between them, in execution order.
        num_regions_between: how many regions stand between them.
        path: ties from a member of the first, through at least one eager call, to a member of the second.
        costs: the collectives that would hide less.
        label: whose figures the costs go by; ``""`` where nothing was estimated.
        peak_bytes: the peak of live bytes as planned; None where it is not known.
        joined_peak_bytes: the peak once they are one, likewise.
    """

    asked: tuple[str, str]
    first: str
    second: str
    why: str
    sentence: str
    between: tuple[Between, ...] = ()
    num_regions_between: int = 0
    path: tuple[Tie, ...] = ()
    costs: tuple[JoinCost, ...] = ()
    label: str = ""
    peak_bytes: int | None = None
    joined_peak_bytes: int | None = None

    def __str__(self) -> str:
        return "\n".join([self.sentence, *self._path(), *self._between(), *self._costs()])

    def _path(self) -> list[str]:
        return [f"path: {path_words(self.path)}"] if self.path else []

    def _between(self) -> list[str]:
        if not self.between:
            return []
        heads = ("eager call between", "role", f"behind {self.first}", f"ahead of {self.second}", "why it is eager")
        rows = [(one.node, one.role, hold_words(one.behind), hold_words(one.ahead), one.reason) for one in self.between[:_ROWS]]
        more = len(self.between) - len(rows)
        return [*aligned([heads, *rows]), *([f"and {more} more"] if more else [])]

    def _costs(self) -> list[str]:
        if not self.label:
            return []
        heads = ("would hide less", "takes", "hidden now", "hidden as one", "limits")
        rows = [
            (one.launch, *map(time_words, (one.duration_ms, one.hidden_ms, one.joined_ms)), "allowed" if one.allowed else "too dear")
            for one in self.costs
        ]
        table = aligned([heads, *rows]) if rows else ["no collective would hide less"]
        return [*table, f"memory peak {size_words(self.peak_bytes)} → {size_words(self.joined_peak_bytes)}", self.label]


def path_words(path: tuple[Tie, ...]) -> str:
    """A chain of ties in one line, as in ``"relu → send (data) → mm (effect)"``; empty for none."""
    return "".join([path[0].first, *(f" → {tie.second} ({tie.kind})" for tie in path)]) if path else ""


def hold_words(ties: tuple[Tie, ...]) -> str:
    """What holds a call on its side of a region, in a few words."""
    return path_words(ties) or "free"
