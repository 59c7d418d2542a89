// SPDX-License-Identifier: Apache-2.0
// Two targets, first and second, whose rules are in the text of a test: BYOC_TEST_RULES holds one rule per line.
//
//   first.conv_relu := Relu(Conv(%x, @w))          a pattern
//   first.any merge only=f32 := group Exp Add      a group rule; flags in front of :=
//
// Flags: merge, pass_constants, by_cost, limit=N (max_nodes), only=f32 (declines nodes that give another element type),
// vector (declines where %b is no vector; its hook says what it got), tells=x,ws (the hook says what these names of the
// pattern stand for).
//
// Their hooks say what they are asked by `log`, and hand back each function as it is, or do as the target's option
// `answer` says: decline gives it back, fail fails. `prepare` makes first optimise its functions before. The target
// that BYOC_TEST_LATE names declines, too, without an option: costs that were measured before stay those of the target.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("demo_rows", "1.0", "first,second", "Targets whose rules stand in the test", 4);

enum { MAX_RULES = 16, MAX_OPERATORS = 16, TEXT_BYTES = 4096 };

static const byoc_host_t *host;
static char text[TEXT_BYTES];
static const char *operators[2][MAX_RULES][MAX_OPERATORS];
static byoc_rule_t rules[2][MAX_RULES];
static const char *told[2][MAX_RULES]; // names, separated by commas; NULL: none
static uint32_t rule_counts[2];

// ---- rules ----

static int32_t accept_f32(void *self, byoc_region_t *region) {
  (void)self;
  for (uint64_t i = 0; i < host->region->node_count(region); ++i) {
    const byoc_value_t *value = host->graph->node_result(host->region->node_at(region, i), 0);
    if (host->graph->value_dtype(value) == BYOC_DTYPE_F32) continue;
    return host->region->decline(region, "only f32 is done here");
  }
  return 1;
}

static int32_t accept_vector(void *self, byoc_region_t *region) {
  (void)self;
  if (host->graph->value_rank(host->region->value(region, "b")) == 1) return 1;
  return host->region->decline(region, "b is no vector");
}

