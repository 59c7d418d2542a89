// SPDX-License-Identifier: Apache-2.0
// Plans as files.
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "core/base/file.h"
#include "core/collage/plan_json.h"
#include "tests/support/support.h"

static char *folder;

static const char *path_of(const char *name) {
  static char path[512];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

// ---- a plan with everything in it ----

static const char *text_of(const byoc_plan_t *plan) {
  static byoc_string_t text;
  byoc_diag_t diag = {0};
  byoc_string_deinit(&text);
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_ok(byoc_plan_print(plan, &text, &diag), &diag);
  return text.data;
}

static const char good[] =
    "{\n"
    "  \"format\": \"byoc plan\",\n"
    "  \"version\": 1,\n"
    "  \"model\": \"tiny \\\"one\\\"\",\n"
    "  \"strategy\": \"collage\",\n"
    "  \"whole_ns\": 9100.5,\n"
    "  \"targets\": [\n"
    "    \"cutlass -mcpu=native\",\n"
    "    \"c -O=3\"\n"
    "  ],\n"
    "  \"rivals\": [\n"
    "    {\"name\": \"greedy\", \"sum_ns\": 10000.0}\n"
    "  ],\n"
    "  \"blocks\": [\n"
    "    {\n"
    "      \"name\": \"main\",\n"
    "      \"hash\": \"00ff00ff00ff00ff\",\n"
    "      \"cost_ns\": 9000.0,\n"
    "      \"transition_ns\": 0.0,\n"
    "      \"lower_bound_ns\": 8500.25,\n"
    "      \"proven\": false,\n"
    "      \"nodes\": [\n"
    "        {\"op\": \"Conv\", \"name\": \"conv1\", \"type\": \"f32[1,8]\", \"edges\": []},\n"
    "        {\"op\": \"Relu\", \"type\": \"f32[1,8]\", \"edges\": [{\"from\": 0, \"type\": \"f32[1,8]\"}]},\n"
    "        {\"op\": \"Softmax\", \"name\": \"</script>\", \"type\": \"f32[1,8]\", \"edges\": [{\"from\": 1, "
    "\"type\": "
    "\"f32[1,8]\"}]}\n"
    "      ],\n"
    "      \"regions\": [\n"
    "        {\"target\": 0, \"rule\": \"cutlass.conv_act\", \"nodes\": [0, 1], \"candidate\": 0, \"cost_ns\": 8000.0, "
    "\"source\": \"measured\", \"precision\": \"f32\", \"lapse\": \"too short for int8\"},\n"
    "        {\"target\": 0, \"rule\": \"cutlass.any\", \"nodes\": [2], \"given_back\": true}\n"
    "      ],\n"
    "      \"candidates\": [\n"
    "        {\"target\": 0, \"rule\": \"cutlass.conv_act\", \"nodes\": [0, 1], \"cost_ns\": 8000.0, \"source\": "
    "\"measured\", \"chosen\": true},\n"
    "        {\"target\": 1, \"rule\": \"c.host\", \"nodes\": [0], \"cost_ns\": null, \"reason\": \"it crashed\"},\n"
    "        {\"target\": 0, \"rule\": \"cutlass.any\", \"nodes\": [2], \"cost_ns\": null, \"reason\": \"too small\", "
    "\"given_back\": true},\n"
    "        {\"target\": 1, \"rule\": \"c.host\", \"nodes\": [1]}\n"
    "      ],\n"
    "      \"declines\": [\n"
    "        {\"target\": 0, \"rule\": \"cutlass.any\", \"nodes\": [2], \"reason\": \"it is no matrix\"}\n"
    "      ]\n"
    "    }\n"
    "  ]\n"
    "}\n";

static void put(const char *name, const char *text) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(path_of(name), text, strlen(text), &diag), &diag);
}

static void test_c10_written_plans_are_read_again(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plan_t plan, again;
  put("good.json", good);
  byoc_test_ok(byoc_plan_read(path_of("good.json"), byoc_allocator_system(), &diag, &plan), &diag);
  byoc_test_same_text(text_of(&plan), good);
  byoc_test_ok(byoc_plan_write(&plan, path_of("again.json"), &diag), &diag);
  byoc_test_ok(byoc_plan_read(path_of("again.json"), byoc_allocator_system(), &diag, &again), &diag);
  byoc_test_same_text(text_of(&again), good);
  byoc_plan_deinit(&again);
  byoc_plan_deinit(&plan);
}

