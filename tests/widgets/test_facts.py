"""What the inspector and the table say of a node."""

from dataclasses import replace

from hand_made import HOSTILE, graph

from hyperviz.widgets.facts import MAX_TEXT, graph_facts, pack, unpack


def test_facts_say_what_a_node_is_and_leave_out_what_it_has_not():
    nodes = {node["name"]: node for node in graph_facts(graph())["nodes"]}
    assert nodes["mm_0"] == {
        "name": "mm_0",
        "op": "call_function",
        "target": "aten.mm.default",
        "phase": "forward",
        "module": "layers.0",
        "inputs": ["x", "primals_0"],
        "tensors": [["float32[4, 8]", "[8, 1]", "cpu", 128]],
        "bytes": 128,
        "source": "/home/someone/model.py:10",
        "function": "forward",
        "code": f"y = torch.relu(x @ self.weight)  # {HOSTILE}",
    }
    assert nodes["mm_grad_0"]["twin"] == "mm_0"
    assert nodes["primals_0"]["kind"] == "parameter"
    assert set(nodes["output"]) == {"name", "op", "target", "phase", "inputs"}


def test_packing_is_small_and_the_same_every_time():
    facts = graph_facts(graph(300))
    assert unpack(pack(facts)) == facts
    assert pack(facts) == pack(graph_facts(graph(300)))
    assert len(pack(facts)) < 20 * len(graph(300))


def test_a_long_text_is_cut():
    whole = graph()
    long = replace(whole, nodes=(replace(whole.nodes[0], target="x" * 99_999), *whole.nodes[1:]))
    assert len(graph_facts(long)["nodes"][0]["target"]) == MAX_TEXT
