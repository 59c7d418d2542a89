// SPDX-License-Identifier: Apache-2.0
// Hooks whose answers are cached and that may run at once. Each run of generate for a function logs "compiled <op>".
//
//   expensive   answers are cached, and hooks run at once
//   cached      answers are cached
//   at_once     hooks run at once
//
// Their option -answer says what the hook does, -prepare what the hook prepare does, -meet=N that N hooks wait for each
// other. depends_on returns $DEMO_EXPENSIVE_TOOL ("none": NULL).
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("demo_expensive", "1.0", "expensive,cached,at_once", "Hooks that take long", 5);

extern BYOC_PACKED const byoc_engine_t expensive_engine;
static const byoc_host_t *host;

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "answer",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "json",
     .choices = "json|source|back|module|edit|decline|nodes|fail|crash|exit|end|foreign|report|reports",
     .help = "what the hook does"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "prepare",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "nothing",
     .choices = "nothing|edit|engine|features|report|names|module",
     .help = "what the hook prepare does"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "meet",
     .type = BYOC_OPTION_INT,
     .default_value = "0",
     .maximum = 8,
     .help = "so many hooks wait for each other"}};

// ---- hooks that meet ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static byoc_engine_t *foreign; // a table that is not in the plugin's file
static int64_t inside;

// Waits until `count` hooks are here, for ten seconds at most.
static int32_t meet(byoc_codegen_t *codegen, int64_t count) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 10;
  int failed = 0;
  pthread_mutex_lock(&lock);
  inside += 1;
  pthread_cond_broadcast(&changed);
  while (inside < count && failed == 0) failed = pthread_cond_timedwait(&changed, &lock, &end);
  pthread_mutex_unlock(&lock);
  return failed == 0 ? BYOC_OK : host->codegen->error(codegen, BYOC_INTERNAL, "no other hook runs at the same time");
}

// ---- answers ----

static const char *operator_of(const byoc_function_t *function) {
  const byoc_graph_api_t *graph = host->graph;
  while (graph->node_callee(graph->node_at(function, 0)) != NULL)
    function = graph->node_callee(graph->node_at(function, 0));
  return graph->node_operator(graph->node_at(function, 0));
}

static int32_t add_engine(byoc_codegen_t *codegen, const byoc_engine_t *table) {
  const char *archive = getenv("DEMO_EXPENSIVE_ARCHIVE"); // of a test
  static char weights[100000];                            // its blob, larger than what an entry of a cache has inside
  const byoc_file_content_t file = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                    .name = "libexpensive.a",
                                    .path = archive != NULL ? archive : EXPENSIVE_ENGINE};
  const byoc_file_content_t blob = {
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "weights", .data = weights, .size_bytes = sizeof(weights)};
  const byoc_engine_module_t engine = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                       .name = "expensive",
                                       .symbol = "expensive_engine",
                                       .files = &file,
                                       .file_count = 1,
                                       .file_stride = sizeof(file),
                                       .blobs = &blob,
                                       .blob_count = 1,
                                       .blob_stride = sizeof(blob),
                                       .in_process = table};
  return host->codegen->add_engine(codegen, &engine);
}

static int32_t by_engine(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_engine_t *table) {
  char json[64];
  snprintf(json, sizeof(json), "\"%s\"", operator_of(function));
  const byoc_json_module_t module = {
      .header = BYOC_HEADER(byoc_json_module_t, 1), .engine = "expensive", .json = json, .workspace_size_bytes = 64};
  const int32_t status = add_engine(codegen, table);
  return status == BYOC_OK ? host->codegen->add_json(codegen, function, &module) : status;
}

