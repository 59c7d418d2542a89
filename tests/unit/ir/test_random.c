// SPDX-License-Identifier: Apache-2.0
// Random graphs: they verify, print, read back equal, clone equal and sort without moving; scrambled, they sort again.
#include "core/ir/graph.h"
#include "core/ir/module_text.h"
#include "core/ir/structural.h"
#include "core/ir/verify_module.h"
#include "tests/support/graph.h"
#include "tests/support/support.h"

typedef struct generator_t {
  byoc_test_random_t random;
  byoc_graph_module_t *module;
  byoc_function_t *function;
  BYOC_VECTOR(byoc_value_t *) visible;
} generator_t;

static uint64_t below(generator_t *g, uint64_t limit) {
  return byoc_test_below(&g->random, limit);
}

static const char *random_name(generator_t *g) {
  static const char *const names[] = {"x",      "y",    "conv1", "gpu_0/data", "7", "a b",
                                      "return", "call", "größe", "\"",         "_"};
  return below(g, 3) == 0 ? NULL : names[below(g, sizeof(names) / sizeof(names[0]))];
}

static byoc_dim_t random_dim(generator_t *g) {
  static const char *const symbols[] = {"N", "M", "batch size", "min"};
  bool failed = false;
  byoc_dim_t dim = below(g, 2) ? byoc_dim_constant((int64_t)below(g, 100))
                               : byoc_dim_symbol(&g->module->arena, symbols[below(g, 4)], &failed);
  for (uint64_t n = below(g, 3); n-- > 0;) {
    static const byoc_dim_kind_t kinds[] = {BYOC_DIM_ADD, BYOC_DIM_MUL, BYOC_DIM_FLOORDIV, BYOC_DIM_MAX};
    byoc_dim_t other = below(g, 2) ? byoc_dim_constant(1 + (int64_t)below(g, 5))
                                   : byoc_dim_symbol(&g->module->arena, symbols[below(g, 4)], &failed);
    dim = byoc_dim_binary(&g->module->arena, kinds[below(g, 4)], dim, other, &failed);
  }
  assert_false(failed);
  return dim;
}

static const byoc_type_t *random_type(generator_t *g) {
  byoc_arena_t *arena = &g->module->arena;
  switch (below(g, 10)) {
  case 0:
    return byoc_type_unknown();
  case 1:
    return byoc_type_sequence(arena, random_type(g));
  case 2:
    return byoc_type_optional(arena, random_type(g));
  case 3:
    return byoc_type_tensor(arena, BYOC_DTYPE_I64, BYOC_RANK_UNKNOWN, NULL);
  default: {
    byoc_dim_t dims[4];
    int32_t rank = (int32_t)below(g, 5);
    for (int32_t i = 0; i < rank; ++i) dims[i] = random_dim(g);
    return byoc_type_tensor(arena, 1 + (byoc_dtype_t)below(g, BYOC_DTYPE_COUNT - 1), rank, dims);
  }
  }
}

static byoc_value_t *random_constant(generator_t *g) {
  byoc_graph_module_t *module = g->module;
  byoc_constant_t *constant = NULL;
  if (module->constants.count > 0 && below(g, 2)) {
    constant = module->constants.data[below(g, module->constants.count)];
  } else {
    int64_t dims[] = {(int64_t)below(g, 5), 1 + (int64_t)below(g, 30)};
    byoc_dtype_t dtype = 1 + (byoc_dtype_t)below(g, BYOC_DTYPE_COUNT - 1);
    const byoc_type_t *type = byoc_type_tensor_static(&module->arena, dtype, 2, dims);
    const char *name = random_name(g);
    void *data = NULL;
    constant = byoc_constant_allocate(module, name && name[0] ? name : "c", type, &data);
    assert_non_null(constant);
    bool uniform = below(g, 3) == 0;
    for (size_t i = 0; i < constant->size_bytes; ++i) {
      if (dtype == BYOC_DTYPE_STRING) {
        if (i % sizeof(char *) == 0) ((const char **)data)[i / sizeof(char *)] = random_name(g) ? "text" : "";
      } else {
        ((uint8_t *)data)[i] = (uint8_t)(uniform ? 0x3c : below(g, 256)); // any bytes: NaNs of every kind
      }
    }
  }
  return byoc_function_constant(g->function, constant);
}

static byoc_value_t *random_value(generator_t *g, bool may_be_null) {
  uint64_t kind = below(g, 10);
  if (kind == 0 && may_be_null) return NULL;
  if (kind <= 2 || g->visible.count == 0) return random_constant(g);
  return g->visible.data[below(g, g->visible.count)];
}

static void random_attributes(generator_t *g, byoc_attributes_t *attributes) {
  static const char *const names[] = {"a", "axis", "odd name", "x.y", "on"};
  for (uint64_t n = below(g, 4); n-- > 0;) {
    const char *name = names[below(g, 5)];
    double number;
    uint64_t bits = byoc_test_next(&g->random);
    memcpy(&number, &bits, sizeof(number));
    if (below(g, 2)) number = (double)(float)number;
    bool ok = true;
    switch (below(g, 7)) {
    case 0:
      ok = byoc_attributes_set_int(attributes, name, (int64_t)bits);
      break;
    case 1:
      ok = byoc_attributes_set_float(attributes, name, number);
      break;
    case 2:
      ok = byoc_attributes_set_string_n(attributes, name, (const char *)&bits, below(g, 9));
      break;
    case 3:
      ok = byoc_attributes_set_ints(attributes, name, (int64_t[]){(int64_t)bits, -1}, below(g, 3));
      break;
    case 4:
      ok = byoc_attributes_set_floats(attributes, name, (double[]){number, 1}, below(g, 3));
      break;
    case 5:
      ok = byoc_attributes_set_strings(attributes, name, (const char *const[]){"", "\xff\n"}, below(g, 3));
      break;
    default:
      ok = byoc_attributes_set_type(attributes, name, random_type(g));
      break;
    }
    assert_true(ok);
  }
}

