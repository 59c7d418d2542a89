// SPDX-License-Identifier: Apache-2.0
// Device planning, held to what it promises of every fixture: a planned module stays as it is, and the order of nodes
// does not matter. And what fixtures cannot show: long chains, and memory that runs out.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/string.h"
#include "core/device/domains.h"
#include "core/device/plan.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "tests/support/support.h"

enum { ORDERS = 6 };

static byoc_graph_module_t *parse(const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

static char *print(const byoc_graph_module_t *module) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_graph_print(module, NULL, &text);
  assert_false(text.failed);
  return text.data;
}

// ---- other orders of nodes ----

static bool is_ready(const byoc_node_t *node, const byoc_block_t *block, const byoc_map_t *placed);

static bool operand_is_ready(const byoc_value_t *value, const byoc_block_t *block, const byoc_map_t *placed) {
  const byoc_node_t *producer = byoc_value_producer(value);
  return producer == NULL || producer->block != block || byoc_pointer_map_find(placed, producer) != NULL;
}

static bool block_is_ready(const byoc_block_t *nested, const byoc_block_t *block, const byoc_map_t *placed) {
  BYOC_FOR_EACH_NODE(node, nested) {
    if (!is_ready(node, block, placed)) return false;
  }
  for (size_t i = 0; i < nested->results.count; ++i) {
    if (!operand_is_ready(nested->results.data[i], block, placed)) return false;
  }
  return true;
}

// May the node of `block`, or one nested in it, stand behind the nodes that were placed?
static bool is_ready(const byoc_node_t *node, const byoc_block_t *block, const byoc_map_t *placed) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!operand_is_ready(node->operands[i], block, placed)) return false;
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    if (!block_is_ready(node->blocks[b], block, placed)) return false;
  }
  return true;
}

// Puts the nodes of a block, and of those nested in it, into another order that is right, too.
static void shuffle(byoc_block_t *block, byoc_test_random_t *random) {
  const size_t count = block->node_count;
  byoc_node_t **rest = calloc(count + 1, sizeof(*rest));
  byoc_map_t placed;
  byoc_pointer_map_init(&placed, byoc_allocator_system());
  size_t left = 0;
  BYOC_FOR_EACH_NODE(node, block) {
    rest[left++] = node;
    for (uint32_t b = 0; b < node->block_count; ++b) shuffle(node->blocks[b], random);
  }
  while (left > 0) {
    const size_t at = (size_t)byoc_test_below(random, left);
    if (!is_ready(rest[at], block, &placed)) continue;
    byoc_node_move(rest[at], block, NULL);
    assert_true(byoc_pointer_map_put(&placed, rest[at], rest[at]));
    rest[at] = rest[--left];
  }
  byoc_map_deinit(&placed);
  free(rest);
}

// A number that does not depend on the order of nodes, for what each value is and where it lives.
typedef struct digest_t {
  byoc_map_t values;      // byoc_value_t * → its number
  bool is_without_places; // what is computed, wherever it lives: copies and OnDevice nodes are nothing
} digest_t;

static uint64_t digest_block(digest_t *digest, byoc_block_t *block);

static void note(digest_t *digest, const byoc_value_t *value, uint64_t hash) {
  if (!digest->is_without_places) hash = byoc_virtual_device_hash(&value->device, hash);
  assert_true(byoc_pointer_map_put(&digest->values, value, (void *)(uintptr_t)hash));
}

static uint64_t noted(const digest_t *digest, const byoc_value_t *value) {
  return (uint64_t)(uintptr_t)byoc_pointer_map_get(&digest->values, value);
}

static uint64_t digest_node(digest_t *digest, byoc_node_t *node) {
  const bool is_of_places = byoc_node_is(node, "byoc", "OnDevice") || byoc_node_is(node, "byoc", "DeviceCopy");
  if (is_of_places && digest->is_without_places) {
    note(digest, node->results[0], noted(digest, node->operands[0]));
    return 0;
  }
  uint64_t hash = byoc_hash_string(node->op);
  const bool has_notes = digest->is_without_places && node->callee != NULL; // which of its operands it may write over
  if (!has_notes) hash = byoc_attributes_hash(&node->attributes, hash);
  if (node->callee != NULL) hash = byoc_hash_combine(hash, byoc_hash_string(node->callee->name));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hash = byoc_hash_combine(hash, node->operands[i] != NULL ? noted(digest, node->operands[i]) : 7);
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    hash = byoc_hash_combine(hash, digest_block(digest, node->blocks[b]));
  }
  for (uint32_t r = 0; r < node->result_count; ++r) note(digest, node->results[r], byoc_hash_combine(hash, r));
  return hash;
}

