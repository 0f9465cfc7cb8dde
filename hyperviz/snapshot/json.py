"""Snapshots as JSON text and back: exact, and refusing what is foreign or damaged at the place where it is."""

from __future__ import annotations

import contextlib
import json
import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from hyperviz.snapshot.compilation import CompileReport
from hyperviz.snapshot.equality import VERDICTS, Equality
from hyperviz.snapshot.graph import GraphSnapshot
from hyperviz.snapshot.plan import MODES, ROLES, Plan
from hyperviz.snapshot.ranks import RankReports
from hyperviz.snapshot.schedule import STEP_KINDS, Schedule
from hyperviz.snapshot.timeline import SPAN_KINDS, Timeline, Timelines
from hyperviz.snapshot.timing import Timings

FORMAT, VERSION = "hyperviz", 2
KINDS = {
    kind.__name__: kind for kind in (GraphSnapshot, Plan, CompileReport, Equality, Timings, RankReports, Schedule, Timeline, Timelines)
}
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_FLOAT, _TUPLE = "$float", "$tuple"
"""What JSON lacks is an object with one of these as its only key."""
_WORDS = {str: "text", int: "a whole number", bool: "true or false", float: "a number", types.NoneType: "null"}


def to_json(snapshot: object, *, indent: int | None = None) -> str:
    """A snapshot as text that ``from_json`` turns back into an equal one.

    Args:
        snapshot: one of ``KINDS``.
        indent: spaces for each level, or None for one line.

    Raises:
        ValueError: it is none of them, or a setting in it holds what JSON cannot.
    """
    kind = type(snapshot).__name__
    if KINDS.get(kind) is not type(snapshot):
        raise ValueError(f"only {', '.join(KINDS)} can be saved as JSON, got {kind}")
    document = {"format": FORMAT, "version": VERSION, "kind": kind, "data": _encode(snapshot, "data")}
    return json.dumps(document, indent=indent, separators=None if indent else (",", ":"), allow_nan=False)


def from_json(text: str | bytes) -> Any:
    """The snapshot that was saved.

    Raises:
        ValueError: the text is no JSON, comes from elsewhere or from a later version, or is damaged; the message names the place.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a saved snapshot must be JSON, got {_short(text)} ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'a saved snapshot must be an object with "format": "{FORMAT}", got {_short(document)}')
    if document.get("version") != VERSION:
        raise ValueError(f"version must be {VERSION}, which this hyperviz reads, got {_short(document.get('version'))}")
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {_short(kind)}")
    if "data" not in document:
        raise ValueError("a saved snapshot must hold data, got none")
    snapshot = _decode(document["data"], KINDS[kind], "data")
    _check(snapshot)
    return snapshot


def _encode(value: object, where: str) -> object:
    """Fields of dataclasses say themselves what they hold, so tuples can be lists; in a mapping the value has to say it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _encode(getattr(value, field.name), f"{where}.{field.name}") for field in fields(value)}
    if isinstance(value, tuple):
        return [_encode(item, f"{where}[{index}]") for index, item in enumerate(value)]
    return _encode_any(value, where)


