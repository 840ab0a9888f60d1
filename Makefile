# The two commands: `make demo` and `make test`. Everything they need is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test bench lint types docs rig check clean

demo: $(STAMP)
	$(BIN)/konstat demo

test: $(STAMP) rig-if-possible
	$(BIN)/python -m pytest

# What konstat costs, beside its peers. BENCH_FLAGS="job --rounds 1" runs less,
# BENCH_FLAGS=--write puts the results into docs/benchmarks.md.
bench: $(STAMP) rig
	$(BIN)/python -m bench $(BENCH_FLAGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/basedpyright

docs: $(STAMP)
	$(BIN)/sphinx-build -q -W -n --keep-going -b html docs site

check: lint types docs test

# Builds a real Kubernetes control plane once, in a cache folder outside the tree.
rig: $(STAMP)
	$(BIN)/konstat rig build

.PHONY: rig-if-possible
rig-if-possible: $(STAMP)
	@if [ -n "$$KUBEBUILDER_ASSETS" ] || command -v go >/dev/null 2>&1; then \
		$(BIN)/konstat rig build; \
	else \
		echo "NOTE: neither Go nor KUBEBUILDER_ASSETS: tests on a real API server will skip"; \
	fi

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "konstat needs Python 3.11 or later; set PYTHON=… to one"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

clean:
	rm -rf $(VENV) site dist
