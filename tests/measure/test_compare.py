"""What a comparison says, shown on small programs without a compiler."""

import math
import random

import pytest
import torch
import torch.nn.functional as F

from hyperviz.measure import compare


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def only(equality):
    (output,) = equality.outputs
    return output


def test_the_same_program_is_the_same_bit_for_bit():
    equality = compare(torch.sin, torch.sin, [randn(5, 7)])
    output = only(equality)
    assert (equality.verdict, output.verdict, output.reason) == ("bitwise", "bitwise", "")
    assert (output.total, output.mismatched, output.max_ulp, output.max_abs) == (35, 0, 0, 0.0)
    assert output.first == output.second == "Tensor, float32, (5, 7), stride (7, 1), cpu"


def test_inputs_and_random_state_come_back_as_they_were():
    value = torch.ones(3)
    torch.manual_seed(7)
    state = torch.get_rng_state()

    def program(x):
        return x.add_(torch.rand(3))

    compare(program, program, [value], seed=5)
    assert torch.equal(torch.get_rng_state(), state)
    assert value.tolist() == [1.0] * 3


def test_both_sides_start_from_the_same_seed_without_autograd_and_autocast():
    weight = torch.nn.Parameter(randn(4, 4))
    seen = []

    def program(w):
        seen.append((torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))
        return torch.rand(4, 4) @ w

    with torch.autocast("cpu", dtype=torch.bfloat16):
        equality = compare(program, program, [weight])
    assert equality.verdict == "bitwise"
    assert set(seen) == {(False, False)}


def test_a_few_last_places_are_rounding():
    output = only(compare(lambda x: x / 3.0, lambda x: x * (1 / 3.0), [randn(1000)]))
    assert output.verdict == "rounding"
    assert 0 < output.max_ulp <= 4
    assert output.mismatched > 0


def test_a_reordered_sum_that_cancels_is_rounding_although_it_is_many_last_places_off():
    values = randn(100, 80)
    output = only(compare(lambda x: (x - x.mean()).sum(), lambda x: (x - x.mean()).sum(0).flip(0).sum(), [values]))
    assert output.max_ulp > 1000
    assert output.verdict == "rounding", output.reason
    assert "rounding alone moves eager" in output.reason


def test_a_gradient_that_is_nothing_but_rounding_is_rounding():
    def gradient_of_a_shift(p, g):
        return (p * (g - (p * g).sum(-1, keepdim=True))).sum(-1)  # zero on paper: a softmax does not notice a shift

    def one(x, g):
        return gradient_of_a_shift(x.softmax(-1), g)

    def other(x, g):
        return gradient_of_a_shift(x.exp() / x.exp().sum(-1, keepdim=True), g)

    output = only(compare(one, other, [randn(32, 64), randn(32, 64)]))
    assert output.max_rel > 0.5
    assert output.verdict == "rounding", output.reason


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_that_is_rounded_less_often_is_rounding(dtype):
    def rounded_each_time(x, y):
        for _ in range(5):
            x = torch.tanh(x * y + x) - y * 0.3
        return x

    def rounded_once(x, y):
        return rounded_each_time(x.float(), y.float()).to(dtype)

    output = only(compare(rounded_each_time, rounded_once, [randn(500).to(dtype), randn(500).to(dtype)]))
    assert output.max_ulp > 4
    assert output.verdict == "rounding", output.reason


def test_rounding_is_measured_in_the_precision_that_is_used_inside():
    def inside(x):
        return (x.bfloat16() @ x.bfloat16().t()).float()

    def outside(x):
        return x @ x.t()

    x = randn(16, 16)
    assert only(compare(inside, outside, [x])).verdict == "rounding"
    assert only(compare(outside, inside, [x])).verdict == "wrong"  # a float32 program does not lose that much


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x: F.gelu(x), lambda x: F.gelu(x, approximate="tanh")),
        (lambda x: F.layer_norm(x, (64,)), lambda x: F.layer_norm(x, (64,), eps=1e-3)),
        (lambda x: x.var(-1), lambda x: x.var(-1, correction=0)),
        (lambda x: x.softmax(-1), lambda x: x.softmax(0)),
        (lambda x: x.sum(), lambda x: x.flatten()[1:].sum()),
        (lambda x: x + 1, lambda x: torch.cat([x[:-1] + 1, x[-1:]])),
    ],
    ids=["gelu", "epsilon", "variance", "dimension", "one term", "one row"],
)
def test_real_faults_are_wrong(first, second):
    output = only(compare(first, second, [randn(32, 64)]))
    assert output.verdict == "wrong", output.reason
    assert output.reason


@pytest.mark.parametrize(("bad", "word"), [(math.nan, "NaN"), (math.inf, "infinite")])
def test_nan_or_infinity_on_one_side_is_wrong(bad, word):
    def poisoned(x):
        return torch.where(x == x.max(), bad, x)

    x = randn(10)
    for sides in ((torch.clone, poisoned), (poisoned, torch.clone)):
        output = only(compare(*sides, [x]))
        assert output.verdict == "wrong"
        assert output.reason == f"1 of 10 {word} on one side only"
    assert only(compare(poisoned, poisoned, [x])).verdict == "bitwise"


