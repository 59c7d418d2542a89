// SPDX-License-Identifier: Apache-2.0
// Recurrent networks on dnnl by a saved plan, since greedy placement leaves them to plans by cost: whole again, with
// their gates in oneDNN's order, at sizes that each run brings, they give what c gives; what oneDNN has no network for
// stays with c, and says why.
#include <math.h>
#include <stdio.h>

#include "core/collage/plan_json.h"
#include "tests/support/command.h"

enum { SIZE = 3, HIDDEN = 37 };

// Weights that differ everywhere, so that no two gates are alike.
static void write_constant(FILE *file, const char *name, int directions, int rows, int columns) {
  static uint32_t state = 1;
  const int is_matrix = columns > 0, count = directions * rows * (is_matrix ? columns : 1);
  assert_true(fprintf(file, "  constant @%s : f32[%d,%d", name, directions, rows) > 0);
  if (is_matrix) assert_true(fprintf(file, ",%d", columns) > 0);
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    assert_true(fprintf(file, "%s%.6f", i > 0 ? ", " : "] = [", (double)(state >> 8) / (1 << 24) - 0.5) > 0);
  }
  assert_true(fputs("]\n", file) >= 0);
}

// A model of one network in `directions` directions; `results` and `node` are its text.
static void write_model(int gates, int directions, const char *parameters, const char *results, const char *node,
                        const char *returns) {
  FILE *file = fopen("model.byoc", "w");
  assert_non_null(file);
  assert_true(fputs("module {\n", file) >= 0);
  write_constant(file, "w", directions, gates * HIDDEN, SIZE);
  write_constant(file, "r", directions, gates * HIDDEN, HIDDEN);
  write_constant(file, "b", directions, 2 * gates * HIDDEN, 0);
  assert_true(fprintf(file, "  func @main(%%x : f32[T,N,%d]%s) -> (%s) {\n    %s\n    return %s\n  }\n}\n", SIZE,
                      parameters, results, node, returns) > 0);
  assert_int_equal(fclose(file), 0);
}

// Writes network.json: the plan of greedy placement, where the network that it left alone is dnnl's one region.
static void write_plan(void) {
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_test_shell(0, "byoc explain model.byoc --plan greedy -t 'dnnl; c' --save-plan greedy.json");
  byoc_test_ok(byoc_plan_read("greedy.json", byoc_allocator_system(), &diag, &plan), &diag);
  byoc_plan_block_t *block = &plan.blocks.data[0];
  const byoc_plan_decline_t *network = NULL;
  for (size_t i = 0; i < block->declines.count; ++i) {
    const byoc_plan_decline_t *row = &block->declines.data[i];
    if (strstr(row->reason, "only for plans by cost") == NULL) continue;
    if (network == NULL || network->node_count < row->node_count) network = row;
  }
  assert_non_null(network);
  block->regions.count = 0;
  const byoc_plan_region_t region = {.target = network->target,
                                     .candidate = UINT32_MAX,
                                     .rule = network->rule,
                                     .nodes = network->nodes,
                                     .node_count = network->node_count,
                                     .cost_ns = NAN};
  assert_true(byoc_vector_push(&block->regions, byoc_allocator_system(), region));
  byoc_test_ok(byoc_plan_write(&plan, "network.json", &diag), &diag);
  byoc_plan_deinit(&plan);
}

static void build(const char *taken) {
  write_plan();
  byoc_test_shell(0, "byoc build model.byoc --plan network.json -t 'dnnl; c' -o model.so");
  byoc_test_printed(taken);
  byoc_test_shell(0, "byoc build model.byoc -t c -o reference.so");
}

static void compare(const char *expected) {
  static const char *const dims[] = {"--dim T=1 --dim N=1", "--dim T=7 --dim N=3", "--dim T=20 --dim N=1",
                                     "--dim T=3 --dim N=0"};
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i) {
    byoc_test_shell(0, "rm -rf reference && byoc run reference.so --random --seed 5 %s --output-dir reference",
                    dims[i]);
    byoc_test_shell(0, "byoc run model.so --random --seed 5 %s %s", dims[i], expected);
  }
}

#define STATES(directions) ", %h : f32[" directions ",N,37], %c : f32[" directions ",N,37]"

static void test_lstm(void **state) {
  (void)state;
  write_model(4, 2, STATES("2"), "%y : f32[T,2,N,37], %z : f32[2,N,37], %s : f32[2,N,37]",
              "%y, %z, %s = LSTM@14(%x, @w, @r, @b, _, %h, %c) {hidden_size = 37, direction = \"bidirectional\"} : "
              "f32[T,2,N,37], f32[2,N,37], f32[2,N,37]",
              "%y, %z, %s");
  build("dnnl 3 operators in 1 region");
  compare("--expect y=reference/y.npy --expect z=reference/z.npy --expect s=reference/s.npy");
}

