# Two commands set everything up: `make demo` and `make test`. `make` alone lists all targets.
# Each set-up step leaves a stamp in .venv and runs again only when what it installs has changed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest --dist loadgroup -n auto

.PHONY: help demo check test lint format docs bench table1 table2 gap trade-off report-figure lock clean

# `make help` prints the lines that start with two signs; a test sees to it that every target has one.
## help: this list
help:
	@echo 'make TARGET, where TARGET is one of'
	@awk '/^## [a-z0-9-]+: / { target = $$2; sub(/:/, "", target); sub(/^## [a-z0-9-]+: /, ""); \
	  printf "  %-14s %s\n", target, $$0 }' $(firstword $(MAKEFILE_LIST))

## demo: releases a private histogram of US surnames and writes report.html
demo: .venv/demo.stamp
	$(BIN)/shuffledp demo

## check: style, types and the quick tests, for use while working (no Java needed)
check: lint
	$(PYTEST) -m "not slow and not spark"

## test: everything that must hold: style, types, the documentation, all tests (Spark needs Java 17 or 21)
test: .venv/test.stamp .venv/java.stamp lint docs
	$(PYTEST)

## lint: style and types only
lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

## format: puts the code into the house style
format: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## docs: the site in .site, with the pages that are written from the code; any warning is an error
docs: .venv/test.stamp
	$(BIN)/python scripts/write_commands.py docs/reference/commands.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

## table1: the paper's comparison table, measured, in about ten minutes
## table2: the paper's Table 2, measured, in about twenty minutes
## gap: the figure of the page on pure privacy
## trade-off: the figure of the planner in README.md
## report-figure: the picture of the report in README.md

## bench: times, as tables
bench: .venv/test.stamp .venv/java.stamp
	$(BIN)/python -m benchmarks

# The paper's comparison table, measured, in about ten minutes: docs/reference/table1.md, both figures of docs/explanation/comparison.md, and
# the table in README.md.
table1: .venv/demo.stamp
	$(BIN)/python -m experiments.table1

# The paper's Table 2, measured, in about twenty minutes: docs/reference/table2.md and docs/figures/table2.png.
table2: .venv/demo.stamp
	$(BIN)/python -m experiments.table2

# The figures of docs/explanation/pure-privacy.md, of the planner, and of the report.
gap: .venv/demo.stamp
	$(BIN)/python -m experiments.gap

trade-off: .venv/demo.stamp
	$(BIN)/python -m experiments.trade_off

report-figure: .venv/demo.stamp
	$(BIN)/python -m experiments.report_figure

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

# Spark, which the tests run for real, needs Java. Continuous integration installs it where it is missing.
.venv/java.stamp: .venv/python.stamp
	@if java -version >/dev/null 2>&1; then :; \
	elif [ -n "$$CI" ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless; \
	else \
	  echo "make test runs Spark, which needs Java 17 or 21: apt-get install openjdk-17-jre-headless (Debian, Ubuntu)," \
	       "brew install openjdk@17 (macOS), or set PATH to a Java you have"; exit 1; \
	fi
	@touch $@

## lock: pins every requirement anew (needs uv)
# Pins every requirement anew (hashes, no download addresses). The ranges in pyproject.toml stay open upwards.
lock:
	uv pip compile pyproject.toml --group build --extra cli --generate-hashes --no-header --python-version 3.11 \
	  --quiet --upgrade --output-file requirements/demo.txt
	uv pip compile pyproject.toml --group build --group test --group docs --all-extras --generate-hashes --no-header \
	  --python-version 3.11 --constraint requirements/demo.txt --quiet --upgrade --output-file requirements/test.txt

## clean: removes the environment and whatever was built
clean:
	rm -rf .venv .site .pytest_cache .mypy_cache .ruff_cache .hypothesis
