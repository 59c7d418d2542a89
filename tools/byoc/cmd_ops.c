// SPDX-License-Identifier: Apache-2.0
// byoc ops: prints what the operator table says, and which targets' rules name an operator.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "core/op/declared.h"
#include "core/plugin/pattern.h"
#include "model_ops.h"
#include "session.h"
#include "table.h"
#include "tools/common/json_print.h"

// The operators that the rules of one target name: text map "domain::name" → any.
typedef struct rules_t {
  const char *target;
  byoc_map_t operators;
} rules_t;

typedef struct {
  byoc_arena_t arena; // of patterns
  rules_t *targets;
  size_t count;
  bool failed;
} naming_t;

// ---- which rules name what ----

static void note_operator(void *self, const char *domain, const char *name) {
  naming_t *naming = self;
  const char *key = byoc_arena_format(&naming->arena, "%s::%s", domain, name);
  bool noted = key && byoc_string_map_put(&naming->targets[naming->count - 1].operators, key, naming);
  if (!noted) naming->failed = true;
}

static void note_rule(naming_t *naming, const byoc_rule_t *rule) {
  const byoc_pattern_t *pattern = NULL;
  if (rule->pattern != NULL) {
    byoc_status_t status = byoc_pattern_parse(rule->pattern, rule->name, &naming->arena, NULL, &pattern);
    if (status == BYOC_OK) byoc_pattern_each_operator(pattern, note_operator, naming);
    if (status != BYOC_OK) naming->failed = true; // it was parsed when the plugin was loaded
  }
  for (uint64_t i = 0; i < rule->operators.count; ++i) {
    const char *name = rule->operators.items[i], *colons = strstr(name, "::");
    const char *domain = colons ? byoc_arena_format(&naming->arena, "%.*s", (int)(colons - name), name) : "";
    note_operator(naming, domain ? domain : "", colons ? colons + 2 : name);
  }
}

static byoc_status_t naming_read(naming_t *naming, const byoc_session_t *session, byoc_diag_t *diag) {
  (void)byoc_plugin_registry_load_all(session->registry);
  byoc_target_registry_t targets = byoc_plugin_registry_targets(session->registry);
  naming->targets = BYOC_ARENA_ARRAY(&naming->arena, rules_t, targets.name_count + 1);
  if (naming->targets == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < targets.name_count; ++i) {
    const byoc_target_kind_t *kind = targets.lookup(targets.self, targets.names[i]);
    if (kind == NULL || kind->backend == NULL) continue;
    rules_t *rules = &naming->targets[naming->count++];
    rules->target = kind->name;
    byoc_string_map_init(&rules->operators, session->allocator);
    for (uint32_t r = 0; r < kind->backend->rule_count; ++r) note_rule(naming, &kind->backend->rules[r]);
  }
  return naming->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static void naming_deinit(naming_t *naming) {
  for (size_t i = 0; i < naming->count; ++i) byoc_map_deinit(&naming->targets[i].operators);
  byoc_arena_deinit(&naming->arena);
}

static bool names(const rules_t *rules, const char *domain, const char *op) {
  char key[256];
  snprintf(key, sizeof key, "%s::%s", domain, op);
  return byoc_string_map_find(&rules->operators, key) != NULL;
}

// ---- parts ----

static bool same_operator(const byoc_op_t *a, const byoc_op_t *b) {
  return a && b && strcmp(a->name, b->name) == 0 && strcmp(a->domain, b->domain) == 0;
}

// Versions of an operator stand one after the other in the table, except for those of an expansion.
static bool is_first_version(size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (same_operator(byoc_op_at(i), byoc_op_at(index))) return false;
  }
  return true;
}

// "Conv", "byoc::Conv"
static const char *full_name(const byoc_op_t *op, char buffer[256]) {
  snprintf(buffer, 256, "%s%s%s", op->domain, op->domain[0] ? "::" : "", op->name);
  return buffer;
}

static void append_range(byoc_string_t *out, int32_t least, int32_t most, const char *what) {
  if (most < 0) {
    byoc_string_appendf(out, "%d or more %ss", least, what);
  } else if (least == most) {
    byoc_string_appendf(out, "%d %s%s", least, what, byoc_plural((uint64_t)least));
  } else {
    byoc_string_appendf(out, "%d to %d %ss", least, most, what);
  }
}

