// SPDX-License-Identifier: Apache-2.0
// A user's program for any machine: runs a model of f32 with inputs that are the same everywhere, and prints its
// outputs. The model is linked in under the name `model`, or it is the artifact that the first argument names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/artifact.h"

#if defined(LOADS)
#include <dlfcn.h>

static byoc_artifact_entry_t find_entry(const char *path) {
  byoc_artifact_entry_t entry = NULL;
  void *library = dlopen(path, RTLD_NOW);
  void *symbol = library != NULL ? dlsym(library, BYOC_ARTIFACT_ENTRY) : NULL;
  if (symbol == NULL) fprintf(stderr, "%s\n", dlerror());
  memcpy(&entry, &symbol, sizeof(entry));
  return entry;
}
#else
const byoc_artifact_t *model_artifact_entry(uint32_t abi_version);

static byoc_artifact_entry_t find_entry(const char *path) {
  (void)path;
  return model_artifact_entry;
}
#endif

enum { MOST = 8 };

static float *make_tensor(const byoc_tensor_info_t *info, uint32_t seed, size_t *out_count) {
  size_t count = 1;
  for (uint32_t i = 0; i < info->rank; i++) count *= (size_t)info->dims[i];
  float *data = aligned_alloc(64, (count * sizeof(*data) + 63) / 64 * 64);
  for (size_t i = 0; data != NULL && i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(int32_t)(seed >> 16) / 32768.0f - 1.0f;
  }
  *out_count = count;
  return data;
}

int main(int argc, char **argv) {
  const byoc_artifact_entry_t entry = find_entry(argc > 1 ? argv[1] : "");
  const byoc_artifact_t *table = entry != NULL ? entry(BYOC_ARTIFACT_ABI) : NULL;
  if (table == NULL || table->input_count > MOST || table->output_count > MOST) return 2;
  const void *inputs[MOST];
  void *outputs[MOST];
  size_t counts[MOST], unused;
  for (uint32_t i = 0; i < table->input_count; i++) inputs[i] = make_tensor(&table->inputs[i], i + 1, &unused);
  for (uint32_t i = 0; i < table->output_count; i++) outputs[i] = make_tensor(&table->outputs[i], 0, &counts[i]);
  byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 2};
  byoc_context_t *context = NULL;
  if (table->create(&options, &context) != 0 || table->run(context, inputs, outputs) != 0) {
    fprintf(stderr, "%s\n", table->last_error(context));
    return 1;
  }
  for (uint32_t i = 0; i < table->output_count; i++) {
    for (size_t k = 0; k < counts[i]; k++) printf("%.9g\n", (double)((const float *)outputs[i])[k]);
    free(outputs[i]);
  }
  for (uint32_t i = 0; i < table->input_count; i++) free((void *)(uintptr_t)inputs[i]);
  table->destroy(context);
  return 0;
}
