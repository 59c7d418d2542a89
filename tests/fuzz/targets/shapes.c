// SPDX-License-Identifier: Apache-2.0
// Inputs of artifacts with open shapes: whatever shapes and values they get, artifact and evaluator give the same
// answer or refuse them both. The models are those of tests/fuzz/shapes. They are built when the target starts, in the
// preset `fuzz` with sanitizers and counters in the generated code.
//
//   byte 0         which model: add new ones at the end, so that inputs keep their meaning
//   then for each  a byte for each open dimension: below 128 it is 4, so that shapes fit, else small, from 250 large;
//   input          then a byte for each element, repeated where there are fewer; from 0xf8 extreme numbers
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/loader/loader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/random/pipeline.h"

enum { PORTS_AT_MOST = 8, ELEMENTS_AT_MOST = 1 << 12, EXTREMES_FROM = 0xf8 };

static const char *const names[] = {"boxes",  "concat",  "conv",   "elementwise", "gather",
                                    "gemm",   "matmul",  "pool",   "reduce",      "reshape",
                                    "resize", "scatter", "select", "sequence",    "slice"};
enum { MODELS = sizeof(names) / sizeof(names[0]) };

typedef struct model_t {
  const char *name;
  pipeline_t pipeline;
  byoc_build_evaluation_t evaluation;
  byoc_loaded_artifact_t artifact;
  byoc_context_t *context;
} model_t;

static model_t models[MODELS];

// A single request of more is refused, so that shapes given as values cannot ask for everything.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "max_allocation_size_mb=64:allocator_may_return_null=1";
}

// ---- building ----

static void build(model_t *model, const char *output) {
  char path[600];
  snprintf(path, sizeof(path), FUZZ_SHAPES "/%s.byoc", model->name);
  byoc_diag_t diag = {0};
  const byoc_compose_options_t compose = {.output = output, .model_name = "shapes", .thread_count = 1};
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 1};
  fuzz_check_ok(pipeline_open_file(&model->pipeline, path, "c -O=1", &diag), &diag, path);
  fuzz_check_ok(byoc_build_compose(&model->pipeline.build, &compose, &diag), &diag, path);
  fuzz_check_ok(byoc_build_evaluate(&model->pipeline.build, 1, &diag, &model->evaluation), &diag, path);
  fuzz_check_ok(byoc_artifact_load(output, &diag, &model->artifact), &diag, path);
  const byoc_artifact_t *table = model->artifact.table;
  if (table->input_count > PORTS_AT_MOST || table->output_count > PORTS_AT_MOST) fuzz_fail("%s has more ports", path);
  if (table->create(&options, &model->context) != BYOC_OK) fuzz_fail("%s: %s", path, table->last_error(NULL));
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  byoc_diag_t diag = {0};
  byoc_allocator_t allocator = byoc_allocator_system();
  char *folder = NULL;
  byoc_log_set_level(BYOC_LOG_ERROR);
#ifdef FUZZ_COMPILER
  (void)setenv("CC", FUZZ_COMPILER, 1);
#endif
  fuzz_check_ok(byoc_make_temporary_directory("byoc-fuzz", allocator, &diag, &folder), &diag, "a folder");
  for (size_t i = 0; i < MODELS; ++i) {
    char output[600];
    snprintf(output, sizeof(output), "%s/%s.so", folder, names[i]);
    models[i].name = names[i];
    build(&models[i], output);
  }
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, folder);
  return 0;
}

// ---- inputs out of bytes ----

typedef struct reader_t {
  const uint8_t *data;
  size_t size, at;
  bool has_extremes; // numbers whose rounding depends on the order of sums
} reader_t;

static uint8_t next(reader_t *reader) {
  return reader->at < reader->size ? reader->data[reader->at++] : 0;
}

// A fixed dimension takes no byte.
static int64_t read_dim(reader_t *reader, int64_t fixed) {
  static const int64_t large[] = {16, 17, 31, 64, 100, 1000};
  if (fixed >= 0) return fixed;
  uint8_t byte = next(reader);
  if (byte < 128) return 4;
  return byte >= 250 ? large[byte - 250] : byte % 8;
}

static double real_of(uint8_t byte) {
  static const double extremes[] = {INFINITY, -INFINITY, NAN, 1e30, -1e30, 1e-30, 0.1, -0.0};
  return byte >= EXTREMES_FROM ? extremes[byte - EXTREMES_FROM] : (byte - 64) / 4.0;
}

static int64_t integer_of(uint8_t byte) {
  static const int64_t extremes[] = {INT64_MAX, INT64_MIN,        INT64_MAX - 1,    INT32_MAX,
                                     INT32_MIN, INT64_C(1) << 32, INT64_C(1) << 62, -(INT64_C(1) << 62)};
  if (byte >= EXTREMES_FROM) return extremes[byte - EXTREMES_FROM];
  return byte < 128 ? byte % 16 : byte < 192 ? byte - 128 : byte - EXTREMES_FROM; // small, to 63, negative
}

