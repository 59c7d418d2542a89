// SPDX-License-Identifier: Apache-2.0
// Random operator graphs: compiled code, the evaluator and a plain reference agree, for one target list per program.
//
//   random_graphs TARGETS [axes|quantised|open]
//
//   BYOC_RANDOM_COUNT=n   graphs (default: the number in ctest)
//   BYOC_RANDOM_SEED=n    seed of the first one; the next has the next number
//   BYOC_RANDOM_KEEP=DIR  write each model as DIR/random_SEED.onnx
//
// With `axes`, each graph is computed in parts along an axis that is drawn, where that can be done. With `quantised`,
// graphs are those of quantised models; with `open`, those with open batches, heights and widths.
// Many graphs share one model, and so one compilation. A failure names the seed; BYOC_RANDOM_SEED=it with
// BYOC_RANDOM_COUNT=1 runs that graph alone.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/random/graph.h"
#include "tests/random/pipeline.h"

enum { GRAPHS_PER_MODEL = 16, OPERATORS_PER_GRAPH = 7 };

static const char *targets;
static bool in_parts, is_quantised, is_open;
static size_t cut_count;
static long long element_count, unsure_count; // of outputs; those that may be off by a step or more

static long long setting(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text != NULL && text[0] != '\0' ? atoll(text) : otherwise;
}

// ---- values in and out ----

static tensor_t *find_tensor(const suite_t *suite, const char *name) {
  tensor_t *tensor = suite_find(suite, name);
  if (tensor == NULL) fail_msg("the program has a port '%s' that the model does not have", name);
  return tensor;
}

static void fill_inputs(const suite_t *suite, const byoc_host_program_t *program, void **inputs) {
  for (size_t i = 0; i < program->inputs.count; ++i) {
    store_values(find_tensor(suite, program->inputs.data[i]->name), inputs[i]);
  }
}

// The number of graphs with a wrong output; each is shown once.
static int compare_outputs(const suite_t *suite, const byoc_host_program_t *program, void **outputs, const char *way,
                           uint64_t first_seed) {
  int wrong = 0, shown = -1;
  for (size_t i = 0; i < program->outputs.count; ++i) {
    const tensor_t *tensor = find_tensor(suite, program->outputs.data[i]->name);
    int64_t bad = 0, first = -1;
    element_count += tensor->count;
    for (int64_t k = 0; k < tensor->count; ++k) {
      unsure_count += tensor->dtype != BYOC_DTYPE_F32 && tensor->errors[k] > 0;
      if (is_close(tensor, k, element_at(tensor->dtype, outputs[i], k))) continue;
      if (bad++ == 0) first = k;
    }
    if (bad == 0) continue;
    print_error("'%s', %s, seed %llu: output %s differs in %lld of %lld elements; element %lld is %.7g, not %.7g\n",
                targets, way, (unsigned long long)first_seed + (unsigned long long)tensor->graph, tensor->name,
                (long long)bad, (long long)tensor->count, (long long)first,
                element_at(tensor->dtype, outputs[i], first), tensor->values[first]);
    if (shown != tensor->graph) {
      suite_print_graph(suite, tensor->graph);
      wrong += 1;
    }
    shown = tensor->graph;
  }
  return wrong;
}

// ---- one model ----

// A failure of the pipeline concerns the whole model. If the model has only one graph, that one is shown.
static void check(const suite_t *suite, uint64_t first_seed, byoc_status_t status, const byoc_diag_t *diag) {
  if (status == BYOC_OK) return;
  print_error("'%s', seeds %llu to %llu:\n", targets, (unsigned long long)first_seed,
              (unsigned long long)first_seed + (unsigned long long)suite->graph);
  if (suite->graph == 0) suite_print_graph(suite, 0);
  byoc_test_ok(status, diag);
}

static int run_both_ways(const suite_t *suite, const pipeline_t *pipeline, uint64_t first_seed) {
  byoc_diag_t diag = {0};
  pipeline_buffers_t buffers;
  byoc_test_ok(pipeline_buffers_init(pipeline, &buffers, &diag), &diag);
  fill_inputs(suite, pipeline->build.result.program, buffers.inputs);
  char *folder = byoc_test_folder();
  char *path = byoc_path_join(byoc_allocator_system(), folder, "random.so");
  assert_non_null(path);
  check(suite, first_seed, pipeline_run_compiled(pipeline, path, 2, &buffers, &diag), &diag);
  int wrong = compare_outputs(suite, pipeline->build.result.program, buffers.outputs, "compiled", first_seed);
  for (size_t i = 0; i < pipeline->build.result.program->outputs.count; ++i) {
    memset(buffers.outputs[i], 0xA5,
           (size_t)byoc_type_size_bytes(pipeline->build.result.program->outputs.data[i]->type));
  }
  check(suite, first_seed, pipeline_run_evaluated(pipeline, &buffers, &diag), &diag);
  wrong += compare_outputs(suite, pipeline->build.result.program, buffers.outputs, "evaluated", first_seed);
  pipeline_buffers_deinit(pipeline, &buffers);
  assert_int_equal(byoc_remove_tree(folder, NULL), BYOC_OK);
  byoc_free(byoc_allocator_system(), path);
  byoc_free(byoc_allocator_system(), folder);
  return wrong;
}

