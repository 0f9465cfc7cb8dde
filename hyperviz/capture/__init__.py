"""Programs become joint graphs: forward, loss and backward of one training step."""

from hyperviz.capture.joint_graph import JointGraph
from hyperviz.capture.tracing import trace
from hyperviz.capture.world import FakeWorld

__all__ = ["FakeWorld", "JointGraph", "trace"]
