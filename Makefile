# Two commands set everything up: `make demo` and `make test`. `make` alone lists all targets.
# Each set-up step leaves a stamp in .venv and runs again only when what it installs has changed.
PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13
BIN := .venv/bin
# Homebrew keeps its Java out of the way
ifneq ($(shell command -v brew),)
export JAVA_HOME ?= $(shell brew --prefix openjdk@17)/libexec/openjdk.jdk/Contents/Home
endif
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest --dist loadgroup -n auto
# whoever sets it would have every process of the tests compile the package and every worker rewrite all tests anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo up check test mutants dist versions lint format docs bench lock clean
.PHONY: intervals table1 table1-figures table2 table2-figure gap trade-off report-figure notebook

# `make help` prints the lines that start with two signs; a test sees to it that every target has one.
## help: this list
help:
	@echo 'make TARGET, where TARGET is one of'
	@awk '/^## [a-z0-9-]+: / { target = $$2; sub(/:/, "", target); sub(/^## [a-z0-9-]+: /, ""); \
	  printf "  %-14s %s\n", target, $$0 }' $(firstword $(MAKEFILE_LIST))

## demo: releases a private histogram of US surnames and writes report.html
demo: .venv/demo.stamp
	$(BIN)/shuffledp demo --force

## up: collects from simulated people on this machine, with shuffler and analyzer; Ctrl-C ends it
up: .venv/demo.stamp
	$(BIN)/shuffledp up

## check: style, types and the quick tests, for use while working (no Java needed)
check: lint
	$(PYTEST) -m "not slow and not spark"

## test: everything that must hold: style, types, the documentation, the wheel, all tests (installs Java and Chromium)
test: .venv/test.stamp .venv/java.stamp .venv/chromium.stamp .venv/client.stamp
	$(MAKE) --no-print-directory -j 2 dist docs lint
	$(PYTEST)

## dist: sdist and wheel in dist, checked; the wheel is installed elsewhere and runs the demo there
dist: .venv/test.stamp
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python scripts/try_wheel.py dist requirements/demo.txt

## versions: the quick tests on Python 3.11 to 3.13, those of them that are at hand (PYTHONS='python3.12 ...')
versions:
	@for python in $(PYTHONS); do \
	  if ! $$python -c '' 2>/dev/null; then echo "$$python is not at hand: not tried"; continue; fi; \
	  place=.venv-$$($$python -c 'import platform; print(platform.python_version())'); \
	  $$python -m venv $$place && echo "== $$place" \
	  && $$place/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/test.txt \
	  && $$place/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation . \
	  && $$place/bin/python -m pytest --dist loadgroup -n auto -q -m "not slow and not spark" || exit 1; \
	done

## lint: style and types only
lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

## format: puts the code into the house style
format: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## docs: build the site in .site, with the generated pages; warnings are errors
docs: .venv/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

## mutants: mutation tests; plants one privacy fault at a time, and a test must notice each
mutants: .venv/test.stamp
	$(BIN)/python -m mutants

## table1: the paper's comparison table, measured, in about ten minutes
## table1-figures: its figures, drawn anew from the measurements in experiments/data
## table2: the paper's Table 2, measured, in about twenty minutes
## table2-figure: its figure, drawn anew from the measurements in experiments/data
## intervals: the table of how often intervals hold, in docs/proofs/intervals.md
## gap: the figure of the page on pure privacy
## trade-off: the figure of the page on choosing parameters
## report-figure: the picture of the report in README.md
## notebook: runs the notebook of the docs and keeps what it shows

## bench: times, as tables
bench: .venv/test.stamp .venv/java.stamp
	$(BIN)/python -m benchmarks

# The paper's comparison table, measured, in about ten minutes: docs/reference/table1.md, both figures of docs/explanation/comparison.md, and
# the table in README.md.
table1: .venv/demo.stamp
	$(BIN)/python -m experiments.table1

table1-figures: .venv/demo.stamp
	$(BIN)/python -m experiments.table1_figures

# The paper's Table 2, measured, in about twenty minutes: docs/reference/table2.md and docs/figures/table2.png.
table2: .venv/demo.stamp
	$(BIN)/python -m experiments.table2

table2-figure: .venv/demo.stamp
	$(BIN)/python -m experiments.table2_figure

intervals: .venv/demo.stamp
	$(BIN)/python -m experiments.intervals

# The figures of docs/explanation/pure-privacy.md, of the planner, and of the report.
gap: .venv/demo.stamp
	$(BIN)/python -m experiments.gap

trade-off: .venv/demo.stamp
	$(BIN)/python -m experiments.trade_off

report-figure: .venv/demo.stamp
	$(BIN)/python -m experiments.report_figure

notebook: .venv/test.stamp
	$(BIN)/python scripts/notebook.py docs/tutorials/notebook.ipynb

.venv/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "shuffledp needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/demo.stamp: .venv/python.stamp requirements/demo.txt pyproject.toml
	$(PIP) install --require-hashes -r requirements/demo.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

.venv/test.stamp: .venv/demo.stamp requirements/test.txt
	$(PIP) install --require-hashes -r requirements/test.txt
	@touch $@

# What the client in JavaScript is checked and packed with; Node itself comes with the requirements of the tests.
.venv/client.stamp: .venv/test.stamp clients/javascript/package-lock.json
	cd clients/javascript && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# What the tests need of the system is installed where that is possible, and otherwise named with the way to get it.
.venv/java.stamp: .venv/python.stamp
	@scripts/need.sh 'java -version || "$$JAVA_HOME/bin/java" -version' openjdk-17-jre-headless openjdk@17 \
	  'make test runs Spark, which needs Java 17 or 21'
	@touch $@

.venv/chromium.stamp: .venv/python.stamp
	@scripts/need.sh 'for name in chromium-headless-shell chromium chromium-browser google-chrome; do \
	    $$name --version && exit; done; exit 1' \
	  'chromium-headless-shell chromium' chromium 'make test looks at pages, which needs Chromium or Google Chrome'
	@touch $@

## lock: pins every requirement anew (needs uv)
# Pins every requirement anew (hashes, no download addresses). The ranges in pyproject.toml stay open upwards.
lock:
	uv pip compile pyproject.toml --group build --extra cli --extra collect --generate-hashes --no-header --python-version 3.11 \
	  --quiet --upgrade --output-file requirements/demo.txt
	uv pip compile pyproject.toml --group build --group test --group docs --all-extras --generate-hashes --no-header \
	  --python-version 3.11 --constraint requirements/demo.txt --quiet --upgrade --output-file requirements/test.txt

## clean: removes the environment and whatever was built
clean:
	rm -rf .venv .venv-* dist .site clients/javascript/node_modules clients/javascript/dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