static void put_element(uint8_t *at, uint32_t dtype, uint8_t byte) {
  if (dtype == BYOC_DTYPE_F32) {
    float element = (float)real_of(byte);
    memcpy(at, &element, sizeof(element));
  } else if (dtype == BYOC_DTYPE_F64) {
    double element = real_of(byte);
    memcpy(at, &element, sizeof(element));
  } else if (dtype == BYOC_DTYPE_BOOL) {
    *at = byte & 1;
  } else {
    int64_t element = integer_of(byte);
    memcpy(at, &element, byoc_dtype_bits(dtype) / 8);
  }
}

static void read_input(reader_t *reader, const byoc_tensor_info_t *info, byoc_argument_t *out) {
  int64_t *dims = calloc(BYOC_MAX_RANK, sizeof(*dims)), count = 1;
  for (uint32_t d = 0; d < info->rank; ++d) {
    dims[d] = read_dim(reader, info->dims[d]);
    if (count * dims[d] > ELEMENTS_AT_MOST) dims[d] = 1;
    count *= dims[d];
  }
  size_t bytes = byoc_dtype_bits(info->dtype) / 8;
  uint8_t *data = malloc((size_t)count * bytes + 1);
  if (dims == NULL || data == NULL) fuzz_fail("out of memory");
  uint8_t pattern[16];
  for (int64_t i = 0; i < count; ++i) {
    uint8_t byte = reader->at < reader->size || i < 16 ? next(reader) : pattern[i % 16];
    pattern[i % 16] = byte;
    reader->has_extremes |= byte >= EXTREMES_FROM;
    put_element(data + (size_t)i * bytes, info->dtype, byte);
  }
  *out = (byoc_argument_t){
      .kind = BYOC_ARGUMENT_TENSOR, .dtype = info->dtype, .rank = info->rank, .dims = dims, .data = data};
}

// ---- comparing ----

static bool is_close(double a, double b) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-4 + 1e-3 * fabs(b);
}

static void compare(const char *name, const byoc_argument_t *a, const byoc_argument_t *b, bool values) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank) fuzz_fail("%s: results of two types", name);
  int64_t count = 1;
  for (uint32_t d = 0; d < a->rank; ++d) {
    if (a->dims[d] != b->dims[d]) {
      fuzz_fail("%s: dimension %u is %lld compiled, %lld evaluated", name, d, (long long)a->dims[d],
                (long long)b->dims[d]);
    }
    count *= a->dims[d];
  }
  for (int64_t i = 0; i < count && values; ++i) {
    bool is_same = true;
    if (a->dtype == BYOC_DTYPE_F32) is_same = is_close(((const float *)a->data)[i], ((const float *)b->data)[i]);
    if (a->dtype == BYOC_DTYPE_I64) is_same = ((const int64_t *)a->data)[i] == ((const int64_t *)b->data)[i];
    if (!is_same) fuzz_fail("%s: element %lld differs between compiled and evaluated", name, (long long)i);
  }
}

static void run(const model_t *model, const byoc_argument_t *inputs, bool values) {
  const byoc_artifact_t *table = model->artifact.table;
  byoc_argument_t compiled[PORTS_AT_MOST], evaluated[PORTS_AT_MOST];
  byoc_diag_t diag = {0};
  int32_t status = table->run_arguments(model->context, inputs, compiled);
  const char *reason = table->last_error(model->context);
  if (status != BYOC_OK && reason[0] == '\0') fuzz_fail("%s: error %d without a reason", model->name, (int)status);
  byoc_status_t expected = byoc_evaluator_run_arguments(model->evaluation.evaluator, inputs, evaluated, &diag);
  fuzz_check(expected, &diag);
  if (status == BYOC_OUT_OF_MEMORY || expected == BYOC_OUT_OF_MEMORY) return;
  if (status != (int32_t)expected) {
    fuzz_fail("%s: compiled: %d (%s), evaluated: %d (%s)", model->name, (int)status, status != BYOC_OK ? reason : "",
              (int)expected, diag.message);
  }
  for (uint32_t i = 0; i < table->output_count && status == BYOC_OK; ++i) {
    compare(model->name, &compiled[i], &evaluated[i], values);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const model_t *model = &models[data[0] % MODELS];
  const byoc_artifact_t *table = model->artifact.table;
  byoc_argument_t inputs[PORTS_AT_MOST];
  reader_t reader = {.data = data, .size = size, .at = 1};
  for (uint32_t i = 0; i < table->input_count; ++i) {
    read_input(&reader, &table->inputs[i], &inputs[i]);
  }
  run(model, inputs, !reader.has_extremes);
  for (uint32_t i = 0; i < table->input_count; ++i) {
    free(inputs[i].data);
    free((void *)(uintptr_t)inputs[i].dims);
  }
  return 0;
}
