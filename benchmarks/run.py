"""Runs every benchmark, each in a process of its own, and says which targets were not reached."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = ("plan_vs_compile", "picture_vs_dot", "overhead", "regions", "sharded_step")


def main() -> int:
    missed = [name for name in BENCHMARKS if subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py"))]).returncode]
    print(f"not reached: {', '.join(missed)}" if missed else "every target reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
