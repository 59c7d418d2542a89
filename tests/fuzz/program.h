// SPDX-License-Identifier: Apache-2.0
// What the targets `pipeline` and `host` do with a build: the pipeline for the target "c", to a host program and
// beyond.
#ifndef BYOC_TESTS_FUZZ_PROGRAM_H_
#define BYOC_TESTS_FUZZ_PROGRAM_H_

#include "core/compile/build.h"

// The targets of every build: only "c". Called once, by LLVMFuzzerInitialize; fails if that is not possible.
const byoc_target_list_t *fuzz_targets(void);

// Compiles what the build has read: false if it is refused. A host program must have a text that parses back, and C
// text. No C compiler is run.
bool fuzz_compile(byoc_build_t *build);
// Evaluates a small program of fixed shapes, with every index checked.
void fuzz_evaluate(const byoc_build_t *build);

#endif // BYOC_TESTS_FUZZ_PROGRAM_H_
