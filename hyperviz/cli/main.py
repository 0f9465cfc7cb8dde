"""What a person types: one parser, one function for each command, one sentence for each mistake."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hyperviz.cli.demo import demo
from hyperviz.cli.doctor import doctor
from hyperviz.cli.export import export
from hyperviz.cli.lab import lab
from hyperviz.cli.study import CONFIDENCE
from hyperviz.passes import RegionCompileError
from hyperviz.snapshot.timing import min_samples


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: the words after ``hyperviz``; None for those that this process was started with.

    Returns:
        The exit code: 0 where the command did what it was asked, 1 where it found that something is wrong, 2 for a mistake in the
        question or an answer that could not be written, 130 where a person interrupted it.
    """
    options = _understood(arguments)
    try:
        return options.run(options)
    except (ValueError, OSError) as error:
        print(f"hyperviz {options.command}: {error}", file=sys.stderr)
        return 2
    except RegionCompileError as error:
        print(f"hyperviz {options.command}: {error}\n`hyperviz doctor` says what this machine can compile.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"hyperviz {options.command}: interrupted, nothing more was written", file=sys.stderr)
        return 130


def _understood(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The words as options; those that only JupyterLab knows are left to it."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown and options.command != "lab":
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.jupyter = unknown
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hyperviz", description="See, change and trust what a compiler does to a training step.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="demo | lab | doctor | export")
    for add in (_add_demo, _add_lab, _add_doctor, _add_export):
        add(commands)
    return parser


def _add_demo(commands: argparse._SubParsersAction) -> None:
    what = "train a small GPT on real text, take its step apart, compile it in each mode, and write a report"
    parser = commands.add_parser("demo", help=what, description=what)
    parser.add_argument("--layers", type=_at_least(1), default=4, help="transformer blocks (default: %(default)s)")
    parser.add_argument("--steps", type=_at_least(1), default=20, help="training steps before it is taken apart (default: %(default)s)")
    parser.add_argument("--rounds", type=_at_least(min_samples(CONFIDENCE)), default=30, help="timed rounds (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and of the text that is read (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("hyperviz-demo"), help="folder of the report (default: %(default)s)")
    parser.set_defaults(run=demo)


def _add_lab(commands: argparse._SubParsersAction) -> None:
    what = "open JupyterLab on the notebooks"
    more = "; every other word goes to jupyter lab, as in: hyperviz lab --no-browser --port=8890"
    commands.add_parser("lab", help=what, description=what + more).set_defaults(run=lab)


def _add_doctor(commands: argparse._SubParsersAction) -> None:
    what = "say what this machine and this torch can do, what is missing, and how to get it"
    parser = commands.add_parser("doctor", help=what, description=what)
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    parser.set_defaults(run=doctor)


def _add_export(commands: argparse._SubParsersAction) -> None:
    what = "draw a saved graph or plan"
    parser = commands.add_parser("export", help=what, description=what)
    parser.add_argument("saved", type=Path, help="a .json that hv.export wrote")
    parser.add_argument("out", type=Path, help="what to write; its suffix says what: svg png pdf html dot json")
    parser.set_defaults(run=export)


def _at_least(least: int) -> Callable[[str], int]:
    """What turns a word into a whole number, or says what it must be."""

    def number(text: str) -> int:
        if not text.lstrip("-").isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {text}")
        return int(text)

    return number
