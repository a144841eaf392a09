# `make demo` needs only Python 3.11+ and make; everything lands in .venv.
PYTHON ?= python3
VENV   ?= .venv

BIN   := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := $(VENV)/.peers

.DEFAULT_GOAL := help
.PHONY: help setup demo test reference fuzz debug lint types bench peers clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Made once, and again whenever the dependencies may have changed.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Phintys needs Python 3.11 or newer, and '$(PYTHON)' is" \
	       "$$($(PYTHON) --version 2>/dev/null || echo not to be found)." \
	       "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' lacks the venv or ensurepip module." \
	       "Install it (Debian, Ubuntu: apt install python3-venv)" \
	       "or name another Python: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[examples,dev]'
	@touch $@

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

setup: $(READY) ## make .venv with everything the other targets need

demo: $(READY) ## learn to read handwritten digits
	$(BIN)/python examples/digits.py

test: $(READY) ## run every test
	$(BIN)/python -m pytest -n auto

reference: $(READY) ## run the tests in the reference backend
	PHINTYS_FLAGS=mode=reference $(BIN)/python -m pytest -n auto --ignore tests/backends/native

fuzz: $(READY) ## hold all modes against each other on random graphs (ten minutes)
	$(BIN)/python -m phintys.testing.fuzz --jobs 2 --count 10000
	$(BIN)/python -m phintys.testing.fuzz --jobs 2 --kind aliasing --count 20000

debug: $(READY) ## hold the library's own Ops and rules against DebugMode (a few minutes)
	PHINTYS_FLAGS=mode=debug $(BIN)/python -m pytest -n auto tests/tensor tests/gradient tests/passes
	PHINTYS_HYPOTHESIS=thorough $(BIN)/python -m pytest -n auto tests/records -k debug_mode

lint: $(READY) ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY) ## check the types
	$(BIN)/basedpyright

bench: $(READY) ## measure, and write benchmarks/RESULTS.md
	$(BIN)/python benchmarks/run.py
	$(BIN)/python -m benchmarks.suite.run

peers: $(PEERS) ## compare with peers (installs them first)
	$(BIN)/python -m benchmarks.suite.run

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
