# `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
RELEASE_STAMP := $(VENV)/.installed-release
DOCS_STAMP := $(VENV)/.installed-docs
JOBS ?= auto
TESTS ?= tests
PYTEST = $(BIN)/python -m pytest -n $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help setup up down reset test test-unit test-api test-scenarios test-host test-clients test-vm test-vm-ceph test-vm-localpv check format lint types layers bench conformance proto plugins-doc docs docs-generated docs-serve release chart-rights browser-tools ceph-tools disk-tools gluster-tools registry-tools runtime-tools vm-tools clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 18

# Runs a command line while no other make here does: of two first ones, the second waits, and finds all done.
ALONE = $(PYTHON) -c 'import fcntl, subprocess, sys; lock = open("Makefile"); fcntl.flock(lock, fcntl.LOCK_EX); sys.exit(subprocess.call(sys.argv[1], shell=True))'
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Mooring needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@echo "creating $(VENV)"
	@$(ALONE) "[ -x $@ ] || { $(PYTHON) -m venv $(VENV) && $(PIP_INSTALL) --upgrade 'pip>=25.1'; }"

$(STAMP): pyproject.toml | $(BIN)/python
	@echo "installing mooring into $(VENV)"
	@$(ALONE) "[ $@ -nt $< ] || { $(PIP_INSTALL) --editable . && touch $@; }"

$(DEV_STAMP): $(STAMP)
	@echo "installing what the tests need into $(VENV)"
	@$(ALONE) "[ $@ -nt $< ] || { $(PIP_INSTALL) --group dev --group peers && touch $@; }"

$(RELEASE_STAMP): $(STAMP)
	@echo "installing what a release needs into $(VENV)"
	@$(ALONE) "[ $@ -nt $< ] || { $(PIP_INSTALL) --group release && touch $@; }"

$(DOCS_STAMP): $(STAMP)
	@echo "installing what the site needs into $(VENV)"
	@$(ALONE) "[ $@ -nt $< ] || { $(PIP_INSTALL) --editable '.[docs]' && touch $@; }"

# What tests of real volumes and images use beyond what every Debian has; without it they are skipped.
TEST_TOOLS := xfsprogs btrfs-progs busybox-static socat
disk-tools:
	@command -v mkfs.xfs >/dev/null && command -v mkfs.btrfs >/dev/null && command -v busybox >/dev/null && command -v socat >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && { apt-get install -qq -y $(TEST_TOOLS) || { apt-get update -qq && apt-get install -qq -y $(TEST_TOOLS); }; } >/dev/null 2>&1; } \
	  || echo "tests on xfs and btrfs, and with images, will be skipped: install $(TEST_TOOLS) to run them"

# What the tests of glusterfs volumes use; without it they are skipped.
GLUSTER_TOOLS := glusterfs-server glusterfs-client
gluster-tools:
	@command -v glusterd >/dev/null && command -v mount.glusterfs >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && { apt-get install -qq -y --no-install-recommends $(GLUSTER_TOOLS) || { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(GLUSTER_TOOLS); }; } >/dev/null 2>&1; } \
	  || echo "tests of glusterfs volumes will be skipped: install $(GLUSTER_TOOLS) to run them"

# What the tests of pulled images use; without it those of a real registry are skipped.
registry-tools:
	@command -v docker-registry >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && { apt-get install -qq -y --no-install-recommends docker-registry || { apt-get update -qq && apt-get install -qq -y --no-install-recommends docker-registry; }; } >/dev/null 2>&1; } \
	  || echo "tests that pull from a real registry will be skipped: install docker-registry to run them"

# A real browser for the tests of the dashboard; without it they are skipped.
browser-tools: $(DEV_STAMP)
	@command -v chromium >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && { apt-get install -qq -y --no-install-recommends chromium || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; }; } >/dev/null 2>&1; } \
	  || echo "the dashboard will not be tested in a browser: install chromium"
	@$(PIP_INSTALL) --group browser || echo "the dashboard will not be tested in a browser: playwright cannot be installed"

# What boots a machine with Debian's kernel, and the servers that run in it.
VM_TOOLS := qemu-system-x86 cpio busybox-static kmod udev nfs-common nfs-kernel-server rpcbind tgt open-iscsi lvm2 thin-provisioning-tools multipath-tools
vm-tools:
	@command -v qemu-system-x86_64 >/dev/null && command -v tgtd >/dev/null && command -v rpc.nfsd >/dev/null && command -v iscsiadm >/dev/null && command -v thin_check >/dev/null && command -v multipathd >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && echo "installing $(VM_TOOLS)" \
	       && { apt-get install -qq -y --no-install-recommends $(VM_TOOLS) || { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(VM_TOOLS); }; } >/dev/null 2>&1; } \
	  || true # the run says what is missing

# A Ceph of one machine; without it `test-vm-ceph` skips its tests.
CEPH_TOOLS := ceph-mon ceph-osd ceph-mds ceph-common ceph-fuse rbd-nbd
ceph-tools:
	@command -v ceph-mon >/dev/null && command -v ceph-osd >/dev/null && command -v ceph-mds >/dev/null && command -v rbd >/dev/null && command -v ceph-fuse >/dev/null && command -v rbd-nbd >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && echo "installing $(CEPH_TOOLS)" \
	       && { apt-get install -qq -y --no-install-recommends $(CEPH_TOOLS) || { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(CEPH_TOOLS); }; } >/dev/null 2>&1; } \
	  || echo "tests of rbd and cephfs volumes will be skipped: install $(CEPH_TOOLS) to run them"

