// SPDX-License-Identifier: Apache-2.0
// Makes specimens of cases: each is read as the ONNX model that the other rules build, and copied node by node.
#include <string.h>

#include "core/frontend/onnx_read.h"
#include "tools/plugin_check/cases.h"
#include "tools/plugin_check/specimen_internal.h"

typedef struct copier_t {
  specimens_t *set;
  check_t *check;
  specimen_t *specimen;
  struct {
    const byoc_value_t *value;
    uint32_t index;
  } known[SPECIMEN_CASE_VALUES];
  size_t known_count;
} copier_t;

static noreturn void refuse(const copier_t *copier, const char *why) {
  check_stop(copier->check, NULL, "%s: %s", copier->specimen->rule, why);
}

static void *keep(copier_t *copier, const void *data, size_t size_bytes) {
  void *kept = byoc_arena_allocate_aligned(&copier->set->arena, size_bytes + 1, 64);
  if (kept == NULL) refuse(copier, "out of memory");
  if (size_bytes > 0) memcpy(kept, data, size_bytes);
  return kept;
}

static uint32_t find(const copier_t *copier, const byoc_value_t *value) {
  for (size_t i = 0; i < copier->known_count; ++i) {
    if (copier->known[i].value == value) return copier->known[i].index;
  }
  return SPECIMEN_NONE;
}

static uint32_t add(copier_t *copier, const byoc_value_t *value, specimen_source_t source, specimen_fill_t fill) {
  specimen_value_t made;
  if (!specimen_describe(value, &made)) refuse(copier, "a value has no static shape, or too many dimensions");
  made.source = source;
  made.fill = fill;
  made.name = keep(copier, value->name != NULL ? value->name : "", value->name != NULL ? strlen(value->name) + 1 : 1);
  if (source == SPECIMEN_CONSTANT) made.data = keep(copier, value->constant->data, value->constant->size_bytes);
  if (copier->known_count == SPECIMEN_CASE_VALUES) refuse(copier, "it has too many values");
  if (!byoc_vector_push(&copier->specimen->values, copier->set->allocator, made)) refuse(copier, "out of memory");
  const uint32_t index = (uint32_t)copier->specimen->values.count - 1;
  copier->known[copier->known_count].value = value;
  copier->known[copier->known_count++].index = index;
  return index;
}

// "k0_positive_x" is an input of positive numbers, as in cases.h.
static specimen_fill_t fill_of(const char *name) {
  const char *own = name != NULL ? strchr(name, '_') : NULL;
  return own != NULL && strncmp(own + 1, "positive", 8) == 0 ? SPECIMEN_POSITIVE : SPECIMEN_NUMBERS;
}

static void copy_attributes(copier_t *copier, const byoc_attributes_t *from, specimen_node_t *node) {
  byoc_attribute_t *items = keep(copier, from->items, from->count * sizeof(*items));
  for (size_t i = 0; i < from->count; ++i) {
    byoc_attribute_t *item = &items[i];
    item->name = keep(copier, item->name, strlen(item->name) + 1);
    if (item->s != NULL) item->s = keep(copier, item->s, item->count + 1);
    if (item->ints != NULL) item->ints = keep(copier, item->ints, item->count * sizeof(*item->ints));
    if (item->floats != NULL) item->floats = keep(copier, item->floats, item->count * sizeof(*item->floats));
    if (item->strings != NULL || item->tensor != NULL || item->type != NULL) {
      refuse(copier, "an attribute is neither a number, a text nor a list of numbers");
    }
  }
  node->attributes = items;
  node->attribute_count = from->count;
}

static void copy_node(copier_t *copier, const byoc_node_t *from) {
  if (from->operand_count > SPECIMEN_OPERANDS) refuse(copier, "an operator has more than 16 operands");
  specimen_node_t node = {.domain = keep(copier, from->domain, strlen(from->domain) + 1),
                          .op = keep(copier, from->op, strlen(from->op) + 1),
                          .operand_count = from->operand_count,
                          .result_count = from->result_count};
  for (uint32_t i = 0; i < from->operand_count; ++i) {
    const byoc_value_t *operand = from->operands[i];
    node.operands[i] = operand != NULL ? find(copier, operand) : SPECIMEN_NONE;
    if (operand != NULL && node.operands[i] == SPECIMEN_NONE) {
      node.operands[i] = add(copier, operand, SPECIMEN_CONSTANT, SPECIMEN_NUMBERS);
    }
    if (operand != NULL) copier->specimen->values.data[node.operands[i]].is_read = true;
  }
  copy_attributes(copier, &from->attributes, &node);
  node.first_result = (uint32_t)copier->specimen->values.count;
  for (uint32_t r = 0; r < from->result_count; ++r) {
    (void)add(copier, from->results[r], SPECIMEN_RESULT, SPECIMEN_NUMBERS);
  }
  if (!byoc_vector_push(&copier->specimen->nodes, copier->set->allocator, node)) refuse(copier, "out of memory");
}

static void add_case(specimens_t *set, check_t *check, const check_case_file_t *file, size_t index) {
  const check_case_file_t one = {.name = file->name, .cases = &file->cases[index], .count = 1};
  const check_model_t model = check_case_file_model(check, &one);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  copier_t copier = {.set = set, .check = check, .specimen = BYOC_ARENA_NEW(&set->arena, specimen_t)};
  if (copier.specimen == NULL) check_stop(check, NULL, "out of memory");
  copier.specimen->rule = byoc_arena_format(&set->arena, "%s/%s", file->name, file->cases[index].name);
  copier.specimen->label = byoc_arena_copy_string(&set->arena, file->cases[index].nodes);
  check_ok(
      check,
      byoc_onnx_read_memory(model.data, model.size_bytes, file->name, NULL, byoc_allocator_system(), &diag, &module),
      &diag, copier.specimen->rule);
  const byoc_block_t *body = byoc_graph_module_main(module)->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    const byoc_value_t *input = body->parameters.data[i];
    (void)add(&copier, input, SPECIMEN_INPUT, fill_of(input->name));
  }
  BYOC_FOR_EACH_NODE(node, body) copy_node(&copier, node);
  if (copier.specimen->label == NULL || !byoc_vector_push(&set->items, set->allocator, copier.specimen)) {
    refuse(&copier, "out of memory");
  }
  byoc_graph_module_destroy(module);
  byoc_free(byoc_allocator_system(), model.data);
}

double specimen_step_of_case(check_t *check, const check_case_file_t *file, const char *name) {
  const int index = check_case_of_name(name);
  const char *own = strchr(name, '_');
  specimens_t set;
  double step = 0;
  if (index < 0 || (size_t)index >= file->count || own == NULL) return 0;
  specimens_init(&set, byoc_allocator_system());
  add_case(&set, check, file, (size_t)index);
  const specimen_t *specimen = set.items.data[0];
  for (size_t i = 0; i < specimen->values.count; ++i) {
    const char *other = strchr(specimen->values.data[i].name, '_');
    if (other != NULL && strcmp(other, own) == 0) step = specimen_step(specimen, (uint32_t)i);
  }
  specimens_deinit(&set);
  return step;
}

void specimens_add_cases(specimens_t *set, check_t *check) {
  check_cases_t cases;
  check_doing(check, "reading the cases");
  check_cases_read(check, &cases);
  for (size_t f = 0; f < cases.file_count; ++f) {
    for (size_t i = 0; i < cases.files[f].count; ++i) add_case(set, check, &cases.files[f], i);
  }
}