def test_nan_payloads_and_signed_zeros_are_a_choice():
    def quiet(x):
        return torch.stack([x[0] * math.nan, x[1] * 0.0])

    def signed(x):
        return -quiet(x)

    x = torch.ones(2)
    assert only(compare(quiet, signed, [x])).verdict == "rounding"
    assert "bits of NaNs or the signs of zeros" in only(compare(quiet, signed, [x])).reason
    equality = compare(quiet, signed, [x], nan="equal", zeros="equal")
    assert (equality.verdict, equality.nan, equality.zeros) == ("bitwise", "equal", "equal")
    assert only(compare(quiet, signed, [x], nan="equal")).mismatched == 1


def test_integers_and_bools_that_differ_are_wrong():
    x = randn(50)
    assert only(compare(lambda x: x > 0, lambda x: x >= 0.1, [x])).verdict == "wrong"
    assert only(compare(lambda x: x.argsort(), lambda x: x.argsort(descending=True), [x])).verdict == "wrong"


def test_a_jump_that_rounding_causes_is_named_with_its_operator():
    x = randn(200, 64)

    def one(x):
        return torch.floor(x.softmax(-1).sum(-1))

    def other(x):
        return torch.floor((x.exp() / x.exp().sum(-1, keepdim=True)).flip(-1).sum(-1))

    output = only(compare(one, other, [x]))
    assert output.max_abs == 1.0
    assert output.verdict == "rounding"
    assert "a discontinuous operator amplifies rounding into a jump (floor)" in output.reason

    def flags(x):
        return one(x) > 0.5

    output = only(compare(flags, lambda x: other(x) > 0.5, [x]))
    assert output.verdict == "rounding"
    assert "floor, gt" in output.reason


def test_a_jump_where_rounding_reaches_no_edge_is_wrong():
    x = randn(200, 64)
    output = only(compare(lambda x: torch.floor(x.softmax(-1).sum(-1) + 0.5), lambda x: torch.floor(x.softmax(-1).sum(-1) + 1.5), [x]))
    assert output.verdict == "wrong"


def test_seeded_alike_but_drawn_differently_is_random():
    def mine(x):
        return F.dropout(x, 0.5), x + 1

    def yours(x):
        torch.rand(1)
        return F.dropout(x, 0.5), x + 1

    dropped, plain = compare(mine, yours, [randn(500)]).outputs
    assert dropped.verdict == "random"
    assert plain.verdict == "bitwise"


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (lambda x: F.dropout(x + torch.rand(1) * 0, 0.3), "further apart than chance"),
        (lambda x: F.dropout(x.roll(1) + torch.rand(1) * 0, 0.5), "further apart than chance"),
        (lambda x: x * 1.0, "only eager changes with the seed"),
    ],
    ids=["another rate", "another input", "no dropout"],
)
def test_randomness_does_not_excuse_a_fault(second, reason):
    output = only(compare(lambda x: F.dropout(x, 0.5), second, [randn(500)]))
    assert output.verdict == "wrong"
    assert reason in output.reason


def test_a_fault_beside_unrelated_randomness_is_wrong():
    def right(x):
        return torch.rand(100), x * 2

    def faulty(x):
        torch.rand(1)
        return torch.rand(100), x * 2.1

    drawn, fault = compare(right, faulty, [randn(100)]).outputs
    assert (drawn.verdict, fault.verdict) == ("random", "wrong")


def test_a_side_that_does_not_repeat_itself_is_noted_and_excuses_nothing():
    unseeded = random.Random(0)
    equality = compare(lambda x: x + unseeded.random(), lambda x: x, [randn(3)])
    assert equality.verdict == "wrong"
    assert equality.notes == ("eager does not repeat itself when it runs twice with seed 0",)
    assert compare(lambda x: x + unseeded.random(), lambda x: x + unseeded.random(), [randn(3)]).verdict == "random"


def test_a_program_that_cannot_be_nudged_is_still_judged():
    def careful(x):
        if not torch.equal(x, torch.full((3,), 0.3)):
            raise RuntimeError("moved")
        return x + 1

    equality = compare(careful, lambda x: x + 2, [torch.full((3,), 0.3)])
    assert equality.verdict == "wrong"
    assert equality.notes == ("what rounding does to eager could not be measured: RuntimeError: moved",)


def test_everything_but_the_numbers_is_structure():
    def one(x):
        return [x.t(), x.sum(), x.int(), x, 1.5, None]

    def two(x):
        return (x.t().contiguous(), x.sum()[None], x.long(), torch.nn.Parameter(x), 2, x)

    equality = compare(one, two, [randn(2, 3)])
    assert {output.verdict for output in equality.outputs} == {"structural"}
    assert equality.notes == ("the outputs are nested differently: eager returns a list, compiled a tuple",)
    reasons = [output.reason.partition(":")[0] for output in equality.outputs]
    assert reasons[:4] == ["not the same stride", "not the same shape and stride", "not the same dtype", "not the same type"]
    assert (equality.outputs[0].total, equality.outputs[0].mismatched) == (6, 0)