// ---- open shapes ----

typedef struct looking_t {
  const suite_t *suite;
  const byoc_host_program_t *program;
  const char *way;
  uint64_t first_seed;
  int wrong;
} looking_t;

static void look(void *self, const byoc_argument_t *outputs) {
  looking_t *looking = self;
  const size_t count = looking->program->outputs.count;
  void **data = calloc(count + 1, sizeof(*data));
  assert_non_null(data);
  for (size_t i = 0; i < count; ++i) {
    const tensor_t *tensor = find_tensor(looking->suite, looking->program->outputs.data[i]->name);
    assert_int_equal(outputs[i].rank, tensor->rank);
    assert_memory_equal(outputs[i].dims, tensor->dims, (size_t)tensor->rank * sizeof(*tensor->dims));
    data[i] = outputs[i].data;
  }
  looking->wrong += compare_outputs(looking->suite, looking->program, data, looking->way, looking->first_seed);
  free(data);
}

static int call_both_ways(const suite_t *suite, const pipeline_t *pipeline, uint64_t first_seed) {
  byoc_diag_t diag = {0};
  const byoc_host_program_t *program = pipeline->build.result.program;
  byoc_argument_t *inputs = calloc(program->inputs.count + 1, sizeof(*inputs));
  assert_non_null(inputs);
  for (size_t i = 0; i < program->inputs.count; ++i) {
    inputs[i] = new_argument(find_tensor(suite, program->inputs.data[i]->name));
  }
  char *folder = byoc_test_folder(), *path = byoc_path_join(byoc_allocator_system(), folder, "random.so");
  assert_non_null(path);
  looking_t looking = {suite, program, "compiled", first_seed, 0};
  const pipeline_call_t call = {inputs, program->outputs.count, look, &looking};
  check(suite, first_seed, pipeline_call_compiled(pipeline, path, 2, &call, 1, &diag), &diag);
  looking.way = "evaluated";
  check(suite, first_seed, pipeline_call_evaluated(pipeline, &call, 1, &diag), &diag);
  for (size_t i = 0; i < program->inputs.count; ++i) free(inputs[i].data);
  free(inputs);
  assert_int_equal(byoc_remove_tree(folder, NULL), BYOC_OK);
  byoc_free(byoc_allocator_system(), path);
  byoc_free(byoc_allocator_system(), folder);
  return looking.wrong;
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
  if (is_quantised) suite_quantise(&suite, is_open);
  for (int i = 0; i < graph_count; ++i) suite_add_graph(&suite, first_seed + (uint64_t)i, OPERATORS_PER_GRAPH);
  keep_model(&suite, first_seed);
  byoc_diag_t diag = {0};
  uint8_t *bytes = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_onnx_model_pack(suite.model, &diag, &bytes, &size), &diag);
  pipeline_t pipeline;
  size_t cuts = 0;
  byoc_test_random_t random = {first_seed};
  const byoc_status_t status = in_parts ? pipeline_open_cut(&pipeline, bytes, size, targets, &random, &diag, &cuts)
                                        : pipeline_open(&pipeline, bytes, size, targets, &diag);
  check(&suite, first_seed, status, &diag);
  cut_count += cuts;
  int wrong = is_open ? call_both_ways(&suite, &pipeline, first_seed) : run_both_ways(&suite, &pipeline, first_seed);
  pipeline_close(&pipeline);
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
  if (is_quantised) print_message("%lld elements, %lld of them between two steps\n", element_count, unsure_count);
  if (is_quantised) assert_true(unsure_count < element_count / 10);
  if (in_parts) print_message("%zu inputs were cut\n", cut_count);
  if (in_parts && count > GRAPHS_PER_MODEL) assert_true(cut_count > 0);
  if (wrong > 0) fail_msg("%lld of %lld results are wrong", wrong, 2 * count);
}

int main(int argc, char **argv) {
  in_parts = argc == 3 && strcmp(argv[2], "axes") == 0;
  is_open = argc == 3 && strcmp(argv[2], "open") == 0;
  is_quantised = is_open || (argc == 3 && strcmp(argv[2], "quantised") == 0);
  if (argc != 2 && !in_parts && !is_quantised) {
    fprintf(stderr, "usage: random_graphs TARGETS [axes|quantised|open]\n");
    return 2;
  }
  targets = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
