# make demo : set up, pull the weights, protect the example photos, say where to look
# make test : set up, then linters, types and the whole test suite
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: setup demo test lint clean
setup: $(READY)

$(READY): pyproject.toml requirements-test.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet -e . -r requirements-test.txt
	@touch $@

demo: setup
	$(BIN)/faceveil models pull yunet.2023mar blazeface.back facemesh.468 mobilestylegan.ffhq-1024 bisenet.celebamask iris.64 \
	  selfie.multiclass age.v1 gender.v1 expression.fer mobilenet.facelib dlib-resnet.v1 mobilefacenet.facesdk
	$(BIN)/faceveil anonymize examples/photos -o demo-out --overwrite
	@echo "Look at demo-out/ beside examples/photos/."

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

clean:
	rm -rf $(VENV) demo-out build dist
