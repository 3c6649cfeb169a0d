# Six verbs for a developer, plus `demo` for a newcomer. Nothing here needs a GPU or root.
# Package downloads come from the registries pip is set up for.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo setup fmt check test gpu docs bench accuracy matrix fuzz clean

## demo: own virtual environment, install, embedded pictures, guided experiment, report
demo: $(VENV)/.installed
	$(BIN)/rigwise demo
	@echo "rigwise is $(BIN)/rigwise here;  . $(BIN)/activate  puts it on your PATH"

## setup: the virtual environment with everything developers need
setup: $(VENV)/.dev

## test: everything the tests need, then all of them
test: $(VENV)/.dev
	$(BIN)/python -m pytest

## check: style, types and spelling
check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell src tests docs scripts README.md CONTRIBUTING.md CHANGELOG.md

## fmt: format the code
fmt: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## gpu: every check that needs a card, one table
gpu: $(VENV)/.dev
	PYTHON=$(BIN)/python scripts/gpu_acceptance

## docs: pages generated from the catalogues
docs: $(VENV)/.dev
	$(BIN)/python scripts/generate_docs.py

## bench: the measured ratios of benchmarks/README.md
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run_all.py

## accuracy: precision and recall over everything whose right diagnosis is known, docs/accuracy.md
accuracy: $(VENV)/.dev
	$(BIN)/python scripts/accuracy.py

## matrix: each fault injected, and the check that leads
matrix: $(VENV)/.dev
	$(BIN)/python scripts/fault_matrix.py

## fuzz: an hour of coverage-guided fuzzing; MINUTES=10 for less
MINUTES ?= 60
fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3'
	$(BIN)/python scripts/fuzz/run.py --minutes $(MINUTES)

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[train]'
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check codespell hatchling hypothesis mypy peft playwright pytest pytest-timeout ruff scikit-learn tokenizers transformers
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
