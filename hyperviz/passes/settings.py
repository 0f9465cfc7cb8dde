"""Inductor's settings as torch itself declares them: which there are, of what type, what they mean, and which values are refused."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from typing import Any

from hyperviz.passes.setting_docs import setting_docs
from hyperviz.passes.setting_types import choices_of, fits, type_text
from hyperviz.snapshot import Setting


def check_settings(settings: Mapping[str, object]) -> None:
    """Refuses what ``torch._inductor.config`` would not take, without touching it.

    Args:
        settings: dotted key → value, as in ``{"triton.cudagraphs": True}``.

    Raises:
        ValueError: if a key does not exist there (the message names the nearest ones) or a value is not of the type that torch
            declares for it (the message names the type).
    """
    if not isinstance(settings, Mapping):
        raise ValueError(f"Inductor settings must be a mapping of names to values, got {type(settings).__name__}")
    for key, value in settings.items():
        declared = _declared(key)
        if not fits(value, declared):
            raise ValueError(f"Inductor setting {key!r} must be {type_text(declared)}, got {value!r} ({type(value).__name__})")


def list_settings() -> tuple[Setting, ...]:
    """Every setting that an editor offers, in torch's order, with its value on this machine.

    Names that begin with an underscore are torch's own business: they can be set, and are not listed.
    """
    from torch._inductor import config

    docs, values = setting_docs(), config.get_config_copy()
    return tuple(
        Setting(
            key=key,
            type=type_text(_declared(key)),
            default=repr(values[key] if key in values else getattr(config, key)),  # a copy leaves aliases out
            doc=docs.get(key, ""),
            choices=tuple(map(repr, choices_of(_declared(key)))),
        )
        for key in _entries()
        if not key.startswith("_") and key != "TYPE_CHECKING"
    )


def parse_setting(key: str, text: str) -> object:
    """The value that a person typed for a setting.

    Args:
        key: dotted, as in ``"triton.cudagraphs"``.
        text: a Python literal, as in ``"True"``, ``"None"`` or ``"[1, 2]"``; one of the setting's choices, or text that is no
            literal, may come without its quotes.

    Raises:
        ValueError: if the key does not exist or the text is not a value of its type.
    """
    value = text if text in choices_of(_declared(key)) else _literal(text)
    check_settings({key: value})
    return value


def _entries() -> Mapping[str, Any]:
    """Every name of the config, also the aliases, which none of torch's public copies holds."""
    from torch._inductor import config

    return vars(config)["_config"]


def _declared(key: object) -> Any:
    """The annotation of a setting or, where it has none, its default's type."""
    entries = _entries()
    if key not in entries:
        raise ValueError(f"unknown Inductor setting {key!r}{_near_miss(str(key), list(entries))}")
    return entries[str(key)].value_type


def _near_miss(key: str, known: list[str]) -> str:
    """The nearest settings as the end of a sentence: those whose last part is that word, or else those that read alike."""
    same_ending = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    near = same_ending or difflib.get_close_matches(key, known)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else "; torch._inductor.config has no name like it"


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text
