// SPDX-License-Identifier: Apache-2.0
// Reads the rules of a table and applies their steps to a match.
#include "rule.h"

#include "packed.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 32, MAX_ARGUMENTS = 32, MAX_OPERANDS = 16, MAX_UNROLL = 1024 };

// The result of a step, by name. The value is NULL unless the function is being rewritten.
typedef struct result_t {
  const char *name;
  byoc_value_t *value;
} result_t;

typedef struct walk_t {
  byoc_shim_scope_t *scope;
  const byoc_host_t *host;
  const byoc_shim_rewrite_t *rewrite;
  const char *root; // the name of the pattern's root node
  uint32_t dtype;   // element type of calls: their results, `real` arguments and steps through memory
  result_t results[MAX_NAMES];
  size_t result_count;
  int64_t turn; // of a step repeated by `for`, named i
} walk_t;

static bool is_checking(const walk_t *w) {
  return w->scope->region == NULL;
}

// The host has recorded why.
static bool host_refused(walk_t *w) {
  w->scope->error[0] = '\0';
  return false;
}

// ---- reading fields ----

bool byoc_shim_check_members(byoc_shim_scope_t *scope, json_t *object, const char *known) {
  if (!json_is_object(object)) return byoc_shim_fail(scope, "an object expected");
  const char *key;
  json_t *member;
  json_object_foreach(object, key, member) {
    const size_t length = strlen(key);
    const char *at = length > 0 ? strstr(known, key) : NULL;
    while (at != NULL && ((at != known && at[-1] != ' ') || (at[length] != ' ' && at[length] != '\0'))) {
      at = strstr(at + 1, key);
    }
    if (at == NULL) return byoc_shim_fail(scope, "unknown member '%.64s', there are: %s", key, known);
  }
  return true;
}

// The name of a result if the table does not say.
#define DEFAULT_RESULT "result"

// A string that may be left out.
static bool may_have_text(walk_t *w, const json_t *object, const char *key, const char *fallback,
                          const char **out_text) {
  const json_t *member = json_object_get(object, key);
  *out_text = member == NULL ? fallback : json_string_value(member);
  return *out_text != NULL || byoc_shim_fail(w->scope, "'%s' is not a string", key);
}

static bool read_text(walk_t *w, const json_t *object, const char *key, const char **out_text) {
  *out_text = json_string_value(json_object_get(object, key));
  return *out_text != NULL || byoc_shim_fail(w->scope, "the string '%s' is missing", key);
}

// An optional condition.
static bool read_condition(walk_t *w, const json_t *object, const char *key, bool *out_truth) {
  double number = 1;
  const json_t *expression = json_object_get(object, key);
  *out_truth = true;
  if (expression == NULL) return true;
  if (!byoc_shim_evaluate_number(w->scope, expression, &number)) return byoc_shim_fail_in(w->scope, "'%s'", key);
  *out_truth = number != 0;
  return true;
}

static bool read_count(walk_t *w, const json_t *object, const char *key, int64_t *out_count) {
  const json_t *expression = json_object_get(object, key);
  *out_count = 1;
  if (expression == NULL) return true;
  if (!byoc_shim_evaluate_int(w->scope, expression, out_count)) return byoc_shim_fail_in(w->scope, "'%s'", key);
  return *out_count >= 1 || byoc_shim_fail(w->scope, "'%s' is %lld", key, (long long)*out_count);
}

// ---- values ----

// A result of an earlier step, or a name of the pattern.
static bool find_value(walk_t *w, const char *name, byoc_value_t **out_value) {
  *out_value = NULL;
  for (size_t i = 0; i < w->result_count; ++i) {
    if (strcmp(w->results[i].name, name) != 0) continue;
    *out_value = w->results[i].value;
    return true;
  }
  if (!byoc_shim_in_pattern(w->scope->pattern, name)) {
    return byoc_shim_fail(w->scope, "unknown value '%.64s'", name);
  }
  if (is_checking(w)) return true;
  *out_value = byoc_shim_bound(w->scope, name);
  return *out_value != NULL || byoc_shim_fail(w->scope, "'%.64s' is not part of this match", name);
}