static void read_flags(char *flags, byoc_rule_t *rule, const char **out_told) {
  char *rest = NULL;
  for (char *word = strtok_r(flags, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    if (strcmp(word, "merge") == 0) rule->flags |= BYOC_RULE_MERGE;
    if (strcmp(word, "pass_constants") == 0) rule->flags |= BYOC_RULE_PASS_CONSTANTS;
    if (strcmp(word, "by_cost") == 0) rule->flags |= BYOC_RULE_BY_COST;
    if (strncmp(word, "limit=", 6) == 0) rule->max_nodes = (uint32_t)atoi(word + 6);
    if (strcmp(word, "only=f32") == 0) rule->accept = accept_f32;
    if (strcmp(word, "vector") == 0) rule->accept = accept_vector;
    if (strncmp(word, "tells=", 6) == 0) *out_told = word + 6;
  }
}

static void read_rule(char *line) {
  char *body = strstr(line, " := "), *flags = strchr(line, ' ');
  if (body == NULL) return;
  *body = '\0';
  body += 4;
  *flags = '\0';
  const int target = strncmp(line, "second.", 7) == 0;
  const uint32_t index = rule_counts[target];
  if (index == MAX_RULES) return;
  byoc_rule_t *rule = &rules[target][index];
  *rule = (byoc_rule_t){.header = BYOC_HEADER(byoc_rule_t, 1), .name = line};
  told[target][index] = NULL;
  if (flags < body - 4) read_flags(flags + 1, rule, &told[target][index]);
  if (strncmp(body, "group ", 6) == 0) {
    const char **names = operators[target][index];
    char *rest = NULL;
    for (char *word = strtok_r(body + 6, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
      if (rule->operators.count < MAX_OPERATORS) names[rule->operators.count++] = word;
    }
    rule->operators.items = names;
  } else {
    rule->pattern = body;
  }
  rule_counts[target] += 1;
}

// ---- hooks ----

static int32_t answer(byoc_codegen_t *codegen, byoc_function_t *function, const char *how) {
  const char *late = getenv("BYOC_TEST_LATE");
  if (late != NULL && strcmp(late, host->target->kind(host->codegen->target(codegen))) == 0) how = "decline";
  if (strcmp(how, "decline") == 0) return host->codegen->decline(codegen, function, "the test says so");
  if (strcmp(how, "fail") == 0) return host->codegen->error(codegen, BYOC_UNSUPPORTED, "the test says so");
  return host->edit->hand_back(codegen, function);
}

// What the names of a rule stand for in the hook.
static void log_vector(byoc_codegen_t *codegen, byoc_function_t *function) {
  for (uint32_t r = 0; r < rule_counts[0]; ++r) {
    if (rules[0][r].accept != accept_vector) continue;
    byoc_region_t *region = host->codegen->match(codegen, function, NULL, rules[0][r].pattern);
    char line[80];
    if (region == NULL) continue;
    snprintf(line, sizeof(line), "in the hook the rank of b is %d",
             (int)host->graph->value_rank(host->region->value(region, "b")));
    host->codegen->log(codegen, line);
  }
}

// "ws=f32[16]:0.01": type, sizes, and a constant's first element.
static void tell_value(const byoc_value_t *value, const char *name, char *line, size_t size) {
  size_t at = strlen(line);
  if (value == NULL) {
    snprintf(line + at, size - at, " %s=none", name);
    return;
  }
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  at += (size_t)snprintf(line + at, size - at, " %s=%s[", name, byoc_dtype_name(host->graph->value_dtype(value)));
  for (int32_t d = 0; d < host->graph->value_rank(value) && at < size; ++d) {
    at +=
        (size_t)snprintf(line + at, size - at, "%s%lld", d > 0 ? "," : "", (long long)host->graph->value_dim(value, d));
  }
  double first = 0;
  const int is_constant = host->graph->value_constant(value, &data) != 0;
  if (is_constant && data.dtype == BYOC_DTYPE_F32) first = (double)*(const float *)data.data;
  if (is_constant && data.dtype == BYOC_DTYPE_I32) first = *(const int32_t *)data.data;
  if (is_constant && data.dtype == BYOC_DTYPE_I8) first = *(const int8_t *)data.data;
  if (is_constant && data.dtype == BYOC_DTYPE_U8) first = *(const uint8_t *)data.data;
  if (at < size) at += (size_t)snprintf(line + at, size - at, "]");
  if (at < size && is_constant) snprintf(line + at, size - at, ":%g", first);
}

// What the names of the rule that made the function stand for.
static void tell(byoc_codegen_t *codegen, byoc_function_t *function, int target) {
  const char *composite = host->graph->function_string(function, BYOC_ATTRIBUTE_COMPOSITE, "");
  for (uint32_t r = 0; r < rule_counts[target]; ++r) {
    const byoc_rule_t *rule = &rules[target][r];
    if (told[target][r] == NULL || strcmp(rule->name, composite) != 0) continue;
    byoc_region_t *region = host->codegen->match(codegen, function, NULL, rule->pattern);
    char line[1024], names[256], *rest = NULL;
    snprintf(line, sizeof(line), "%s:", rule->name);
    snprintf(names, sizeof(names), "%s", told[target][r]);
    for (char *name = strtok_r(names, ",", &rest); name != NULL && region != NULL; name = strtok_r(NULL, ",", &rest)) {
      tell_value(host->region->value(region, name), name, line, sizeof(line));
    }
    host->codegen->log(codegen, line);
  }
}

// The whole module at once.
static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_target_t *target = host->codegen->target(codegen);
  const uint64_t count = host->codegen->function_count(codegen);
  char line[512];
  snprintf(line, sizeof(line), "hook of '%s': %llu functions", host->target->text(target), (unsigned long long)count);
  host->codegen->log(codegen, line);
  int32_t status = BYOC_OK;
  for (uint64_t i = 0; i < count && status == BYOC_OK; ++i) {
    log_vector(codegen, host->codegen->function_at(codegen, i));
    tell(codegen, host->codegen->function_at(codegen, i), 0);
    status = answer(codegen, host->codegen->function_at(codegen, i), host->target->option_string(target, "answer"));
  }
  return status;
}

// Function by function.
static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self;
  const byoc_target_t *target = host->codegen->target(codegen);
  char line[512];
  snprintf(line, sizeof(line), "hook of '%s': function %s", host->target->text(target),
           host->graph->function_symbol(function));
  host->codegen->log(codegen, line);
  tell(codegen, function, 1);
  return answer(codegen, function, host->target->option_string(target, "answer"));
}

