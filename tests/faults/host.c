// SPDX-License-Identifier: Apache-2.0
// A program that uses an artifact: loads it, makes a context, runs the model, while the library beside it (inject.h)
// lets calls fail. Whatever fails is told with its reason; then nothing fails any more, and all of it is done again,
// in the same process, and must work.
//
//   faults_host ARTIFACT THREADS ROWS PART     PART is load, create or run: where calls begin to fail
//
// Inputs are made of ROWS where a dimension is open. Prints a checksum of the outputs, and how many blocks of memory
// are held at the end. The exit status is 1 if a call failed without a reason, or still fails at the end.
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/artifact.h"
#include "tests/faults/inject.h"

enum { MOST_VALUES = 8, MOST_RANK = 8 };

typedef struct values_t {
  byoc_argument_t arguments[MOST_VALUES];
  int64_t dims[MOST_VALUES][MOST_RANK];
  void *data[MOST_VALUES];
} values_t;

static void (*start_faults)(void), (*stop_faults)(void);
static int64_t (*count_blocks)(void);

static void find_library(void) {
  start_faults = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "byoc_faults_start");
  stop_faults = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "byoc_faults_stop");
  count_blocks = (int64_t(*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "byoc_faults_blocks");
  if (start_faults == NULL || stop_faults == NULL || count_blocks == NULL) {
    fprintf(stderr, "error: libbyoc_faults.so is not loaded\n");
    exit(2);
  }
}

static void tell(const char *part, const char *reason) {
  if (reason == NULL || reason[0] == '\0') {
    fprintf(stderr, "error: %s failed without a reason\n", part);
    exit(1);
  }
  fprintf(stderr, "%s: %s\n", part, reason);
}

static size_t count_elements(const byoc_argument_t *value) {
  size_t count = 1;
  for (uint32_t d = 0; d < value->rank; ++d) count *= (size_t)value->dims[d];
  return count;
}

static size_t count_bytes(const byoc_argument_t *value) {
  return count_elements(value) * byoc_dtype_bits((byoc_dtype_t)value->dtype) / 8;
}

static void describe(const byoc_tensor_info_t *info, int64_t rows, values_t *values, uint32_t i) {
  for (uint32_t d = 0; d < info->rank; ++d) values->dims[i][d] = info->dims[d] < 0 ? rows : info->dims[d];
  values->arguments[i] = (byoc_argument_t){.dtype = info->dtype, .rank = info->rank, .dims = values->dims[i]};
  values->data[i] = calloc(1, count_bytes(&values->arguments[i]) + 1);
  if (values->data[i] == NULL) exit(2);
  values->arguments[i].data = values->data[i];
}

static void fill(const byoc_argument_t *value) {
  size_t count = count_elements(value);
  for (size_t k = 0; k < count && value->dtype == BYOC_DTYPE_F32; ++k) ((float *)value->data)[k] = (float)(k % 97) / 97;
}

static const byoc_artifact_t *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    tell("load", dlerror());
    return NULL;
  }
  byoc_artifact_entry_t entry = (byoc_artifact_entry_t)(uintptr_t)dlsym(library, BYOC_ARTIFACT_ENTRY);
  const byoc_artifact_t *model = entry != NULL ? entry(BYOC_ARTIFACT_ABI) : NULL;
  if (model == NULL) tell("load", "the artifact has no table");
  return model;
}

static bool run(const byoc_artifact_t *model, byoc_context_t *context, const values_t *inputs, values_t *outputs) {
  int32_t status = model->is_dynamic
                       ? model->run_arguments(context, inputs->arguments, outputs->arguments)
                       : model->run(context, (const void *const *)inputs->data, (void *const *)outputs->data);
  if (status != BYOC_OK) tell("run", model->last_error(context));
  return status == BYOC_OK;
}

static uint64_t sum_outputs(const byoc_artifact_t *model, const values_t *outputs) {
  uint64_t sum = 14695981039346656037u;
  for (uint32_t i = 0; i < model->output_count; ++i) {
    const unsigned char *bytes = outputs->arguments[i].data;
    size_t size = count_bytes(&outputs->arguments[i]);
    for (size_t k = 0; k < size; ++k) sum = (sum ^ bytes[k]) * 1099511628211u;
  }
  return sum;
}

// A context that was not made is none.
static byoc_context_t *create(const byoc_artifact_t *model, int threads) {
  byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = threads};
  byoc_context_t *context = (byoc_context_t *)(uintptr_t)1;
  if (model->create(&options, &context) == BYOC_OK) return context;
  tell("create", model->last_error(NULL));
  if (context != NULL) {
    fprintf(stderr, "error: create failed and gave a context\n");
    exit(1);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  find_library();
  int threads = atoi(argv[2]);
  const char *part = argv[4];
  static values_t inputs, outputs;
  setvbuf(stdout, NULL, _IONBF, 0);
  bool loads = strcmp(part, "load") == 0, creates = loads || strcmp(part, "create") == 0;

  if (loads) start_faults();
  const byoc_artifact_t *model = load(argv[1]);
  if (model == NULL) stop_faults();
  if (model == NULL) model = load(argv[1]);
  if (model == NULL) return 1;
  if (model->input_count > MOST_VALUES || model->output_count > MOST_VALUES) return 2;
  if (loads) stop_faults(); // for what this program allocates itself
  for (uint32_t i = 0; i < model->input_count; ++i) {
    describe(&model->inputs[i], atoi(argv[3]), &inputs, i);
    fill(&inputs.arguments[i]);
  }
  for (uint32_t i = 0; i < model->output_count && !model->is_dynamic; ++i) describe(&model->outputs[i], 1, &outputs, i);

  // The text of this thread's last error is kept from its first one on.
  byoc_context_t *none = NULL;
  (void)model->create(&(byoc_context_options_t){.struct_size = sizeof(byoc_context_options_t), .thread_count = -1},
                      &none);

  if (creates) start_faults();
  byoc_context_t *context = create(model, threads);
  if (context == NULL) stop_faults();
  if (context == NULL) context = create(model, threads);
  if (context == NULL) return 1;
  if (!creates) start_faults();
  bool works = run(model, context, &inputs, &outputs);
  uint64_t sum = works ? sum_outputs(model, &outputs) : 0;
  stop_faults();
  // The same context goes on, whether or not it failed; so does another one.
  if (!run(model, context, &inputs, &outputs)) return 1;
  uint64_t again = sum_outputs(model, &outputs);
  model->destroy(context);
  context = create(model, threads);
  if (context == NULL || !run(model, context, &inputs, &outputs)) return 1;
  uint64_t last = sum_outputs(model, &outputs);
  model->destroy(context);
  if (again != last || (works && sum != again)) {
    fprintf(stderr, "error: three runs have different results\n");
    return 1;
  }
  printf("sum %016" PRIx64 "\nblocks %" PRId64 "\n", last, count_blocks());
  return 0;
}