static bool put_result(walk_t *w, const char *name, byoc_value_t *value) {
  size_t i = 0;
  while (i < w->result_count && strcmp(w->results[i].name, name) != 0) ++i;
  if (i == MAX_NAMES) return byoc_shim_fail(w->scope, "more than %d results", MAX_NAMES);
  w->results[i] = (result_t){name, value};
  if (i == w->result_count) ++w->result_count;
  return true;
}

static bool make_constant(walk_t *w, uint32_t dtype, uint32_t rank, int64_t dim, const void *data, uint64_t size_bytes,
                          byoc_value_t **out_value) {
  if (w->rewrite == NULL) return true;
  const byoc_tensor_data_t tensor = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                     .dtype = dtype,
                                     .rank = rank,
                                     .dims = &dim,
                                     .data = data,
                                     .size_bytes = size_bytes};
  *out_value = w->host->edit->constant(w->rewrite->codegen, w->rewrite->function, &tensor);
  return *out_value != NULL || host_refused(w);
}

// An operand of an operator: a name, {"ints": [...]} or {"real": ...}, the latter two as constants.
static bool read_operand(walk_t *w, json_t *item, byoc_value_t **out_value) {
  *out_value = NULL;
  if (json_is_string(item)) return find_value(w, json_string_value(item), out_value);
  if (!byoc_shim_check_members(w->scope, item, "ints real")) return false;
  const json_t *ints = json_object_get(item, "ints");
  if (ints != NULL) {
    int64_t values[BYOC_SHIM_MAX_DIMS];
    uint32_t count = 0;
    if (!byoc_shim_evaluate_ints(w->scope, ints, values, &count)) return false;
    return make_constant(w, BYOC_DTYPE_I64, 1, count, values, count * sizeof(*values), out_value);
  }
  double number = 0;
  if (!byoc_shim_evaluate_number(w->scope, json_object_get(item, "real"), &number)) return false;
  const float single = (float)number;
  if (w->dtype == BYOC_DTYPE_F64) return make_constant(w, w->dtype, 0, 0, &number, sizeof(number), out_value);
  return make_constant(w, BYOC_DTYPE_F32, 0, 0, &single, sizeof(single), out_value);
}

// ---- operators ----

static bool copy_attribute(walk_t *w, const byoc_node_t *from, byoc_node_t *to, const char *name) {
  const byoc_graph_api_t *graph = w->host->graph;
  const byoc_edit_api_t *edit = w->host->edit;
  byoc_codegen_t *codegen = w->rewrite->codegen;
  if (!graph->has_attribute(from, name)) return true;
  uint64_t count = 0;
  int32_t status;
  const int64_t *ints = graph->attribute_ints(from, name, &count);
  const char *text = graph->attribute_string(from, name, NULL);
  if (ints != NULL)
    status = edit->set_ints(codegen, to, name, ints, count);
  else if (text != NULL)
    status = edit->set_string(codegen, to, name, text);
  else
    status = edit->set_int(codegen, to, name, graph->attribute_int(from, name, 0));
  return status == BYOC_OK || host_refused(w);
}

// "copy": {"conv": ["strides", ...]}: integer, list and string attributes that a matched node has.
static bool copy_attributes(walk_t *w, json_t *copy, byoc_node_t *to) {
  const char *name;
  json_t *list;
  json_object_foreach(copy, name, list) {
    if (!byoc_shim_in_pattern(w->scope->pattern, name) || !json_is_array(list)) {
      return byoc_shim_fail(w->scope, "'copy' needs a node of the pattern and a list, not '%.64s'", name);
    }
    for (size_t i = 0; i < json_array_size(list); ++i) {
      const char *attribute = json_string_value(json_array_get(list, i));
      if (attribute == NULL) return byoc_shim_fail(w->scope, "'copy': attribute %zu is not a string", i + 1);
      if (w->rewrite == NULL) continue;
      const byoc_node_t *from = w->host->region->node(w->scope->region, name);
      if (from == NULL) return byoc_shim_fail(w->scope, "'copy': '%.64s' is not a node", name);
      if (!copy_attribute(w, from, to, attribute)) return false;
    }
  }
  return true;
}