static void test_c10_every_field_is_read(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  put("good.json", good);
  byoc_test_ok(byoc_plan_read(path_of("good.json"), byoc_allocator_system(), &diag, &plan), &diag);
  const byoc_plan_block_t *block = &plan.blocks.data[0];
  assert_string_equal(plan.model, "tiny \"one\"");
  assert_int_equal(block->hash, 0x00ff00ff00ff00ff);
  assert_int_equal(block->nodes.data[1].region, 0);
  assert_int_equal(block->nodes.data[2].region, UINT32_MAX); // what was given back holds nothing
  assert_int_equal(block->regions.data[1].candidate, UINT32_MAX);
  assert_string_equal(block->regions.data[0].precision, "f32");
  assert_string_equal(block->regions.data[0].lapse, "too short for int8");
  assert_null(block->regions.data[1].precision);
  assert_true(isnan(block->regions.data[1].cost_ns));
  assert_true(isinf(block->candidates.data[1].cost_ns));
  assert_string_equal(block->candidates.data[1].reason, "it crashed");
  assert_false(block->candidates.data[1].is_fallback);
  assert_true(block->candidates.data[2].is_fallback);
  assert_true(isnan(block->candidates.data[3].cost_ns));
  assert_null(block->candidates.data[3].reason);
  assert_int_equal(block->candidates.data[0].source, BYOC_COST_SOURCE_MEASURED);
  assert_true(isnan(plan.alternatives.data[0].whole_ns));
  byoc_plan_deinit(&plan);
}

// ---- damage ----

// `good` with the first `from` replaced.
static char *edited(const char *from, const char *to) {
  const char *place = strstr(good, from);
  if (place == NULL) fail_msg("the plan does not hold %s", from);
  char *text = malloc(sizeof(good) + strlen(to));
  assert_non_null(text);
  size_t size = (size_t)(place - good);
  memcpy(text, good, size);
  snprintf(text + size, sizeof(good) + strlen(to) - size, "%s%s", to, place + strlen(from));
  return text;
}

static void test_c10_damaged_fields_are_named(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *message;
  } rows[] = {
      {"\"byoc plan\"", "\"byoc costs\"", "is not a plan"},
      {"\"model\"", "\"moddel\"", "moddel is not a field that plans have"},
      {"\"tiny \\\"one\\\"\"", "7", "model is not a string"},
      {"9100.5", "-1", "whole_ns is no number of nanoseconds"},
      {"9100.5", "\"1\"", "whole_ns is no number of nanoseconds"},
      {"\"targets\": [", "\"targets\": [3, ", "targets holds a value that is no string"},
      {"\"name\": \"greedy\"", "\"nam\": \"greedy\"", "rivals[0].nam is not a field"},
      {"\"blocks\": [\n", "\"blocks\": [ 5,\n", "blocks[0] is not an object"},
      {"00ff00ff00ff00ff", "00ff00ff00ff00fg", "blocks[0].hash is not 16 hexadecimal digits"},
      {"\"proven\": false", "\"proven\": 0", "blocks[0].proven is neither true nor false"},
      {"\"op\": \"Relu\"", "\"op\": null", "blocks[0].nodes[1].op is not a string"},
      {"\"type\": \"f32[1,8]\", \"edges\": []", "\"edges\": []", "blocks[0].nodes[0].type is missing"},
      {"{\"from\": 0", "{\"from\": 1", "blocks[0].nodes[1].edges[0].from is none of the 1 nodes before this one"},
      {"{\"from\": 0", "{\"from\": -1", "blocks[0].nodes[1].edges[0].from is none of"},
      {"{\"target\": 0", "{\"target\": 2", "blocks[0].regions[0].target is none of the 2 targets"},
      {"{\"target\": 1", "{\"target\": true", "blocks[0].candidates[1].target is none of the 2 targets"},
      {"\"nodes\": [0, 1]", "\"nodes\": [1, 0]", "nodes[1] does not rise"},
      {"\"nodes\": [0, 1]", "\"nodes\": [0, 3]", "nodes[1] is none of the 3 nodes of the block"},
      {"\"nodes\": [0, 1]", "\"nodes\": [0, 4294967297]", "nodes[1] is none of the 3 nodes of the block"},
      {"\"nodes\": [0, 1]", "\"nodes\": []", "nodes must hold nodes of the block"},
      {"\"nodes\": [0, 1], \"candidate\": 0", "\"nodes\": [0], \"candidate\": 0",
       "blocks[0].regions[0].candidate has another target or other nodes"},
      {"\"candidate\": 0", "\"candidate\": 4", "blocks[0].regions[0].candidate is none of the 4 candidates"},
      {"\"nodes\": [2], \"given_back\": true", "\"nodes\": [1, 2]",
       "blocks[0].regions[1] holds node 1, which regions[0] holds too"},
      {"\"measured\"", "\"guessed\"", "source is none of none, bound, estimate, measured, database"},
      {"\"chosen\": true", "\"chosen\": 1", "blocks[0].candidates[0].chosen is neither true nor false"},
      {"\"reason\": \"it is no matrix\"", "\"reason\": []", "blocks[0].declines[0].reason is not a string"},
      {"\"version\": 1,", "\"version\": 1, \"version\": 1,", "line 3"},
      {"\"version\": 1,", "\"version\": 1", "line 4"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    char *text = edited(rows[i].from, rows[i].to);
    byoc_diag_t diag = {0};
    byoc_plan_t plan;
    put("bad.json", text);
    free(text);
    byoc_status_t status = byoc_plan_read(path_of("bad.json"), byoc_allocator_system(), &diag, &plan);
    byoc_test_error(status, BYOC_INVALID_DATA, &diag, rows[i].message);
    byoc_test_error(status, BYOC_INVALID_DATA, &diag, "bad.json");
  }
  char *text = edited("\"version\": 1,", "\"version\": 2,");
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  put("bad.json", text);
  free(text);
  byoc_test_error(byoc_plan_read(path_of("bad.json"), byoc_allocator_system(), &diag, &plan), BYOC_VERSION, &diag,
                  "version 2; this byoc reads version 1");
}

