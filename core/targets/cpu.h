// SPDX-License-Identifier: Apache-2.0
// Instruction sets by name, such as "native", "x86-64-v3" or "avx512": the rows of byoc/isa.def, as the compiler reads
// them. byoc_cpu_detect (core/runtime/cpu.h) returns the features of this machine.
#ifndef BYOC_CORE_TARGETS_CPU_H_
#define BYOC_CORE_TARGETS_CPU_H_

#include "core/base/diag.h"
#include "core/base/machine.h"
#include "core/base/string.h"
#include "core/runtime/cpu.h"

const char *byoc_cpu_feature_name(byoc_cpu_feature_t feature);

// All features that such a machine may have.
uint64_t byoc_cpu_features_of(byoc_machine_t machine);

// The features of a value of -mcpu, and the features that they imply. The value is "native" (only for this machine), or
// words joined by '+', each an ISA level ("x86-64-v3"), an instruction set ("avx512") or a feature ("fma") of the
// machine. BYOC_NOT_FOUND, with a list of the machine's words.
byoc_status_t byoc_cpu_parse(const char *name, byoc_machine_t machine, byoc_diag_t *diag, uint64_t *out_features);

// "avx2 fma ..."; byoc_cpu_parse_list parses it back: it accepts only names of features and adds nothing.
void byoc_cpu_print(uint64_t features, byoc_string_t *out);
byoc_status_t byoc_cpu_parse_list(const char *text, byoc_diag_t *diag, uint64_t *out_features);

// Visits the flags of gcc and clang that allow the features, tuning flags last. Stops if `visit` fails. Its argument is
// valid until it returns.
typedef byoc_status_t (*byoc_cpu_flag_visit_t)(void *self, const char *flag, byoc_diag_t *diag);
byoc_status_t byoc_cpu_flags(uint64_t features, byoc_cpu_flag_visit_t visit, void *self, byoc_diag_t *diag);

// Those of the features that compilers may use for loops: not those with registers that a process has to ask for.
uint64_t byoc_cpu_of_loops(uint64_t features);

// The width of the widest registers.
int32_t byoc_cpu_vector_bytes(uint64_t features);

// The maker of this machine's processor, as CPUID names it: "AuthenticAMD", "GenuineIntel"; "" if it is not known.
const char *byoc_cpu_vendor(char buffer[13]);

// Is there an instruction that adds four products of bytes?
bool byoc_cpu_multiplies_bytes(uint64_t features);

#endif // BYOC_CORE_TARGETS_CPU_H_