// "attributes": {"axis": "rank(x) - 1", "kernel_shape": ["dims(w, 2)"], "alpha": {"real": ...}, "mode": {"text": ...}}
static bool set_attributes(walk_t *w, json_t *attributes, byoc_node_t *to) {
  const byoc_edit_api_t *edit = w->host->edit;
  const char *name;
  json_t *item;
  json_object_foreach(attributes, name, item) {
    int32_t status = BYOC_OK;
    bool ok;
    if (json_is_array(item)) {
      int64_t ints[BYOC_SHIM_MAX_DIMS];
      uint32_t count = 0;
      ok = byoc_shim_evaluate_ints(w->scope, item, ints, &count);
      if (ok && to != NULL) status = edit->set_ints(w->rewrite->codegen, to, name, ints, count);
    } else if (json_is_string(json_object_get(item, "text"))) {
      ok = byoc_shim_check_members(w->scope, item, "text");
      const char *text = json_string_value(json_object_get(item, "text"));
      if (ok && to != NULL) status = edit->set_string(w->rewrite->codegen, to, name, text);
    } else if (json_is_object(item)) {
      double real = 0;
      ok = byoc_shim_check_members(w->scope, item, "real") &&
           byoc_shim_evaluate_number(w->scope, json_object_get(item, "real"), &real);
      if (ok && to != NULL) status = edit->set_float(w->rewrite->codegen, to, name, real);
    } else {
      int64_t number = 0;
      ok = byoc_shim_evaluate_int(w->scope, item, &number);
      if (ok && to != NULL) status = edit->set_int(w->rewrite->codegen, to, name, number);
    }
    if (!ok) return byoc_shim_fail_in(w->scope, "attribute '%.64s'", name);
    if (status != BYOC_OK) return host_refused(w);
  }
  return true;
}

static bool walk_operator(walk_t *w, json_t *step, byoc_value_t **out_value) {
  if (!byoc_shim_check_members(w->scope, step, "op operands attributes copy result when else")) return false;
  const char *name = NULL;
  if (!read_text(w, step, "op", &name)) return false;
  const json_t *list = json_object_get(step, "operands");
  const size_t count = json_array_size(list);
  if (count > MAX_OPERANDS) return byoc_shim_fail(w->scope, "more than %d operands", MAX_OPERANDS);
  byoc_value_t *operands[MAX_OPERANDS];
  for (size_t i = 0; i < count; ++i) {
    if (read_operand(w, json_array_get(list, i), &operands[i])) continue;
    return w->scope->error[0] != '\0' ? byoc_shim_fail_in(w->scope, "operand %zu", i + 1) : false;
  }
  byoc_node_t *node = NULL;
  if (w->rewrite != NULL) {
    const char *colons = strstr(name, "::");
    char domain[64] = "";
    if (colons != NULL) snprintf(domain, sizeof(domain), "%.*s", (int)(colons - name), name);
    node = w->host->edit->create_node(w->rewrite->codegen, w->rewrite->function, w->rewrite->root, domain,
                                      colons != NULL ? colons + 2 : name, operands, (uint32_t)count, 1);
    if (node == NULL) return host_refused(w);
    *out_value = w->host->graph->node_result(node, 0);
  }
  return copy_attributes(w, json_object_get(step, "copy"), node) &&
         set_attributes(w, json_object_get(step, "attributes"), node);
}

// ---- calls ----

typedef struct call_t {
  byoc_c_call_t c;
  byoc_c_argument_t arguments[MAX_ARGUMENTS];
  const char *operand_names[MAX_OPERANDS];
  byoc_value_t *operands[MAX_OPERANDS];
  uint32_t operand_count;
  int64_t dims[BYOC_SHIM_MAX_DIMS];
  uint32_t rank;
} call_t;

