// Instruction set extensions by name, such as "native" or "x86-64-v3". The list, and those of this machine, are of the
// artifact's room: byoc_cpu_detect.
#ifndef BYOC_CORE_TARGET_CPU_H_
#define BYOC_CORE_TARGET_CPU_H_

#include "core/base/diag.h"
#include "core/base/string.h"
#include "core/runtime/artifact/cpu.h"

const char *byoc_cpu_feature_name(byoc_cpu_feature_t feature);
const char *byoc_cpu_feature_flag(byoc_cpu_feature_t feature);
// Features of "native", "x86-64", "x86-64-v2", "-v3", "-v4" or of a list "avx2+fma"; BYOC_NOT_FOUND with the names
// there are.
byoc_status_t byoc_cpu_parse(const char *name, byoc_diag_t *diag, uint64_t *out_features);
// "avx2 fma ..."; parses back through byoc_cpu_parse_list.
void byoc_cpu_print(uint64_t features, byoc_string_t *out);
byoc_status_t byoc_cpu_parse_list(const char *text, byoc_diag_t *diag, uint64_t *out_features);

#endif // BYOC_CORE_TARGET_CPU_H_
