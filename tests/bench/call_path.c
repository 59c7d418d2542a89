// SPDX-License-Identifier: Apache-2.0
// The way from the C function's entry to the first instruction of a kernel and back: an artifact whose one kernel does
// nothing, against a direct call of a C function with the same signature. Prints both; fails beyond the bound.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compose/artifact/compose.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/program/edit.h"
#include "core/loader/loader.h"

// What a run may cost beyond the direct call. The fastest round counts: others were interrupted.
enum { BOUND_NS = 20, ROUNDS = 200, CALLS = 20000, INPUTS = 2 };

static const char source_text[] = "#include \"byoc/call.h\"\n"
                                  "BYOC_PACKED int32_t bench_empty(const byoc_call_t *call) {\n"
                                  "  (void)call;\n"
                                  "  return BYOC_OK;\n"
                                  "}\n";

typedef int32_t (*run_t)(byoc_context_t *context, const void *const *inputs, void *const *outputs);

__attribute__((noinline)) static int32_t direct(byoc_context_t *context, const void *const *inputs,
                                                void *const *outputs) {
  __asm__ volatile("" : : "r"(context), "r"(inputs), "r"(outputs) : "memory");
  return BYOC_OK;
}

// y = nothing(a, b)
static byoc_host_program_t *make_program(byoc_runtime_module_t *source, byoc_arena_t *arena) {
  byoc_diag_t diag = {0};
  byoc_host_program_t *program = NULL;
  byoc_test_ok(byoc_host_program_create(NULL, "empty", byoc_allocator_system(), &diag, &program), &diag);
  byoc_allocator_t allocator = program->arena.allocator;
  const int64_t dims[] = {1};
  const byoc_type_t *type = byoc_type_tensor_static(arena, BYOC_DTYPE_F32, 1, dims);
  byoc_host_instruction_t *step = byoc_host_instruction_create(program, NULL, BYOC_HOST_PACKED);
  assert_non_null(step);
  step->symbol = "bench_empty";
  step->origin = "empty";
  for (int i = 0; i < INPUTS; ++i) {
    byoc_host_buffer_t *input = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_INPUT, "x", type);
    assert_true(byoc_vector_push(&program->inputs, allocator, input));
    assert_true(byoc_host_add_operand(program, step, input));
  }
  byoc_host_buffer_t *output = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_OUTPUT, "y", type);
  assert_true(byoc_vector_push(&program->outputs, allocator, output));
  assert_true(byoc_host_add_result(program, step, output));
  assert_true(byoc_vector_push(&program->libraries, allocator, source));
  byoc_test_ok(byoc_host_place_lifetimes(program, &diag), &diag);
  byoc_test_ok(byoc_host_plan_memory(program, &diag), &diag);
  return program;
}

static char *build(const char *folder) {
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_runtime_module_t *source = NULL;
  byoc_allocator_t system = byoc_allocator_system();
  byoc_status_t status =
      byoc_runtime_module_create(BYOC_RUNTIME_MODULE_C_SOURCE, "bench_source", "bench", system, &diag, &source);
  byoc_test_ok(status, &diag);
  source->source = source_text;
  byoc_test_ok(byoc_runtime_module_add_symbol(source, "bench_empty", &diag), &diag);
  byoc_host_program_t *program = make_program(source, &arena);
  char *path = byoc_path_join(byoc_allocator_system(), folder, "model.so");
  byoc_compose_options_t options = {.output = path, .model_name = "empty", .cpu_features = "", .thread_count = 1};
  byoc_test_ok(byoc_compose_artifact(program, &options, byoc_allocator_system(), &diag), &diag);
  byoc_host_program_destroy(program);
  byoc_runtime_module_release(source);
  byoc_arena_deinit(&arena);
  return path;
}

// Nanoseconds a call, on the average of one round.
static double time_round(run_t run, byoc_context_t *context, const void *const *inputs, void *const *outputs) {
  int64_t start_ns = byoc_now_ns();
  int32_t status = BYOC_OK;
  for (int i = 0; i < CALLS; ++i) status |= run(context, inputs, outputs);
  double taken_ns = (double)(byoc_now_ns() - start_ns) / CALLS;
  assert_int_equal(status, BYOC_OK);
  return taken_ns;
}

static void test_call_path(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), *path = build(folder);
  byoc_loaded_artifact_t artifact;
  byoc_test_ok(byoc_artifact_load(path, &diag, &artifact), &diag);
  byoc_context_t *context = NULL;
  assert_int_equal(artifact.table->create(NULL, &context), BYOC_OK);

  float values[INPUTS + 1] = {0};
  const void *inputs[] = {&values[0], &values[1]};
  void *outputs[] = {&values[INPUTS]};
  volatile run_t runs[] = {direct, artifact.table->run};
  double best_ns[2] = {1e9, 1e9};
  for (int round = 0; round < ROUNDS; ++round) {
    for (int which = 0; which < 2; ++which) {
      double taken_ns = time_round(runs[which], context, inputs, outputs);
      if (taken_ns < best_ns[which]) best_ns[which] = taken_ns;
    }
  }
  printf("direct call %.2f ns, artifact %.2f ns, difference %.2f ns (bound %d ns)\n", best_ns[0], best_ns[1],
         best_ns[1] - best_ns[0], BOUND_NS);
  assert_true(best_ns[1] - best_ns[0] <= BOUND_NS);

  artifact.table->destroy(context);
  byoc_artifact_unload(&artifact);
  free(path);
  free(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_call_path)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