def _encode_any(value: object, where: str) -> object:
    if isinstance(value, Mapping):
        return {_key(key, where): _encode_any(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_encode_any(item, f"{where}[{index}]") for index, item in enumerate(value)]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise ValueError(f"{where} must be None, text, a number, a list, a tuple or a mapping to be saved, got {type(value).__name__}")


def _key(key: object, where: str) -> str:
    if isinstance(key, str) and key not in (_FLOAT, _TUPLE):
        return key
    raise ValueError(f"every key of {where} must be text and no tag to be saved, got {key!r}")


def _decode(value: object, hint: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return _decode_dataclass(value, hint, where)
    if origin in (Union, types.UnionType):
        return _decode_union(value, arguments, where)
    if origin is tuple:
        return _decode_tuple(value, arguments, where)
    if origin is Mapping:
        items = _expect(value, dict, "an object", where)
        return {key: _decode(item, arguments[1], f"{where}[{key!r}]") for key, item in items.items()}
    if hint is object:
        return _decode_any(value, where)
    if hint is float:
        return _decode_float(value, where)
    return _expect(value, hint, _WORDS[hint], where)


def _decode_dataclass(value: object, hint: Any, where: str) -> Any:
    given = _expect(value, dict, f"an object, a {hint.__name__}", where)
    hints = _hints(hint)
    wanted = list(hints)
    for name in wanted:
        if name not in given:
            raise ValueError(f"{where} must have {name}, as every {hint.__name__} has; it is missing")
    for name in given:
        if name not in wanted:
            raise ValueError(f"{where} must have the fields of a {hint.__name__} only, got {_short(name)}")
    return hint(**{name: _decode(given[name], hints[name], f"{where}.{name}") for name in wanted})


@lru_cache
def _hints(kind: Any) -> dict[str, Any]:
    """Field name → type, in the fields' order."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _decode_union(value: object, hints: tuple[Any, ...], where: str) -> Any:
    for hint in hints:
        if hint not in _WORDS and value is not None:
            return _decode(value, hint, where)
        with contextlib.suppress(ValueError):
            return _decode(value, hint, where)
    words = " or ".join(_WORDS.get(hint, "an object") for hint in hints)
    raise ValueError(f"{where} must be {words}, got {_short(value)}")


def _decode_tuple(value: object, hints: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    items = _expect(value, list, "a list", where)
    if hints[-1] is Ellipsis:
        return tuple(_decode(item, hints[0], f"{where}[{index}]") for index, item in enumerate(items))
    if len(items) != len(hints):
        raise ValueError(f"{where} must hold {len(hints)} values, got {len(items)}")
    return tuple(_decode(item, hint, f"{where}[{index}]") for index, (item, hint) in enumerate(zip(items, hints, strict=True)))


def _decode_float(value: object, where: str) -> float:
    if isinstance(value, dict) and str(value.get(_FLOAT)) in _NOT_FINITE:
        return _NOT_FINITE[value[_FLOAT]]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError(f"{where} must be a number, got {_short(value)}")


def _decode_any(value: object, where: str) -> object:
    if isinstance(value, list):
        return [_decode_any(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if _FLOAT in value:
        return _decode_float(value, where)
    if _TUPLE in value:
        return tuple(_decode_any(item, f"{where}[{index}]") for index, item in enumerate(_expect(value[_TUPLE], list, "a list", where)))
    return {key: _decode_any(item, f"{where}[{key!r}]") for key, item in value.items()}


def _expect(value: Any, wanted: type, words: str, where: str) -> Any:
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise ValueError(f"{where} must be {words}, got {_short(value)}")
    return value


def _check(snapshot: object, where: str = "data") -> None:
    """What types cannot say: names that must be known, words that must be among a few."""
    if isinstance(snapshot, GraphSnapshot):
        _check_graph(snapshot, where)
    elif isinstance(snapshot, Plan):
        _check_graph(snapshot.graph, f"{where}.graph")
        _check_plan(snapshot, where)
    elif isinstance(snapshot, Equality):
        for index, output in enumerate(snapshot.outputs):
            _check_word(output.verdict, VERDICTS, f"{where}.outputs[{index}].verdict")
    elif isinstance(snapshot, Schedule):
        for index, step in enumerate(snapshot.steps):
            _check_word(step.kind, STEP_KINDS, f"{where}.steps[{index}].kind")
    elif isinstance(snapshot, Timeline):
        for index, span in enumerate(snapshot.spans):
            _check_word(span.kind, SPAN_KINDS, f"{where}.spans[{index}].kind")
    elif isinstance(snapshot, Timelines):
        for index, timeline in enumerate(snapshot.timelines):
            _check(timeline, f"{where}.timelines[{index}]")
    elif isinstance(snapshot, RankReports):
        if not snapshot.ranks:
            raise ValueError(f"{where}.ranks must hold at least one rank, got none")
        _check(snapshot.plan, f"{where}.plan")
        for index, one in enumerate(snapshot.ranks):
            _check(one.equality, f"{where}.ranks[{index}].equality")


def _check_graph(graph: GraphSnapshot, where: str) -> None:
    known: set[str] = set()
    for index, node in enumerate(graph.nodes):
        if node.name in known:
            raise ValueError(f"{where}.nodes[{index}].name must be unique, got {_short(node.name)} a second time")
        for name in node.inputs:
            if name not in known:
                raise ValueError(f"{where}.nodes[{index}].inputs must name earlier nodes, got {_short(name)}")
        known.add(node.name)
    for index, collective in enumerate(graph.collectives):
        if unknown := {collective.launch, *collective.waits, *collective.compute_inside} - known:
            raise ValueError(f"{where}.collectives[{index}] must name nodes of the graph, got {_short(min(unknown))}")


def _check_plan(plan: Plan, where: str) -> None:
    names = {node.name for node in plan.graph.nodes}
    _check_word(plan.mode, MODES, f"{where}.mode")
    for name, role in plan.roles.items():
        _check_word(role, ROLES, f"{where}.roles[{name!r}]")
    if missing := names - set(plan.roles):
        raise ValueError(f"{where}.roles must give every node a role, got none for {_short(min(missing))}")
    for index, region in enumerate(plan.regions):
        if not region.name.removeprefix("region_").isdecimal():
            raise ValueError(f'{where}.regions[{index}].name must be "region_" and a number, got {_short(region.name)}')
        if unknown := set(region.nodes) - names:
            raise ValueError(f"{where}.regions[{index}].nodes must be nodes of the graph, got {_short(min(unknown))}")


def _check_word(word: str, words: tuple[str, ...], where: str) -> None:
    if word not in words:
        raise ValueError(f"{where} must be one of {', '.join(words)}, got {_short(word)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
