// SPDX-License-Identifier: Apache-2.0
// Chooses the kernels of OpenBLAS inside an artifact.
//
// OpenBLAS 0.3.21 chooses its kernels when it is loaded, by model numbers that end with the processors of its day: a
// later one runs the kernels of Prescott. The build links OpenBLAS' dynamic.o with its getenv renamed to
// byoc_openblas_getenv (CMakeLists.txt), so that the question "OPENBLAS_CORETYPE?" comes here and is answered by what
// the processor can do. Environment variables play no part, and none is changed. This file stands in for OpenBLAS'
// openblas_env.o too. openblas_products.c says how its products run.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "openblas_products.h"

// ---- OpenBLAS' own ----

void gotoblas_dynamic_init(void); // chooses, unless that is done
void gotoblas_dynamic_quit(void); // forgets the choice
char *openblas_get_corename(void);

// Kernel tables that the artifact goes without; the names need only exist, for dynamic.o compares with them.
#define NO_TABLE(core)                                                                                                 \
  extern const char gotoblas_##core[1];                                                                                \
  const char gotoblas_##core[1] = {0};
NO_TABLE(ATOM)
NO_TABLE(BARCELONA)
NO_TABLE(BOBCAT)
NO_TABLE(BULLDOZER)
NO_TABLE(COOPERLAKE)
NO_TABLE(CORE2)
NO_TABLE(DUNNINGTON)
NO_TABLE(EXCAVATOR)
NO_TABLE(NANO)
NO_TABLE(NEHALEM)
NO_TABLE(OPTERON)
NO_TABLE(OPTERON_SSE3)
NO_TABLE(PENRYN)
NO_TABLE(PILEDRIVER)
NO_TABLE(SANDYBRIDGE)
NO_TABLE(STEAMROLLER)
NO_TABLE(ZEN)

// Definitions of openblas_env.o. 0 means "not set" throughout.
void openblas_read_env(void);
int openblas_verbose(void);
unsigned int openblas_block_factor(void);
int openblas_num_threads_env(void);
int openblas_goto_num_threads_env(void);
int openblas_omp_num_threads_env(void);
int openblas_omp_adaptive_env(void);

void openblas_read_env(void) {}

int openblas_verbose(void) {
  return 0;
}

unsigned int openblas_block_factor(void) {
  return 0;
}

int openblas_num_threads_env(void) {
  return 1;
}

int openblas_goto_num_threads_env(void) {
  return 0;
}

int openblas_omp_num_threads_env(void) {
  return 0;
}

int openblas_omp_adaptive_env(void) {
  return 0;
}

// ---- the core type ----

typedef struct core_t {
  const char *name; // OpenBLAS'
  int usable;
} core_t;

enum { SKYLAKEX, HASWELL, PRESCOTT, CORE_COUNT };

// Best first. Instruction sets as OpenBLAS' kernels of that name use them.
static void list_cores(core_t out[CORE_COUNT]) {
  __builtin_cpu_init();
  const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512vl");
  out[SKYLAKEX] = (core_t){"SkylakeX", avx2 && avx512};
  out[HASWELL] = (core_t){"Haswell", avx2};
  out[PRESCOTT] = (core_t){"Prescott", 1};
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *forced_core; // by a target's -core, once

char *byoc_openblas_getenv(const char *name);
char *byoc_openblas_getenv(const char *name) {
  if (strcmp(name, "OPENBLAS_CORETYPE") != 0) return NULL;
  core_t cores[CORE_COUNT];
  list_cores(cores);
  const char *core = forced_core;
  for (int i = 0; core == NULL; ++i) {
    if (cores[i].usable) core = cores[i].name;
  }
  return (char *)core; // read only, as getenv's answers are
}

// ---- set-up ----

static int32_t refuse(const byoc_runtime_t *runtime, const char *core, const char *reason) {
  char message[160];
  snprintf(message, sizeof(message), "cblas -core: %s kernels: %s", core, reason);
  if (runtime->set_error != NULL) runtime->set_error(runtime->self, message);
  return BYOC_UNSUPPORTED;
}

static int32_t force(const byoc_runtime_t *runtime, const core_t *core) {
  if (!core->usable) return refuse(runtime, core->name, "this processor does not have their instructions");
  if (forced_core != NULL && strcmp(forced_core, core->name) != 0) {
    return refuse(runtime, core->name, "another choice was made before");
  }
  if (forced_core != NULL) return BYOC_OK;
  forced_core = core->name;
  gotoblas_dynamic_quit();
  return BYOC_OK;
}

static int32_t set_up(const byoc_runtime_t *runtime, int core) {
  core_t cores[CORE_COUNT];
  list_cores(cores);
  pthread_mutex_lock(&lock);
  int32_t status = core < CORE_COUNT ? force(runtime, &cores[core]) : BYOC_OK;
  if (status == BYOC_OK) gotoblas_dynamic_init();
  pthread_mutex_unlock(&lock);
  return status == BYOC_OK ? byoc_openblas_reserve(runtime) : status;
}

// One for each value of -core. Visible, for the shared object that the evaluator opens; artifacts hide them.
#define SETUP __attribute__((visibility("default")))
SETUP int32_t byoc_openblas_setup_auto(const byoc_runtime_t *runtime);
SETUP int32_t byoc_openblas_setup_skylakex(const byoc_runtime_t *runtime);
SETUP int32_t byoc_openblas_setup_haswell(const byoc_runtime_t *runtime);
SETUP int32_t byoc_openblas_setup_prescott(const byoc_runtime_t *runtime);

int32_t byoc_openblas_setup_auto(const byoc_runtime_t *runtime) {
  return set_up(runtime, CORE_COUNT);
}

int32_t byoc_openblas_setup_skylakex(const byoc_runtime_t *runtime) {
  return set_up(runtime, SKYLAKEX);
}

int32_t byoc_openblas_setup_haswell(const byoc_runtime_t *runtime) {
  return set_up(runtime, HASWELL);
}

int32_t byoc_openblas_setup_prescott(const byoc_runtime_t *runtime) {
  return set_up(runtime, PRESCOTT);
}
