# make demo | test | test-all | test-pythons | fuzz-flow | mutants | lint | docs | package | wheels | bench | bench-check | compile-bench | clean. Each makes .venv itself, and installs again only when pyproject.toml has changed.
VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?= -q -n auto

.PHONY: demo test test-all test-pythons fuzz-flow mutants lint docs package wheels bench bench-check compile-bench clean

demo: $(VENV)/.installed-notebook
	$(BIN)/python examples/eight_schools.py

# A fixed choice (tests/conftest.py), the same for the same tree: 7 minutes on two cores.
test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# Every case: 35 minutes on two cores.
test-all: $(VENV)/.installed-test
	TAPEDIFF_TESTS=all $(BIN)/python -m pytest $(PYTEST_ARGS)

# The core of the tests on every Python that is claimed and with the oldest libraries, as far as they can be had, and `make test` on this one: 45 minutes.
test-pythons: $(VENV)/.installed-test
	$(BIN)/python .ci/pythons

# Random programs with state, 300 of each kind, through the interpreter of control flow: half an hour.
fuzz-flow: $(VENV)/.installed-test
	PYTHONPATH=.:tests $(BIN)/python -W ignore tests/flow/judge.py --seeds 300 'random.*'

# 500 seeded mutants of ops, passes, transforms, flow, guarded tapes and pickles, tried by the tests that run them: two hours. Goes on where it stopped.
mutants: $(VENV)/.installed-test
	$(BIN)/python -m tests.mutants.run $(MUTANTS_ARGS)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

# The site, in build/site: open build/site/index.html, no server needed. A link that leads nowhere ends it.
docs: $(VENV)/.installed-test $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	TAPEDIFF_DOCS=1 $(BIN)/python -m pytest -q tests/test_site.py
	@echo "written to build/site/index.html"

# Wheel and sdist, in dist/, and both tried in an environment of their own: half a minute.
package: $(VENV)/.installed-test $(VENV)/.installed-package
	TAPEDIFF_PACKAGE=1 $(BIN)/python -m pytest -q tests/test_package.py
	$(BIN)/python -m build --outdir dist

# The one wheel, for every Python, tried on 3.11 to 3.15: a minute, and more where these have to be installed first.
wheels: package
	.ci/pythons --wheel dist/tapediff-*.whl

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.run --json benchmarks/results.json
	$(BIN)/python -m benchmarks.plot

bench-check: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.check
	$(BIN)/python -m benchmarks.derivatives --check
	$(BIN)/python -m benchmarks.calls --check
	$(BIN)/python -m benchmarks.compile_time

compile-bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.compile_time

$(VENV)/.installed-%: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# The first interpreter that is supported; override with `make PYTHON=python3.13 ...`.
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11 python3.15,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))

$(BIN)/pip:
	@test -n '$(PYTHON)' || { echo 'tapediff needs Python 3.11 or newer, and found none; try make PYTHON=/path/to/python3'; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo 'if the venv module is missing: apt install python3-venv'; exit 1; }

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
