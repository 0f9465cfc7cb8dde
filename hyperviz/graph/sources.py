"""The user's line in a recorded stack trace: the innermost frame that a person who wrote the model would call their own."""

from __future__ import annotations

import re
import sysconfig
from functools import lru_cache
from pathlib import Path

import torch

from hyperviz.snapshot import SourceLine

_FRAME = re.compile(
    r'^ {0,3}File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?(?:\n(?! {0,3}File ") *(?P<code>.*))?',
    re.MULTILINE,
)
_PATHS = sysconfig.get_paths()
_TORCH = str(Path(torch.__file__).parent) + "/"
_OURS = str(Path(__file__).parents[1]) + "/"
_MODELS = _OURS + "models/"
_STANDARD = tuple({_PATHS["stdlib"] + "/", _PATHS["platstdlib"] + "/"})
_INSTALLED = ("site-packages/", "dist-packages/")


@lru_cache(maxsize=4096)
def user_line(stack_trace: str) -> SourceLine | None:
    """The innermost frame of the user's own code, or None where there is none.

    Not the user's: torch, the standard library, this library (but the models that it ships are like any user's), and helpers in installed
    packages. A ``forward`` in an installed package is a model's code, and counts.

    Args:
        stack_trace: frames as Python formats them, the innermost last.
    """
    found = None
    for frame in _FRAME.finditer(stack_trace):
        if is_user_frame(frame["file"], frame["function"] or ""):
            found = frame
    if found is None:
        return None
    return SourceLine(found["file"], int(found["line"]), (found["code"] or "").strip(), found["function"] or "")


@lru_cache(maxsize=4096)
def is_user_frame(file: str, function: str) -> bool:
    """Whether a frame is the user's, by the rule that ``user_line`` states."""
    if is_internal_file(file):
        return False
    if any(place in file for place in _INSTALLED):
        return function.rpartition(".")[2] == "forward"
    return True


@lru_cache(maxsize=4096)
def is_internal_file(file: str) -> bool:
    """Whether a file is torch's, the standard library's, or this library's machinery."""
    if file.startswith(_MODELS):
        return False
    if any(place in file for place in _INSTALLED):
        return file.startswith((_TORCH, _OURS))
    return file.startswith((_TORCH, _OURS, *_STANDARD, "<frozen "))
