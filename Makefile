# Two commands set everything up: `make demo` and `make test`.
# Each set-up step leaves a stamp in .venv and runs again only when what it installs has changed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test docs bench table1 table2 gap lock clean

demo: .venv/demo.stamp
	$(BIN)/shuffledp demo

test: .venv/test.stamp .venv/java.stamp docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The site in .site; any warning is an error.
docs: .venv/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: .venv/test.stamp .venv/java.stamp
	$(BIN)/python -m benchmarks

# The paper's comparison table, measured: tables and two figures for the documentation, in about ten minutes.
COMPARE := $(BIN)/shuffledp compare --epsilon 1 --delta 1e-6
table1: .venv/demo.stamp
	$(COMPARE) --users 100000 --bins 100,1000,10000,1000000 --trials 10 --markdown docs/table1.md
	$(COMPARE) --users 100000 --bins 10,100,1000,10000,1e5,1e6,1e9,2^64,2^200 --trials 3 \
	  --figure docs/figures/error-against-values.svg
	$(COMPARE) --users 1000,10000,1e5,1e6 --bins 1000 --trials 3 \
	  --figure docs/figures/error-against-people.svg

# The paper's Table 2, measured: docs/table2.md and docs/figures/table2.png, in about twenty minutes.
table2: .venv/demo.stamp
	$(BIN)/python -m shuffledp.report.table2 docs

# The figure of docs/pure-privacy.md.
gap: .venv/demo.stamp
	$(BIN)/python -m shuffledp.report.gap docs/figures/gap.png

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

# Pins every requirement anew (hashes, no download addresses). The ranges in pyproject.toml stay open upwards.
lock:
	uv pip compile pyproject.toml --group build --extra cli --generate-hashes --no-header --python-version 3.11 \
	  --quiet --upgrade --output-file requirements/demo.txt
	uv pip compile pyproject.toml --group build --group test --group docs --all-extras --generate-hashes --no-header \
	  --python-version 3.11 --constraint requirements/demo.txt --quiet --upgrade --output-file requirements/test.txt

clean:
	rm -rf .venv .site .pytest_cache .mypy_cache .ruff_cache .hypothesis
