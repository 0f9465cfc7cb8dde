"""The annotations that torch's config declares: how they read, what they list, and whether a value is of one."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union


def type_text(annotation: Any) -> str:
    """An annotation as people write it, as in ``"bool"``, ``"int | None"`` or ``"Literal['none', 'all']"``.

    ``"Any"`` where torch declares nothing: a setting whose only known value is None has no type that could be read.
    """
    if annotation in (Any, type(None), None):
        return "Any"
    return _text(annotation)


def choices_of(annotation: Any) -> tuple[object, ...]:
    """The values that a ``Literal`` lists, also inside a union; empty where there is none."""
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    if _is_union(annotation):
        return tuple(choice for part in typing.get_args(annotation) for choice in choices_of(part))
    return ()


def fits(value: object, annotation: Any) -> bool:
    """Whether a value is of a declared type.

    A bool is no int and no float, although Python says so: ``compile_threads=True`` is a slip. An int is a float. What cannot be
    read at run time (a name under ``TYPE_CHECKING``, a parameter specification) is taken as it comes.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in (Any, type(None), None) or isinstance(annotation, (str, typing.ForwardRef)):
        return True
    if _is_union(annotation):
        return any(value is None if part is type(None) else fits(value, part) for part in arguments)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if annotation is float:
        return type(value) in (int, float)
    if annotation is int:
        return type(value) is int
    return isinstance(value, origin or annotation) and _items_fit(value, origin, arguments)


def _items_fit(value: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether what a container holds is of the types in its brackets."""
    if not arguments or origin in (collections.abc.Callable, type):
        return True
    if isinstance(value, Mapping):
        return all(fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items())
    if origin is tuple and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    return all(fits(item, arguments[0]) for item in value)


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (Union, types.UnionType)


def _text(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return "None"
    if isinstance(annotation, str):
        return annotation
    if _is_union(annotation):
        return " | ".join(map(_text, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin in (Callable, collections.abc.Callable):
        return "Callable"
    name = getattr(origin or annotation, "__name__", str(annotation))
    inside = ", ".join("..." if part is Ellipsis else _text(part) for part in arguments)
    return f"{name}[{inside}]" if inside else name
