"""One region through Inductor: settings, the compile itself, and which regions may share what comes out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import fx
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.node import map_arg

from hyperviz.graph import calm
from hyperviz.graph.kinds import is_higher_order
from hyperviz.passes.region import ExtractedRegion

Artifact = Callable[[list[Any]], Any]

_DIVISION = "eager_numerics.division_rounding"


def regional_inductor_available() -> bool:
    """Whether this torch has what compiling regions rests on (2.10 and later)."""
    from importlib.util import find_spec

    return find_spec("torch.fx.passes.regional_inductor") is not None


def compile_settings(settings: Mapping[str, object], mode: str, numerics: str) -> dict[str, object]:
    """What Inductor's config is patched with while a region compiles; see ``PassConfig.numerics`` and mode ``"full"``."""
    from torch import _inductor
    from torch._inductor import config

    defaults: dict[str, object] = {"reorder_for_peak_memory": True} if mode == "full" else {}
    control = dict(_inductor.lite_mode_options) if numerics == "exact" else {}
    forced: dict[str, object] = {_DIVISION: True} if _has_key(config, _DIVISION) else {}
    return {**defaults, **settings, **control, **forced}


def compile_region(region: ExtractedRegion, settings: Mapping[str, object], mode: FakeTensorMode) -> tuple[Artifact, str]:
    """Compile a region on the graph's own fake mode.

    Args:
        region: its placeholders carry fake values of ``mode``.
        settings: Inductor's config is patched with them for the compile, and is the same before and after.
        mode: the fake mode of the graph.

    Returns:
        What to call with a list of the inputs' values, which it empties, and what Inductor's cache said: ``"hit"``, ``"miss"``,
        ``"bypass"`` or ``"unknown"``.
    """
    from torch import _inductor
    from torch._inductor import config

    inputs = [node.meta["val"] for node in region.graph_module.graph.nodes if node.op == "placeholder"]
    before = _cache_counters()
    with calm(), config.patch(dict(settings)), _without_remat(), tracing(TracingContext(mode)):
        artifact = _inductor.standalone_compile(region.graph_module, inputs, dynamic_shapes="from_tracing_context")
    return _boxed(artifact), _cache_word(before, _cache_counters())


def _boxed(artifact: Any) -> Artifact:
    """What takes its inputs in a list and empties it, so that each is released inside, as soon as it has been read.

    AOTAutograd makes such a function, and wraps it in one that takes them positionally and so holds them all until it returns ("there
    is something deeply wrong here", says torch at ``aot_module_simplified``). Where it is not found under that wrapper, the wrapper
    serves, and memory is held for longer.
    """
    layer = getattr(artifact, "_compiled_fn", None)
    while layer is not None:
        code = getattr(layer, "__code__", None)
        if code is not None and code.co_name == "forward" and code.co_filename.endswith("aot_autograd.py"):
            inner = getattr(layer, "__wrapped__", None)
            if getattr(inner, "_boxed_call", False):
                return inner  # pyright: ignore[reportReturnType]
            break
        layer = getattr(layer, "__wrapped__", None)
    return lambda inputs: artifact(*inputs)


def sharing_key(region: ExtractedRegion, settings: Mapping[str, object]) -> str | None:
    """Equal for regions that may share an artifact: operators, constants, shapes, strides, dtypes, devices, aliasing and settings.

    None for a region that shares with none: a symbolic size means another thing in another place, and a graph that hangs on the
    module may differ behind an equal name.
    """
    places: dict[fx.Node, str] = {}
    storages: dict[int, int] = {}
    lines: list[str] = []
    for node in region.graph_module.graph.nodes:
        places[node] = f"%{len(places)}"
        if node.op == "placeholder":
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or not _is_static(value):
                return None
            alias = storages.setdefault(value.untyped_storage()._cdata, len(storages))
            lines.append(f"{value.dtype} {value.device} {tuple(value.shape)} {value.stride()} {value.storage_offset()} {alias}")
            continue
        if node.op == "get_attr" or is_higher_order(node):
            return None
        arguments = map_arg((node.args, node.kwargs), places.__getitem__)  # pyright: ignore[reportArgumentType]
        lines.append(f"{node.op} {_target_key(node.target)} {arguments!r}")
    lines.append(repr(sorted(settings.items())))
    return "\n".join(lines)


def _target_key(target: object) -> str:
    # Two Python functions may print alike.
    return str(target) if isinstance(target, (str, torch._ops.OpOverload)) else f"{target} {id(target)}"


def _is_static(value: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in (*value.shape, *value.stride(), value.storage_offset()))


def _has_key(config: Any, key: str) -> bool:
    try:
        for part in key.split("."):
            config = getattr(config, part)
    except AttributeError:
        return False
    return True


@contextlib.contextmanager
def _without_remat() -> Iterator[None]:
    """As torch's own regional Inductor: rematerialization has run by now, and would stumble over a part of a backward."""
    from torch._functorch import config

    if hasattr(config, "remat_using_tags_for_fwd_loss_bwd_graph"):
        with config.patch(remat_using_tags_for_fwd_loss_bwd_graph=False):  # pyright: ignore
            yield
    else:
        yield


def _cache_counters() -> dict[str, int]:
    from torch._dynamo.utils import counters

    inductor, autograd = counters["inductor"], counters["aot_autograd"]
    return {word: inductor[f"fxgraph_cache_{word}"] + autograd[f"autograd_cache_{word}"] for word in ("hit", "miss", "bypass")}


def _cache_word(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """The outermost cache that was asked: a miss there that Inductor's own cache answered is a hit of the code that matters."""
    grown = {word for word in after if after[word] > before[word]}
    return next((word for word in ("hit", "bypass", "miss") if word in grown), "unknown")