static void append_traits(byoc_string_t *out, const byoc_op_t *op) {
  const char *comma = "";
  for (uint32_t bit = 0; bit < 32; ++bit) {
    if (!(op->traits >> bit & 1)) continue;
    byoc_string_appendf(out, "%s%s", comma, byoc_op_trait_name(bit));
    comma = ", ";
  }
  if (op->work != BYOC_WORK_USUAL) byoc_string_appendf(out, "%s%s", comma, byoc_op_work_name(op->work));
}

static const char *kind_of(const byoc_op_attribute_t *attribute) {
  return attribute->is_block ? "a graph" : byoc_attribute_kind_name(attribute->value.kind);
}

static void append_default(byoc_string_t *out, const byoc_attribute_t *value) {
  switch (value->kind) {
  case BYOC_ATTRIBUTE_INT:
    byoc_string_appendf(out, "%lld", (long long)value->i);
    break;
  case BYOC_ATTRIBUTE_FLOAT:
    byoc_string_appendf(out, "%g", value->f);
    break;
  case BYOC_ATTRIBUTE_STRING:
    byoc_string_appendf(out, "\"%s\"", value->s);
    break;
  case BYOC_ATTRIBUTE_INTS:
    for (size_t i = 0; i < value->count; ++i)
      byoc_string_appendf(out, "%s%lld", i ? ", " : "[", (long long)value->ints[i]);
    byoc_string_append(out, "]");
    break;
  default:
    break;
  }
}

// ---- text ----

static void print_attribute(const byoc_op_attribute_t *attribute, byoc_string_t *out) {
  byoc_string_appendf(out, "    %-30s %s", attribute->value.name, kind_of(attribute));
  if (attribute->required) byoc_string_append(out, ", required");
  if (attribute->has_default) byoc_string_append(out, ", default ");
  if (attribute->has_default) append_default(out, &attribute->value);
  for (size_t i = 0; attribute->allowed && attribute->allowed[i]; ++i) {
    byoc_string_appendf(out, "%s\"%s\"", i ? ", " : ", one of ", attribute->allowed[i]);
  }
  if (attribute->since != 0) byoc_string_appendf(out, ", since version %d", attribute->since);
  if (attribute->until != 0) byoc_string_appendf(out, ", before version %d", attribute->until);
  byoc_string_append(out, "\n");
}

static void print_targets(const naming_t *naming, const char *domain, const char *op, byoc_string_t *out) {
  const char *comma = "";
  for (size_t i = 0; i < naming->count; ++i) {
    if (!names(&naming->targets[i], domain, op)) continue;
    byoc_string_appendf(out, "%s%s", comma, naming->targets[i].target);
    comma = ", ";
  }
}

// "  loops       serial i ...", further lines indented as the first one.
static void print_lines(const char *what, const char *text, byoc_string_t *out) {
  if (text == NULL || text[0] == '\0') return;
  byoc_string_appendf(out, "  %-12s", what);
  for (const char *at = text;;) {
    const size_t size = strcspn(at, "\n");
    byoc_string_appendf(out, "%.*s\n", (int)size, at);
    at += size;
    if (*at == '\0' || at[1] == '\0') return;
    ++at;
    byoc_string_appendf(out, "%14s", "");
  }
}

static void print_declaration(const byoc_op_declaration_t *declaration, const byoc_op_extension_t *extension,
                              byoc_string_t *out) {
  print_lines("about", declaration->description, out);
  print_lines("signature", declaration->signature, out);
  print_lines("element", declaration->element, out);
  print_lines("loops", declaration->loops, out);
  byoc_string_appendf(out, "  plugin      %s %s, %s\n", extension->name, extension->version, extension->path);
}

// All that the table says about the operator of row `index`.
static void print_operator(const naming_t *naming, size_t index, byoc_string_t *out) {
  char name[256];
  const byoc_op_t *op = byoc_op_at(index), *last = op;
  byoc_string_appendf(out, "%s\n", full_name(op, name));
  for (size_t i = index; i < byoc_op_count(); ++i) {
    const byoc_op_t *row = byoc_op_at(i);
    if (!same_operator(row, op)) continue;
    byoc_string_appendf(out, "  version %-3d ", row->since_version);
    append_range(out, row->min_inputs, row->max_inputs, "operand");
    byoc_string_append(out, ", ");
    append_range(out, row->min_outputs, row->max_outputs, "result");
    byoc_string_append(out, "\n");
    last = row;
  }
  if (last->attributes && last->attributes->value.name) byoc_string_append(out, "  attributes\n");
  for (const byoc_op_attribute_t *a = last->attributes; a && a->value.name; ++a) {
    // Attributes that ended before the first version, or began after the last one, belong to other operators of the
    // table.
    bool concerns = (a->until == 0 || a->until > op->since_version) && a->since <= last->since_version;
    if (concerns) print_attribute(a, out);
  }
  if (last->traits != 0 || last->work != BYOC_WORK_USUAL) {
    byoc_string_append(out, "  traits      ");
    append_traits(out, last);
    byoc_string_append(out, "\n");
  }
  const byoc_op_declaration_t *declaration = byoc_op_declaration(last);
  if (declaration != NULL) print_declaration(declaration, last->extension, out);
  byoc_string_append(out, "  targets     ");
  const size_t before = out->size;
  print_targets(naming, op->domain, op->name, out);
  byoc_string_append(out, out->size == before ? "c alone\n" : "\n");
}

