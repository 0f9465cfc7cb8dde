"""Whether Inductor's C++ compiler is there and works: tried on a program of three lines that needs what Inductor's own need."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler

# On macOS and Windows OpenMP takes flags that only Inductor's own build knows; compiling a region tries those.
OPENMP = "#include <omp.h>\n" if sys.platform == "linux" else ""
PROGRAM = f"#include <Python.h>\n{OPENMP}int main() {{ return 0; }}\n"
TIMEOUT_S = 120


def run_tiny_program() -> str:
    """Compiles a program with the compiler that Inductor takes, Python's headers and OpenMP, and runs it.

    Returns:
        What the compiler says about itself in its first line.

    Raises:
        FileNotFoundError: if there is no compiler.
        RuntimeError: if the program does not compile or does not run; the message is the first complaint.
    """
    try:
        compiler = get_cpp_compiler()
    except InvalidCxxCompiler as error:
        raise FileNotFoundError("no C++ compiler: neither g++ nor what CXX names") from error
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "tiny.cpp"), Path(folder, "tiny")
        source.write_text(PROGRAM)
        flags = ["-fopenmp"] if OPENMP else []
        _run([compiler, *flags, f"-I{sysconfig.get_path('include')}", str(source), "-o", str(program)])
        _run([str(program)])
    return _run([compiler, "--version"]).splitlines()[0]


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        complaint = next((line for line in done.stderr.splitlines() if "error" in line), f"exit code {done.returncode}")
        raise RuntimeError(f"{Path(command[0]).name}: {complaint}")
    return done.stdout
