// SPDX-License-Identifier: Apache-2.0
// Takes Relu(Neg(x)) for an engine (reporter_engine.c), and shows what it knows of it: reports about a function and
// about all. It declares options of the engine. Its option -lie makes it hand over what the host has to refuse.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("demo_reporter", "1.0", "reporter", "Relu of Neg by an engine that shows what it does", 5);

extern BYOC_PACKED const byoc_engine_t reporter_engine;
static const byoc_host_t *host;

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  return host->graph->value_dtype(host->region->value(region, "x")) == BYOC_DTYPE_F32
             ? 1
             : host->region->decline(region, "the element type is not f32");
}

#define LIES                                                                                                           \
  "none|null|no_name|bad_name|long_name|bad_kind|empty|huge|control|not_utf8|not_json|stranger|many|all_huge|"         \
  "option_owner|option_null|option_huge|option_cpu|option_precision|option_type|option_twice|option_default|option_"   \
  "name|option_again|option_stride"
static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "lie",
     .type = BYOC_OPTION_CHOICE,
     .choices = LIES,
     .default_value = "none",
     .help = "what to do wrong"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "decline",
     .type = BYOC_OPTION_BOOL,
     .help = "decline each function after a report about it"},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "power", .type = BYOC_OPTION_INT, .default_value = "1"},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "page", .type = BYOC_OPTION_STRING, .help = "a file of HTML"},
};

// ---- run-time options ----

static const byoc_option_t runtime_options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "power",
     .type = BYOC_OPTION_INT,
     .maximum = 3,
     .help = "the power mode"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "mode",
     .type = BYOC_OPTION_CHOICE,
     .choices = "fast|careful",
     .default_value = "careful"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "clock",
     .type = BYOC_OPTION_FLOAT,
     .default_value = "1.5",
     .minimum_f64 = 0.5,
     .maximum_f64 = 2.5,
     .help = "GHz"},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "trace", .type = BYOC_OPTION_BOOL},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "label", .type = BYOC_OPTION_STRING, .maximum = 8},
};
enum { RUNTIME_OPTIONS = sizeof(runtime_options) / sizeof(runtime_options[0]) };

static int32_t declare(byoc_codegen_t *codegen, const char *owner, const byoc_option_t *declared, uint32_t count,
                       uint32_t stride) {
  return host->codegen->declare_runtime_options(codegen, owner, declared, count, stride);
}

static void lie_about_options(byoc_codegen_t *codegen, const char *what) {
  const uint32_t stride = sizeof(byoc_option_t);
  byoc_option_t two[2] = {runtime_options[0], runtime_options[0]};
  if (strcmp(what, "option_owner") == 0) (void)declare(codegen, "nobody", two, 1, stride);
  if (strcmp(what, "option_null") == 0) (void)declare(codegen, "reporter", NULL, 1, stride);
  if (strcmp(what, "option_huge") == 0) (void)declare(codegen, "reporter", two, UINT32_MAX, stride);
  if (strcmp(what, "option_twice") == 0) (void)declare(codegen, "reporter", two, 2, stride);
  if (strcmp(what, "option_stride") == 0) (void)declare(codegen, "reporter", two, 2, 3);
  if (strcmp(what, "option_again") == 0) (void)declare(codegen, "reporter", two, 1, stride);
  two[0].name = "other";
  two[0].type = strcmp(what, "option_cpu") == 0         ? BYOC_OPTION_CPU
                : strcmp(what, "option_precision") == 0 ? BYOC_OPTION_PRECISION
                : strcmp(what, "option_type") == 0      ? 77
                                                        : BYOC_OPTION_INT;
  two[0].choices = "f32|f16";
  two[0].default_value = strcmp(what, "option_default") == 0    ? "4"
                         : two[0].type == BYOC_OPTION_PRECISION ? "f32"
                                                                : NULL;
  if (strcmp(what, "option_name") == 0) two[0].name = "a.b\n";
  if (two[0].type != BYOC_OPTION_INT || strcmp(what, "option_default") == 0 || strcmp(what, "option_name") == 0) {
    (void)declare(codegen, "reporter", two, 1, stride);
  }
}

// ---- reports ----

static int32_t report(byoc_codegen_t *codegen, const byoc_function_t *function, const char *name, uint32_t kind,
                      const char *content, uint64_t size_bytes) {
  const byoc_report_t made = {.header = BYOC_HEADER(byoc_report_t, 1),
                              .name = name,
                              .kind = kind,
                              .content = content,
                              .size_bytes = size_bytes};
  return host->codegen->add_report(codegen, function, &made);
}

static int32_t report_text(byoc_codegen_t *codegen, const byoc_function_t *function, const char *name, uint32_t kind,
                           const char *content) {
  return report(codegen, function, name, kind, content, strlen(content));
}

static int32_t report_page(byoc_codegen_t *codegen, const char *path) {
  static char content[1 << 16];
  if (path[0] == '\0') {
    return report_text(codegen, NULL, "chip", BYOC_REPORT_HTML, "<table><tr><th>units<td>4</table>");
  }
  FILE *file = fopen(path, "rb");
  const size_t size = file != NULL ? fread(content, 1, sizeof(content), file) : 0;
  if (file != NULL) fclose(file);
  return report(codegen, NULL, "chip", BYOC_REPORT_HTML, content, size);
}