// Every cut is an error and none a crash.
static void test_c10_truncated_plans_are_refused(void **state) {
  (void)state;
  for (size_t size = 0; size < sizeof(good) - 3; size += 5) {
    byoc_diag_t diag = {0};
    byoc_plan_t plan;
    byoc_test_ok(byoc_file_write(path_of("cut.json"), good, size, &diag), &diag);
    byoc_test_error(byoc_plan_read(path_of("cut.json"), byoc_allocator_system(), &diag, &plan), BYOC_INVALID_DATA,
                    &diag, "is not JSON: line");
  }
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_test_error(byoc_plan_read(path_of("none.json"), byoc_allocator_system(), &diag, &plan), BYOC_NOT_FOUND, &diag,
                  "none.json");
}

static byoc_status_t read_and_write(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  char from[512];
  snprintf(from, sizeof(from), "%s", path_of("good.json"));
  BYOC_RETURN_IF_ERROR(byoc_plan_read(from, allocator, &diag, &plan));
  byoc_status_t status = byoc_plan_write(&plan, path_of("copy.json"), &diag);
  byoc_plan_deinit(&plan);
  return status;
}

static int allocations_before; // the one that fails

static void *allocate_but_one(size_t size) {
  return allocations_before-- == 0 ? NULL : malloc(size);
}

// jansson takes its memory by itself: whichever piece it cannot have, no plan lacks a row without a word.
static void test_printing_without_memory(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plan_t plan;
  byoc_string_t text;
  json_malloc_t former_malloc;
  json_free_t former_free;
  put("good.json", good);
  byoc_test_ok(byoc_plan_read(path_of("good.json"), byoc_allocator_system(), &diag, &plan), &diag);
  json_get_alloc_funcs(&former_malloc, &former_free);
  int failed = 0;
  for (bool has_failed = true; has_failed; ++failed) {
    byoc_string_init(&text, byoc_allocator_system());
    allocations_before = failed;
    json_set_alloc_funcs(allocate_but_one, free);
    const byoc_status_t status = byoc_plan_print(&plan, &text, &diag);
    json_set_alloc_funcs(former_malloc, former_free);
    has_failed = allocations_before < 0;
    if (status == BYOC_OK) {
      byoc_test_same_text(text.data, good);
    } else {
      byoc_test_error(status, BYOC_OUT_OF_MEMORY, &diag, "out of memory");
      byoc_diag_clear(&diag);
    }
    byoc_string_deinit(&text);
  }
  assert_true(failed > 100);
  byoc_plan_deinit(&plan);
}

static void test_c10_allocations_fail(void **state) {
  (void)state;
  put("good.json", good);
  byoc_test_each_allocation_fails(read_and_write, NULL, false);
}

int main(void) {
  folder = byoc_test_folder();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c10_written_plans_are_read_again),
      cmocka_unit_test(test_c10_every_field_is_read),
      cmocka_unit_test(test_c10_damaged_fields_are_named),
      cmocka_unit_test(test_c10_truncated_plans_are_refused),
      cmocka_unit_test(test_c10_allocations_fail),
      cmocka_unit_test(test_printing_without_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(folder);
  return failed;
}