// With the name of the function in it.
static int32_t by_source(byoc_codegen_t *codegen, byoc_function_t *function) {
  static const struct {
    const char *op, *expression;
  } rows[] = {{"Relu", "x[i] < 0 ? 0 : x[i]"}, {"Neg", "-x[i]"}, {"Abs", "x[i] < 0 ? -x[i] : x[i]"}};
  const char *symbol = host->graph->function_symbol(function), *op = operator_of(function), *expression = NULL;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (strcmp(rows[i].op, op) == 0) expression = rows[i].expression;
  }
  if (expression == NULL) return host->codegen->decline(codegen, function, "there is no source for it");
  char source[1024];
  snprintf(source, sizeof(source),
           "#include \"byoc/call.h\"\nBYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = call->tensors[0].data;\n  float *y = call->tensors[1].data;\n  int64_t count = 1;\n"
           "  for (int32_t d = 0; d < call->tensors[0].ndim; ++d) count *= call->tensors[0].shape[d];\n"
           "  for (int64_t i = 0; i < count; ++i) y[i] = %s;\n  return 0;\n}\n",
           symbol, expression);
  const byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = "source", .source = source, .symbols = {&symbol, 1}};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
  const int32_t status = host->codegen->add_c_source(codegen, &module);
  return status == BYOC_OK ? host->codegen->bind_packed(codegen, function, &binding) : status;
}

static int32_t decline_node(byoc_codegen_t *codegen, byoc_function_t *function) {
  byoc_node_t *node = host->graph->node_at(function, 0);
  if (strcmp(operator_of(function), "Neg") != 0) return by_engine(codegen, function, &expensive_engine);
  return host->codegen->decline_nodes(codegen, function, &node, 1, "Neg takes too long");
}

static int32_t fail(byoc_codegen_t *codegen, const byoc_function_t *function) {
  char text[64];
  if (strcmp(operator_of(function), "Relu") == 0)
    return by_engine(codegen, (byoc_function_t *)(uintptr_t)function, &expensive_engine);
  snprintf(text, sizeof(text), "no code for %s", operator_of(function));
  return host->codegen->error(codegen, BYOC_UNSUPPORTED, text);
}

static int32_t report(byoc_codegen_t *codegen, const byoc_function_t *function, const char *name) {
  const byoc_report_t made = {
      .header = BYOC_HEADER(byoc_report_t, 1), .name = name, .kind = BYOC_REPORT_TEXT, .content = "x", .size_bytes = 1};
  return host->codegen->add_report(codegen, function, &made);
}

// One about all functions, and `count` about this one.
static int32_t with_reports(byoc_codegen_t *codegen, byoc_function_t *function, int count) {
  int32_t status = report(codegen, NULL, "chip");
  for (int i = 0; i < count && status == BYOC_OK; ++i) status = report(codegen, function, "log");
  return status == BYOC_OK ? by_engine(codegen, function, &expensive_engine) : status;
}

static int32_t misbehave(const char *how) {
  if (strcmp(how, "crash") == 0) (void)raise(SIGSEGV);
  if (strcmp(how, "exit") == 0) exit(0);
  pthread_exit(NULL);
}

static int32_t answer(byoc_codegen_t *codegen, byoc_function_t *function, const char *how) {
  if (strcmp(how, "source") == 0) return by_source(codegen, function);
  if (strcmp(how, "back") == 0) return host->edit->hand_back(codegen, function);
  if (strcmp(how, "edit") == 0) return host->edit->run_passes(codegen, "fold-constants");
  if (strcmp(how, "nodes") == 0) return decline_node(codegen, function);
  if (strcmp(how, "decline") == 0) return host->codegen->decline(codegen, function, "it is not worth it");
  if (strcmp(how, "fail") == 0) return fail(codegen, function);
  if (strcmp(how, "report") == 0) return with_reports(codegen, function, 1);
  if (strcmp(how, "reports") == 0) return with_reports(codegen, function, 64);
  if (strcmp(how, "json") != 0 && strcmp(how, "module") != 0 && strcmp(how, "foreign") != 0) return misbehave(how);
  if (strcmp(how, "module") == 0) (void)host->graph->function_count(host->codegen->module(codegen));
  if (strcmp(how, "foreign") != 0) return by_engine(codegen, function, &expensive_engine);
  if (foreign == NULL) foreign = host->resize(host, NULL, sizeof(*foreign));
  if (foreign == NULL) return BYOC_OUT_OF_MEMORY;
  *foreign = expensive_engine;
  return by_engine(codegen, function, foreign);
}