static uint64_t digest_block(digest_t *digest, byoc_block_t *block) {
  uint64_t sum = 1;
  for (size_t i = 0; i < block->parameters.count; ++i) note(digest, block->parameters.data[i], 100 + i);
  BYOC_FOR_EACH_NODE(node, block) {
    const uint64_t hash = digest_node(digest, node);
    sum += hash != 0 ? byoc_hash_combine(hash, 3) : 0;
  }
  for (size_t i = 0; i < block->results.count; ++i) {
    sum = byoc_hash_combine(sum, noted(digest, block->results.data[i]));
  }
  return sum;
}

static uint64_t digest_module(const byoc_graph_module_t *module, bool is_without_places) {
  digest_t digest = {.is_without_places = is_without_places};
  byoc_pointer_map_init(&digest.values, byoc_allocator_system());
  uint64_t sum = 0;
  for (size_t f = 0; f < module->functions.count; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    for (size_t i = 0; i < function->constants.count; ++i) {
      const byoc_value_t *value = function->constants.entries[i].value;
      note(&digest, value, byoc_hash_string(value->constant->name));
    }
    sum = byoc_hash_combine(sum, digest_block(&digest, function->body));
  }
  byoc_map_deinit(&digest.values);
  return sum;
}

// ---- every fixture ----

static byoc_plan_extent_t extent_of(const char *text) {
  return strstr(text, "--passes=spread-devices") != NULL ? BYOC_PLAN_SAID : BYOC_PLAN_ALL;
}

static void check_again(byoc_graph_module_t *module, byoc_plan_extent_t extent, const char *name) {
  byoc_diag_t diag = {0};
  size_t changes = 0;
  char *before = print(module);
  byoc_test_ok(byoc_plan_devices(module, extent, &diag, &changes), &diag);
  char *after = print(module);
  byoc_test_same_text(after, before);
  if (changes != 0) fail_msg("%s: planning it again reports %zu changes", name, changes);
  free(before);
  free(after);
}

static void check_orders(const char *text, byoc_plan_extent_t extent, byoc_status_t expected, const char *message,
                         uint64_t digest, const char *name) {
  byoc_test_random_t random = {.state = 15};
  for (int order = 0; order < ORDERS; ++order) {
    byoc_diag_t diag = {0};
    size_t changes = 0;
    byoc_graph_module_t *module = parse(text);
    for (size_t f = 0; f < module->functions.count; ++f) shuffle(module->functions.data[f]->body, &random);
    byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
    const byoc_status_t status = byoc_plan_devices(module, extent, &diag, &changes);
    if (status != expected || strcmp(diag.message, message) != 0) {
      fail_msg("%s: in another order: \"%s\", not \"%s\"", name, diag.message, message);
    }
    if (status == BYOC_OK) byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
    if (status == BYOC_OK && digest_module(module, false) != digest) {
      fail_msg("%s: another order of nodes gives another plan:\n%s", name, print(module));
    }
    byoc_graph_module_destroy(module);
  }
}

// What holds of every plan: no OnDevice is left, a copy leads to another place, no value is copied twice to one place,
// and everything has a device.
static bool check_node(void *self, byoc_node_t *node) {
  const char *name = self;
  if (byoc_node_is(node, "byoc", "OnDevice")) fail_msg("%s: there is an OnDevice", name);
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_value_t *value = node->results[r];
    if (value->device.device_type == 0 || value->device.device_id < 0) fail_msg("%s: a value has no device", name);
    for (size_t u = 0; u < value->uses.count; ++u) {
      const byoc_node_t *copy = value->uses.data[u].node;
      if (copy == NULL || !byoc_node_is(copy, "byoc", "DeviceCopy")) continue;
      const byoc_virtual_device_t *to = &copy->results[0]->device;
      if (byoc_virtual_device_same(to, &value->device)) fail_msg("%s: a copy leads nowhere", name);
      for (size_t v = u + 1; v < value->uses.count; ++v) {
        const byoc_node_t *other = value->uses.data[v].node;
        if (other == NULL || !byoc_node_is(other, "byoc", "DeviceCopy")) continue;
        if (byoc_virtual_device_same(to, &other->results[0]->device))
          fail_msg("%s: two copies lead to one place", name);
      }
    }
  }
  const bool is_plain =
      byoc_node_is_onnx(node, "Add") || byoc_node_is_onnx(node, "Mul") || byoc_node_is_onnx(node, "Neg");
  for (uint32_t i = 0; is_plain && i < node->operand_count; ++i) {
    if (!byoc_virtual_device_same(&node->operands[i]->device, &node->results[0]->device)) {
      fail_msg("%s: an operator reads from another place", name);
    }
  }
  return true;
}

