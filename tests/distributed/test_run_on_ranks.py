"""A step compiled, compared and timed on two real ranks, by a script and by the explorer; what fails, and what is stopped."""

from __future__ import annotations

import threading

import pytest
import studied_step
from studied_step import CONFIG, build

import hyperviz as hv
from hyperviz.snapshot import Progress, from_json, to_json


@pytest.fixture(scope="module")
def joint():
    return hv.trace(*build())


@pytest.fixture(scope="module")
def explorer(joint):
    """An explorer whose Compile was pressed, and has ended: the one launch that most of these tests look at."""
    explorer = hv.explore(joint, config=CONFIG, ranks=hv.Ranks(build, link=hv.Link(latency_us=20, gbps=100)))
    explorer.before = explorer.plan
    explorer.told = []
    show = explorer._progress.show
    explorer._progress.show = lambda where: (explorer.told.append(where), show(where))
    assert explorer.compile() and explorer.wait(300)
    assert explorer.ranks is not None, explorer._book.entries
    yield explorer
    explorer.close()


def test_each_rank_compares_and_times_its_own_part(explorer):
    first, second = explorer.ranks.ranks
    assert (first.rank, second.rank) == (0, 1)
    for one in (first, second):
        assert one.equality.verdict in ("bitwise", "rounding")
        assert [output.name for output in one.equality.outputs[:3]] == ["loss", "grad of weight", "grad of bias"]
        assert [timing.name for timing in one.timings.timings] == ["eager", "regional"]
        assert f"rank {one.rank} of 2, on its own inputs" in one.equality.notes
        assert len(one.report.regions) == len(explorer.plan.regions)
        assert one.timings.environment["link"] == explorer.ranks.link == "simulated link: 20 µs, 100 Gb/s"
    assert first.equality.outputs[0] != second.equality.outputs[0] or first.timings != second.timings
    assert explorer.ranks.disagreements == () or first.equality.verdict != second.equality.verdict
    assert explorer.equality == explorer.ranks.worst.equality and explorer.timings == explorer.ranks.slowest.timings


def test_what_was_planned_for_a_fake_world_is_what_rank_0_compiled(explorer):
    assert explorer.before.graph.caveat == "fake world of 2 ranks: not run"
    assert explorer.plan.graph.fake_world is None and not explorer.stale
    assert [region.nodes for region in explorer.plan.regions] == [region.nodes for region in explorer.before.regions]
    assert explorer.plan.graph.collectives == explorer.before.graph.collectives
    assert explorer.view.plan is explorer.ranks.plan


def test_ranks_say_how_far_they_are(explorer):
    words = [where.what for where in explorer.told]
    assert words[0] == "starting 2 ranks"
    assert any(word.startswith("rank ") and "is compiling" in word and "nodes" in word for word in words)
    assert all(isinstance(where, Progress) for where in explorer.told)


def test_it_can_be_shown_saved_and_read_again(explorer, tmp_path):
    assert "2 real ranks on gloo, over a simulated link: 20 µs, 100 Gb/s" in repr(hv.show(explorer.ranks))
    page = hv.export(explorer.ranks, tmp_path / "ranks.html").read_text()
    assert 'id="ranks"' in page and "simulated link" in page
    assert from_json(hv.export(explorer.ranks, tmp_path / "ranks.json").read_text()) == explorer.ranks
    assert from_json(to_json(explorer.ranks)) == explorer.ranks
    assert hv.export(explorer.ranks, tmp_path / "ranks.svg").stat().st_size > 1000


def test_a_rank_that_fails_is_named_where_the_person_looks(joint, nothing_left):
    explorer = hv.explore(joint, config=CONFIG, ranks=hv.Ranks(studied_step.build_badly))
    try:
        assert explorer.compile() and explorer.wait(300)
        assert "rank 1 of 2 raised ValueError: build must return (model, train_fn, inputs)" in explorer._message.value
        assert explorer.ranks is None and explorer.plan.graph.caveat
    finally:
        explorer.close()
    nothing_left()


def test_stop_ends_the_ranks_and_leaves_no_process(joint, nothing_left):
    explorer = hv.explore(joint, config=CONFIG, ranks=hv.Ranks(studied_step.build_slowly))
    begun, show = threading.Event(), explorer._progress.show
    explorer._progress.show = lambda where: (show(where), "is building its model" in where.what and begun.set())
    try:
        assert explorer.compile() and begun.wait(120)
        explorer.stop()
        assert explorer.wait(60)
        assert "Stopped." in explorer._message.value and explorer.ranks is None
        nothing_left()
    finally:
        explorer.close()


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (lambda joint: hv.Ranks(3), "build must be callable and return"),
        (lambda joint: hv.Ranks(build, num_ranks=0), "num_ranks must be an integer ≥ 1, got 0"),
        (lambda joint: hv.Ranks(build, timeout_s=-1), "timeout_s must be a number of seconds > 0"),
        (lambda joint: hv.run_on_ranks(build, "regional"), "config must be a PassConfig, got str"),
        (lambda joint: hv.explore(joint, ranks=build), r"ranks must be hv.Ranks\(build"),
        (lambda joint: hv.explore(joint, [1], ranks=hv.Ranks(build)), "flat must be left out beside ranks"),
        (lambda joint: hv.explore(joint.graph_module, ranks=hv.Ranks(build)), "joint must be what hv.trace returns"),
        (
            lambda joint: hv.explore(hv.trace(*build(), world=hv.FakeWorld(8)), config=CONFIG, ranks=hv.Ranks(build)),
            "num_ranks must be the size of the world that joint was captured for, 8, got 2",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_starts(joint, what, sentence, nothing_left):
    with pytest.raises(ValueError, match=sentence):
        what(joint)
    nothing_left()