static void test_lstm_without_states(void **state) {
  (void)state;
  write_model(4, 1, "", "%y : f32[T,1,N,37]",
              "%y = LSTM@14(%x, @w, @r, @b) {hidden_size = 37, direction = \"reverse\"} : f32[T,1,N,37]", "%y");
  build("dnnl 3 operators in 1 region");
  compare("--expect y=reference/y.npy");
}

static void test_gru(void **state) {
  (void)state;
  static const int linear[] = {0, 1};
  for (size_t i = 0; i < 2; ++i) {
    char node[256];
    (void)snprintf(
        node, sizeof(node),
        "%%y, %%z = GRU@14(%%x, @w, @r, @b, _, %%h) {hidden_size = 37, linear_before_reset = %d, direction = "
        "\"bidirectional\"} : f32[T,2,N,37], f32[2,N,37]",
        linear[i]);
    write_model(3, 2, ", %h : f32[2,N,37]", "%y : f32[T,2,N,37], %z : f32[2,N,37]", node, "%y, %z");
    build("dnnl 3 operators in 1 region");
    compare("--expect y=reference/y.npy --expect z=reference/z.npy");
  }
}

static void test_rnn_of_which_the_last_state_is_read(void **state) {
  (void)state;
  write_model(1, 1, "", "%z : f32[1,N,37]",
              "%y, %z = RNN@14(%x, @w, @r) {hidden_size = 37} : f32[T,1,N,37], f32[1,N,37]", "%z");
  build("dnnl 2 operators in 1 region");
  compare("--expect z=reference/z.npy");
}

// As PyTorch's exporter writes them; names are equal without regard to case.
static void test_default_activations_by_name(void **state) {
  (void)state;
  write_model(4, 2, "", "%y : f32[T,2,N,37]",
              "%y = LSTM@14(%x, @w, @r, @b) {hidden_size = 37, direction = \"bidirectional\", "
              "activations = [\"Sigmoid\", \"Tanh\", \"Tanh\", \"sigmoid\", \"tanh\", \"tanh\"]} : f32[T,2,N,37]",
              "%y");
  build("dnnl 3 operators in 1 region");
  compare("--expect y=reference/y.npy");
  write_model(1, 1, "", "%y : f32[T,1,N,37]",
              "%y = RNN@14(%x, @w, @r) {hidden_size = 37, activations = [\"Tanh\"]} : f32[T,1,N,37]", "%y");
  build("dnnl 2 operators in 1 region");
  compare("--expect y=reference/y.npy");
}

// The product of all inputs may still be dnnl's.
static void test_networks_that_onednn_does_not_have(void **state) {
  (void)state;
  write_model(4, 1, ", %l : i32[N]", "%y : f32[T,1,N,37]",
              "%y = LSTM@14(%x, @w, @r, @b, %l) {hidden_size = 37} : f32[T,1,N,37]", "%y");
  byoc_test_shell(0, "byoc explain model.byoc -t 'dnnl; c'");
  byoc_test_printed("sequences of different lengths");
  write_model(3, 1, "", "%y : f32[T,1,N,37]",
              "%y = GRU@14(%x, @w, @r, @b) {hidden_size = 37, clip = 0.5} : f32[T,1,N,37]", "%y");
  byoc_test_shell(0, "byoc explain model.byoc -t 'dnnl; c'");
  byoc_test_printed("sums that are clipped");
  // The second direction's differ.
  write_model(3, 2, "", "%y : f32[T,2,N,37]",
              "%y = GRU@14(%x, @w, @r, @b) {hidden_size = 37, direction = \"bidirectional\", "
              "activations = [\"Sigmoid\", \"Tanh\", \"Sigmoid\", \"Relu\"]} : f32[T,2,N,37]",
              "%y");
  byoc_test_shell(0, "byoc explain model.byoc -t 'dnnl; c'");
  byoc_test_printed("activations other than the defaults");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lstm),
                                     cmocka_unit_test(test_lstm_without_states),
                                     cmocka_unit_test(test_gru),
                                     cmocka_unit_test(test_rnn_of_which_the_last_state_is_read),
                                     cmocka_unit_test(test_default_activations_by_name),
                                     cmocka_unit_test(test_networks_that_onednn_does_not_have)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
