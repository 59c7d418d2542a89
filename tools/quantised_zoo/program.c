// SPDX-License-Identifier: Apache-2.0
// Runs the model `zoo` that is linked in, whose sizes are fixed: reads its inputs from FOLDER/NAME.in and writes its
// results to FOLDER/NAME.out, as plain bytes.
#include <stdio.h>
#include <stdlib.h>

#include "byoc/artifact.h"

const byoc_artifact_t *zoo_artifact_entry(uint32_t abi_version);

enum { MOST = 8 };

static int move(const char *folder, const byoc_tensor_info_t *info, int is_input, void *data) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s.%s", folder, info->name, is_input ? "in" : "out");
  FILE *file = fopen(path, is_input ? "rb" : "wb");
  size_t size = (size_t)info->size_bytes, moved = 0;
  if (file != NULL) moved = is_input ? fread(data, 1, size, file) : fwrite(data, 1, size, file);
  if (file == NULL || fclose(file) != 0 || moved != size) {
    fprintf(stderr, "cannot move %zu bytes: %s\n", size, path);
    return 1;
  }
  return 0;
}

static void *allocate(const byoc_tensor_info_t *info) {
  return aligned_alloc(64, ((size_t)info->size_bytes + 64) / 64 * 64);
}

int main(int argc, char **argv) {
  const byoc_artifact_t *table = zoo_artifact_entry(BYOC_ARTIFACT_ABI);
  if (argc != 2 || table == NULL || table->input_count > MOST || table->output_count > MOST) return 2;
  void *inputs[MOST], *outputs[MOST];
  for (uint32_t i = 0; i < table->input_count; i++) {
    inputs[i] = allocate(&table->inputs[i]);
    if (inputs[i] == NULL || move(argv[1], &table->inputs[i], 1, inputs[i]) != 0) return 1;
  }
  for (uint32_t i = 0; i < table->output_count; i++) {
    outputs[i] = allocate(&table->outputs[i]);
    if (outputs[i] == NULL) return 1;
  }
  byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 1};
  byoc_context_t *context = NULL;
  if (table->create(&options, &context) != 0 || table->run(context, (const void *const *)inputs, outputs) != 0) {
    fprintf(stderr, "%s\n", table->last_error(context));
    return 1;
  }
  table->destroy(context);
  for (uint32_t i = 0; i < table->input_count; i++) free(inputs[i]);
  for (uint32_t i = 0; i < table->output_count; i++) {
    if (move(argv[1], &table->outputs[i], 0, outputs[i]) != 0) return 1;
    free(outputs[i]);
  }
  return 0;
}