static void random_device(generator_t *g, byoc_virtual_device_t *device) {
  if (below(g, 4)) return;
  device->device_type = (int32_t)below(g, 3);
  if (device->device_type && below(g, 2)) device->device_id = (int32_t)below(g, 4);
  if (below(g, 2)) device->target = "cutlass";
  if (below(g, 2)) device->scope = "global";
}

static void define(generator_t *g, byoc_value_t *value) {
  value->type = random_type(g);
  random_device(g, &value->device);
  byoc_value_set_name(value, random_name(g));
  assert_true(byoc_vector_push(&g->visible, g->module->allocator, value));
}

static void random_block(generator_t *g, byoc_block_t *block, int depth) {
  size_t outer = g->visible.count;
  for (uint64_t n = below(g, 3); n-- > 0;) {
    byoc_value_t *parameter = byoc_block_add_parameter(block, NULL, byoc_type_unknown());
    assert_non_null(parameter);
    define(g, parameter);
  }
  for (uint64_t n = below(g, 8); n-- > 0;) {
    static const char *const ops[] = {"Add", "call", "odd op", "return"};
    static const char *const domains[] = {"", "com.acme", "odd domain"};
    byoc_value_t *operands[4];
    uint32_t count = (uint32_t)below(g, 5), results = (uint32_t)below(g, 3);
    for (uint32_t i = 0; i < count; ++i) operands[i] = random_value(g, true);
    byoc_node_t *node = byoc_node_create(block, NULL, domains[below(g, 3)], ops[below(g, 3)], (int32_t)below(g, 20),
                                         operands, count, results);
    assert_non_null(node);
    const char *name = random_name(g);
    assert_true(byoc_node_set_name(node, name ? name : ""));
    random_attributes(g, &node->attributes);
    for (uint32_t b = 0; depth < 4 && below(g, 5) == 0 && b < 2; ++b) {
      byoc_block_t *nested = byoc_node_add_block(node, b ? "else branch" : "body");
      assert_non_null(nested);
      random_block(g, nested, depth + 1);
    }
    for (uint32_t i = 0; i < results; ++i) define(g, node->results[i]);
  }
  for (uint64_t n = below(g, 3); n-- > 0;)
    assert_true(byoc_block_add_result(block, random_name(g), random_value(g, false)));
  g->visible.count = outer;
}

static byoc_graph_module_t *random_module(uint64_t seed) {
  byoc_diag_t diag = {0};
  generator_t g = {.random = {.state = seed}};
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &g.module), &diag);
  random_attributes(&g, &g.module->attributes);
  for (uint64_t n = 1 + below(&g, 3); n-- > 0;) {
    g.function = byoc_function_create(g.module, byoc_graph_module_unique_name(g.module, "f"));
    assert_non_null(g.function);
    random_attributes(&g, &g.function->attributes);
    random_block(&g, g.function->body, 0);
    if (n == 0) break;
    // The next function calls this one.
    byoc_function_t *callee = g.function;
    g.function = byoc_function_create(g.module, byoc_graph_module_unique_name(g.module, "caller"));
    byoc_value_t *operands[8] = {NULL};
    for (size_t i = 0; i < callee->body->parameters.count; ++i)
      operands[i] = byoc_block_add_parameter(g.function->body, "p", callee->body->parameters.data[i]->type);
    assert_non_null(
        byoc_node_create_call(g.function->body, NULL, callee, operands, (uint32_t)callee->body->parameters.count));
  }
  byoc_vector_deinit(&g.visible, g.module->allocator);
  return g.module;
}

static byoc_string_t print(const byoc_graph_module_t *module) {
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_graph_print(module, NULL, &out);
  assert_false(out.failed);
  return out;
}

static void scramble(byoc_test_random_t *random, byoc_block_t *block) {
  for (size_t n = block->node_count; n-- > 0;) {
    byoc_node_t *node = block->first;
    for (uint64_t steps = byoc_test_below(random, block->node_count); steps-- > 0;) node = node->next;
    byoc_node_move(node, block, NULL);
  }
}

static void random_modules_hold(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = random_module(seed), *again = NULL;
    byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
    byoc_string_t text = print(module);
    byoc_test_ok(byoc_graph_parse(text.data, "random.ir", byoc_allocator_system(), &diag, &again), &diag);
    assert_true(byoc_test_modules_equal(module, again));
    assert_true(byoc_attributes_equal(&module->attributes, &again->attributes));
    byoc_string_t second = print(again);
    byoc_test_same_text(second.data, text.data);
    byoc_test_random_t random = {.state = seed};
    size_t count = module->functions.count;
    for (size_t i = 0; i < count; ++i) {
      byoc_function_t *function = module->functions.data[i];
      byoc_function_t *copy = byoc_function_clone(function, byoc_graph_module_unique_name(module, function->name));
      assert_non_null(copy);
      assert_true(byoc_function_structural_equal(function, copy, 0));
      byoc_test_ok(byoc_block_sort(copy->body, &diag), &diag);
      assert_true(byoc_function_structural_equal(function, copy, 0));
      scramble(&random, copy->body);
      byoc_test_ok(byoc_block_sort(copy->body, &diag), &diag);
    }
    byoc_test_ok(byoc_graph_verify(module, &diag), &diag);
    byoc_string_deinit(&text);
    byoc_string_deinit(&second);
    byoc_graph_module_destroy(again);
    byoc_graph_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_modules_hold)};
  return cmocka_run_group_tests_name("ir random", tests, NULL, NULL);
}
