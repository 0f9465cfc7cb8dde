"""What the inspector and the table of the graph view say about each node, packed small for the way to the browser."""

from __future__ import annotations

import gzip
import json

from hyperviz.snapshot import GraphSnapshot, NodeSnapshot, TensorSnapshot

MAX_TEXT = 4000
"""Longer text of a program is cut: it is read by a person, in a panel."""


def graph_facts(graph: GraphSnapshot) -> dict[str, object]:
    """What does not depend on a plan: every node with its tensors, its place in the program, and what it reads.

    Keys that would be empty are left out, so that a graph of thousands of nodes stays small.
    """
    return {"title": graph.title, "nodes": [_node(node) for node in graph.nodes]}


def pack(facts: object) -> bytes:
    """JSON, gzipped; the same facts give the same bytes."""
    return gzip.compress(json.dumps(facts, separators=(",", ":"), ensure_ascii=False).encode(), mtime=0)


def unpack(packed: bytes) -> object:
    """What was packed."""
    return json.loads(gzip.decompress(packed))


def _node(node: NodeSnapshot) -> dict[str, object]:
    source = node.source
    facts = {
        "name": node.name,
        "op": node.op,
        "target": _cut(node.target),
        "kind": node.kind,
        "phase": node.phase,
        "module": _cut(node.module_path),
        "twin": node.twin,
        "inputs": list(node.inputs),
        "tensors": [_tensor(tensor) for tensor in node.tensors],
        "bytes": node.num_bytes if node.tensors else None,
        "source": str(source) if source else "",
        "function": source.function if source else "",
        "code": _cut(source.code) if source else "",
    }
    return {key: value for key, value in facts.items() if value not in ("", [], None)}


def _tensor(tensor: TensorSnapshot) -> list[object]:
    return [str(tensor), f"[{', '.join(map(str, tensor.stride))}]" if tensor.stride else "", tensor.device, tensor.num_bytes]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