// Neg(Neg(x)) → x, and what becomes constant or unused goes.
static int32_t prepare(void *self, byoc_codegen_t *codegen) {
  (void)self;
  if (!host->target->option_int(host->codegen->target(codegen), "prepare")) return BYOC_OK;
  int32_t status = BYOC_OK;
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    byoc_function_t *function = host->codegen->function_at(codegen, i);
    for (uint64_t n = 0; n < host->graph->node_count(function) && status == BYOC_OK; ++n) {
      byoc_value_t *result = host->graph->node_result(host->graph->node_at(function, n), 0);
      byoc_region_t *region = host->codegen->match(codegen, function, result, "Neg(Neg(%x))");
      if (region != NULL) status = host->edit->replace_value(codegen, result, host->region->value(region, "x"));
    }
  }
  return status == BYOC_OK ? host->edit->run_passes(codegen, "fold-constants,remove-dead-code") : status;
}

// ---- the plugin ----

static const byoc_option_t options[] = {{.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "answer",
                                         .type = BYOC_OPTION_CHOICE,
                                         .choices = "back|decline|fail",
                                         .default_value = "back",
                                         .help = "what the hook does with its functions"},
                                        {.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "level",
                                         .type = BYOC_OPTION_INT,
                                         .minimum = 0,
                                         .maximum = 99,
                                         .default_value = "1",
                                         .help = "a number that the hook reads"},
                                        {.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "prepare",
                                         .type = BYOC_OPTION_BOOL,
                                         .help = "optimise before generating"}};

static byoc_backend_t backends[2] = {{.header = BYOC_HEADER(byoc_backend_t, 1),
                                      .target = "first",
                                      .description = "Rules of a test, one hook for the module",
                                      .flags = BYOC_BACKEND_EVERY_MACHINE,
                                      .options = options,
                                      .option_count = 3,
                                      .option_stride = sizeof(options[0]),
                                      .rule_stride = sizeof(byoc_rule_t),
                                      .generate = generate,
                                      .prepare = prepare},
                                     {.header = BYOC_HEADER(byoc_backend_t, 1),
                                      .target = "second",
                                      .description = "Rules of a test, one hook a function",
                                      .flags = BYOC_BACKEND_EVERY_MACHINE,
                                      .options = options,
                                      .option_count = 3,
                                      .option_stride = sizeof(options[0]),
                                      .rule_stride = sizeof(byoc_rule_t),
                                      .generate_function = generate_function}};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const list[] = {&backends[0], &backends[1]};
  host = from_host;
  const char *given = getenv("BYOC_TEST_RULES");
  snprintf(text, sizeof(text), "%s", given != NULL ? given : "");
  rule_counts[0] = rule_counts[1] = 0;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) read_rule(line);
  for (int i = 0; i < 2; ++i) {
    backends[i].rules = rules[i];
    backends[i].rule_count = rule_counts[i];
  }
  out_plugin->backends = list;
  out_plugin->backend_count = 2;
  return BYOC_OK;
}
