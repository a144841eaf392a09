# `make demo` needs only Python 3.11+ and make; everything is installed in .venv.
PYTHON ?= python3
VENV   ?= .venv
# The interpreters of `make test-all`: names on the PATH, or paths.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
# pytest options for every target that runs tests, such as PYTEST='-n 2 tests/tensor'.
PYTEST ?= -n auto

BIN   := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := $(VENV)/.peers
# Fixes the iteration order of sets of strings; `make test-seeds` varies it.
export PYTHONHASHSEED ?= 0
# Tests start hundreds of processes: each would compile all modules of Phintys anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo check durations test export-tests arm test-all test-seeds test-optimized test-lowest test-wheel stress \
        reference pytensor-tests bridge-tests browser-tests jax-tests bridge-page array-api fuzz quality debug lint stubs index site notebook-tests distributions \
        types bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Created once, and updated whenever the dependencies may have changed.
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

setup: $(READY) ## create .venv with everything that the other targets need

demo: $(READY) ## train a classifier of handwritten digits
	$(BIN)/python examples/digits.py

check: $(READY) ## lint, types and the nearest tests of what has changed (a minute)
	$(BIN)/python -m tools.check $(CHECK)

test: $(READY) ## run all tests; the same cases on every run
	$(BIN)/python -m pytest $(PYTEST)

test-all: ## run the tests on each of $(PYTHONS), and all test-* targets below
	@set -e; for python in $(PYTHONS); do \
	  if version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); \
	  then echo "== Python $$version"; $(MAKE) PYTHON=$$python VENV=.venv-$$version test; \
	  else echo "== $$python is not installed"; fi; \
	done
	$(MAKE) test-seeds
	$(MAKE) test-optimized
	$(MAKE) test-lowest
	$(MAKE) test-wheel

test-seeds: $(READY) ## run the tests with other hash seeds, and warnings as errors from the first import
	PYTHONHASHSEED=1 PYTHONWARNINGS=error $(BIN)/python -m pytest $(PYTEST)
	PYTHONHASHSEED=2 PYTHONWARNINGS=error $(BIN)/python -m pytest $(PYTEST)

# The asserts of Phintys are removed; those of tests, and of programs that tests start, are kept.
test-optimized: $(READY) ## run the tests under python -OO
	PYTHONOPTIMIZE=2 $(BIN)/python -m pytest $(PYTEST) -W 'ignore:assertions not in test modules'

.venv-lowest/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -e '.[examples,dev]' \
	  $$($(PYTHON) -c 'import re, tomllib; \
	    project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	    print(*(re.sub(r">=([0-9]+[.][0-9]+).*", r"==\1.*", one) for one in project["dependencies"]))')
	@touch $@

test-lowest: .venv-lowest/.ready ## run the tests with the oldest supported dependencies
	.venv-lowest/bin/python -m pytest $(PYTEST)

test-wheel: $(READY) ## run the tests of the sdist with the wheel installed
	rm -rf build/wheel
	$(BIN)/python -m build --outdir build/wheel .
	tar -xzf build/wheel/phintys-*.tar.gz -C build/wheel --strip-components=1
	$(PYTHON) -m venv build/wheel/.venv
	build/wheel/.venv/bin/python -m pip install --quiet --disable-pip-version-check \
	  "phintys[examples,dev] @ file://$$(ls $(CURDIR)/build/wheel/phintys-*.whl)"
	cd build/wheel && .venv/bin/python -m pytest $(PYTEST)

durations: $(READY) ## run all tests, and write how long those of each file take
	mkdir -p build
	$(BIN)/python -m pytest $(PYTEST) --junitxml=build/durations.xml
	$(BIN)/python -m tools.check.measuring build/durations.xml

stress: $(READY) ## run the long forms of tests: many signals, forks, threads; all cases, all examples
	PHINTYS_HYPOTHESIS=whole $(BIN)/python -m pytest -m 'stress or hypothesis'

