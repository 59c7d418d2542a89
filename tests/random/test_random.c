// SPDX-License-Identifier: Apache-2.0
// Random operator graphs: compiled code, the evaluator and a plain reference agree, for one target list per program.
//
//   random_graphs TARGETS [axes]   BYOC_RANDOM_COUNT=n   graphs (default: the number in ctest)
//                                  BYOC_RANDOM_SEED=n    seed of the first one; the next has the next number
//                                  BYOC_RANDOM_KEEP=DIR  write each model as DIR/random_SEED.onnx
//
// With `axes`, each graph is computed in parts along an axis that is drawn, where that can be done.
// Many graphs share one model, and so one compilation. A failure names the seed; BYOC_RANDOM_SEED=it with
// BYOC_RANDOM_COUNT=1 runs that graph alone.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/random/graph.h"
#include "tests/random/road.h"

enum { GRAPHS_PER_MODEL = 16, OPERATORS_PER_GRAPH = 7 };

static const char *targets;
static bool in_parts;
static size_t cut_count;

static long long setting(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text != NULL && text[0] != '\0' ? atoll(text) : otherwise;
}

// ---- values in and out ----

static tensor_t *find_tensor(const suite_t *suite, const char *name) {
  for (size_t i = 0; i < suite->tensor_count; ++i) {
    if (strcmp(suite->tensors[i]->name, name) == 0) return suite->tensors[i];
  }
  fail_msg("the program has a port '%s' that the model does not have", name);
  return NULL;
}

static void fill_inputs(const suite_t *suite, const byoc_host_program_t *program, void **inputs) {
  for (size_t i = 0; i < program->inputs.count; ++i) {
    const tensor_t *tensor = find_tensor(suite, program->inputs.data[i]->name);
    for (int64_t k = 0; k < tensor->count; ++k) ((float *)inputs[i])[k] = (float)tensor->values[k];
  }
}

static double element(byoc_dtype_t dtype, const void *data, int64_t index) {
  if (dtype == BYOC_DTYPE_F32) return (double)((const float *)data)[index];
  if (dtype == BYOC_DTYPE_I64) return (double)((const int64_t *)data)[index];
  return (double)((const uint8_t *)data)[index];
}

// Rounding errors grow with the magnitude of the values on the way.
static bool is_close(const tensor_t *tensor, double value, double expected) {
  if (tensor->dtype != BYOC_DTYPE_F32) return value == expected;
  return fabs(value - expected) <= 1e-3 + 2e-3 * fabs(expected);
}

// The number of graphs with a wrong output; each is shown once.
static int compare_outputs(const suite_t *suite, const byoc_host_program_t *program, void **outputs, const char *way,
                           uint64_t first_seed) {
  int wrong = 0, shown = -1;
  for (size_t i = 0; i < program->outputs.count; ++i) {
    const tensor_t *tensor = find_tensor(suite, program->outputs.data[i]->name);
    int64_t bad = 0, first = -1;
    for (int64_t k = 0; k < tensor->count; ++k) {
      if (is_close(tensor, element(tensor->dtype, outputs[i], k), tensor->values[k])) continue;
      if (bad++ == 0) first = k;
    }
    if (bad == 0) continue;
    print_error("'%s', %s, seed %llu: output %s differs in %lld of %lld elements; element %lld is %.7g, not %.7g\n",
                targets, way, (unsigned long long)first_seed + (unsigned long long)tensor->graph, tensor->name,
                (long long)bad, (long long)tensor->count, (long long)first, element(tensor->dtype, outputs[i], first),
                tensor->values[first]);
    if (shown != tensor->graph) {
      suite_print_graph(suite, tensor->graph);
      wrong += 1;
    }
    shown = tensor->graph;
  }
  return wrong;
}

// ---- one model ----

// A failure of the road concerns the whole model. If the model has only one graph, that one is shown.
static void check(const suite_t *suite, uint64_t first_seed, byoc_status_t status, const byoc_diag_t *diag) {
  if (status == BYOC_OK) return;
  print_error("'%s', seeds %llu to %llu:\n", targets, (unsigned long long)first_seed,
              (unsigned long long)first_seed + (unsigned long long)suite->graph);
  if (suite->graph == 0) suite_print_graph(suite, 0);
  byoc_test_ok(status, diag);
}

