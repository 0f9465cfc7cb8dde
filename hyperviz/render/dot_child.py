"""Graphviz's layered layout, run in a child process that can be stopped and limited in time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from hyperviz.render.parts import Part
from hyperviz.render.placement import Placement, Point

_POINTS_PER_INCH = 72
_GRAPH = 'ranksep=0.19 nodesep=0.14 node[shape=box fixedsize=true label=""] edge[arrowhead=none]'

# Only sys.path is handed on: in a notebook the kernel may have found pygraphviz in a folder that a bare interpreter does not look in.
_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
import pygraphviz
texts = json.load(sys.stdin)
plain = [pygraphviz.AGraph(string=text).draw(format="plain", prog="dot").decode() for text in texts]
json.dump(plain, sys.stdout)
"""


class LayoutError(RuntimeError):
    """Graphviz did not answer, or not in time; the message is one sentence that a picture can carry."""


def place(parts: Sequence[Part], timeout_s: float) -> list[Placement]:
    """Lays every part out on its own; raises ``LayoutError``."""
    plain = _run([_dot(part) for part in parts], timeout_s)
    return [_read(text, part) for text, part in zip(plain, parts, strict=True)]


def _run(texts: list[str], timeout_s: float) -> list[str]:
    command = [sys.executable, "-I", "-c", _CHILD, json.dumps(sys.path)]
    try:
        done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise LayoutError(f"Graphviz needed longer than {timeout_s:g} s") from None
    except OSError as error:
        raise LayoutError(f"Graphviz could not be started ({error})") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise LayoutError(f"Graphviz failed with exit code {done.returncode} ({last[:200]})")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise LayoutError("Graphviz gave no layout") from None


def _dot(part: Part) -> str:
    """DOT with numbers for names, so that no name needs escaping."""
    number = {name: index for index, name in enumerate(part.sizes)}
    lines = [f"digraph{{{_GRAPH}"]
    lines += [f"{number[name]}[width={w / _POINTS_PER_INCH:.4f} height={h / _POINTS_PER_INCH:.4f}]" for name, (w, h) in part.sizes.items()]
    lines += [f"{number[start]}->{number[end]}" for start, end in part.edges]
    lines += [f"{number[start]}->{number[end]}[style=invis weight=0]" for start, end in part.ties]
    return "\n".join(lines) + "}"


def _read(plain: str, part: Part) -> Placement:
    """Graphviz's "plain" format: inches, y upwards, one line for each node and edge."""
    names, shown = list(part.sizes), set(part.edges)
    boxes, routes = {}, {}
    width = height = 0.0
    for line in plain.splitlines():
        kind, *words = line.split(" ")
        if kind == "graph":
            width, height = float(words[1]) * _POINTS_PER_INCH, float(words[2]) * _POINTS_PER_INCH
        elif kind == "node":
            x, y, w, h = (float(word) * _POINTS_PER_INCH for word in words[1:5])
            boxes[names[int(words[0])]] = (x - w / 2, height - y - h / 2, w, h)
        elif kind == "edge":
            count = int(words[2])
            numbers = [float(word) * _POINTS_PER_INCH for word in words[3 : 3 + 2 * count]]
            points: tuple[Point, ...] = tuple((x, height - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
            edge = names[int(words[0])], names[int(words[1])]
            if edge in shown:
                routes[edge] = points
    return Placement(boxes, routes, width, height)
