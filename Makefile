# Two commands do everything on a fresh machine: `make quickstart` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PLUGINS := arithmetic local openai toolbox verl

.PHONY: quickstart test lint install clean

quickstart: install
	$(BIN)/aworld run recipes/quickstart.yaml

test: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy aworld_cli docs/make_reference.py $(foreach p,$(PLUGINS),plugins/aworld-$(p)/aworld_$(p))
	$(BIN)/pytest -n 2 --dist loadfile

lint: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

install: $(VENV)/.installed

# torch goes first and by itself, so that a CPU build that is already there, or on the package index, is taken.
$(VENV)/.installed: pyproject.toml $(wildcard plugins/*/pyproject.toml) constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("AWorld needs Python 3.11 or 3.12; try: make PYTHON=python3.12" if sys.version_info[:2] not in ((3, 11), (3, 12)) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[tokens,test,lint]' $(foreach p,$(PLUGINS),-e plugins/aworld-$(p))
	touch $@

clean:
	rm -rf $(VENV)
