"""How functions reach other processes: cloudpickle, which also takes what ``__main__`` defines, with two manners of its own.

Given to ``torch.save`` as its ``pickle_module``.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import cloudpickle
import torch
from torch._ops import OpOverload, OpOverloadPacket


class Pickler(cloudpickle.Pickler):
    """cloudpickle that knows ``torch.ops`` and keeps the file names of functions."""

    def reducer_override(self, obj: Any) -> Any:
        """How to rebuild ``obj``."""
        # Functions name torch.ops, its namespaces and its operators; none of them can be pickled as it is.
        if isinstance(obj, types.ModuleType) and obj.__name__.startswith("torch.ops"):
            return _part_of_torch, (obj.__name__.removeprefix("torch."),)
        if isinstance(obj, (OpOverload, OpOverloadPacket)):
            return _part_of_torch, (f"ops.{obj}",)
        # cloudpickle drops the file name for reproducible bytes; a traceback without it shows no lines.
        if isinstance(obj, types.CodeType):
            make, parts, *_ = self.dispatch_table[types.CodeType](obj)
            return _make_code, (make, parts, obj.co_filename)
        return super().reducer_override(obj)


def _part_of_torch(path: str) -> Any:
    return operator.attrgetter(path)(torch)


def _make_code(make: Callable[..., types.CodeType], parts: tuple[Any, ...], filename: str) -> types.CodeType:
    return make(*parts).replace(co_filename=filename)