static bool call_operand(walk_t *w, call_t *call, const char *name, uint32_t *out_index) {
  *out_index = 0;
  while (*out_index < call->operand_count && strcmp(call->operand_names[*out_index], name) != 0) ++*out_index;
  if (*out_index < call->operand_count) return true;
  // One slot is kept for the result of the previous iteration.
  if (call->operand_count == MAX_OPERANDS - 1) return byoc_shim_fail(w->scope, "too many operands");
  call->operand_names[call->operand_count] = name;
  return find_value(w, name, &call->operands[call->operand_count++]);
}

// A count of elements as bytes.
static bool read_bytes(walk_t *w, const json_t *expression, int64_t *out_bytes) {
  *out_bytes = 0;
  if (expression == NULL) return true;
  if (!byoc_shim_evaluate_int(w->scope, expression, out_bytes)) return false;
  *out_bytes *= byoc_dtype_bits(w->dtype) / 8;
  return true;
}

// "&name" or ["&name", offset, step], in elements.
static bool read_pointer(walk_t *w, const json_t *item, const char *result, call_t *call, byoc_c_argument_t *out) {
  const bool is_list = json_is_array(item);
  const char *text = json_string_value(is_list ? json_array_get(item, 0) : item);
  if (text == NULL || text[0] != '&') return byoc_shim_fail(w->scope, "'&name' expected");
  out->type = BYOC_C_POINTER;
  out->kind = strcmp(text + 1, result) == 0 ? BYOC_C_ARGUMENT_RESULT : BYOC_C_ARGUMENT_OPERAND;
  if (out->kind == BYOC_C_ARGUMENT_OPERAND && !call_operand(w, call, text + 1, &out->index)) return false;
  if (!is_list) return true;
  if (json_array_size(item) > 3) return byoc_shim_fail(w->scope, "more than a name, an offset and a step");
  return read_bytes(w, json_array_get(item, 1), &out->offset_bytes) &&
         read_bytes(w, json_array_get(item, 2), &out->step_bytes);
}

// "i32 EXPRESSION", also i64, f32, f64 and real (f32 or f64, as the rule's dtype is).
static bool read_scalar(walk_t *w, const char *text, byoc_c_argument_t *out) {
  static const struct {
    const char *name;
    uint32_t kind, type;
  } kinds[] = {{"i32 ", BYOC_C_ARGUMENT_INTEGER, BYOC_C_I32},
               {"i64 ", BYOC_C_ARGUMENT_INTEGER, BYOC_C_I64},
               {"f32 ", BYOC_C_ARGUMENT_REAL, BYOC_C_F32},
               {"f64 ", BYOC_C_ARGUMENT_REAL, BYOC_C_F64},
               {"real ", BYOC_C_ARGUMENT_REAL, BYOC_C_F32}};
  size_t i = 0;
  while (i < sizeof(kinds) / sizeof(*kinds) && strncmp(text, kinds[i].name, strlen(kinds[i].name)) != 0) ++i;
  if (i == sizeof(kinds) / sizeof(*kinds)) {
    return byoc_shim_fail(
        w->scope, "'%.64s' is none of: &name, null, runtime, i32, i64, f32, f64 or real and an expression", text);
  }
  out->kind = kinds[i].kind;
  out->type = kinds[i].type;
  if (kinds[i].name[0] == 'r' && w->dtype == BYOC_DTYPE_F64) out->type = BYOC_C_F64;
  json_t *expression = json_string(text + strlen(kinds[i].name));
  if (expression == NULL) return byoc_shim_fail(w->scope, "out of memory, or not UTF-8");
  const bool is_integer = out->kind == BYOC_C_ARGUMENT_INTEGER;
  bool ok = is_integer ? byoc_shim_evaluate_int(w->scope, expression, &out->integer)
                       : byoc_shim_evaluate_number(w->scope, expression, &out->real);
  if (ok && out->type == BYOC_C_I32 && (out->integer > INT32_MAX || out->integer < INT32_MIN)) {
    ok = byoc_shim_fail(w->scope, "'%.64s' is %lld, which no 32-bit integer holds", text, (long long)out->integer);
  }
  json_decref(expression);
  return ok;
}

