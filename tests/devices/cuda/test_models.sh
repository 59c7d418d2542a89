#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Models on `cutlass -device=cuda` against the processor: test_models.sh BYOC WORK_FOLDER CUDA_PATH STUB_FOLDER MODEL...
# The stub of libcuda.so.1 computes what the kernels' names and parameters say. So this checks all but the machine code:
# kernels compile, and are launched with the right numbers on the right bytes. Exit status 77 where CUDA_PATH is no
# folder with NVRTC and CUTLASS.
set -euo pipefail
byoc=$1 work=$2 cuda_path=$3 stub=$4
shift 4
if [[ ! -e $cuda_path/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 ]]; then
  echo "skipped: '$cuda_path' holds no NVRTC; configure with -DBYOC_CUDA_PATH=DIR behind 'pip install --target=DIR ...'"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
export BYOC_CUDA_STUB_LOG=$work/log BYOC_CACHE_DIR=$work/cache
target="cutlass -device=cuda -cuda_path=$cuda_path; c"
for model in "$@"; do
  name=$(basename "$model" .byoc)
  "$byoc" run "$model" --target c --random --seed 5 --output-dir "$work/$name" >/dev/null
  expected=()
  for file in "$work/$name"/*.npy; do expected+=(--expect "$(basename "$file" .npy)=$file"); done
  # NVRTC itself opens libcuda.so.1 if there is one, and asks more of it than the stub knows.
  "$byoc" build "$model" --target "$target" --plan greedy -o "$work/$name.so" >/dev/null
  : >"$BYOC_CUDA_STUB_LOG"
  LD_LIBRARY_PATH=$stub "$byoc" run "$work/$name.so" --random --seed 5 "${expected[@]}"
  grep -q "^cuLaunchKernel cutlass_" "$BYOC_CUDA_STUB_LOG" || { echo "$model: nothing ran on the device"; exit 1; }
  echo "$name: $(grep -c ^cuLaunchKernel "$BYOC_CUDA_STUB_LOG") launches"
  grep -q "^cuModuleLoadDataEx cubin" "$BYOC_CUDA_STUB_LOG" || { echo "$model: no binary was loaded"; exit 1; }
  LD_LIBRARY_PATH=$stub "$byoc" run "$model" --target "$target" --plan greedy --random --seed 5 "${expected[@]}" --evaluate
  # Without a GPU a context says so in a sentence.
  BYOC_CUDA_STUB_DEVICES=0 LD_LIBRARY_PATH=$stub "$byoc" run "$work/$name.so" --random >"$work/absent" 2>&1 && exit 1
  grep -q "the device 'cuda' cannot start: CUDA's driver sees no GPU" "$work/absent" || { cat "$work/absent"; exit 1; }
done
# The stub is a GPU of sm_80: it cannot run binaries of sm_90, so the driver translates the PTX.
"$byoc" build "$model" --target "cutlass -device=cuda -arch=sm_90 -cuda_path=$cuda_path; c" --plan greedy \
  -o "$work/newer.so" >/dev/null
: >"$BYOC_CUDA_STUB_LOG"
LD_LIBRARY_PATH=$stub "$byoc" run "$work/newer.so" --random --seed 5 "${expected[@]}"
grep -q "^cuModuleLoadDataEx ptx" "$BYOC_CUDA_STUB_LOG" || { echo "PTX was not loaded"; exit 1; }
if grep -q "^cuModuleLoadDataEx cubin" "$BYOC_CUDA_STUB_LOG"; then
  echo "a binary of sm_90 was loaded on a device of sm_80"
  exit 1
fi