// One line for each operator.
static void print_table(const naming_t *naming, byoc_table_t *table, byoc_allocator_t allocator) {
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    if (!is_first_version(i)) continue;
    char name[256];
    const byoc_op_t *op = byoc_op_at(i), *last = op;
    byoc_string_t versions, attributes, targets;
    byoc_string_init(&versions, allocator);
    byoc_string_init(&attributes, allocator);
    byoc_string_init(&targets, allocator);
    for (size_t k = i; k < byoc_op_count(); ++k) {
      if (!same_operator(byoc_op_at(k), op)) continue;
      last = byoc_op_at(k);
      byoc_string_appendf(&versions, "%s%d", k == i ? "" : ", ", last->since_version);
    }
    for (const byoc_op_attribute_t *a = last->attributes; a && a->value.name; ++a) {
      if (!byoc_op_attribute_holds(a, last->since_version)) continue;
      byoc_string_appendf(&attributes, "%s%s", attributes.size ? ", " : "", a->value.name);
    }
    print_targets(naming, op->domain, op->name, &targets);
    byoc_table_cell(table, "%s", full_name(op, name));
    byoc_table_cell(table, "%s", versions.data);
    byoc_table_cell(table, "%s", attributes.data);
    byoc_table_cell(table, "%s", targets.data);
    table->failed |= versions.failed || attributes.failed || targets.failed;
    byoc_string_deinit(&versions);
    byoc_string_deinit(&attributes);
    byoc_string_deinit(&targets);
  }
}

// ---- JSON ----

static json_t *default_to_json(const byoc_attribute_t *value) {
  json_t *list = NULL;
  switch (value->kind) {
  case BYOC_ATTRIBUTE_INT:
    return json_integer(value->i);
  case BYOC_ATTRIBUTE_FLOAT:
    return json_real(value->f);
  case BYOC_ATTRIBUTE_STRING:
    return json_string(value->s);
  default:
    list = json_array();
    for (size_t i = 0; i < value->count && value->ints; ++i) json_array_append_new(list, json_integer(value->ints[i]));
    return list;
  }
}

static json_t *attribute_to_json(const byoc_op_attribute_t *attribute) {
  json_t *object = json_pack("{s:s, s:s, s:b}", "name", attribute->value.name, "kind", kind_of(attribute), "required",
                             (int)attribute->required);
  if (attribute->has_default) json_object_set_new(object, "default", default_to_json(&attribute->value));
  if (attribute->allowed) json_object_set_new(object, "allowed", json_array());
  for (size_t i = 0; attribute->allowed && attribute->allowed[i]; ++i) {
    json_array_append_new(json_object_get(object, "allowed"), json_string(attribute->allowed[i]));
  }
  return object;
}

static json_t *version_to_json(const byoc_op_t *op) {
  json_t *attributes = json_array(), *traits = json_array();
  for (const byoc_op_attribute_t *a = op->attributes; a && a->value.name; ++a) {
    if (byoc_op_attribute_holds(a, op->since_version)) json_array_append_new(attributes, attribute_to_json(a));
  }
  for (uint32_t bit = 0; bit < 32; ++bit) {
    if (op->traits >> bit & 1) json_array_append_new(traits, json_string(byoc_op_trait_name(bit)));
  }
  return json_pack("{s:i, s:[i,i], s:[i,i], s:o, s:s, s:o}", "version", op->since_version, "operands", op->min_inputs,
                   op->max_inputs, "results", op->min_outputs, op->max_outputs, "traits", traits, "work",
                   byoc_op_work_name(op->work), "attributes", attributes);
}