// Plans a module, plans it again, and plans it in other orders. Returns whether there is a plan.
static bool check_text(const char *text, const char *name) {
  byoc_diag_t diag = {0};
  size_t changes = 0;
  const byoc_plan_extent_t extent = extent_of(text);
  byoc_graph_module_t *module = parse(text);
  const uint64_t computed = digest_module(module, true);
  const byoc_status_t status = byoc_plan_devices(module, extent, &diag, &changes);
  uint64_t digest = 0;
  if (digest_module(module, true) != computed) fail_msg("%s: the plan computes something else", name);
  if (status == BYOC_OK) byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
  if (status == BYOC_OK) digest = digest_module(module, false);
  if (status == BYOC_OK && extent == BYOC_PLAN_ALL && changes > 0) {
    (void)byoc_block_walk(byoc_graph_module_main(module)->body, check_node, (void *)(uintptr_t)name);
  }
  if (status == BYOC_OK) check_again(module, extent, name);
  check_orders(text, extent, status, diag.message, digest, name);
  byoc_graph_module_destroy(module);
  return status == BYOC_OK;
}

static void check_fixture(const char *path, const char *name) {
  byoc_diag_t diag = {0};
  char *text = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &text, &size), &diag);
  char *expect = strstr(text, "// EXPECT");
  assert_non_null(expect);
  *expect = '\0';
  (void)check_text(text, name);
  free(text);
}

static bool is_fixture(const char *folder, const char *name) {
  const size_t size = strlen(name);
  if (size < 5 || strcmp(name + size - 5, ".byoc") != 0) return false;
  return strcmp(folder, "rows") == 0 ? name[0] == 'P' : strncmp(name, "plan_devices", 12) == 0;
}

static void check_folder(const char *folder) {
  char path[1024];
  snprintf(path, sizeof(path), "%s/tests/%s", BYOC_TEST_SOURCE_DIR, folder);
  DIR *entries = opendir(path);
  assert_non_null(entries);
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (!is_fixture(folder, entry->d_name)) continue;
    char file[1300];
    snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
    check_fixture(file, entry->d_name);
    ++count;
  }
  closedir(entries);
  assert_true(count > 0);
}

static void test_p3_p7_planned_twice_and_in_any_order(void **state) {
  (void)state;
  check_folder("rows");
  check_folder("ir");
}

// ---- random modules ----

static const char *random_place(byoc_test_random_t *random) {
  static const char *const places[] = {"device = 1, id = 0",
                                       "device = 2",
                                       "device = 2, id = 0",
                                       "device = 2, id = 1",
                                       "scope = \"a\"",
                                       "scope = \"b\"",
                                       "device = 2, id = 0, scope = \"a\""};
  return places[byoc_test_below(random, sizeof(places) / sizeof(places[0]))];
}

static void append_plain(byoc_string_t *text, byoc_test_random_t *random, const char *indent, const char *name,
                         int number) {
  const int a = (int)byoc_test_below(random, (uint64_t)number), b = (int)byoc_test_below(random, (uint64_t)number);
  const bool is_said = byoc_test_below(random, 6) == 0;
  byoc_string_appendf(text, "%s%s = Add@14(%%v%d, %%v%d) : f32[2]%s%s%s\n", indent, name, a, b, is_said ? " on {" : "",
                      is_said ? random_place(random) : "", is_said ? "}" : "");
}

