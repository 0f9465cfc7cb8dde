"""What the explorer asks of the world, answered with torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hyperviz.analysis import Hardware
from hyperviz.analysis.hardware import NAMES
from hyperviz.api import verbs
from hyperviz.api.parallel import parallelised
from hyperviz.api.programs import Graph, graph_module_of
from hyperviz.api.strategies import costs_label, strategy_cost
from hyperviz.api.timeline import timeline
from hyperviz.passes import CompiledGraph, PassConfig, check_settings, list_settings, parse_setting
from hyperviz.snapshot import Apart, CompileReport, Equality, Plan, Progress, RankReports, Setting, StrategyCost, Timelines, Timings
from hyperviz.widgets import Knobs, Stopped


class Session:
    """One joint graph, its real inputs, and what was compiled of it last; see ``hyperviz.widgets.Backend``."""

    def __init__(self, joint: Graph, flat: Sequence[object] | None = None, config: PassConfig | None = None) -> None:
        self._config = config or PassConfig()
        graph_module_of(joint)
        self._joint = parallelised(joint, self._config)  # once, and not on every click
        self._flat = flat
        self.compiled: CompiledGraph | None = None

    def plan(self, knobs: Knobs) -> Plan:
        """What these knobs would compile."""
        return verbs.plan(self._joint, self._configured(knobs))

    @property
    def costs_label(self) -> str:
        """Whose figures costs go by."""
        return costs_label(self._config)

    def strategy_cost(self, knobs: Knobs, strategy: str) -> StrategyCost:
        """What a strategy would cost."""
        return strategy_cost(self._joint, self._configured(knobs), strategy)

    def hardware(self) -> tuple[str, ...]:
        """The names of the hardware, the config's first."""
        meant = self._config.hardware if isinstance(self._config.hardware, str) else self._config.hardware.name
        return tuple(dict.fromkeys((meant.lower(), *NAMES)))

    def timelines(self, knobs: Knobs, hardware: str) -> Timelines:
        """The step before and after, one above the other."""
        named = self._config.hardware
        chosen = named if isinstance(named, Hardware) and named.name == hardware else hardware
        before = timeline(self._joint, hardware=chosen, title="The graph, eager")
        after = timeline(self._joint, self._configured(knobs), hardware=chosen, title=f"The plan, {knobs}")
        return Timelines((before,) if knobs.mode == "off" else (before, after))

    def why_apart(self, knobs: Knobs, first: str, second: str) -> Apart:
        """Why two regions are not one."""
        return verbs.why_apart(self._joint, self._configured(knobs), first, second)

    def compile(self, knobs: Knobs, progress: Callable[[Progress], None], should_stop: Callable[[], bool]) -> CompileReport:
        """Compile; what was compiled before stays as it was until this one is done."""
        told = self._teller(progress, should_stop)
        self.compiled = verbs.compile(self._joint, self._configured(knobs), self._flat, progress=told)
        return self.compiled.report

    def compare(self) -> Equality:
        """How the outputs of what was compiled last relate to the eager ones."""
        return verbs.compare(self._joint, self._last(), self._inputs())

    def benchmark(self) -> Timings:
        """How long eager and what was compiled last take."""
        compiled = self._last()
        return verbs.benchmark({"eager": self._joint, compiled.report.mode: compiled}, self._inputs())

    @property
    def where(self) -> str:
        """In this process."""
        return ""

    def ranks(self) -> RankReports | None:
        """None: this process runs alone."""
        return None

    def settings(self) -> tuple[Setting, ...]:
        """Every Inductor setting that may be edited."""
        return list_settings()

    def parse_setting(self, key: str, text: str) -> object:
        """The value that a person typed for a setting."""
        return parse_setting(key, text)

    def check_settings(self, settings: Mapping[str, object]) -> None:
        """Refuse settings that Inductor would not take."""
        check_settings(settings)

    def _teller(self, progress: Callable[[Progress], None], should_stop: Callable[[], bool]) -> Callable[[Progress], None]:
        def told(where: Progress) -> None:
            if should_stop():
                raise Stopped(f"stopped after {where.index} of {where.total} distinct regions")
            progress(where)

        return told

    def _configured(self, knobs: Knobs) -> PassConfig:
        return self._config.replace(inductor_mode=knobs.mode, region_strategy=knobs.strategy, inductor_configs=knobs.settings)

    def _last(self) -> CompiledGraph:
        if self.compiled is None:
            raise ValueError("nothing has been compiled yet")
        return self.compiled

    def _inputs(self) -> Sequence[object]:
        if self._flat is None:
            raise ValueError("comparing and timing need real inputs: hv.explore(joint, joint.flat_inputs(model, inputs))")
        return self._flat
