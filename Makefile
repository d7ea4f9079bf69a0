# Two commands set everything up: `make demo` and `make test`. `make` alone lists all targets.
# Each set-up step leaves a stamp in .venv and runs again only when its requirements have changed.
PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13
BIN := .venv/bin
# Homebrew does not link its Java into the PATH
ifneq ($(shell command -v brew),)
export JAVA_HOME ?= $(shell brew --prefix openjdk@17)/libexec/openjdk.jdk/Contents/Home
endif
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest --dist loadgroup -n auto
# if it is set, every test process compiles the package again and every worker rewrites all tests
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo up check quick test mutants dist extras release-dry-run versions lint format docs bench lock clean
.PHONY: intervals table1 table1-figures table2 table2-figure free-text gap trade-off report-figure report-sizes
.PHONY: sample-threshold unknown-strings notebook screenshots

# `make help` prints the lines that start with ##; a test checks that every target has one.
## help: list the targets
help:
	@echo 'Usage: make TARGET'
	@awk '/^## [a-z0-9-]+: / { target = $$2; sub(/:/, "", target); sub(/^## [a-z0-9-]+: /, ""); \
	  printf "  %-14s %s\n", target, $$0 }' $(firstword $(MAKEFILE_LIST))

## demo: release a private histogram of US surnames and write report.html
demo: .venv/demo.stamp
	$(BIN)/shuffledp demo --force

## up: run a collection with shuffler, analyzer and simulated people on this machine; stop it with Ctrl-C
up: .venv/demo.stamp
	$(BIN)/shuffledp up

## check: lint and, at the same time, run the quick tests (no Java needed)
check: .venv/test.stamp
	$(MAKE) --no-print-directory -j 2 lint quick

## quick: run the quick tests
quick: .venv/test.stamp
	$(PYTEST) -m "not slow and not spark"

## test: lint, build the docs and the wheel, run all tests (installs Java, Chromium, promtool and sqlite3)
test: .venv/test.stamp .venv/java.stamp .venv/chromium.stamp .venv/promtool.stamp .venv/sqlite3.stamp .venv/client.stamp
	$(MAKE) --no-print-directory -j 2 dist docs lint
	$(PYTEST)

## dist: build sdist and wheel in dist, and check their metadata, contents and size
dist: .venv/test.stamp
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python scripts/try_wheel.py dist

## extras: install the wheel with each extra alone in a new environment, and use what the extra is for
extras: dist .venv/java.stamp
	$(BIN)/python scripts/try_extras.py dist requirements/test.txt

## release-dry-run: all mechanical steps of RELEASING.md, without publishing anything; needs a clean tree
release-dry-run: .venv/test.stamp .venv/client.stamp
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/release_dry_run.py

## versions: run the quick tests on each installed Python of 3.11 to 3.13 (PYTHONS='python3.12 ...')
versions:
	@for python in $(PYTHONS); do \
	  if ! $$python -c '' 2>/dev/null; then echo "$$python is not installed: skipped"; continue; fi; \
	  place=.venv-$$($$python -c 'import platform; print(platform.python_version())'); \
	  $$python -m venv $$place && echo "== $$place" \
	  && $$place/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/test.txt \
	  && $$place/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation . \
	  && $$place/bin/python -m pytest --dist loadgroup -n auto -q -m "not slow and not spark" || exit 1; \
	done

## lint: check style and types
lint: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

## format: fix and format the code
format: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## docs: build the site in .site; warnings are errors
docs: .venv/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

## mutants: run the mutation tests of privacy; a test must catch each mutant
mutants: .venv/test.stamp
	$(BIN)/python -m mutants

## bench: run the benchmarks and print their tables
bench: .venv/test.stamp .venv/java.stamp
	$(BIN)/python -m benchmarks

## table1: measure the paper's comparison table (about ten minutes): docs/reference/table1.md, its figures, and README.md
table1: .venv/demo.stamp
	$(BIN)/python -m experiments.table1

## table1-figures: redraw the figures of table1 from experiments/data
table1-figures: .venv/demo.stamp
	$(BIN)/python -m experiments.table1_figures

## table2: measure the paper's Table 2 (about twenty minutes): docs/reference/table2.md and its figure
table2: .venv/demo.stamp
	$(BIN)/python -m experiments.table2

