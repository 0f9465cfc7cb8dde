"""What the explorer asks of the world: the knobs it turns, and the protocol that answers them. Knows no torch."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol

from hyperviz.snapshot import (
    MODES,
    STRATEGIES,
    Apart,
    CompileReport,
    Equality,
    Plan,
    Progress,
    RankReports,
    Setting,
    StrategyCost,
    Timelines,
    Timings,
)


@dataclass(frozen=True, slots=True)
class Knobs:
    """Everything that a person can turn; equal knobs give equal plans.

    Attributes:
        mode: one of ``hyperviz.snapshot.MODES``.
        strategy: one of ``hyperviz.snapshot.STRATEGIES``.
        settings: compiler setting → value, only those that were changed; a read-only copy of what was given.

    Raises:
        ValueError: if the mode or the strategy is not known.
    """

    mode: str = "off"
    strategy: str = "runs"
    settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check("mode", self.mode, MODES)
        _check("region strategy", self.strategy, STRATEGIES)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def __str__(self) -> str:
        changed = ", ".join(f"{key}={value!r}" for key, value in self.settings.items())
        return " · ".join(filter(None, [self.mode, self.strategy if self.mode == "regional" else "", changed]))

    def replace(self, **changes: object) -> Knobs:
        """A changed copy."""
        return replace(self, **changes)  # pyright: ignore[reportArgumentType]


class Stopped(Exception):  # noqa: N818 - to be asked to stop is no error
    """A person asked a compile to stop, and it did, between two regions."""


class Backend(Protocol):
    """Answers the explorer. Every method may raise: the explorer shows the error where the person is looking."""

    @property
    def where(self) -> str:
        """What real ranks compile and measure, as in ``"2 real ranks"``; empty where this process does."""
        ...

    def plan(self, knobs: Knobs) -> Plan:
        """What these knobs would compile; fast enough to be called on every click."""
        ...

    @property
    def costs_label(self) -> str:
        """Whose figures the costs of strategies go by, in words."""
        ...

    def strategy_cost(self, knobs: Knobs, strategy: str) -> StrategyCost:
        """What a strategy would cost in regional mode, whatever strategy the knobs show; called in a thread, compiles nothing."""
        ...

    def hardware(self) -> tuple[str, ...]:
        """Names of the hardware that a timeline can be estimated for, the one that is meant first in front."""
        ...

    def timelines(self, knobs: Knobs, hardware: str) -> Timelines:
        """The step as the graph has it, and as these knobs would compile it, estimated for named hardware; called in a thread."""
        ...

    def why_apart(self, knobs: Knobs, first: str, second: str) -> Apart:
        """Why two regions, or the regions of two nodes, are not one; called in a thread.

        Raises:
            ValueError: if a name is neither a region nor a node, naming the nearest.
        """
        ...

    def compile(self, knobs: Knobs, progress: Callable[[Progress], None], should_stop: Callable[[], bool]) -> CompileReport:
        """Compiles in a worker thread; calls ``progress`` before each region.

        Raises:
            Stopped: between two regions, once ``should_stop()`` is true; what was compiled before stays as it was.
        """
        ...

    def compare(self) -> Equality:
        """How the outputs of what was compiled last relate to the eager ones; called in the worker thread."""
        ...

    def benchmark(self) -> Timings:
        """How long eager and what was compiled last take; called in the worker thread."""
        ...

    def ranks(self) -> RankReports | None:
        """What each real rank found when it compiled last; None where this process compiled.

        Where ranks ran, ``compare`` speaks of the one with the worst verdict, and ``benchmark`` of the slowest.
        """
        ...

    def settings(self) -> tuple[Setting, ...]:
        """Every compiler setting that may be edited; asked for when a person first looks for one."""
        ...

    def parse_setting(self, key: str, text: str) -> object:
        """The value that a person typed for a setting.

        Raises:
            ValueError: if there is no such setting (naming the nearest ones) or the text is no value for it.
        """
        ...

    def check_settings(self, settings: Mapping[str, object]) -> None:
        """Refuses settings that the compiler would not take.

        Raises:
            ValueError: naming the setting that is wrong, and why.
        """
        ...


def _check(subject: str, value: str, allowed: tuple[str, ...]) -> None:
    if value in allowed:
        return
    near = difflib.get_close_matches(str(value), allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{subject} must be one of {', '.join(map(repr, allowed))}, got {value!r}{hint}")