static json_t *operator_to_json(const naming_t *naming, size_t index) {
  const byoc_op_t *op = byoc_op_at(index);
  json_t *versions = json_array(), *targets = json_array();
  for (size_t i = index; i < byoc_op_count(); ++i) {
    if (same_operator(byoc_op_at(i), op)) json_array_append_new(versions, version_to_json(byoc_op_at(i)));
  }
  for (size_t i = 0; i < naming->count; ++i) {
    if (names(&naming->targets[i], op->domain, op->name))
      json_array_append_new(targets, json_string(naming->targets[i].target));
  }
  json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "operator", op->name, "domain", op->domain, "versions", versions,
                             "targets", targets);
  if (op->extension != NULL) json_object_set_new(object, "plugin", byoc_json_string(op->extension->name));
  return object;
}

// ---- what rules see of a model ----

static json_t *model_op_to_json(const naming_t *naming, const model_op_t *op) {
  json_t *targets = json_array();
  for (size_t i = 0; i < naming->count; ++i) {
    if (names(&naming->targets[i], op->domain, op->name)) {
      json_array_append_new(targets, json_string(naming->targets[i].target));
    }
  }
  return json_pack("{s:s, s:s, s:i, s:s, s:I, s:s, s:o}", "operator", op->name, "domain", op->domain, "version",
                   (int)op->version, "pattern", op->pattern, "nodes", (json_int_t)op->count, "types", op->types,
                   "targets", targets);
}

static void print_model_op(const naming_t *naming, const model_op_t *op, byoc_table_t *table,
                           byoc_allocator_t allocator) {
  byoc_string_t targets;
  byoc_string_init(&targets, allocator);
  print_targets(naming, op->domain, op->name, &targets);
  byoc_table_cell(table, "%s", op->pattern);
  byoc_table_cell(table, "%d", (int)op->version);
  byoc_table_cell(table, "%llu", (unsigned long long)op->count);
  byoc_table_cell(table, "%s", op->types);
  byoc_table_cell(table, "%s", targets.size > 0 ? targets.data : "c alone");
  table->failed |= targets.failed;
  byoc_string_deinit(&targets);
}

static byoc_status_t list_model(const byoc_session_t *session, const naming_t *naming, bool json, byoc_diag_t *diag) {
  model_ops_t ops;
  model_ops_count(session->setup.build.module, session->allocator, &ops);
  byoc_status_t status = ops.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK && json) {
    json_t *array = json_array();
    for (size_t i = 0; i < ops.rows.count; ++i) {
      json_array_append_new(array, model_op_to_json(naming, &ops.rows.data[i]));
    }
    status = byoc_json_print(array, diag);
  } else if (status == BYOC_OK) {
    static const byoc_table_column_t columns[] = {{"operator", false, false},
                                                  {"version", true, false},
                                                  {"nodes", true, false},
                                                  {"results", false, false},
                                                  {"targets", false, true}};
    byoc_table_t table;
    byoc_string_t text;
    byoc_string_init(&text, session->allocator);
    byoc_table_init(&table, columns, sizeof columns / sizeof *columns, session->allocator);
    for (size_t i = 0; i < ops.rows.count; ++i) print_model_op(naming, &ops.rows.data[i], &table, session->allocator);
    byoc_table_print(&table, 0, &text);
    if (table.failed || text.failed) status = byoc_diag_out_of_memory(diag);
    if (status == BYOC_OK) fputs(text.data, stdout);
    byoc_table_deinit(&table);
    byoc_string_deinit(&text);
  }
  model_ops_deinit(&ops, session->allocator);
  return status;
}

// The model as it is when rules are matched against it.
static byoc_status_t simplify(byoc_session_t *session, const char *model, const byoc_string_items_t *asked,
                              byoc_diag_t *diag) {
  if (asked->count > 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "--after-simplify lists all operators of the model: '%s' is one word too many",
                           asked->items[0]);
  }
  BYOC_RETURN_IF_ERROR(byoc_session_parse_targets(session, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_read_model(session, model, diag));
  if (session->setup.build.module == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is a host program, which has no operators", model);
  }
  return byoc_session_compile(session, BYOC_BUILD_SIMPLIFIED, diag);
}

// ---- the command ----

// The operator in "Conv", "::Conv" or "byoc::ToBlocked", and its domain. "ai.onnx::Conv" is "Conv": messages write
// ONNX's domain out.
static const char *split_name(const char *name, char domain[128]) {
  const char *colons = strstr(name, "::");
  snprintf(domain, 128, "%.*s", colons ? (int)(colons - name) : 0, name);
  if (strcmp(domain, "ai.onnx") == 0) domain[0] = '\0';
  return colons ? colons + 2 : name;
}

static bool is_asked_for(const byoc_op_t *op, const byoc_string_items_t *asked) {
  char domain[128];
  for (size_t i = 0; i < asked->count; ++i) {
    const char *name = split_name(asked->items[i], domain);
    if (strcmp(name, op->name) == 0 && strcmp(domain, op->domain) == 0) return true;
  }
  return asked->count == 0;
}

