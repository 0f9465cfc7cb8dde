"""Saved values that wait for the backward in host memory."""

from hyperviz.passes.offload.offload_pass import OffloadPass
from hyperviz.passes.offload.plan import Offload, Offloaded

__all__ = ["Offload", "OffloadPass", "Offloaded"]
