"""Which parameters are gathered together: those of one wrapped module."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence


def units_of(fqns: Sequence[str], wrap: Sequence[str], module_names: Iterable[str] = ()) -> dict[str, str]:
    """Parameter → the wrapped module that it belongs to, the innermost one; parameters outside every wrapped module are left out.

    Args:
        fqns: fully qualified names of the parameters; a tied one under its first name.
        wrap: names of modules, or globs in which ``*`` stands for one level and ``**`` for any number; ``""`` is the model
            itself, and so is leaving ``wrap`` empty.
        module_names: further modules that may be named although they hold no parameter.

    Returns:
        In the order of ``fqns``.

    Raises:
        ValueError: a name or glob matches no module; the message names the nearest.

    Example::

        >>> units_of(["token.weight", "blocks.0.up.weight", "blocks.1.up.weight"], ["blocks.*"])
        {'blocks.0.up.weight': 'blocks.0', 'blocks.1.up.weight': 'blocks.1'}
    """
    paths = {fqn: _modules_above(fqn) for fqn in fqns}
    known = {path for above in paths.values() for path in above} | {*module_names, ""}
    wrapped: set[str] = set()
    for pattern in wrap or ("",):
        found = {path for path in known if _matches(pattern, path)}
        if not found:
            near = difflib.get_close_matches(pattern, sorted(known - {""}), n=1)
            likely = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"fsdp_wrap must hold names of modules with parameters, or globs of them, got {pattern!r}{likely}")
        wrapped |= found
    inner = {fqn: next((path for path in above if path in wrapped), None) for fqn, above in paths.items()}
    return {fqn: path for fqn, path in inner.items() if path is not None}


def _modules_above(fqn: str) -> list[str]:
    """The modules that hold a parameter, innermost first, the model itself last."""
    parts = fqn.split(".")[:-1]
    return [".".join(parts[:length]) for length in range(len(parts), -1, -1)]


def _matches(pattern: str, path: str) -> bool:
    expression = "".join(_TOKENS.get(token, re.escape(token)) for token in re.split(r"(\*\*|\*|\?)", pattern))
    return re.fullmatch(expression, path) is not None


_TOKENS = {"**": ".*", "*": r"[^.]+", "?": r"[^.]"}