// A string, or one for each element type: {"f32": "cblas_sgemm", "f64": "cblas_dgemm"}.
static bool read_symbol(walk_t *w, const json_t *symbol, const char **out_symbol) {
  const char *key = byoc_dtype_name(w->dtype);
  *out_symbol = json_string_value(json_is_object(symbol) ? json_object_get(symbol, key) : symbol);
  if (*out_symbol != NULL || is_checking(w)) return true;
  return byoc_shim_fail(w->scope, "there is no function for element type %s", key);
}

static bool read_return(walk_t *w, const json_t *step, uint32_t *out_type) {
  static const char *const names[] = {"void", "i32", "i64", "f32", "f64", NULL, "status"};
  const json_t *item = json_object_get(step, "returns");
  const char *name = item != NULL ? json_string_value(item) : "void";
  for (uint32_t i = 0; name != NULL && i < sizeof(names) / sizeof(*names); ++i) {
    *out_type = i;
    if (names[i] != NULL && strcmp(names[i], name) == 0) return true;
  }
  return byoc_shim_fail(w->scope, "'returns' is none of void, i32, i64, f32, f64, status");
}

static bool read_arguments(walk_t *w, const json_t *step, const char *result, call_t *call) {
  const json_t *list = json_object_get(step, "arguments");
  if (!json_is_array(list)) return byoc_shim_fail(w->scope, "the list 'arguments' is missing");
  const size_t count = json_array_size(list);
  if (count > MAX_ARGUMENTS) return byoc_shim_fail(w->scope, "more than %d arguments", MAX_ARGUMENTS);
  for (size_t i = 0; i < count; ++i) {
    const json_t *item = json_array_get(list, i);
    const char *text = json_string_value(item);
    byoc_c_argument_t *argument = &call->arguments[i];
    bool ok = true;
    if (text == NULL || text[0] == '&')
      ok = read_pointer(w, item, result, call, argument);
    else if (strcmp(text, "null") == 0)
      *argument = (byoc_c_argument_t){.kind = BYOC_C_ARGUMENT_NULL, .type = BYOC_C_POINTER};
    else if (strcmp(text, "runtime") == 0)
      *argument = (byoc_c_argument_t){.kind = BYOC_C_ARGUMENT_RUNTIME, .type = BYOC_C_POINTER};
    else
      ok = read_scalar(w, text, argument);
    if (!ok) return byoc_shim_fail_in(w->scope, "argument %zu", i + 1);
  }
  call->c.arguments = call->arguments;
  call->c.argument_count = (uint32_t)count;
  return true;
}

// The dimensions of the match's result.
static bool read_root_dims(walk_t *w, call_t *call) {
  if (is_checking(w)) return true;
  const byoc_graph_api_t *graph = w->host->graph;
  const byoc_value_t *value = byoc_shim_bound(w->scope, w->root);
  const int32_t rank = value != NULL ? graph->value_rank(value) : -1;
  if (rank < 0 || rank > BYOC_SHIM_MAX_DIMS) return byoc_shim_fail(w->scope, "the rank of '%s' is not known", w->root);
  call->rank = (uint32_t)rank;
  for (int32_t i = 0; i < rank; ++i) {
    call->dims[i] = graph->value_dim(value, i);
    if (call->dims[i] < 0) return byoc_shim_fail(w->scope, "dimension %d of '%s' is not constant", (int)i, w->root);
  }
  return true;
}

