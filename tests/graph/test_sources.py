"""Which line of a stack trace is the user's."""

import sysconfig
import traceback

import pytest
import torch

import hyperviz
from hyperviz.graph.sources import user_line
from hyperviz.snapshot import SourceLine

STANDARD = sysconfig.get_paths()["stdlib"]
TORCH = torch.__path__[0]
OURS = hyperviz.__path__[0]


def trace_of(*frames):
    """A stack trace as Python and torch format it, of (file, function) frames; the line is the position, from 1."""
    return "".join(
        f'  File "{file}", line {line}, in {function}\n    code of {function}()\n' for line, (file, function) in enumerate(frames, 1)
    )


@pytest.mark.parametrize(
    ("frames", "line"),
    [
        ([("/home/me/train.py", "step"), ("/home/me/model.py", "forward")], 2),
        ([("/home/me/train.py", "step"), ("/home/me/model.py", "forward"), ("/home/me/model.py", "helper")], 3),
        ([("/home/me/model.py", "forward"), (f"{TORCH}/nn/modules/linear.py", "forward")], 1),
        ([("/home/me/model.py", "forward"), (f"{OURS}/capture/tracing.py", "run")], 1),
        ([("/home/me/train.py", "step"), (f"{OURS}/models/gpt.py", "forward")], 2),
        ([("/home/me/model.py", "forward"), (f"{STANDARD}/functools.py", "wrapper")], 1),
        ([("/home/me/model.py", "forward"), ("/x/lib/python3.11/site-packages/einops/einops.py", "rearrange")], 1),
        ([("/home/me/train.py", "step"), ("/x/lib/python3.11/site-packages/others/model.py", "forward")], 2),
        ([("/tmp/ipykernel_7/12.py", "<module>"), ("<ipython-input-3-abc>", "step")], 2),
        ([(f"{TORCH}/nn/modules/linear.py", "forward")], None),
        ([], None),
    ],
)
def test_the_innermost_frame_of_the_users_own(frames, line):
    found = user_line(trace_of(*frames))
    assert found == (None if line is None else SourceLine(*_expected(frames, line)))


def _expected(frames, line):
    file, function = frames[line - 1]
    return file, line, f"code of {function}()", function


def test_text_that_python_itself_wrote():
    def here():
        return "".join(traceback.format_stack(limit=1))

    found = user_line(here())
    assert (found.file, found.function, found.code) == (__file__, "here", 'return "".join(traceback.format_stack(limit=1))')


@pytest.mark.parametrize("code", ['print("</script> -> {} |")', 'File "x.py", line 3', ""])
def test_any_code_is_only_text(code):
    found = user_line(f'File "a b/m.py", line 7, in forward\n    {code}')
    assert (found.file, found.line, found.code) == ("a b/m.py", 7, code)


def test_a_frame_without_its_code():
    found = user_line('  File "m.py", line 7, in forward\n  File "n.py", line 8, in forward\n')
    assert (found.file, found.line, found.code) == ("n.py", 8, "")
