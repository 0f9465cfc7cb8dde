"""Every process that a launch brought about, found by a mark in its environment, and ended."""

from __future__ import annotations

import psutil

VARIABLE = "HYPERVIZ_LAUNCH"


def born_of(token: str) -> list[psutil.Process]:
    """The living processes whose environment carries ``token``: agent, ranks, and whatever these started, in any session or group."""
    found = psutil.process_iter(["environ", "status"])
    return [p for p in found if (p.info["environ"] or {}).get(VARIABLE) == token and p.info["status"] != psutil.STATUS_ZOMBIE]


def end_all(token: str) -> None:
    """Kills them until none is left: one may start another while it is looked for. Gives up after half a minute."""
    for _ in range(10):
        found = born_of(token)
        if not found:
            return
        for process in found:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(found, timeout=3)