// A size that no memory backs: the host must not read the content.
#define GIGABYTE ((uint64_t)1 << 30)

static int32_t report_many(byoc_codegen_t *codegen, uint64_t size_bytes) {
  char *content = malloc((size_t)size_bytes);
  if (content == NULL) return BYOC_OUT_OF_MEMORY;
  memset(content, 'a', (size_t)size_bytes);
  int32_t status = BYOC_OK;
  for (int i = 0; i < 1000 && status == BYOC_OK; ++i) {
    status = report(codegen, NULL, "many", BYOC_REPORT_TEXT, content, size_bytes);
  }
  free(content);
  return status;
}

static int32_t lie(byoc_codegen_t *codegen, const char *what) {
  char name[80];
  memset(name, 'a', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  if (strcmp(what, "null") == 0) return host->codegen->add_report(codegen, NULL, NULL);
  if (strcmp(what, "no_name") == 0) return report_text(codegen, NULL, NULL, BYOC_REPORT_TEXT, "text");
  if (strcmp(what, "bad_name") == 0) return report_text(codegen, NULL, "../a b", BYOC_REPORT_TEXT, "text");
  if (strcmp(what, "long_name") == 0) return report_text(codegen, NULL, name, BYOC_REPORT_TEXT, "text");
  if (strcmp(what, "bad_kind") == 0) return report_text(codegen, NULL, "lie", 77, "text");
  if (strcmp(what, "empty") == 0) return report_text(codegen, NULL, "lie", BYOC_REPORT_TEXT, "");
  if (strcmp(what, "huge") == 0) return report(codegen, NULL, "lie", BYOC_REPORT_TEXT, "text", GIGABYTE);
  if (strcmp(what, "control") == 0) return report_text(codegen, NULL, "lie", BYOC_REPORT_TEXT, "a\033[2Jb");
  if (strcmp(what, "not_utf8") == 0) return report_text(codegen, NULL, "lie", BYOC_REPORT_TEXT, "ab\xff");
  if (strcmp(what, "not_json") == 0) return report_text(codegen, NULL, "lie", BYOC_REPORT_JSON, "{\"a\": }");
  if (strcmp(what, "many") == 0) return report_many(codegen, 10);
  if (strcmp(what, "all_huge") == 0) return report_many(codegen, 1 << 20);
  if (strcmp(what, "stranger") == 0) {
    return report_text(codegen, (const byoc_function_t *)(uintptr_t)name, "lie", BYOC_REPORT_TEXT, "text");
  }
  return BYOC_OK;
}

static int32_t report_all(byoc_codegen_t *codegen) {
  const byoc_target_t *target = host->codegen->target(codegen);
  int32_t status = report_text(codegen, NULL, "log", BYOC_REPORT_TEXT, "scheduled <b>2</b> steps\nin 12 cycles\n");
  if (status == BYOC_OK) status = report_page(codegen, host->target->option_string(target, "page"));
  // A hook that forgets the status is found out, too.
  (void)lie(codegen, host->target->option_string(target, "lie"));
  return status;
}

// ---- generating ----

static int32_t answer(byoc_codegen_t *codegen, byoc_function_t *function, int declines) {
  const byoc_json_module_t json = {
      .header = BYOC_HEADER(byoc_json_module_t, 1), .engine = "reporter", .json = "{\"op\": \"Relu(Neg)\"}"};
  const int32_t status =
      report_text(codegen, function, "schedule", BYOC_REPORT_JSON, "{\"cycles\": 12, \"</script>\": 1}");
  if (status != BYOC_OK) return status;
  return declines ? host->codegen->decline(codegen, function, "it was told to")
                  : host->codegen->add_json(codegen, function, &json);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_codegen_api_t *api = host->codegen;
  const byoc_file_content_t file = {
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "libreporter.a", .path = ENGINE_ARCHIVE};
  const byoc_engine_module_t engine = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                       .name = "reporter",
                                       .symbol = "reporter_engine",
                                       .files = &file,
                                       .file_count = 1,
                                       .file_stride = sizeof(file),
                                       .in_process = &reporter_engine};
  const int declines = (int)host->target->option_int(api->target(codegen), "decline");
  int32_t status = api->add_engine(codegen, &engine);
  if (status == BYOC_OK) {
    status = declare(codegen, "reporter", runtime_options, RUNTIME_OPTIONS, sizeof(runtime_options[0]));
  }
  if (status == BYOC_OK) lie_about_options(codegen, host->target->option_string(api->target(codegen), "lie"));
  for (uint64_t i = 0; i < api->function_count(codegen) && status == BYOC_OK; ++i) {
    status = answer(codegen, api->function_at(codegen, i), declines);
  }
  return status == BYOC_OK ? report_all(codegen) : status;
}

static const byoc_rule_t rules[] = {{.header = BYOC_HEADER(byoc_rule_t, 1),
                                     .name = "reporter.relu_of_neg",
                                     .pattern = "Relu(Neg(%x))",
                                     .accept = accept}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "reporter",
                                       .description = "Relu of Neg by an engine that shows what it does",
                                       .options = options,
                                       .option_count = sizeof(options) / sizeof(options[0]),
                                       .option_stride = sizeof(options[0]),
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
                                       .generate = generate};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
