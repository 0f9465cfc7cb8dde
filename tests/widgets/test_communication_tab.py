"""The table of collectives in the explorer."""

from dataclasses import replace

import pytest
from hand_made import HOSTILE, HandMadeBackend, graph, plan

from hyperviz.snapshot import Collective
from hyperviz.widgets import Explorer, Knobs
from hyperviz.widgets.communication_tab import communication_tables
from hyperviz.widgets.facts import unpack

GATHER = Collective("gather_1", ("wait_1",), "all_gather", "0", 8, 256_000, "layers.1 gather", ())


def talking(*collectives):
    return replace(graph(), collectives=collectives or (GATHER,))


def test_each_collective_is_a_row_whose_names_lead_to_the_graph():
    words = communication_tables(plan(Knobs("regional"), talking()))
    assert "1 collective, none with compute between launch and wait." in words
    for part in ("0 all_gather", "layers.1.weight", "0 (8 ranks)", "256 kB", "layers.1 gather", "empty"):
        assert part in words
    assert 'data-node="gather_1"' in words and 'data-node="wait_1"' in words


def test_it_can_be_sorted_by_what_the_words_stand_for():
    words = communication_tables(plan(Knobs("regional"), talking()))
    assert words.count('class="hv-sort"') == 10
    assert 'data-key="256000"' in words


def test_what_a_mode_does_to_a_window_is_said():
    assert "∅</span>empty" in communication_tables(plan(Knobs("off"), talking()))
    assert "?</span>Inductor decides" in communication_tables(plan(Knobs("full"), talking()))


def test_hostile_names_stay_text():
    whole = talking(replace(GATHER, bucket=HOSTILE, group=HOSTILE))
    assert "<img" not in communication_tables(plan(Knobs("off"), whole))


@pytest.fixture
def explorer():
    backend = HandMadeBackend()
    backend.graph = talking()
    explorer = Explorer(backend)
    yield explorer
    explorer.close()


def test_a_graph_that_communicates_has_the_tab_and_it_follows_the_plan(explorer):
    assert explorer._tabs.titles[1] == "Communication"
    (table,) = explorer._tabs._communication.children
    assert "empty" in table.value
    explorer.mode = "full"
    assert "Inductor decides" in explorer._tabs._communication.children[0].value


def test_the_inspector_is_told_of_the_pair(explorer):
    (pair,) = unpack(explorer.view._overlay)["collectives"]
    assert (pair["launch"], pair["waits"], pair["what"]) == ("gather_1", ["wait_1"], "layers.1.weight")
