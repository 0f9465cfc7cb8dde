"""A mark on everything that a test starts, so that what it leaves behind is found, whoever else is at work on the machine."""

import time
import uuid

import psutil
import pytest

MARK = "HYPERVIZ_TEST_MARK"


def marked(mark):
    found = psutil.process_iter(["environ", "status", "cmdline"])
    return [p.info["cmdline"] for p in found if (p.info["environ"] or {}).get(MARK) == mark and p.info["status"] != psutil.STATUS_ZOMBIE]


@pytest.fixture
def nothing_left(monkeypatch):
    """A check that no process which was started since is alive; called by the test, and again at its end."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)

    def check(patience_s=0.0):
        until = time.monotonic() + patience_s
        while (left := marked(mark)) and time.monotonic() < until:
            time.sleep(0.1)
        assert not left

    yield check
    check()
