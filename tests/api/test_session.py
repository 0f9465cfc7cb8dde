"""The explorer on a real step: what its knobs do is what the verbs do."""

from __future__ import annotations

import pytest
import torch

import hyperviz as hv
from hyperviz.api.session import Session
from hyperviz.snapshot import Progress
from hyperviz.widgets import Knobs, Stopped


@pytest.fixture(scope="module")
def step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 2))
    inputs = {"x": torch.randn(4, 8)}
    joint = hv.trace(model, lambda model, x: model(x).square().mean(), inputs)
    return joint, joint.flat_inputs(model, inputs)


def test_the_explorer_compiles_compares_and_times_what_is_planned(step):
    joint, flat = step
    explorer = hv.explore(joint, flat)
    try:
        explorer.mode = "regional"
        assert explorer.plan == hv.plan(joint, hv.PassConfig(inductor_mode="regional"))
        assert explorer.report is None and explorer.compile() and explorer.wait(300)
        compiled = hv.compile(joint, hv.PassConfig(inductor_mode="regional"))
        assert explorer.equality == hv.compare(joint, compiled, flat)
        assert {timing.name for timing in explorer.timings.timings} == {"eager", "regional"}
        assert not explorer.stale
        explorer.mode = "full"
        assert explorer.stale
    finally:
        explorer.close()


def test_a_config_that_is_given_is_where_the_knobs_start(step):
    config = hv.PassConfig(inductor_mode="regional", keep_eager=("aten.gelu",), inductor_configs={"max_autotune": False})
    explorer = hv.explore(step[0], config=config)
    try:
        assert explorer.knobs == Knobs("regional", "runs", {"max_autotune": False})
        assert explorer.plan == hv.plan(step[0], config)
    finally:
        explorer.close()


def test_a_stop_ends_the_compile_and_keeps_what_was_compiled_before(step):
    session = Session(*step)
    session.compile(Knobs("off"), lambda progress: None, lambda: False)
    before = session.compiled
    with pytest.raises(Stopped, match="0 of 1"):
        session.compile(Knobs("regional"), lambda progress: None, lambda: True)
    assert session.compiled is before


def test_progress_names_the_region_and_ends_full(step):
    told: list[Progress] = []
    Session(step[0], None, hv.PassConfig(keep_eager=("aten.gelu", "aten.gelu_backward"))).compile(
        Knobs("regional"), told.append, lambda: False
    )
    assert [where.name for where in told[:-1]] and told[-1].index == told[-1].total == len(told) - 1
    assert told[0].name == "region_0" and "nodes" in told[0].what


def test_without_inputs_or_before_a_compile_it_says_what_is_missing(step):
    session = Session(step[0])
    with pytest.raises(ValueError, match="nothing has been compiled yet"):
        session.compare()
    session.compile(Knobs("off"), lambda progress: None, lambda: False)
    with pytest.raises(ValueError, match="need real inputs"):
        session.benchmark()


def test_settings_are_torchs_own(step):
    session = Session(step[0])
    assert {setting.key for setting in session.settings()} > {"max_autotune", "cpp.threads"}
    assert session.parse_setting("max_autotune", "True") is True
    with pytest.raises(ValueError, match="max_autotune"):
        session.check_settings({"max_autotun": True})