## free-text: find texts of public collections (about an hour): docs/reference/free-text-results.md; needs two packages
free-text: .venv/demo.stamp
	$(BIN)/python -m experiments.free_text

## table2-figure: redraw the figure of table2 from experiments/data
table2-figure: .venv/demo.stamp
	$(BIN)/python -m experiments.table2_figure

## intervals: measure the coverage of intervals: the table in docs/proofs/intervals.md
intervals: .venv/demo.stamp
	$(BIN)/python -m experiments.intervals

## gap: draw the figure of docs/explanation/pure-privacy.md
gap: .venv/demo.stamp
	$(BIN)/python -m experiments.gap

## trade-off: draw the figure of the planner
trade-off: .venv/demo.stamp
	$(BIN)/python -m experiments.trade_off

## report-figure: draw the report in README.md
report-figure: .venv/demo.stamp
	$(BIN)/python -m experiments.report_figure

## report-sizes: draw the error against the bytes of a report
report-sizes: .venv/demo.stamp
	$(BIN)/python -m experiments.report_sizes

## sample-threshold: compute the privacy of sample-and-threshold: a table in docs/explanation/unknown-strings-compared.md
sample-threshold: .venv/demo.stamp
	$(BIN)/python -m experiments.sample_threshold

## unknown-strings: compute limits of free text and of other systems: docs/explanation/unknown-strings*.md
unknown-strings: .venv/demo.stamp
	$(BIN)/python -m experiments.unknown_strings

## notebook: run the notebook of the docs and store its outputs
notebook: .venv/test.stamp
	$(BIN)/python scripts/notebook.py docs/tutorials/notebook.ipynb

## screenshots: show every page in build/screenshots, and draw docs/figures/survey-page.png and console.png
screenshots: .venv/test.stamp .venv/chromium.stamp
	$(BIN)/python -m scripts.screenshots build/screenshots --figures

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

# Development dependencies of the JavaScript client; requirements/test.txt installs Node itself.
.venv/client.stamp: .venv/test.stamp clients/javascript/package-lock.json
	cd clients/javascript && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# System packages for the tests: installed where possible, otherwise an error says how to install them.
.venv/java.stamp: .venv/python.stamp
	@scripts/need.sh 'java -version || "$$JAVA_HOME/bin/java" -version' openjdk-17-jre-headless openjdk@17 \
	  'make test runs Spark, which needs Java 17 or 21'
	@touch $@

.venv/chromium.stamp: .venv/python.stamp
	@scripts/need.sh 'for name in chromium-headless-shell chromium chromium-browser google-chrome; do \
	    $$name --version && exit; done; exit 1' \
	  'chromium-headless-shell chromium' chromium 'make test opens pages in a browser, which needs Chromium or Google Chrome'
	@touch $@

.venv/promtool.stamp: .venv/python.stamp
	@scripts/need.sh 'promtool --version' prometheus prometheus \
	  'make test evaluates alert rules, which needs promtool of Prometheus'
	@touch $@

.venv/sqlite3.stamp: .venv/python.stamp
	@scripts/need.sh 'sqlite3 --version' sqlite3 sqlite 'make test backs up SQLite stores, which needs sqlite3'
	@touch $@

## lock: update the pinned requirements (needs uv)
# The lock files have hashes and no download addresses. The ranges in pyproject.toml have no upper bounds.
lock:
	uv pip compile pyproject.toml --group build --extra cli --extra collect --generate-hashes --no-header --python-version 3.11 \
	  --quiet --upgrade --output-file requirements/demo.txt
	uv pip compile pyproject.toml --group build --extra cli --extra collect --extra postgres --generate-hashes --no-header \
	  --python-version 3.11 --constraint requirements/demo.txt --quiet --upgrade --output-file requirements/server.txt
	uv pip compile pyproject.toml --group build --group test --group docs --all-extras --generate-hashes --no-header \
	  --python-version 3.11 --constraint requirements/server.txt --quiet --upgrade --output-file requirements/test.txt

## clean: remove the environment and all build output
clean:
	rm -rf .venv .venv-* dist .site clients/javascript/node_modules clients/javascript/dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