static int32_t require_first_feature(byoc_codegen_t *codegen) {
  char feature[64];
  const char *all = host->codegen->cpu_features(codegen);
  snprintf(feature, sizeof(feature), "%.*s", (int)strcspn(all, " "), all);
  return host->codegen->require_cpu_features(codegen, feature);
}

static int32_t prepare(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const char *how = host->target->option_string(host->codegen->target(codegen), "prepare");
  if (strcmp(how, "edit") == 0) return host->edit->run_passes(codegen, "fold-constants");
  if (strcmp(how, "engine") == 0) return add_engine(codegen, &expensive_engine);
  if (strcmp(how, "features") == 0) return require_first_feature(codegen);
  if (strcmp(how, "report") == 0) return report(codegen, NULL, "chip");
  if (strcmp(how, "names") == 0) (void)host->graph->function_name(host->codegen->function_at(codegen, 0));
  if (strcmp(how, "module") == 0) (void)host->graph->function_count(host->codegen->module(codegen));
  return BYOC_OK;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_target_t *target = host->codegen->target(codegen);
  const int64_t count = host->target->option_int(target, "meet");
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  char line[64];
  snprintf(line, sizeof(line), "compiled %s, one of %d", operator_of(function),
           (int)host->codegen->function_count(codegen));
  host->codegen->log(codegen, line);
  host->codegen->progress(codegen, operator_of(function), 1, 2);
  const int32_t status = count > 1 ? meet(codegen, count) : BYOC_OK;
  return status == BYOC_OK ? answer(codegen, function, host->target->option_string(target, "answer")) : status;
}

static const char *depends_on(void *self, const byoc_target_t *target) {
  (void)self;
  const char *text = getenv("DEMO_EXPENSIVE_TOOL"); // a test's stand-in for a tool's version
  (void)target;
  if (text == NULL) text = "";
  return strcmp(text, "none") == 0 ? NULL : text;
}

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  const int is_f32 = host->graph->value_dtype(host->region->value(region, "x")) == BYOC_DTYPE_F32;
  return is_f32 ? 1 : host->region->decline(region, "the element type is not f32");
}

#define RULE(target, op)                                                                                               \
  { .header = BYOC_HEADER(byoc_rule_t, 1), .name = target "." op, .pattern = op "(%x)", .accept = accept }
#define RULES(target)                                                                                                  \
  { RULE(target, "Relu"), RULE(target, "Neg"), RULE(target, "Abs"), RULE(target, "Exp") }
static const byoc_rule_t rules[3][4] = {RULES("expensive"), RULES("cached"), RULES("at_once")};

#define BACKEND(name, index, bits)                                                                                     \
  {                                                                                                                    \
    .header = BYOC_HEADER(byoc_backend_t, 1), .target = name, .description = "Hooks that take long", .flags = (bits),  \
    .options = options, .option_count = sizeof(options) / sizeof(options[0]), .option_stride = sizeof(options[0]),     \
    .rules = rules[index], .rule_count = 4, .rule_stride = sizeof(rules[0][0]), .generate = generate,                  \
    .prepare = prepare, .depends_on = depends_on                                                                       \
  }
static const byoc_backend_t expensive = BACKEND("expensive", 0, BYOC_BACKEND_CACHED | BYOC_BACKEND_GENERATES_AT_ONCE);
static const byoc_backend_t cached = BACKEND("cached", 1, BYOC_BACKEND_CACHED);
static const byoc_backend_t at_once = BACKEND("at_once", 2, BYOC_BACKEND_GENERATES_AT_ONCE);

static void destroy(void *self) {
  (void)self;
  (void)host->resize(host, foreign, 0);
  foreign = NULL;
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&expensive, &cached, &at_once};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 3;
  out_plugin->destroy = destroy;
  return BYOC_OK;
}