// One call; `previous` is the result of the previous turn, into which this one writes too.
static bool walk_turn(walk_t *w, json_t *step, const char *result, byoc_value_t **previous) {
  call_t call = {.c = {.header = BYOC_HEADER(byoc_c_call_t, 1), .result_from_operand = -1}};
  if (!read_symbol(w, json_object_get(step, "call"), &call.c.symbol) || !read_return(w, step, &call.c.return_type) ||
      !read_count(w, step, "repeat", &call.c.repeat_count) || !read_arguments(w, step, result, &call)) {
    return false;
  }
  const json_t *accumulate = json_object_get(step, "accumulate");
  if (accumulate != NULL) {
    const char *name = json_string_value(accumulate);
    uint32_t index = 0;
    if (name == NULL || !call_operand(w, &call, name, &index)) return byoc_shim_fail_in(w->scope, "'accumulate'");
    call.c.result_from_operand = (int32_t)index;
  }
  const json_t *dims = json_object_get(step, "dims");
  if (!(dims != NULL ? byoc_shim_evaluate_ints(w->scope, dims, call.dims, &call.rank) : read_root_dims(w, &call))) {
    return byoc_shim_fail_in(w->scope, "'dims'");
  }
  if (w->rewrite == NULL) return true;
  if (w->turn > 0) {
    call.c.result_from_operand = (int32_t)call.operand_count;
    call.operands[call.operand_count++] = *previous;
  }
  byoc_node_t *node =
      w->host->edit->create_c_call(w->rewrite->codegen, w->rewrite->function, w->rewrite->root, &call.c, call.operands,
                                   call.operand_count, &w->dtype, &call.rank, call.dims, 1);
  if (node == NULL) return host_refused(w);
  *previous = w->host->graph->node_result(node, 0);
  return true;
}

static bool walk_call(walk_t *w, json_t *step, const char *result, byoc_value_t **out_value) {
  if (!byoc_shim_check_members(w->scope, step, "call returns arguments result dims accumulate repeat for when else"))
    return false;
  int64_t turns = 1;
  if (!read_count(w, step, "for", &turns)) return false;
  if (turns > MAX_UNROLL) return byoc_shim_fail(w->scope, "'for' is %lld, above %d", (long long)turns, MAX_UNROLL);
  for (w->turn = 0; w->turn < turns; ++w->turn) {
    if (!byoc_shim_set(w->scope, "i", (byoc_shim_value_t){.number = (double)w->turn})) return false;
    if (!walk_turn(w, step, result, out_value)) return false;
  }
  return true;
}

// ---- rules ----

static bool walk_step(walk_t *w, json_t *step) {
  const char *result = NULL;
  byoc_value_t *value = NULL;
  bool wanted = true;
  if (!may_have_text(w, step, "result", DEFAULT_RESULT, &result) || !read_condition(w, step, "when", &wanted))
    return false;
  const bool is_call = json_object_get(step, "call") != NULL;
  if ((wanted || is_checking(w)) && !(is_call ? walk_call(w, step, result, &value) : walk_operator(w, step, &value))) {
    return false;
  }
  const json_t *other = json_object_get(step, "else");
  if (other != NULL && (!wanted || is_checking(w))) {
    const char *name = json_string_value(other);
    if (name == NULL || !find_value(w, name, &value)) return byoc_shim_fail_in(w->scope, "'else'");
  }
  return (!wanted && other == NULL && !is_checking(w)) || put_result(w, result, value);
}

static bool walk_steps(walk_t *w, const json_t *steps) {
  if (json_array_size(steps) == 0) return byoc_shim_fail(w->scope, "the list 'steps' is missing");
  for (size_t i = 0; i < json_array_size(steps); ++i) {
    if (walk_step(w, json_array_get(steps, i))) continue;
    return w->scope->error[0] != '\0' ? byoc_shim_fail_in(w->scope, "step %zu", i + 1) : false;
  }
  return true;
}

static bool walk_lets(walk_t *w, json_t *lets) {
  const char *name;
  json_t *expression;
  json_object_foreach(lets, name, expression) {
    byoc_shim_value_t value;
    if (byoc_shim_evaluate(w->scope, expression, &value) && byoc_shim_set(w->scope, name, value)) continue;
    return byoc_shim_fail_in(w->scope, "'%.64s'", name);
  }
  return true;
}