# What runs the containers of pods; without it pods wait, and their volumes are mounted all the same.
runtime-tools:
	@{ command -v runc >/dev/null || command -v crun >/dev/null; } && command -v conmon >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && echo "installing runc and conmon, which run the containers of pods" \
	       && { apt-get install -qq -y --no-install-recommends runc conmon || { apt-get update -qq && apt-get install -qq -y --no-install-recommends runc conmon; }; } >/dev/null 2>&1; } \
	  || echo "containers will not run: install runc and conmon (apt-get install runc conmon)"

setup: $(STAMP) ## create .venv and install mooring into it

up: setup runtime-tools ## run Mooring here (data in ./data; FLAGS='--node-name node1' for more flags)
	$(BIN)/mooring up --data-dir data $(FLAGS)

down: setup ## end what a stopped `make up` left running and mounted (objects and data in ./data stay)
	$(BIN)/mooring down --data-dir data $(FLAGS)

reset: setup ## make down, then remove ./data with all objects and volumes; asks before
	$(BIN)/mooring reset --data-dir data $(FLAGS)

test: $(DEV_STAMP) disk-tools gluster-tools registry-tools runtime-tools ## every test: the five suites below (20 min)
	$(BIN)/python -m tests.run -n $(JOBS) --dist=worksteal --durations=40 $(TESTS)

# Times are roughly those of two idle cores; a busy machine takes far longer.
test-unit: $(DEV_STAMP) ## tests/unit: one module at a time, nothing real (2 min)
	$(BIN)/python -m tests.run -n $(JOBS) -q tests/unit

test-api: $(DEV_STAMP) ## tests/api: a server and its API (5 min)
	$(PYTEST) -q --dist=worksteal tests/api

test-scenarios: $(DEV_STAMP) ## tests/scenarios: whole roles on a played clock and API server (1 min)
	$(PYTEST) -q --dist=worksteal tests/scenarios

test-host: $(DEV_STAMP) disk-tools gluster-tools registry-tools runtime-tools ## tests/host: real mounts, disks and containers, as root (4 min)
	$(PYTEST) -q --dist=worksteal tests/host

test-clients: $(DEV_STAMP) disk-tools registry-tools runtime-tools ## tests/clients: kubectl and client libraries against `mooring up` (8 min)
	$(PYTEST) -q --dist=worksteal tests/clients

test-vm: $(DEV_STAMP) runtime-tools vm-tools ## tests/vm: NFS, iSCSI, LVM on Debian's kernel in QEMU; not part of `test` (half an hour and more)
	$(BIN)/python -m tests.vm.run

test-vm-ceph: $(DEV_STAMP) runtime-tools vm-tools ceph-tools ## the same for rbd and cephfs, with a Ceph of one machine, whose packages are 60 MB
	$(BIN)/python -m tests.vm.run tests/vm/inside/test_ceph.py

test-vm-localpv: $(DEV_STAMP) runtime-tools vm-tools ## the same for OpenEBS' LVM-LocalPV from its own manifests, built with Go; not seen green yet
	$(BIN)/python -m tests.vm.run tests/vm/inside/test_lvm_localpv.py

check: $(DEV_STAMP) format lint types layers test-unit ## format, ruff, mypy strict, import layers, unit tests

format: $(DEV_STAMP)
	$(BIN)/ruff format --check --quiet .

lint: $(DEV_STAMP)
	$(BIN)/ruff check --quiet .

types: $(DEV_STAMP)
	$(BIN)/mypy --no-error-summary

layers: $(DEV_STAMP)
	$(BIN)/lint-imports --no-logo > $(VENV)/layers.log || { cat $(VENV)/layers.log; false; }

bench: $(DEV_STAMP) runtime-tools ## measure, and print a table (BENCH=name for one of them)
	$(BIN)/python -m bench $(BENCH)

conformance: $(DEV_STAMP) $(RELEASE_STAMP) disk-tools runtime-tools browser-tools ## against heavy peers, fetched once into .cache; then properties at length
	MOORING_CONFORMANCE=1 $(BIN)/python -m pytest -n 0 --timeout=1800 tests/conformance -m conformance
	MOORING_CONFORMANCE=1 $(PYTEST) -q -m hypothesis tests/unit tests/scenarios
	MOORING_CONFORMANCE=1 $(PYTEST) -q --dist=worksteal tests/host/test_driver_crash.py

proto: $(DEV_STAMP) ## compile every proto/*.proto (the results are committed)
	$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src src/mooring/csi/proto/*.proto src/mooring/apiserver/store/etcd/proto/*.proto

plugins-doc: $(DEV_STAMP) ## write docs/plugins.md from the registry of volume plugins
	$(BIN)/python -m tests.unit.plugins.plugins_doc

docs: $(DOCS_STAMP) ## the site, into .cache/site; a broken link is an error (20 s)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

docs-serve: $(DOCS_STAMP) ## the site on http://127.0.0.1:8000, built anew after each change
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

docs-generated: $(STAMP) ## write docs/reference (commands, flags, kinds, fields) from the sources
	$(BIN)/python -m release.pages

release: $(RELEASE_STAMP) ## dist/: wheel, sdist, Helm chart, images as an OCI archive, SBOM, SHA256SUMS (3 min)
	$(BIN)/python -m release

chart-rights: $(STAMP) ## write what the Helm chart grants, from the roles of the API server
	$(BIN)/python -m release.rights

clean: ## remove .venv and caches
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
