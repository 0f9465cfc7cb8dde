"""Verdicts on what Inductor really makes of small programs: its known miscompiles, and the roundings that it is right to change."""

import pytest
import torch
import torch.nn.functional as F

from hyperviz.measure import compare


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def flip_after_index_put(x, i):
    x.index_put_((i,), 2 * x[:4])
    x.add_(x.flip(0))
    return x


def flip_in_foreach(x):
    torch._foreach_add_([x], [x.flip(0)])


def normalized(x, weight, bias):
    return F.gelu(F.layer_norm(x, (64,), weight, bias))


def jumps(x):
    shares = x.softmax(-1)
    return torch.floor(shares.sum(-1)), x * 2


def half_chain(x, y):
    for _ in range(4):
        x = torch.tanh(x * y + x) - y * 0.3
    return x, x > y


def drawn(x):
    return F.dropout(x, 0.5), torch.rand_like(x), x + 1


@pytest.fixture(scope="module")
def compiled():
    """Each program compiled once, when it is first called."""
    programs = (flip_after_index_put, flip_in_foreach, normalized, jumps, half_chain, drawn)
    return {program: torch.compile(program, fullgraph=True) for program in programs}


def test_miscompiled_mutations_are_wrong(compiled):
    for program, flat in ((flip_after_index_put, [randn(8), torch.arange(4)]), (flip_in_foreach, [randn(8)])):
        equality = compare(program, compiled[program], flat)
        assert equality.verdict == "wrong"
        written = equality.outputs[-1]
        assert written.name == "input 0 after the run"
        assert written.max_abs > 0.1
        assert written.mismatched < written.total


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_layer_norm_and_gelu_are_rounding(compiled, dtype):
    flat = [value.to(dtype) for value in (randn(32, 64), randn(64), randn(64))]
    equality = compare(normalized, compiled[normalized], flat)
    assert equality.verdict == "rounding"
    assert equality.outputs[0].max_ulp > 0


def test_either_side_may_be_the_compiled_one(compiled):
    flat = [randn(32, 64), randn(64), randn(64)]
    eager, inductor = normalized, compiled[normalized]
    assert compare(inductor, eager, flat, labels=("compiled", "eager")).verdict == "rounding"
    assert compare(inductor, inductor, flat).verdict == "bitwise"


def test_a_rounding_that_a_floor_turns_into_a_jump_is_said_to_be_one(compiled):
    floored, doubled = compare(jumps, compiled[jumps], [randn(256, 64)]).outputs
    assert doubled.verdict == "bitwise"
    assert floored.max_abs == 1.0
    assert floored.verdict == "rounding"
    assert "discontinuous operator amplifies rounding into a jump (floor)" in floored.reason


def test_half_precision_chains_and_the_comparisons_behind_them_are_rounding(compiled):
    equality = compare(half_chain, compiled[half_chain], [randn(4096).bfloat16(), randn(2, 4096)[1].bfloat16()])
    assert equality.verdict == "rounding", [output.reason for output in equality.outputs]
    assert equality.outputs[0].mismatched > 0


def test_random_numbers_of_the_compiler_s_own_are_random_by_design(compiled):
    equality = compare(drawn, compiled[drawn], [randn(64, 64)])
    assert [output.verdict for output in equality.outputs] == ["random", "random", "bitwise"]
