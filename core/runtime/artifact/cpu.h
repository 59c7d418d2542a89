// Can this processor run code that needs these instruction set extensions?
#ifndef BYOC_CORE_RUNTIME_ARTIFACT_CPU_H_
#define BYOC_CORE_RUNTIME_ARTIFACT_CPU_H_

#include <stdint.h>

// BYOC_OK, or BYOC_UNSUPPORTED with a sentence naming what is missing. `features`: names of core/target/cpu.h,
// space-separated. `message` may be NULL; it is cut at `size`.
int32_t byoc_model_check_cpu(const char *model_name, const char *features, char *message, uint64_t size);

#endif // BYOC_CORE_RUNTIME_ARTIFACT_CPU_H_
