# SPDX-License-Identifier: MIT
# A thin layer: CMake builds (see CMakePresets.json), the programs in tools/ do the rest.

.DEFAULT_GOAL := release
MAKEFLAGS += --no-print-directory
BOARD ?= lm3s6965evb
APP ?= http
.PHONY: release dev sanitizers board-run firmware-long ports-long demo test check docs paths peers bench format clean help
.PHONY: tools-there

help:
	@echo "make demo     install what is missing, build, and watch Tenon talk to curl and ping"
	@echo "make test     install what is missing, build, and run every check and test (most of an hour)"
	@echo "make check    the quick part of it: house rules, unit tests, packet scripts"
	@echo "make board-run  run firmware in QEMU: BOARD=$(BOARD) APP=$(APP) (docs/guide/firmware.md)"
	@echo "make firmware-long  10,000 requests to each board, three times (minutes)"
	@echo "make ports-long  a gigabyte over each kind of port, the simulator's too, every byte compared (minutes)"
	@echo "make docs     make the documentation as a site, build/docs/index.html (some seconds)"
	@echo "make paths    draw the map of behaviour (docs/guide/paths.md) and compare it with the reference: some minutes"
	@echo "make          build optimised into build/release (the same as make release)"
	@echo "make dev      build for debugging into build/dev; make sanitizers: with ASan and UBSan"
	@echo "make peers    measure Tenon beside Linux, lwIP and smoltcp through the same bad cable (half an hour)"
	@echo "make bench    measure how fast Tenon is, beside other stacks (docs/guide/bench.md): half an hour or more"
	@echo "make format   bring all C files into shape with clang-format"
	@echo "make clean    remove build/"

release dev sanitizers: tools-there
	@cmake --preset $@ >/dev/null && cmake --build --preset $@

board-run:
	@tools/board run $(BOARD) $(APP)

firmware-long: tools-there
	@TENON_FIRMWARE_REQUESTS=10000 python3 -m pytest -v tests/firmware/test_http.py -k "again or four"

ports-long: release
	@TENON_PORTS_LONG=1 TENON_BUILD=build/release python3 -m pytest -v -rP --durations=0 \
		tests/interop/test_port_conformance.py -k large

demo:
	@tools/setup demo
	@cmake --preset release >/dev/null && cmake --build --preset release --target programs
	@TENON_BUILD=build/release tools/demo

test:
	@tools/check all

check: tools-there
	@tools/check quick

docs:
	@tools/setup docs
	@tools/docs

paths: tools-there
	@cmake --preset release >/dev/null && cmake --build --preset release --target tenon-paths
	@bench/paths/run --build build/release --check

peers: release
	@TENON_BUILD=build/release bench/peers/peers

bench: release
	@TENON_BUILD=build/release bench/speed/run

format:
	@tools/format --fix

clean:
	rm -rf build dist

tools-there:
	@command -v cmake >/dev/null && command -v ninja >/dev/null || \
		{ echo "cmake and ninja are needed; \"tools/setup demo\" installs them."; exit 1; }
