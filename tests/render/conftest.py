"""Snapshots made by hand: a sharded step with everything in it, and graphs of any size."""

from __future__ import annotations

import pytest

from hyperviz.snapshot import Collective, GraphSnapshot, NodeSnapshot, Plan, Region, SourceLine, TensorSnapshot


def node(name, inputs=(), *, op="call_function", target="aten.relu.default", phase="forward", module="", twin="", kind=""):
    tensors = (TensorSnapshot((2, 3), "float32", (3, 1), "cpu", 24),)
    source = SourceLine("train.py", 7, "y = f(x)", "forward") if op == "call_function" else None
    return NodeSnapshot(name, op, target, tuple(inputs), phase, tensors, module, source, twin, kind)


def sharded_step():
    """One layer of a step: gather, wait, matmul, loss, an effect, backward, reduce-scatter, wait."""
    return GraphSnapshot(
        nodes=(
            node("w", op="placeholder", target="blocks.0.fc.weight", kind="parameter"),
            node("running_mean", op="placeholder", target="bn.running_mean", kind="buffer"),
            node("x", op="placeholder", target="x", kind="input"),
            node("gather", ["w"], target="_c10d_functional.all_gather_into_tensor.default", module="blocks.0"),
            node("relu", ["x"], module="blocks.0"),
            node("wait", ["gather"], target="_c10d_functional.wait_tensor.default", module="blocks.0"),
            node("mm", ["relu", "wait"], target="aten.mm.default", module="blocks.0.fc"),
            node("copy_", ["running_mean", "mm"], target="aten.copy_.default", module="bn"),
            node("loss", ["mm"], target="aten.mean.default"),
            node("ones", ["loss"], target="aten.ones_like.default", phase="backward", twin="loss"),
            node("grad", ["ones", "relu"], target="aten.mm.default", phase="backward", module="blocks.0.fc", twin="mm"),
            node("scatter", ["grad"], target="_c10d_functional.reduce_scatter_tensor.default", phase="backward", module="blocks.0"),
            node("wait_1", ["scatter"], target="_c10d_functional.wait_tensor.default", phase="backward", module="blocks.0"),
            node("output", ["loss", "wait_1"], op="output", target="output", phase=""),
        ),
        title="A sharded step",
        notes=("captured for causal = True",),
        versions={"torch": "2.13.0"},
        collectives=(
            Collective("gather", ("wait",), "all_gather", "0", 8, 192, "blocks.0 gather", ("relu",)),
            Collective("scatter", ("wait_1",), "reduce_scatter", "0", 8, 192),
        ),
    )


def sharded_plan(mode="regional"):
    graph = sharded_step()
    off = Plan.of_graph(graph)
    if mode == "off":
        return off
    roles = {"gather": "collective", "scatter": "collective", "wait": "wait", "wait_1": "wait", "copy_": "effect", "ones": "eager"}
    why = {"collective": "communication", "wait": "communication", "effect": "writes to running_mean", "eager": "kept eager on request"}
    regions = (
        Region("region_0", ("relu",), "forward", 0, 24, 24),
        Region("region_1", ("mm",), "forward", 36, 48, 24),
        Region("region_2", ("loss",), "forward", 0, 24, 24),
        Region("region_3", ("grad",), "backward", 36, 48, 24),
    )
    eager = {name: why[role] for name, role in roles.items()}
    return Plan(graph, mode, "runs", {**off.roles, **roles}, regions, eager, ("The plan's own sentence.",))


def chain(length):
    nodes = [node("x", op="placeholder", target="x", kind="input")]
    nodes += [node(f"relu_{index}", [f"relu_{index - 1}" if index else "x"]) for index in range(length)]
    return GraphSnapshot((*nodes, node("output", [nodes[-1].name if length else "x"], op="output", target="output", phase="")), "A chain")


def deep_step(layers):
    """A joint graph as deep as a real one: blocks of eight nodes, each saved for its twin, and every parameter read twice."""
    nodes, last = [node("x", op="placeholder", target="x", kind="input")], "x"
    nodes += [node(f"w{i}", op="placeholder", target=f"blocks.{i}.weight", kind="parameter") for i in range(layers)]
    for i in range(layers):
        for j in range(8):
            inputs = [last, f"w{i}"] if j == 3 else [last, f"f{i}_0"] if j == 7 else [last]
            nodes.append(node(f"f{i}_{j}", inputs, module=f"blocks.{i}.part"))
            last = f"f{i}_{j}"
    for i in reversed(range(layers)):
        for j in reversed(range(8)):
            inputs = [last, f"f{i}_{j}", *([f"w{i}"] if j == 3 else [])]
            nodes.append(node(f"b{i}_{j}", inputs, phase="backward", module=f"blocks.{i}.part", twin=f"f{i}_{j}"))
            last = f"b{i}_{j}"
    return GraphSnapshot((*nodes, node("output", [f"f{layers - 1}_7", last], op="output", target="output", phase="")), "Deep")


@pytest.fixture
def step():
    return sharded_step()


@pytest.fixture
def plan():
    return sharded_plan()


@pytest.fixture
def off():
    return sharded_plan("off")


@pytest.fixture
def make_node():
    return node


@pytest.fixture
def make_chain():
    return chain


@pytest.fixture
def make_deep():
    return deep_step
