"""Ranks are started, looked after and ended as `launch` says: each on real gloo ranks."""

import asyncio
import contextlib
import functools
import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import rank_work
import torch

from hyperviz.distributed import RankError, launch

NOTEBOOK = Path(__file__).with_name("notebook_like.py")
SCRIPT = Path(__file__).with_name("torchrun_script.py")


@pytest.fixture(scope="module")
def home():
    """Two ranks' results and what they printed, launched where a notebook would: inside a running event loop."""

    async def cell():
        return launch(rank_work.look_around, num_ranks=2, args=(10.0,))

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        results = asyncio.run(cell())
    return results, out.getvalue(), err.getvalue()


def test_each_rank_brings_its_own_result_home(home):
    results, _, _ = home
    assert [type(r["finding"]) for r in results] == [rank_work.Finding] * 2
    assert [r["finding"].rank for r in results] == [0, 1]
    assert all(torch.equal(r["finding"].total, torch.full((3,), 30.0)) for r in results)
    assert [r["big"][-1].item() for r in results] == [0.0, 1.0]


def test_tensors_that_share_memory_still_do(home):
    for result in home[0]:
        weight, view = result["tied"]
        weight[0] = 7.0
        assert view[0, 0] == 7.0


def test_a_rank_knows_its_place(home):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for rank, result in enumerate(home[0]):
        here = result["here"]
        assert (here.rank, here.num_ranks) == (rank, 2)
        assert here.num_threads == result["threads"] == max(1, cores // 2)
        assert here.link is None and result["link"] is None
        assert result["stdin"] == ""


def test_what_ranks_print_carries_their_rank(home):
    _, out, err = home
    assert sorted(out.splitlines()) == [
        line for rank in (0, 1) for line in (f"[rank {rank}] rank {rank} computed", f"[rank {rank}] unfinished line")
    ]
    assert {f"[rank {rank}] a complaint" for rank in (0, 1)} <= set(err.splitlines())


def test_a_launch_inside_a_rank_is_refused(home):
    assert "call in rank 1" in home[0][1]["nested"]


def test_a_rank_that_raises_is_what_the_person_sees(nothing_left):
    with pytest.raises(RankError, match="rank 1 of 2 raised rank_work.BadBatchError: rank 1 got an empty batch") as caught:
        launch(rank_work.raise_on, args=(1,), timeout_s=600)
    error = caught.value
    assert (error.rank, error.exception_type, error.timed_out, error.signal) == (1, "rank_work.BadBatchError", False, "")
    assert type(error.__cause__) is rank_work.BadBatchError
    assert 'raise BadBatchError(f"rank {rank} got an empty batch")' in str(error) and "hyperviz" not in error.traceback
    assert [report.rank for report in error.reports] == [0, 1]
    nothing_left()


def test_a_killed_rank_is_named_with_its_signal(nothing_left):
    with pytest.raises(RankError, match="rank 0 of 2 was ended by SIGKILL") as caught:
        launch(rank_work.die_on, args=(0, signal.SIGKILL), timeout_s=600)
    assert (caught.value.rank, caught.value.signal) == (0, "SIGKILL")
    nothing_left()


def test_a_hang_says_which_rank_was_in_which_collective(nothing_left):
    with pytest.raises(RankError, match="had not finished after 2 s") as caught:
        launch(rank_work.stay_away, args=(0,), timeout_s=2)
    error = caught.value
    assert error.timed_out and error.rank == 0
    absent, waiting = error.reports
    assert "time.sleep(0.1)" in absent.traceback and "wait_tensor(total)" in waiting.traceback
    if waiting.records_collectives:
        assert absent.in_flight == () and absent.last_collective.startswith("all_reduce #1 of float [3]")
        assert len(waiting.in_flight) == 1 and waiting.in_flight[0].startswith("all_reduce #2 of float [8, 2]")
        assert waiting.in_flight[0] in str(error)
    nothing_left()


def test_an_interrupt_ends_the_ranks(tmp_path, nothing_left):
    started = tmp_path / "started"

    def interrupt():
        while not started.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker of the test run ignores it
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            launch(rank_work.touch_and_sleep, num_ranks=1, args=(str(started),))
    finally:
        signal.signal(signal.SIGINT, before)
    nothing_left()


def test_a_result_that_cannot_be_pickled_is_named():
    with pytest.raises(ValueError, match=r"the result of rank 0 must be picklable to come home, got TypeError: cannot pickle 'generator'"):
        launch(rank_work.return_a_generator, num_ranks=1)


def test_what_a_notebook_defines_and_the_death_of_the_notebook(tmp_path, nothing_left):
    """Functions, closures and classes of a ``__main__`` that is no file work; when that process is killed, its ranks end too."""
    command = [sys.executable, "-c", f"exec(compile(open({str(NOTEBOOK)!r}).read(), 'cell 1', 'exec'))"]
    said = []
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as notebook:
        for line in notebook.stdout:
            said.append(line.rstrip())
            if "asleep" in line:
                break
        notebook.kill()
    assert "results: [('Scaled', 30.0, True), ('Scaled', 60.0, True)]" in said
    assert "[rank 0]     return table['loss']" in said, "the line of a cell is shown although no file holds it"
    assert said[-1] == "[rank 0] asleep"
    nothing_left(patience_s=30)


def test_the_same_step_runs_under_plain_torchrun(tmp_path):
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--local-addr",
        "localhost",
        "--nproc-per-node",
        "2",
        str(SCRIPT),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / str(rank)).read_text() for rank in (0, 1)] == [f"rank {rank} of 2 on gloo: 3.0" for rank in (0, 1)]


@pytest.mark.parametrize(
    ("fn", "wrong", "message"),
    [
        (print, {"num_ranks": 0}, "num_ranks must be an integer ≥ 1, got 0"),
        (print, {"num_ranks": True}, "num_ranks must be an integer ≥ 1, got True"),
        (print, {"num_ranks": 2.0}, "num_ranks must be an integer ≥ 1, got 2.0"),
        (print, {"timeout_s": 0}, "timeout_s must be a number of seconds > 0, got 0"),
        (print, {"timeout_s": float("nan")}, "timeout_s must be a number of seconds > 0, got nan"),
        (print, {"args": 3}, "args must be a tuple of what fn is called with, got 3; did you mean \\(3,\\)"),
        (print, {"link": "nvlink4"}, "link must be a Link, as in .* or Link.named\\(\"nvlink4\"\\), got 'nvlink4'"),
        ("print", {}, "fn must be callable, got 'print'"),
        (functools.partial(print, threading.Lock()), {}, "fn must be picklable to reach the ranks, got functools.partial"),
        (print, {"args": (threading.Lock(),)}, "args must be picklable to reach the ranks, got \\(<unlocked"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(fn, wrong, message, nothing_left):
    with pytest.raises(ValueError, match=message):
        launch(fn, **wrong)
    nothing_left()
