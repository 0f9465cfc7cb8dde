"""How much sooner a joint graph is drawn than Graphviz's dot draws it, and whether every node is in the picture."""

import multiprocessing
import statistics
import sys
import time
import xml.etree.ElementTree as ElementTree

from record import Result, record
from steps import traced_gpt

import hyperviz as hv
from hyperviz.render import svg

LAYERS, ROUNDS, LIMIT_S, TARGET = 8, 3, 90, 20


def draw(plan) -> tuple[float, str]:
    """Seconds for layout and picture, and the picture."""
    start = time.perf_counter()
    picture = svg(plan)
    return time.perf_counter() - start, picture


def draw_with_dot(text: str) -> float:
    """Seconds that dot takes for the same nodes and every edge."""
    import pygraphviz

    start = time.perf_counter()
    pygraphviz.AGraph(string=text).draw(format="svg", prog="dot")
    return time.perf_counter() - start


def in_fresh_process(function, argument, limit_s: float):
    """The function's answer from a process that has drawn nothing before, or None where the limit was reached."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # leaving the block ends the process
        try:
            return pool.apply_async(function, (argument,)).get(limit_s)
        except multiprocessing.TimeoutError:
            return None


def dot_text(graph) -> str:
    """The graph as DOT: each node its name, each edge once."""
    number = {node.name: index for index, node in enumerate(graph.nodes)}
    nodes = [f'{number[node.name]} [shape=box label="{node.name}"]' for node in graph.nodes]
    edges = [f"{number[producer.name]} -> {number[consumer.name]}" for producer, consumer in graph.edges()]
    return "digraph {" + "\n".join([*nodes, *edges]) + "}"


def drawn_nodes(picture: str) -> set[str]:
    return {element.get("data-name") for element in ElementTree.fromstring(picture).iter() if element.get("class") == "hv-node"}


def main() -> int:
    plan = hv.plan(traced_gpt(LAYERS), hv.PassConfig(inductor_mode="regional"))
    names, text = {node.name for node in plan.graph.nodes}, dot_text(plan.graph)
    ours, dots, stopped, complete = [], [], 0, True
    for _ in range(ROUNDS):
        seconds, picture = in_fresh_process(draw, plan, LIMIT_S)
        complete &= drawn_nodes(picture) == names
        ours.append(seconds)
        with_dot = in_fresh_process(draw_with_dot, text, LIMIT_S)
        stopped += with_dot is None
        dots.append(with_dot or LIMIT_S)
    ratios = tuple(theirs / own for own, theirs in zip(ours, dots, strict=True))
    return record(
        Result(
            name="picture_vs_dot",
            what=f"drawing an {LAYERS}-layer GPT step ({len(names)} nodes, {len(list(plan.graph.edges()))} edges) as SVG, "
            "against dot on the same nodes and edges",
            target=f"at least {TARGET}x, with every node in the picture",
            reached=statistics.median(ratios) >= TARGET and complete,
            ratios=ratios,
            seconds={"hyperviz": ours, "dot": dots},
            notes=(
                f"every node is in the picture: {'yes' if complete else 'NO'}",
                f"dot was stopped after {LIMIT_S} s in {stopped} of {ROUNDS} rounds: there the ratio is a lower bound",
            ),
        )
    )


if __name__ == "__main__":
    sys.exit(main())