static int run_both_ways(const suite_t *suite, const road_t *road, uint64_t first_seed) {
  byoc_diag_t diag = {0};
  road_buffers_t buffers;
  byoc_test_ok(road_buffers_init(road, &buffers, &diag), &diag);
  fill_inputs(suite, road->build.result.program, buffers.inputs);
  char *folder = byoc_test_folder();
  char *path = byoc_path_join(byoc_allocator_system(), folder, "random.so");
  assert_non_null(path);
  check(suite, first_seed, road_run_compiled(road, path, 2, &buffers, &diag), &diag);
  int wrong = compare_outputs(suite, road->build.result.program, buffers.outputs, "compiled", first_seed);
  for (size_t i = 0; i < road->build.result.program->outputs.count; ++i) {
    memset(buffers.outputs[i], 0xA5, (size_t)byoc_type_size_bytes(road->build.result.program->outputs.data[i]->type));
  }
  check(suite, first_seed, road_run_evaluated(road, &buffers, &diag), &diag);
  wrong += compare_outputs(suite, road->build.result.program, buffers.outputs, "evaluated", first_seed);
  road_buffers_deinit(road, &buffers);
  assert_int_equal(byoc_remove_tree(folder, NULL), BYOC_OK);
  byoc_free(byoc_allocator_system(), path);
  byoc_free(byoc_allocator_system(), folder);
  return wrong;
}

static void keep_model(suite_t *suite, uint64_t seed) {
  const char *folder = getenv("BYOC_RANDOM_KEEP");
  if (folder == NULL) return;
  byoc_diag_t diag = {0};
  char path[600];
  snprintf(path, sizeof(path), "%s/random_%llu.onnx", folder, (unsigned long long)seed);
  byoc_test_ok(byoc_onnx_model_write(suite->model, path, &diag), &diag);
}

static int run_model(uint64_t first_seed, int graph_count) {
  static suite_t suite;
  suite_init(&suite);
  for (int i = 0; i < graph_count; ++i) suite_add_graph(&suite, first_seed + (uint64_t)i, OPERATORS_PER_GRAPH);
  keep_model(&suite, first_seed);
  byoc_diag_t diag = {0};
  uint8_t *bytes = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_onnx_model_pack(suite.model, &diag, &bytes, &size), &diag);
  road_t road;
  size_t cuts = 0;
  byoc_test_random_t random = {first_seed};
  const byoc_status_t status = in_parts ? road_open_cut(&road, bytes, size, targets, &random, &diag, &cuts)
                                        : road_open(&road, bytes, size, targets, &diag);
  check(&suite, first_seed, status, &diag);
  cut_count += cuts;
  int wrong = run_both_ways(&suite, &road, first_seed);
  road_close(&road);
  byoc_free(byoc_allocator_system(), bytes);
  suite_deinit(&suite);
  return wrong;
}

static void test_random_graphs(void **state) {
  (void)state;
  uint64_t seed = (uint64_t)setting("BYOC_RANDOM_SEED", 1);
  long long count = setting("BYOC_RANDOM_COUNT", 48), wrong = 0;
  for (long long done = 0; done < count; done += GRAPHS_PER_MODEL) {
    int graphs = (int)(count - done < GRAPHS_PER_MODEL ? count - done : GRAPHS_PER_MODEL);
    wrong += run_model(seed + (uint64_t)done, graphs);
  }
  print_message("'%s': %lld graphs from seed %llu\n", targets, count, (unsigned long long)seed);
  if (in_parts) print_message("%zu inputs were cut\n", cut_count);
  if (in_parts && count > GRAPHS_PER_MODEL) assert_true(cut_count > 0);
  if (wrong > 0) fail_msg("%lld of %lld results are wrong", wrong, 2 * count);
}

int main(int argc, char **argv) {
  in_parts = argc == 3 && strcmp(argv[2], "axes") == 0;
  if (argc != 2 && !in_parts) {
    fprintf(stderr, "usage: random_graphs TARGETS [axes]\n");
    return 2;
  }
  targets = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
