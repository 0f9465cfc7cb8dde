"""Show and export: the same pictures, static, in a cell or in a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from torch import fx

from hyperviz.api import verbs
from hyperviz.api.picture import Drawable, Picture
from hyperviz.capture import JointGraph
from hyperviz.passes import CompiledGraph
from hyperviz.snapshot import Equality, GraphSnapshot, Plan, RankReports, Timeline, Timelines, Timings, to_json

_SUFFIXES = ("svg", "png", "pdf", "html", "dot", "json")


def show(anything: object) -> Picture:
    """The static picture of a joint graph, a graph module, a plan, a compiled graph, timings, an equality, timelines, or what ranks found.

    Args:
        anything: one of these; several timelines, in a list, are drawn one above the other on one scale.

    Returns:
        What a notebook shows as a picture, and a terminal as text.

    Raises:
        ValueError: nothing is known to draw of it.
    """
    return Picture(_drawable(anything))


def export(anything: object, path: str | os.PathLike[str]) -> Path:
    """Write the picture of anything that ``show`` takes, in the format that the suffix names.

    Args:
        anything: see ``show``.
        path: ends in svg, png, pdf, html, dot or json; a timeline's also in .trace.json, which Perfetto opens. The folder exists. A file
            that is there is replaced, whole or not at all.

    Returns:
        The path written.

    Raises:
        ValueError: the suffix is unknown, the folder cannot be written to, or what is given has no such form.
    """
    target = Path(path)
    suffix = target.suffix.lower().removeprefix(".")
    if suffix not in _SUFFIXES:
        raise ValueError(f"the path must end in one of {', '.join('.' + known for known in _SUFFIXES)}, got {target.name!r}")
    drawable = _drawable(anything)
    if target.name.lower().endswith(".trace.json"):
        suffix = "trace.json"
    if suffix == "json":
        _write(target, to_json(anything if isinstance(anything, Timeline) else drawable).encode())
    else:
        _write(target, Picture(drawable).data(suffix))
    return target


def _drawable(anything: object) -> Drawable:
    if isinstance(anything, (Plan, Timings, Equality, RankReports, Timelines)):
        return anything
    if isinstance(anything, Timeline):
        return Timelines((anything,))
    if isinstance(anything, (list, tuple)) and anything and all(isinstance(one, Timeline) for one in anything):
        return Timelines(tuple(anything))
    if isinstance(anything, CompiledGraph):
        return anything.plan
    if isinstance(anything, GraphSnapshot):
        return Plan.of_graph(anything)
    if isinstance(anything, (JointGraph, fx.GraphModule)):
        return verbs.plan(anything)
    raise ValueError(
        "only a joint graph, a GraphModule, a plan, a compiled graph, timings, an equality, timelines or reports of ranks can be drawn, "
        f"got {type(anything).__name__}"
    )


def _write(target: Path, contents: bytes) -> None:
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as cause:
        raise ValueError(f"cannot write {target.name!r} into the folder {str(target.parent)!r}: {cause.strerror or cause}") from cause
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as cause:
        os.unlink(temporary)
        raise ValueError(f"cannot write {target.name!r} into the folder {str(target.parent)!r}: {cause.strerror or cause}") from cause
