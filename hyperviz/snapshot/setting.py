"""One setting of the compiler, as an editor shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of ``torch._inductor.config``.

    Attributes:
        key: dotted, as in ``"triton.cudagraphs"``.
        type: the type's name as people write it, as in ``"bool"`` or ``"int | None"``.
        default: its value on this machine, as Python text.
        doc: the comment that stands above it in torch's source; empty where there is none.
        choices: the allowed values as Python text, where torch lists them.
    """

    key: str
    type: str
    default: str
    doc: str = ""
    choices: tuple[str, ...] = ()
