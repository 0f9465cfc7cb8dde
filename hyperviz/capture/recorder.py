"""Notes, while a graph is traced, what only the running program knows: the user's lines, and which gradient function runs."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

import torch
from torch import fx

from hyperviz.capture.refusals import check_operator
from hyperviz.graph.sources import is_internal_file


class Recorder:
    """Writes ``meta["stack_trace"]`` and ``meta["seq_nr"]`` of each node as it is made.

    torch's own tracer notes only frames of functions called ``forward``, and gives the nodes of a backward the number of whatever gradient
    function was made last; here every line of the user's counts, and a backward node carries the number of the function that runs it, or
    none where no function does (the seed, and sums of gradients).

    Attributes:
        first_backward: position in the graph where the backward starts; None before ``start_backward``.
    """

    def __init__(self, tracer: Any, outermost: CodeType) -> None:
        """Hooks into one tracer, which lives as long as its trace.

        Args:
            tracer: the ``PythonKeyTracer`` that ``make_fx`` is using.
            outermost: the function that calls the user's; what called it is none of the program's.
        """
        self.first_backward: int | None = None
        self._graph = tracer.graph
        self._outermost = outermost
        self._running: list[int] = []
        self._make_node = tracer.create_node
        tracer.record_stack_traces = False
        tracer.create_node = self._create_node

    def start_backward(self, loss: torch.Tensor) -> None:
        """From here on nodes belong to the backward of ``loss``."""
        self.first_backward = len(self._graph.nodes)
        for function in _gradient_functions(loss):
            self._watch(function)

    def _watch(self, function: Any) -> None:
        number = function._sequence_nr()
        if function.name() == "CopySlices":
            number -= 1  # made right after the in-place operator's own function, which it wraps
        function.register_prehook(lambda *_: self._running.append(number))
        function.register_hook(lambda *_: self._stop())

    def _stop(self) -> None:
        self._running.pop()

    def _create_node(self, *args: Any, **kwargs: Any) -> fx.Node:
        node = self._make_node(*args, **kwargs)
        check_operator(node, in_backward=self.first_backward is not None)
        number = self._sequence_number()
        if number is None:
            node.meta.pop("seq_nr", None)
        else:
            node.meta["seq_nr"] = number
        frames = self._frames() if node.op not in ("placeholder", "output") else []
        if frames:
            node.meta["stack_trace"] = "".join(frames)
        else:
            node.meta.pop("stack_trace", None)
        return node

    def _sequence_number(self) -> int | None:
        if self.first_backward is None:
            # counted up when the operator's gradient function was made
            return torch.autograd._get_sequence_nr() - 1  # pyright: ignore[reportPrivateImportUsage]
        return self._running[-1] if self._running else None

    def _frames(self) -> list[str]:
        frames: list[str] = []
        frame = sys._getframe(1)
        while frame is not None and frame.f_code is not self._outermost:
            file = frame.f_code.co_filename
            if not is_internal_file(file):
                frames.append(_format(file, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return frames[::-1]


def _format(file: str, line: int, function: str) -> str:
    return f'  File "{file}", line {line}, in {function}\n    {linecache.getline(file, line).strip()}\n'


def _gradient_functions(loss: torch.Tensor) -> Iterator[Any]:
    """Every node of the autograd graph of ``loss``, once."""
    waiting, seen = [loss.grad_fn], {loss.grad_fn}
    while waiting:
        function = waiting.pop()
        if function is None:
            continue
        yield function
        for following, _ in function.next_functions:
            if following not in seen:
                seen.add(following)
                waiting.append(following)