// A branch or a loop whose blocks read values from around it.
static void append_control(byoc_string_t *text, byoc_test_random_t *random, int number) {
  char name[32];
  const bool is_loop = byoc_test_below(random, 2) == 0;
  byoc_string_append(text, is_loop ? "Loop@16(%n, _, %v0) [body (%i" : "If@16(%c) [then_branch () -> (f32[2]) {\n");
  if (is_loop)
    byoc_string_appendf(text, "%d : i64[], %%g%d : bool[], %%t%d : f32[2]) -> (bool[], f32[2]) {\n", number, number,
                        number);
  snprintf(name, sizeof(name), "%%w%d", number);
  append_plain(text, random, "      ", name, number);
  if (is_loop) {
    byoc_string_appendf(text, "      %%u%d = Mul@14(%%t%d, %%w%d) : f32[2]\n      return %%g%d, %%u%d\n", number,
                        number, number, number, number);
  } else {
    byoc_string_appendf(text, "      return %%w%d\n    }, else_branch () -> (f32[2]) {\n", number);
    snprintf(name, sizeof(name), "%%x%d", number);
    append_plain(text, random, "      ", name, number);
    byoc_string_appendf(text, "      return %%x%d\n", number);
  }
  byoc_string_append(text, "    }] : f32[2]\n");
}

static void append_node(byoc_string_t *text, byoc_test_random_t *random, int number) {
  const int a = (int)byoc_test_below(random, (uint64_t)number), b = (int)byoc_test_below(random, (uint64_t)number);
  byoc_string_appendf(text, "    %%v%d = ", number);
  switch (byoc_test_below(random, 9)) {
  case 8:
    append_control(text, random, number);
    break;
  case 0:
  case 1:
    byoc_string_appendf(text, "Add@14(%%v%d, %%v%d) : f32[2]\n", a, b);
    break;
  case 2:
    byoc_string_appendf(text, "Neg@13(%%v%d) : f32[2] on {%s}\n", a, random_place(random));
    break;
  case 3:
  case 4:
    byoc_string_appendf(text, "byoc::OnDevice@1(%%v%d) {%s, constrain_body = %d, constrain_result = %d} : f32[2]\n", a,
                        random_place(random), (int)byoc_test_below(random, 2), (int)byoc_test_below(random, 2));
    break;
  case 5:
    byoc_string_appendf(text, "byoc::DeviceCopy@1(%%v%d) : f32[2] on {%s}\n", a, random_place(random));
    break;
  case 6:
    byoc_string_appendf(text, "call @f(%%v%d) : f32[2]\n", a);
    break;
  default:
    byoc_string_appendf(text, "call @whole(%%v%d, %%v%d) : f32[2]\n", a, b);
  }
}

static char *random_module(byoc_test_random_t *random) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  const int count = 4 + (int)byoc_test_below(random, 12);
  byoc_string_append(
      &text,
      "module {\n  func @main(%c : bool[], %n : i64[], %v0 : f32[2], %v1 : f32[2]) -> (%r : f32[2], %s : f32[2]) {\n");
  for (int i = 2; i < count; ++i) append_node(&text, random, i);
  byoc_string_appendf(&text, "    return %%v%d, %%v%d\n  }\n", count - 1, count - 2);
  byoc_string_append(&text, "  func @f(%p : f32[2]) -> (f32[2]) {\n    %q = Neg@13(%p) : f32[2]\n    return %q\n  }\n");
  byoc_string_appendf(&text,
                      "  func @whole(%%p : f32[2] on {%s}, %%q : f32[2]) -> (f32[2]) attributes {Primitive = 1} {\n",
                      random_place(random));
  byoc_string_appendf(&text, "    %%o = Add@14(%%p, %%q) : f32[2] on {%s}\n    return %%o\n  }\n}\n",
                      random_place(random));
  assert_false(text.failed);
  return text.data;
}

static void test_p3_p7_random_modules_are_planned_or_refused(void **state) {
  (void)state;
  enum { MODULES = 600 };
  byoc_test_random_t random = {.state = 7};
  size_t planned = 0;
  for (int i = 0; i < MODULES; ++i) {
    char *text = random_module(&random);
    planned += check_text(text, text);
    free(text);
  }
  assert_in_range(planned, MODULES / 8, MODULES - MODULES / 8); // there are plans, and there are conflicts
}

// ---- what fixtures cannot show ----

// A chain of additions, each of the two before it, at whose end an OnDevice stands.
static char *long_chain(int length, const char *first, const char *last) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n  func @main(%a : f32[5,7], %b : f32[5,7]) -> (%y : f32[5,7]) {\n");
  byoc_string_appendf(&text, "    %%v0 = Add@14(%%a, %%b) : f32[5,7]%s\n    %%v1 = Add@14(%%a, %%v0) : f32[5,7]\n",
                      first);
  for (int i = 2; i < length; ++i) {
    byoc_string_appendf(&text, "    %%v%d = Add@14(%%v%d, %%v%d) : f32[5,7]\n", i, i - 1, i - 2);
  }
  byoc_string_appendf(&text, "    %%y = Neg@13(%%v%d) : f32[5,7]%s\n    return %%y\n  }\n}\n", length - 1, last);
  assert_false(text.failed);
  return text.data;
}

