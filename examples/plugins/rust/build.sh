#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds build/hello_rust.so by bindgen and rustc alone; pkg-config finds the headers of byoc.
set -eu
mkdir -p build
echo '#include <byoc/plugin.h>' >build/plugin.h
bindgen build/plugin.h --no-layout-tests --allowlist-type 'byoc_.*' --allowlist-var 'BYOC_.*' -o build/bindings.rs \
  -- $(pkg-config --cflags byoc)
BYOC_BINDINGS=$PWD/build/bindings.rs \
  rustc --edition 2021 --crate-type cdylib -C panic=abort -O -o build/hello_rust.so hello.rs