static byoc_status_t check_names(const byoc_string_items_t *asked, byoc_diag_t *diag) {
  for (size_t i = 0; i < asked->count; ++i) {
    char domain[128];
    const char *op = split_name(asked->items[i], domain);
    if (byoc_op_known(domain, op)) continue;
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no operator '%s'", asked->items[i]);
    const char *nearest = byoc_op_nearest(domain, op);
    if (nearest) byoc_diag_hint(diag, "did you mean '%s%s%s'?", domain, domain[0] ? "::" : "", nearest);
    return BYOC_INVALID_ARGUMENT;
  }
  return BYOC_OK;
}

static byoc_status_t list(const byoc_session_t *session, const naming_t *naming, const byoc_string_items_t *asked,
                          bool json, byoc_diag_t *diag) {
  if (json) {
    json_t *array = json_array();
    for (size_t i = 0; i < byoc_op_count(); ++i) {
      if (is_first_version(i) && is_asked_for(byoc_op_at(i), asked)) {
        json_array_append_new(array, operator_to_json(naming, i));
      }
    }
    return byoc_json_print(array, diag);
  }
  byoc_string_t text;
  byoc_string_init(&text, session->allocator);
  bool failed = false;
  if (asked->count == 0) {
    static const byoc_table_column_t columns[] = {
        {"operator", false, false}, {"versions", false, false}, {"attributes", false, true}, {"targets", false, false}};
    byoc_table_t table;
    byoc_table_init(&table, columns, sizeof columns / sizeof *columns, session->allocator);
    print_table(naming, &table, session->allocator);
    byoc_table_print(&table, 0, &text);
    failed = table.failed;
    byoc_table_deinit(&table);
  }
  for (size_t i = 0; i < byoc_op_count() && asked->count > 0; ++i) {
    if (is_first_version(i) && is_asked_for(byoc_op_at(i), asked)) print_operator(naming, i, &text);
  }
  failed |= text.failed;
  if (!failed) fputs(text.data, stdout);
  byoc_string_deinit(&text);
  return failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

int byoc_main_ops(int argc, char **argv) {
  byoc_session_options_t options = {0};
  byoc_string_items_t asked = {0};
  const char *model = NULL;
  bool json = false, done = false;
  const byoc_option_row_t rows[] = {
      {"after-simplify", 0, BYOC_OPT_STRING, &model, "MODEL",
       "the operators of this model as rules see them, after the pass simplify: versions, constant operands, counts"},
      {"json", 0, BYOC_OPT_FLAG, &json, "", "as JSON, with each version's operands, attributes and traits"},
      {"target", 't', BYOC_OPT_LIST, &options.targets, "TARGET",
       "with --after-simplify: the targets of the build, which change what simplify recognises (default: c)"},
      {"plugin", 0, BYOC_OPT_LIST, &options.plugins, "FILE", "load this plugin too"},
      BYOC_PREFER_ROW(options),
      BYOC_DIM_ROW(options),
  };
  static const char *const operands[] = {NULL};
  const byoc_usage_t usage = {
      .command = "byoc ops",
      .synopsis = "[NAME...] [--after-simplify MODEL] [--json] [--plugin FILE] [--prefer PATH]",
      .summary = "list the operators, or describe one: its versions, operands, attributes and traits, and the targets "
                 "whose rules name it",
      .operands = operands,
      .more_operands = &asked,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "NAME is an operator of ONNX (Conv), or one with its domain (byoc::Conv). Passes and expansions make the\n"
          "operators of domain byoc; models cannot have them. 'c' runs the operators that no target claims.\n",
  };
  byoc_diag_t diag = {0};
  byoc_session_t session = {0};
  naming_t naming = {0};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, NULL, &done);
  if (status == BYOC_OK && !done) {
    status = byoc_session_open(&options, &diag, &session);
    byoc_arena_init(&naming.arena, session.allocator);
    if (status == BYOC_OK) status = naming_read(&naming, &session, &diag);
    if (status == BYOC_OK && model != NULL) status = simplify(&session, model, &asked, &diag);
    if (status == BYOC_OK && model == NULL) status = check_names(&asked, &diag); // plugins may have brought them
    if (status == BYOC_OK && model != NULL) status = list_model(&session, &naming, json, &diag);
    if (status == BYOC_OK && model == NULL) status = list(&session, &naming, &asked, json, &diag);
    naming_deinit(&naming);
    byoc_session_close(&session);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
