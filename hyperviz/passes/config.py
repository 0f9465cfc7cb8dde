"""What a person asks of the passes."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from torch.fx.immutable_collections import immutable_dict

from hyperviz.analysis import Hardware, Limits, hardware_named
from hyperviz.snapshot import MODES, STRATEGIES

NUMERICS = ("default", "exact")


@dataclass(frozen=True, slots=True)
class PassConfig:
    """What the passes are to do. Frozen: ``replace`` makes a changed copy.

    Attributes:
        inductor_mode: ``"off"`` compiles nothing; ``"regional"`` compiles functional compute and leaves communication and side
            effects eager, in their order; ``"full"`` compiles everything but side effects, collectives included.
        inductor_configs: Inductor setting → value, for every region; checked against ``torch._inductor.config`` before anything
            is compiled, not here.
        region_strategy: ``"runs"``: regions are the maximal runs of consecutive compilable nodes; ``"annotated"``: only what was
            annotated with ``torch.fx.traceback.annotate({"compile_with_inductor": …})``, a run for each annotation, each with
            its own settings; ``"merged"``: for comparison, what torch's regional Inductor makes of tags without region ids: it
            groups by data edges alone, and neither overlap nor the order of effects survives; ``"balanced"``: runs joined into
            fewer regions, within ``balance_hidden`` and ``balance_peak``.
        balance_hidden: share of its duration that a collective may lose in hidden time, at equal compute times; at least 0.
        balance_peak: share by which the peak of live bytes may grow; at least 0.
        hardware: whose estimated times ``"balanced"`` goes by: a name, as in ``"h100"``, or a ``hyperviz.analysis.Hardware``.
        numerics: ``"default"`` forces ``eager_numerics.division_rounding`` where torch has it and nothing else; ``"exact"`` is
            the control: regions run torch's own kernels inside the compiled wrapper (``torch._inductor.lite_mode_options``), so
            that a difference is never rounding.
        keep_eager: node names, operators (``"aten.gelu"``, ``"aten.gelu.default"``) and module paths, or globs of them, that
            stay eager.
        fsdp_enabled: whether parameters are sharded over ranks.
        fsdp_degree: over how many; None for all of them. Where it is smaller than the number of ranks, which it must divide,
            neighbouring ranks share, and gradients are averaged over the replicas too.
        fsdp_wrap: modules whose parameters are sharded, those of one module gathered together: names, or globs in which ``*`` stands
            for one level and ``**`` for any number. A parameter belongs to the innermost; ``""``, and nothing, is the model itself.
        fsdp_group: name of the process group to shard over; empty for all ranks.
        reshard_after_forward: whether gathered parameters are freed after the forward, and gathered again in the backward; one that the
            backward reads before any other is kept.
        bucket_enabled: whether the collectives of one module are merged.
        bucket_bytes: the most that one bucket holds, in bytes of whole parameters or gradients; a parameter that is larger has one to
            itself. None for no limit: a bucket for each module, phase and dtype.
        enable_overlap: whether collectives are issued earlier and waited for later.
        prefetch_buckets: how many gathers lie between where one is issued and where it is used, buckets counted once; 0 leaves gathers
            where they stand.
        max_bytes_in_flight: how many bytes gathers that are not yet used, and reductions that are not yet waited for, may hold at
            once; None for no limit.
        offload_enabled: whether values that the forward saves for the backward wait for it in host memory.
        offload_min_bytes: smaller ones stay on the device.
        offload_ahead: how many operators with work a copy to or from the host is given before something waits for it.

    Raises:
        ValueError: a value is not one of those allowed; the message names them.
    """

    inductor_mode: str = "off"
    inductor_configs: Mapping[str, object] = field(default_factory=dict)
    region_strategy: str = "runs"
    balance_hidden: float = 0.0
    balance_peak: float = 0.1
    hardware: str | Hardware = "h100"
    numerics: str = "default"
    keep_eager: tuple[str, ...] = ()
    fsdp_enabled: bool = False
    fsdp_degree: int | None = None
    fsdp_wrap: tuple[str, ...] = ()
    fsdp_group: str = ""
    reshard_after_forward: bool = True
    bucket_enabled: bool = False
    bucket_bytes: int | None = None
    enable_overlap: bool = False
    prefetch_buckets: int = 1
    max_bytes_in_flight: int | None = None
    offload_enabled: bool = False
    offload_min_bytes: int = 1 << 20
    offload_ahead: int = 8

    def __post_init__(self) -> None:
        _check_choice("inductor_mode", self.inductor_mode, MODES)
        _check_choice("region_strategy", self.region_strategy, STRATEGIES)
        _check_choice("numerics", self.numerics, NUMERICS)
        if not isinstance(self.inductor_configs, Mapping) or not all(isinstance(key, str) for key in self.inductor_configs):
            raise ValueError(f"inductor_configs must map names of Inductor settings to values, got {self.inductor_configs!r}")
        keep = (self.keep_eager,) if isinstance(self.keep_eager, str) else tuple(self.keep_eager)
        if not all(isinstance(pattern, str) for pattern in keep):
            raise ValueError(f"keep_eager must hold names, operators, module paths or globs as text, got {self.keep_eager!r}")
        object.__setattr__(self, "keep_eager", keep)
        _check_share("balance_hidden", self.balance_hidden)
        _check_share("balance_peak", self.balance_peak)
        if not isinstance(self.hardware, Hardware):
            hardware_named(self.hardware)
        self._check_fsdp()
        self._check_communication()
        object.__setattr__(self, "inductor_configs", immutable_dict(self.inductor_configs))

    @property
    def limits(self) -> Limits:
        """What ``"balanced"`` may cost."""
        return Limits(self.balance_hidden, self.balance_peak, self.hardware)

    def _check_fsdp(self) -> None:
        for name in ("fsdp_enabled", "reshard_after_forward"):
            _check_flag(name, getattr(self, name))
        _check_count("fsdp_degree", self.fsdp_degree, 1, "None for all ranks")
        if not isinstance(self.fsdp_group, str):
            raise ValueError(f"fsdp_group must be the name of a process group, got {self.fsdp_group!r}")
        wrap = (self.fsdp_wrap,) if isinstance(self.fsdp_wrap, str) else self.fsdp_wrap
        if not isinstance(wrap, (tuple, list)) or not all(isinstance(name, str) for name in wrap):
            raise ValueError(f"fsdp_wrap must hold module names or globs of them, got {self.fsdp_wrap!r}")
        object.__setattr__(self, "fsdp_wrap", tuple(wrap))

    def _check_communication(self) -> None:
        for name in ("bucket_enabled", "enable_overlap", "offload_enabled"):
            _check_flag(name, getattr(self, name))
        _check_count("bucket_bytes", self.bucket_bytes, 1, "None for no limit")
        _check_count("prefetch_buckets", self.prefetch_buckets, 0)
        _check_count("max_bytes_in_flight", self.max_bytes_in_flight, 0, "None for no limit")
        _check_count("offload_min_bytes", self.offload_min_bytes, 0)
        _check_count("offload_ahead", self.offload_ahead, 1)

    def replace(self, **changes: object) -> PassConfig:
        """A changed copy.

        Raises:
            ValueError: a name is not a field (the message names the nearest) or a value is not allowed.
        """
        known = [entry.name for entry in fields(self)]
        for name in changes:
            if name not in known:
                raise ValueError(f"PassConfig has no field {name!r}{near_miss(name, known)}")
        return replace(self, **changes)  # pyright: ignore[reportArgumentType]


def near_miss(name: object, known: list[str] | tuple[str, ...]) -> str:
    """The end of an error sentence: the likely name, or nothing."""
    likely = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {likely[0]!r}?" if likely else ""


def _check_flag(subject: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{subject} must be True or False, got {value!r}")


def _check_count(subject: str, value: object, least: int, none: str = "") -> None:
    if none and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{subject} must be ≥ {least}{f', or {none}' if none else ''}, got {value!r}")


def _check_share(subject: str, value: object) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ValueError(f"{subject} must be a share of at least 0, as in 0.1 for a tenth, got {value!r}")


def _check_choice(subject: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{subject} must be one of {', '.join(map(repr, allowed))}, got {value!r}{near_miss(value, allowed)}")
