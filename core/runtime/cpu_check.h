// SPDX-License-Identifier: Apache-2.0
// Checks that this processor has the instruction set extensions that an artifact needs. Internal to artifacts.
#ifndef BYOC_CORE_RUNTIME_CPU_CHECK_H_
#define BYOC_CORE_RUNTIME_CPU_CHECK_H_

#include <stdint.h>

// BYOC_OK, or BYOC_UNSUPPORTED with a message that names the missing features, or those whose registers the system
// refuses to this process (byoc_cpu_ask). `features` are names of rows of
// byoc/isa.def, space-separated. `message` may be NULL; it is cut at `size`.
int32_t byoc_model_check_cpu(const char *model_name, const char *features, char *message, uint64_t size);
// Fills `buffer`, cut at `size`, with those of the features that this processor lacks: "avx2, fma", or "".
void byoc_cpu_list_missing(const char *features, char *buffer, uint64_t size);
// Fills `message` for features ("amx_tile, amx_int8") whose registers the system refuses.
void byoc_cpu_describe_refusal(const char *model_name, const char *refused, char *message, uint64_t size);
// Fills `buffer` like byoc_cpu_list_missing, with those whose registers the system refuses. Asks it.
void byoc_cpu_list_refused(const char *features, char *buffer, uint64_t size);
// The word of -mcpu for every machine like this one.
const char *byoc_cpu_base(void);

#endif // BYOC_CORE_RUNTIME_CPU_CHECK_H_
