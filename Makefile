# Draftscope: every target works alone in an empty clone; stamps inside .venv make a second run quick.
PYTHON := $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
HOST ?= 127.0.0.1
PORT ?= 7860
TEST_JOBS ?= 2

.PHONY: run test bench profile cuda-check lint format fetch chromium clean

run: $(VENV)/.run-stamp fetch
	$(BIN)/python app.py --host $(HOST) --port $(PORT)

# Side by side; a file of browser tests stays together, for its tests share a running app.
test: $(VENV)/.dev-stamp chromium fetch
ifdef PYTEST_ARGS
	$(BIN)/python -m pytest $(PYTEST_ARGS)
else
	$(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal -m "not ui"
	$(BIN)/python -m pytest -n $(TEST_JOBS) --dist loadfile -m ui
endif

bench: $(VENV)/.run-stamp fetch
	$(BIN)/python -m benchmarks.bench $(BENCH_ARGS)

# Where the time of a round goes, by operator.
profile: $(VENV)/.run-stamp fetch
	$(BIN)/python -m benchmarks.profile_round $(PROFILE_ARGS)

# Whether the CUDA path is right and fast on this machine's GPU; CHECK_ARGS=--tiny runs it in small without one.
cuda-check: $(VENV)/.run-stamp
	$(BIN)/python -m benchmarks.cuda_check $(CHECK_ARGS)

lint: $(VENV)/.dev-stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev-stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Downloads and converts the default checkpoint once; returns at once when it is there.
fetch: $(VENV)/.run-stamp
	$(BIN)/python -m engine.checkpoints.fetch default

# The browser tests drive Debian's Chromium; it is installed only where it is missing and we may.
chromium:
	@if command -v chromium >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; \
	else echo "Chromium is missing: install Debian's package 'chromium' so that the browser tests can run."; fi

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One pip command with the constraints: torch asked for by exact version is the small CPU wheel where one is offered.
$(VENV)/.run-stamp: requirements.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt -c constraints.txt
	@touch $@

$(VENV)/.dev-stamp: requirements-dev.txt requirements.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements-dev.txt -c constraints.txt
	@touch $@ $(VENV)/.run-stamp

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis test-results
