"""What ranks found, side by side: the slowest, the worst, where they disagree, and all of it as text and JSON."""

from dataclasses import replace

import pytest

from hyperviz.snapshot import (
    CompileReport,
    Equality,
    GraphSnapshot,
    OutputEquality,
    Plan,
    RankReports,
    RankResult,
    Timing,
    Timings,
    from_json,
    to_json,
)


def equality(*verdicts):
    outputs = tuple(OutputEquality(name, verdict) for name, verdict in zip(("loss", "grad of w"), verdicts, strict=True))
    return Equality(max(verdicts, key=("bitwise", "rounding", "wrong").index), outputs)


def times(eager, compiled):
    return Timings(tuple(Timing(name, (ms,) * 6, ms, ms, ms, 4_000_000) for name, ms in (("eager", eager), ("regional", compiled))))


def result(rank, verdicts=("bitwise", "bitwise"), eager=4.0, compiled=2.0, digest="a"):
    return RankResult(rank, CompileReport("regional", 1.5), equality(*verdicts), times(eager, compiled), digest)


PLAN = Plan.of_graph(GraphSnapshot(()))
ALIKE = RankReports((result(0), result(1, compiled=2.5)), PLAN, "gloo", "simulated link: 50 µs, 100 Gb/s")
APART = replace(ALIKE, ranks=(result(0), result(1, ("bitwise", "rounding")), result(2, ("wrong", "rounding"), digest="b")), link="")


def test_the_step_takes_as_long_as_on_the_slowest_rank():
    assert ALIKE.slowest.rank == 1
    assert ALIKE.slowest.ratio.median == 1.6


def test_ranks_that_agree_have_nothing_to_say():
    assert ALIKE.disagreements == ()
    assert ALIKE.worst.rank == 0


def test_every_disagreement_is_a_sentence_that_names_the_ranks():
    assert APART.worst.rank == 2
    assert APART.disagreements == (
        "rank 2 compiled another plan than rank 0",
        "ranks disagree whether it is the same: bitwise on rank 0, rounding on rank 1, wrong on rank 2",
        "ranks disagree on loss: bitwise on rank 0, 1, wrong on rank 2",
    )


def test_the_text_has_a_line_for_each_rank_and_says_where_they_ran():
    assert str(ALIKE).splitlines() == [
        "2 real ranks on gloo, over a simulated link: 50 µs, 100 Gb/s: off · 0 regions · 0 nodes compiled · 0 eager",
        "rank  verdict  equal   eager  compiled  against eager                           compiled in  peak memory",
        "0     bitwise  2 of 2  4 ms   2 ms      2.00x [2.00, 2.00]: regional is faster  1.5 s        4 MB",
        "1     bitwise  2 of 2  4 ms   2.5 ms    1.60x [1.60, 1.60]: regional is faster  1.5 s        4 MB         slowest",
    ]
    assert str(APART).splitlines()[-1].startswith("ranks disagree on loss")
    assert "simulated" not in str(APART)


def test_it_comes_back_from_json():
    assert from_json(to_json(APART)) == APART


@pytest.mark.parametrize(
    ("damaged", "sentence"),
    [
        (replace(ALIKE, ranks=()), "data.ranks must hold at least one rank"),
        (replace(ALIKE, plan=replace(PLAN, mode="fast")), "data.plan.mode must be one of"),
        (
            replace(
                ALIKE, ranks=(replace(result(0), equality=replace(equality("bitwise", "bitwise"), outputs=(OutputEquality("l", "fine"),))),)
            ),
            r"data.ranks\[0\].equality.outputs\[0\].verdict must be one of",
        ),
    ],
)
def test_damage_is_named_where_it_is(damaged, sentence):
    with pytest.raises(ValueError, match=sentence):
        from_json(to_json(damaged))
