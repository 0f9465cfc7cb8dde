"""The worker thread: one job at a time, stopped when asked."""

import threading

from hyperviz.widgets.worker import Worker


def test_one_job_at_a_time_and_the_next_when_it_is_done():
    worker, gate = Worker(), threading.Event()
    assert worker.start(lambda _: gate.wait(10) and None)
    assert worker.busy
    assert not worker.start(lambda _: None)
    gate.set()
    assert worker.wait(10)
    assert worker.start(lambda _: None)
    assert worker.wait(10)


def test_a_stop_is_seen_by_the_job_and_forgotten_by_the_next():
    worker, seen = Worker(), []

    def job(should_stop):
        while not should_stop():
            pass
        seen.append(should_stop())

    worker.start(job)
    worker.stop()
    assert worker.wait(10)
    worker.start(lambda should_stop: seen.append(should_stop()))
    assert worker.wait(10)
    assert seen == [True, False]


def test_a_closed_worker_starts_nothing():
    worker = Worker()
    assert worker.close()
    assert not worker.start(lambda _: None)