export-tests: $(READY) ## export all programs and records, and compare them with Python (half an hour)
	@# Files, since pytest drops those that are in a folder among its arguments.
	$(BIN)/python -m pytest -m "stress or not stress" tests/backends/native/export/*.py \
		tests/backends/native/export/bundled

# Sets up build/arm first: Debian's Python for arm64, wheels for it. ARM='-m pytest tests/tensor'
# runs something else there.
arm: $(READY) ## run tests on 64-bit ARM, played by qemu-user (an hour; needs Debian's apt)
	$(BIN)/python -m tools.arm $(ARM)

reference: $(READY) ## run the tests with the reference backend
	PHINTYS_FLAGS=mode=reference $(BIN)/python -m pytest -n auto --ignore tests/backends/native

pytensor-tests: $(READY) ## run the tests published with PyTensor and Aesara (downloads them; half an hour)
	$(BIN)/python -m tools.published_tests

.venv-bridge/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-bridge
	.venv-bridge/bin/python -m pip install --quiet --disable-pip-version-check -e '.[pytensor,pymc,dev]'
	@touch $@

bridge-tests: .venv-bridge/.ready ## run the tests of the bridge for PyTensor (installs it first)
	.venv-bridge/bin/python -m pytest tests/bridge tests/tools/test_bridge_ops.py

jax-tests: $(READY) ## run all records of Ops in mode jax (a few minutes)
	$(BIN)/python -m pytest $(PYTEST) -m 'stress or not stress' tests/backends/jax

browser-tests: $(READY) ## run the tests of pages of graphs in a browser (installs Chromium where it may)
	@command -v chromedriver >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  apt-get install -y -qq --no-install-recommends chromium chromium-driver; } || \
	  echo "Chromium and chromedriver are not here, and cannot be installed: the tests are skipped." >&2
	$(BIN)/python -m pytest -rs tests/inspect

bridge-page: .venv-bridge/.ready ## write the tables of Ops in docs/bridge.md
	.venv-bridge/bin/python -m tools.bridge_ops

# With the published tests, where they can be fetched: ARRAY_API='--suite FOLDER --examples 20'.
array-api: $(READY) ## check phintys.testing.eager against the array API's standard
	$(BIN)/python -m pytest $(PYTEST) -m 'stress or not stress' tests/testing/array_api
	@$(BIN)/python -m tools.array_api $(ARRAY_API) || test $$? -eq 3  # 3: cannot be fetched

pymc: .venv-bridge/.ready ## run the tests published with PyMC and PyTensor on Phintys (an hour)
	.venv-bridge/bin/python -m pip install --quiet --disable-pip-version-check numdifftools
	.venv-bridge/bin/python -m tools.bridge_tests

# Findings are printed as a program, as calls, or as an @example: add them as test cases.
fuzz: $(READY) ## search for failing cases, and print them (half an hour)
	$(BIN)/python -m tools.fuzz --jobs 2 --count 10000
	$(BIN)/python -m tools.fuzz --jobs 2 --kind views --count 20000
	$(BIN)/python -m tools.fuzz --jobs 2 --kind aliasing --count 20000
	$(BIN)/python -m tools.fuzz --jobs 2 --kind matrices --count 3000
	$(BIN)/python -m tools.fuzz --jobs 2 --kind sparse --count 3000
	$(BIN)/python -m tools.fuzz --jobs 2 --kind gradients --count 3000
	$(BIN)/python tests/backends/native/stress/random_calls.py $$(date +%s) 50000
	PHINTYS_HYPOTHESIS=search $(BIN)/python -m pytest $(PYTEST) -m hypothesis

quality: $(READY) ## test how random the bits of generators are (several minutes)
	$(BIN)/python -m tools.quality

debug: $(READY) ## check the library's own Ops and rules under DebugMode (a few minutes)
	PHINTYS_FLAGS=mode=debug $(BIN)/python -m pytest -n auto tests/tensor tests/gradient tests/passes
	PHINTYS_HYPOTHESIS=thorough $(BIN)/python -m pytest -n auto -m "stress or not stress" tests/records -k debug_mode

lint: $(READY) ## ruff: lint rules and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

stubs: $(READY) ## write the stub files, which name the scalar functions for type checkers
	$(BIN)/python -m tools.stubs

index: $(READY) ## write the index of what is imported late, from decorators and packages
	$(BIN)/python -m tools.index

distributions: $(READY) ## write docs/distributions.md, the table of all distributions
	$(BIN)/python -m tools.distributions

.venv-site/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-site
	.venv-site/bin/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

site: .venv-site/.ready ## build the site into build/site/html (three minutes of one core)
	.venv-site/bin/python -m tools.site $(SITE)

notebook-tests: .venv-site/.ready ## run the notebooks of the gallery, and commands for notebooks
	.venv-site/bin/python -m pytest -rs -m 'stress or not stress' tests/tools/site/test_notebooks.py tests/tools/site/test_in_notebooks.py

types: $(READY) ## check types with basedpyright, and those that users see with mypy
	$(BIN)/basedpyright --threads 2
	$(BIN)/mypy --strict --follow-imports=silent --cache-dir=build/mypy tests/types/programs_of_users.py

bench: $(PEERS) ## measure all beside PyTensor and JAX (hours), or as much as BENCH="--minutes 15" allows
	$(BIN)/python -m benchmarks $(BENCH)

clean: ## remove .venv, caches and build artifacts
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
