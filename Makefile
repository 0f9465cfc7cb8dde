# What a person types in a fresh clone. Each target first makes what it needs; `make` alone lists them.
VENV ?= .venv
BIN := $(VENV)/bin
# What the environment is made with, once; another one later: `make clean`, then `make env PYTHON=python3.12`.
PYTHON ?= $(or $(wildcard $(BIN)/python),python3)
MADE := $(VENV)/.made

# Compiled regions are kept here between runs, out of sight of git and of other projects' caches.
export TORCHINDUCTOR_CACHE_DIR ?= $(CURDIR)/.cache/inductor
# Inductor looks for g++ unless CXX says otherwise: where only clang++ is there, say so.
ifeq ($(origin CXX),default)
ifeq ($(shell command -v g++ 2>/dev/null),)
ifneq ($(shell command -v clang++ 2>/dev/null),)
export CXX := clang++
endif
endif
endif

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 8

env: $(MADE) ## make .venv from pyproject.toml and constraints.txt

demo: compiler env ## train a small model, take its step apart, compile it in each mode, write hyperviz-demo/report.html
	$(BIN)/hyperviz demo

lab: compiler env ## open JupyterLab on the notebooks
	$(BIN)/hyperviz lab

# Two at a time, each file's tests in one process, as they share what they compile.
WORKERS ?= 2
# Browser, kernel and tests share the cores: threads that wait for each other must not spin.
test: export OMP_WAIT_POLICY := PASSIVE
test: compiler env ## run every test; ARGS="tests/render -k svg" for some, WORKERS=0 for one after another
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

bench: compiler env ## measure what the README claims and write benchmarks/results
	$(BIN)/python benchmarks/run.py

lint: env ## format, lint, types and the order of the rooms
	$(BIN)/ruff format .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

clean: ## remove what the other targets made
	rm -rf $(VENV) .cache hyperviz-demo *.egg-info .pytest_cache .ruff_cache .import_linter_cache

$(MADE): pyproject.toml constraints.txt | python
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	@touch $@

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "hyperviz needs Python 3.10 or newer, '$(PYTHON)' is not: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "This Python cannot make environments: apt-get install python3-venv (Debian, Ubuntu), then again."; exit 1; }

compiler: python
	@command -v $(firstword $(CXX)) >/dev/null 2>&1 \
	  || { echo "Inductor needs a C++ compiler: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora), xcode-select --install (macOS), or set CXX."; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' \
	  || { echo "Inductor needs Python's C headers: apt-get install python3-dev (Debian, Ubuntu), dnf install python3-devel (Fedora), then again."; exit 1; }

.PHONY: help env demo lab test bench lint clean python compiler