// Pairs of a condition and the reason for declining if it does not hold.
static bool walk_conditions(walk_t *w, const json_t *conditions) {
  for (size_t i = 0; i < json_array_size(conditions); ++i) {
    const json_t *pair = json_array_get(conditions, i);
    const char *reason = json_string_value(json_array_get(pair, 1));
    double truth = 1;
    if (reason == NULL) return byoc_shim_fail(w->scope, "condition %zu is not [condition, reason]", i + 1);
    if (!byoc_shim_evaluate_number(w->scope, json_array_get(pair, 0), &truth)) {
      return byoc_shim_fail_in(w->scope, "condition %zu", i + 1);
    }
    if (truth == 0 && !is_checking(w)) return byoc_shim_fail(w->scope, "%s", reason);
  }
  return true;
}

// The element type that `dtype` (a name of the pattern; left out: its root) has.
static bool read_dtype(walk_t *w, const json_t *rule) {
  const char *name = NULL;
  byoc_value_t *value = NULL;
  if (!may_have_text(w, rule, "dtype", w->root, &name)) return false;
  if (!find_value(w, name, &value)) return byoc_shim_fail_in(w->scope, "'dtype'");
  w->dtype = is_checking(w) ? (uint32_t)BYOC_DTYPE_F32 : w->host->graph->value_dtype(value);
  return true;
}

// Puts the rule's result in the place of the match's, and removes the match.
static bool replace_match(walk_t *w, byoc_value_t *value) {
  const byoc_edit_api_t *edit = w->host->edit;
  byoc_codegen_t *codegen = w->rewrite->codegen;
  byoc_value_t *old = w->host->graph->node_result(w->rewrite->root, 0);
  if (edit->replace_value(codegen, old, value) != BYOC_OK) return host_refused(w);
  for (uint64_t i = w->host->region->node_count(w->scope->region); i-- > 0;) {
    if (edit->erase_node(codegen, w->host->region->node_at(w->scope->region, i)) != BYOC_OK) return host_refused(w);
  }
  return true;
}

const char *byoc_shim_rule_root(const char *target, const json_t *rule) {
  const char *name = json_string_value(json_object_get(rule, "name"));
  const size_t length = strlen(target);
  if (name == NULL || strncmp(name, target, length) != 0 || name[length] != '.') return NULL;
  return name[length + 1] != '\0' ? name + length + 1 : NULL;
}

bool byoc_shim_walk_rule(byoc_shim_scope_t *scope, const char *target, const json_t *rule,
                         const byoc_shim_rewrite_t *rewrite) {
  walk_t w = {.scope = scope, .host = scope->host, .rewrite = rewrite, .root = byoc_shim_rule_root(target, rule)};
  const char *result = NULL, *root = w.root;
  byoc_value_t *value = NULL;
  scope->variable_count = 0;
  if (root == NULL) return byoc_shim_fail(scope, "its name does not begin with '%s.'", target);
  const bool is_packed = json_object_get(rule, "packed") != NULL;
  if (!read_text(&w, rule, "pattern", &scope->pattern) || !may_have_text(&w, rule, "result", DEFAULT_RESULT, &result)) {
    return false;
  }
  if (is_checking(&w)) {
    if (!byoc_shim_check_members(scope, (json_t *)rule, "name pattern dtype let where steps result packed operands"))
      return false;
    if (!byoc_shim_in_pattern(scope->pattern, root)) {
      return byoc_shim_fail(scope, "the root of its pattern must be named '%s'", root);
    }
  }
  if (!read_dtype(&w, rule) || !walk_lets(&w, json_object_get(rule, "let")) ||
      !walk_conditions(&w, json_object_get(rule, "where"))) {
    return false;
  }
  if (is_packed) return byoc_shim_check_packed(scope, rule);
  if (!walk_steps(&w, json_object_get(rule, "steps"))) return false;
  if (!find_value(&w, result, &value)) return byoc_shim_fail_in(scope, "'result'");
  return rewrite == NULL || replace_match(&w, value);
}