def test_a_wrong_number_wins_over_another_stride():
    output = only(compare(lambda x: x.t(), lambda x: x.t().contiguous() + 1, [randn(2, 3)]))
    assert output.verdict == "wrong"
    assert output.reason.startswith("not the same stride")
    assert "differs by up to 1" in output.reason


def test_strides_that_lead_nowhere_do_not_count():
    x = randn(1, 5)
    assert compare(lambda x: x.as_strided((1, 5), (5, 1)), lambda x: x.as_strided((1, 5), (99, 1)), [x]).verdict == "bitwise"


def test_another_number_of_outputs_is_structural_and_both_are_named():
    equality = compare(lambda x: [x, x + 1], lambda x: [x], [torch.ones(2)])
    assert equality.verdict == "structural"
    assert equality.notes == ("eager returns 2 outputs, compiled 1: compared by place, as far as both go",)
    assert [output.verdict for output in equality.outputs] == ["bitwise", "structural"]
    assert equality.outputs[1].reason == "only eager returns it"
    assert equality.outputs[1].second == "not returned"


def test_nested_outputs_are_named_by_their_place_unless_names_are_given():
    def program(x):
        return {"loss": x.sum(), "grads": [x, None]}

    x = randn(3)
    assert [output.name for output in compare(program, program, [x]).outputs] == [
        "output['loss']",
        "output['grads'][0]",
        "output['grads'][1]",
    ]
    assert [output.name for output in compare(program, program, [x], output_names=["a", "b", "c"]).outputs] == ["a", "b", "c"]


def test_plain_values_are_compared():
    x = torch.ones(1)
    outputs = compare(lambda x: (1, "a", 0.5, object()), lambda x: (2, "a", 0.5, object()), [x]).outputs
    assert [output.verdict for output in outputs] == ["wrong", "bitwise", "bitwise", "structural"]
    assert outputs[0].reason == "1 against 2"


def test_inputs_that_a_side_writes_to_are_compared_after_the_run():
    def momentum(x, running):
        running.mul_(0.9).add_(x.mean() * 0.1)
        return x + 1

    def forgetful(x, running):
        return x + 1

    flat = [randn(10), torch.zeros(1)]
    same = compare(momentum, momentum, flat, input_names=["x", "running mean"])
    assert [(output.name, output.verdict) for output in same.outputs] == [("output", "bitwise"), ("running mean after the run", "bitwise")]
    forgot = compare(momentum, forgetful, flat).outputs[1]
    assert (forgot.name, forgot.verdict, forgot.reason) == ("input 1 after the run", "wrong", "only eager writes to this input")
    assert flat[1].item() == 0.0


def test_a_program_that_only_writes_to_its_inputs_can_be_compared():
    assert compare(lambda x: x.zero_() and None, lambda x: x.zero_() and None, [torch.ones(1)]).verdict == "bitwise"


def test_freed_inputs_are_no_trouble():
    def free(x):
        y = x + 1
        x.untyped_storage().resize_(0)
        return y

    equality = compare(free, free, [torch.ones(3)])
    assert equality.verdict == "bitwise"
    assert "freed" in equality.outputs[1].first
    assert compare(free, lambda x: x + 1, [torch.ones(3)]).outputs[1].verdict == "structural"


ONE = [torch.ones(1)]
SINES = (torch.sin, torch.sin, ONE)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, torch.sin, ONE), {}, r"eager must be callable as f\(\*flat\), got int"),
        ((torch.sin, None, ONE), {}, r"compiled must be callable as f\(\*flat\), got NoneType"),
        ((torch.sin, torch.sin, torch.ones(1)), {}, r"flat must be a list or tuple with one value per input, got Tensor"),
        (SINES, {"nan": "no"}, r"nan must be 'bits' or 'equal', got 'no'"),
        (SINES, {"zeros": "bit"}, r"zeros must be 'bits' or 'equal', got 'bit'"),
        (SINES, {"output_names": ["a", "b"]}, r"output_names must hold one name for each of the 1 outputs, got 2"),
        (SINES, {"input_names": ["a", "b"]}, r"input_names must hold one name for each of the 1 inputs, got 2"),
        ((lambda x: None, lambda x: None, ONE), {}, r"must return something that can be compared, got 0 and 0 outputs"),
        ((torch.sin, lambda x: [], ONE), {}, r"must return something that can be compared, got 1 and 0 outputs"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        compare(*arguments, **options)


def test_what_a_side_raises_is_raised_and_the_random_state_is_kept():
    state = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="no luck"):
        compare(torch.sin, lambda x: (_ for _ in ()).throw(RuntimeError("no luck")), [torch.ones(1)])
    assert torch.equal(torch.get_rng_state(), state)


def test_a_missing_gradient_is_the_same_on_both_sides():
    assert compare(lambda x: (x, None), lambda x: (x, None), [torch.ones(2)]).verdict == "bitwise"