static void test_p6_a_chain_of_100000_nodes(void **state) {
  (void)state;
  enum { LENGTH = 100000 };
  byoc_diag_t diag = {0};
  size_t changes = 0;
  char *text = long_chain(LENGTH, "", " on {device = 2, id = 0}");
  byoc_graph_module_t *module = parse(text);
  byoc_test_ok(byoc_plan_devices(module, BYOC_PLAN_ALL, &diag, &changes), &diag);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  assert_int_equal(body->node_count, LENGTH + 1 + 3); // copies of %a, %b and the result
  assert_int_equal(body->first->next->next->results[0]->device.device_type, 2);
  byoc_graph_module_destroy(module);
  free(text);
}

static void test_p7_a_long_chain_is_told_in_short(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  size_t changes = 0;
  char *text = long_chain(5000, " on {device = 4, id = 0}", " on {device = 2, id = 0}");
  byoc_graph_module_t *module = parse(text);
  byoc_test_error(
      byoc_plan_devices(module, BYOC_PLAN_ALL, &diag, &changes), BYOC_INVALID_DATA, &diag,
      "%v0 of function 'main' is on {device = 4, id = 0}, %y of function 'main' is on {device = 2, id = 0}");
  assert_non_null(strstr(diag.message, "one device: %v0 - Add - %v1 - Add - %v3"));
  assert_non_null(strstr(diag.message, " steps) - "));
  assert_non_null(strstr(diag.message, "- %v4999 - Neg - %y"));
  byoc_graph_module_destroy(module);
  free(text);
}

static void test_modules_without_devices_stay_as_they_are(void **state) {
  (void)state;
  static const char text[] = "module {\n  func @main(%x : f32[2]) -> (%y : f32[2]) {\n"
                             "    %y = Neg@13(%x) : f32[2] on {target = \"c\"}\n    return %y\n  }\n}\n";
  byoc_diag_t diag = {0};
  size_t changes = 0;
  byoc_graph_module_t *module = parse(text);
  byoc_test_ok(byoc_plan_devices(module, BYOC_PLAN_ALL, &diag, &changes), &diag);
  char *after = print(module);
  byoc_test_same_text(after, text);
  assert_int_equal(changes, 0);
  free(after);
  byoc_graph_module_destroy(module);
}

static byoc_status_t parse_and_plan(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  size_t changes = 0;
  byoc_status_t status = byoc_graph_parse(argument, "test", allocator, &diag, &module);
  if (status == BYOC_OK) status = byoc_plan_devices(module, BYOC_PLAN_ALL, &diag, &changes);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_each_allocation_fails(void **state) {
  (void)state;
  char *plans = long_chain(3, "", " on {device = 2, id = 0}");
  byoc_test_each_allocation_fails(parse_and_plan, plans, false);
  free(plans);
  static char annotated[] = "module {\n  func @main(%x : f32[2]) -> (%y : f32[2], %z : f32[2]) {\n"
                            "    %0 = Neg@13(%x) : f32[2]\n"
                            "    %1 = byoc::OnDevice@1(%0) {device = 2, target = \"t\"} : f32[2]\n"
                            "    %y = Neg@13(%1) : f32[2]\n    %z = call @f(%1) : f32[2] on {device = 4}\n"
                            "    return %y, %z\n  }\n  func @f(%a : f32[2]) -> (f32[2]) attributes {Primitive = 1} {\n"
                            "    %0 = Neg@13(%a) : f32[2] on {device = 2}\n    return %0\n  }\n}\n";
  byoc_test_each_allocation_fails(parse_and_plan, annotated, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_p3_p7_planned_twice_and_in_any_order),
      cmocka_unit_test(test_p3_p7_random_modules_are_planned_or_refused),
      cmocka_unit_test(test_p6_a_chain_of_100000_nodes),
      cmocka_unit_test(test_p7_a_long_chain_is_told_in_short),
      cmocka_unit_test(test_modules_without_devices_stay_as_they_are),
      cmocka_unit_test(test_each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
