"""How candidates are run, what is put back afterwards, and memory to the byte. Nothing here asserts a time."""

import gc
import statistics

import pytest
import torch

from hyperviz.measure import benchmark
from hyperviz.measure.peak import peak_bytes
from hyperviz.snapshot.timing import median_interval

CPU = torch.device("cpu")


class Recorder:
    """Candidates that write down when they are called, and under which conditions."""

    def __init__(self, *names):
        self.calls = []
        self.candidates = {name: self.candidate(name) for name in names}

    def candidate(self, name):
        def run(x):
            self.calls.append((name, gc.isenabled(), torch.is_grad_enabled(), torch.get_num_threads()))
            return torch.rand(1) + x.sum()

        return run


def run(candidates, flat=None, **options):
    """A benchmark of few rounds with one call a sample."""
    return benchmark(candidates, [torch.ones(3)] if flat is None else flat, **{"rounds": 6, "min_sample_ms": 0.0, **options})


def rounds_of(recorder, size):
    """The names called in the timed rounds: the calls that ran without a garbage collector."""
    names = [name for name, collecting, *_ in recorder.calls if not collecting]
    return [names[i : i + size] for i in range(0, len(names), size)]


def test_every_round_runs_every_candidate_once_in_changing_order():
    recorder = Recorder("a", "b", "c")
    timings = run(recorder.candidates, rounds=12)
    rounds = rounds_of(recorder, 3)
    assert len(rounds) == 12
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1
    assert [timing.name for timing in timings.timings] == ["a", "b", "c"]


def test_the_order_is_the_seed_s():
    orders = []
    for seed in (0, 0, 1):
        recorder = Recorder("a", "b", "c")
        run(recorder.candidates, rounds=12, seed=seed)
        orders.append(rounds_of(recorder, 3))
    assert orders[0] == orders[1] != orders[2]


def test_results_follow_from_the_samples():
    recorder = Recorder("a", "b")
    timings = run(recorder.candidates, rounds=9, confidence=0.9)
    for timing in timings.timings:
        assert len(timing.samples_ms) == 9
        assert all(sample > 0 for sample in timing.samples_ms)
        assert timing.median_ms == statistics.median(timing.samples_ms)
        assert (timing.low_ms, timing.high_ms) == median_interval(timing.samples_ms, 0.9)
    assert timings.confidence == 0.9


def test_warm_up_comes_first_and_is_not_timed():
    recorder = Recorder("a")
    run(recorder.candidates, warmup=4)
    collecting = [call[1] for call in recorder.calls]
    assert collecting.index(False) >= 4
    assert collecting.count(False) == 6


def test_a_short_candidate_is_called_until_the_sample_is_long_enough():
    recorder = Recorder("a")
    timings = run(recorder.candidates, min_sample_ms=0.5)
    repeats = int(timings.environment["calls per sample"].removeprefix("a "))
    assert repeats > 1
    assert len(rounds_of(recorder, repeats)) == 6


def test_the_surroundings_are_put_back():
    gc.enable()
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    recorder = Recorder("a")
    with torch.enable_grad():
        timings = run(recorder.candidates, threads=1)
        assert torch.is_grad_enabled()
    assert gc.isenabled()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert {call[2:] for call in recorder.calls} == {(False, 1)}
    assert timings.environment["threads"] == "1"


def test_the_surroundings_are_put_back_after_a_failure():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    count = iter(range(100))

    def fails_in_a_round(x):
        if not gc.isenabled() and next(count) > 2:
            raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        run({"a": fails_in_a_round}, threads=1)
    assert gc.isenabled()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_each_candidate_has_inputs_of_its_own():
    seen = {"a": [], "b": []}

    def candidate(name, step):
        def run(x):
            x.add_(step)
            seen[name].append(x.item())

        return run

    value = torch.zeros(1)
    run({"a": candidate("a", 1), "b": candidate("b", 10)}, [value])
    assert value.item() == 0
    assert seen["a"] == [float(i) for i in range(1, len(seen["a"]) + 1)]
    assert seen["b"] == [10.0 * i for i in range(1, len(seen["b"]) + 1)]


def test_the_environment_says_what_was_controlled_and_found():
    environment = run({"a": torch.sin}).environment
    assert environment["torch"] == torch.__version__
    assert environment["timer"] == "time.perf_counter_ns"
    assert environment["rounds"] == "6, order shuffled in each"
    assert all(type(value) is str for value in environment.values())


def test_peak_memory_is_exact():
    x = torch.randn(1000)

    def two_at_once(x):
        y = x.exp()
        z = y.sin()
        del y
        return z.cos()

    def all_three(x):
        y = x.exp()
        z = y.sin()
        return y, z, z.cos()

    assert peak_bytes(lambda: two_at_once(x), CPU) == 8000
    assert peak_bytes(lambda: all_three(x), CPU) == 12000
    assert peak_bytes(lambda: x.view(10, 100).t(), CPU) == 0
    timings = run({"two": two_at_once, "three": all_three}, [x])
    assert (timings["two"].peak_bytes, timings["three"].peak_bytes) == (8000, 12000)


def test_peak_memory_sees_into_compiled_code():
    def program(x):
        return x.sin().cumsum(0).cos(), x.exp()

    x = torch.randn(1024)
    compiled = torch.compile(program)
    peak = run({"compiled": compiled}, [x])["compiled"].peak_bytes
    assert peak in (2 * 4096, 3 * 4096)  # two results, and perhaps the sum between


def test_peak_memory_is_not_measured_under_another_profiler_or_elsewhere():
    with torch.autograd.profiler.profile(use_kineto=False):
        assert peak_bytes(lambda: torch.ones(10), CPU) is None
    assert peak_bytes(lambda: torch.ones(10), torch.device("meta")) is None


@pytest.mark.parametrize(
    ("candidates", "flat", "options", "message"),
    [
        ({}, [], {}, r"candidates must map at least one name to a callable, got \{\}"),
        ([torch.sin], [], {}, r"candidates must map at least one name to a callable"),
        ({"a": 3}, [], {}, r"candidate 'a' must be callable as f\(\*flat\), got int"),
        ({"a": torch.sin}, torch.ones(1), {}, r"flat must be a list or tuple with one value per input, got Tensor"),
        ({"a": torch.sin}, [torch.ones(1)], {"rounds": 5}, r"rounds must be at least 6, got 5"),
        ({"a": torch.sin}, [torch.ones(1)], {"rounds": 7, "confidence": 0.99}, r"rounds must be at least 8, got 7"),
        ({"a": torch.sin}, [torch.ones(1)], {"warmup": 0}, r"warmup must be at least 1, got 0"),
        ({"a": torch.sin}, [torch.ones(1)], {"threads": 0}, r"threads must be at least 1, got 0"),
        ({"a": torch.sin}, [torch.ones(1)], {"confidence": 1.0}, r"confidence must lie between 0 and 1, got 1.0"),
    ],
)
def test_what_cannot_be_timed_is_refused(candidates, flat, options, message):
    with pytest.raises(ValueError, match=message):
        benchmark(candidates, flat, **options)
