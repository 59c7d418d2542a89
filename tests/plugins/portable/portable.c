// SPDX-License-Identifier: Apache-2.0
// A plugin whose runtime code is announced in each way (byoc_runtime_code_t), one target for each: by files that lie
// beside the plugin, where the test puts them. The targets called port_<case> negate f32 by an engine; `shim` takes
// absolute values by a static library.
#include <string.h>

#include "byoc/plugin.h"

#define TARGETS                                                                                                        \
  "port,shim,port_archive,port_wrong,port_gone,port_broken,port_header,port_lost,port_symbol,port_array,"              \
  "port_none"

BYOC_PLUGIN_IDENTITY_NEEDS("portable", "1.0", TARGETS, "Runtime code for other machines, announced in each way", 5);

#define FILE_AT(path_)                                                                                                 \
  { .header = BYOC_HEADER(byoc_file_content_t, 1), .path = path_ }
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const byoc_host_t *host;

// ---- runtime code ----

static const byoc_file_content_t engine_files[] = {FILE_AT("engine/engine.c"), FILE_AT("engine/negate.c")};
static const byoc_file_content_t headers[] = {FILE_AT("include"), FILE_AT("engine/sign.h")};
static const byoc_file_content_t shim_files[] = {FILE_AT("shim.c")}, gone_files[] = {FILE_AT("gone.c")};
static const byoc_file_content_t broken_files[] = {FILE_AT("broken.c")}, header_files[] = {FILE_AT("header.c")};
static const byoc_file_content_t archive_files[] = {FILE_AT("aarch64/engine.a")};
static const byoc_file_content_t wrong_files[] = {FILE_AT("wrong/engine.o")}, lost_files[] = {FILE_AT("lost/engine.a")};
// make and the shell read these characters in another way (engine/engine.c).
static const char *const engine_flags[] = {
    "-O2", "-DPORT_SIGN=-1", "-DPORT_SUM=1 + 2", "-DPORT_DOLLAR='$'", "-DPORT_HASH='#'", "-DPORT_TEXT=\"\\\\#`$(x)\""};
// Two groups for one machine, and their archives have one name.
static const byoc_file_content_t first_files[] = {
    {.header = BYOC_HEADER(byoc_file_content_t, 1), .name = "engine.a", .data = "first", .size_bytes = 5}};
static const byoc_file_content_t second_files[] = {
    {.header = BYOC_HEADER(byoc_file_content_t, 1), .name = "engine.a", .data = "second", .size_bytes = 6}};

#define ARCHIVES(name, machines_, files_)                                                                              \
  static const byoc_machine_code_t name[] = {{.header = BYOC_HEADER(byoc_machine_code_t, 1),                           \
                                              .machines = machines_,                                                   \
                                              .files = files_,                                                         \
                                              .file_count = COUNT_OF(files_),                                          \
                                              .file_stride = sizeof((files_)[0])}}
ARCHIVES(archives, "aarch64-linux-gnu arm-*", archive_files);
ARCHIVES(wrong_archives, "aarch64-*", wrong_files);
ARCHIVES(lost_archives, "aarch64-*", lost_files);

#define GROUP(files_)                                                                                                  \
  {                                                                                                                    \
    .header = BYOC_HEADER(byoc_machine_code_t, 1), .machines = "aarch64-*", .files = files_,                           \
    .file_count = COUNT_OF(files_), .file_stride = sizeof((files_)[0])                                                 \
  }
static const byoc_machine_code_t two_groups[] = {GROUP(first_files), GROUP(second_files)};

#define SOURCES(files)                                                                                                 \
  .sources = files, .source_count = COUNT_OF(files), .source_stride = sizeof((files)[0]), .headers = headers,          \
  .header_count = COUNT_OF(headers), .header_stride = sizeof(headers[0]),                                              \
  .flags = {engine_flags, COUNT_OF(engine_flags)}
#define ARCHIVED(name) .archives = name, .archive_count = COUNT_OF(name), .archive_stride = sizeof((name)[0])

#define CODE(name_, ...)                                                                                               \
  static const byoc_runtime_code_t code_##name_[] = {                                                                  \
      {.header = BYOC_HEADER(byoc_runtime_code_t, 1), .name = #name_, __VA_ARGS__}}
CODE(port, SOURCES(engine_files));
CODE(shim, SOURCES(shim_files));
CODE(port_archive, ARCHIVED(archives));
CODE(port_wrong, ARCHIVED(wrong_archives));
CODE(port_lost, ARCHIVED(lost_archives));
CODE(port_gone, SOURCES(gone_files));
CODE(port_broken, SOURCES(broken_files));
CODE(port_header, SOURCES(header_files));
CODE(port_symbol, SOURCES(shim_files));
CODE(port_array, ARCHIVED(two_groups));

// ---- hooks ----

static int32_t add_engine(byoc_codegen_t *codegen) {
  const byoc_file_content_t file = FILE_AT("no file of this machine");
  byoc_engine_module_t module = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                 .name = host->target->kind(host->codegen->target(codegen)),
                                 .symbol = "port_engine",
                                 .files = &file}; // but no files: those that are announced
  if (strcmp(module.name, "port_array") == 0) {   // not an array, which announced code makes useless
    module.file_count = 2;
    module.file_stride = 1 << 30;
  }
  return host->codegen->add_engine(codegen, &module);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  int32_t status = BYOC_OK;
  (void)self;
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    const byoc_json_module_t json = {.header = BYOC_HEADER(byoc_json_module_t, 1),
                                     .engine = host->target->kind(host->codegen->target(codegen)),
                                     .json = "{}"};
    status = host->codegen->add_json(codegen, host->codegen->function_at(codegen, i), &json);
  }
  return status == BYOC_OK ? add_engine(codegen) : status;
}

static int32_t generate_shim(void *self, byoc_codegen_t *codegen) {
  static const char *const symbols[] = {"shim_abs"};
  int32_t status = BYOC_OK;
  (void)self;
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1), .symbol = symbols[0]};
    status = host->codegen->bind_packed(codegen, host->codegen->function_at(codegen, i), &binding);
  }
  const byoc_static_library_t module = {
      .header = BYOC_HEADER(byoc_static_library_t, 1), .name = "shim", .symbols = {symbols, COUNT_OF(symbols)}};
  return status == BYOC_OK ? host->codegen->add_static_library(codegen, &module) : status;
}

// ---- the plugin ----

#define BACKEND(name_, pattern_, hook, code_, count)                                                                   \
  static const byoc_rule_t rule_##name_[] = {                                                                          \
      {.header = BYOC_HEADER(byoc_rule_t, 1), .name = #name_ ".rule", .pattern = pattern_}};                           \
  static const byoc_backend_t name_ = {.header = BYOC_HEADER(byoc_backend_t, 1),                                       \
                                       .target = #name_,                                                               \
                                       .description = "runtime code, announced",                                       \
                                       .rules = rule_##name_,                                                          \
                                       .rule_count = 1,                                                                \
                                       .rule_stride = sizeof(byoc_rule_t),                                             \
                                       .generate = hook,                                                               \
                                       .runtime_code = code_,                                                          \
                                       .runtime_code_count = count,                                                    \
                                       .runtime_code_stride = sizeof(byoc_runtime_code_t)}
#define ENGINE(name) BACKEND(name, "Neg<f32>(%x)", generate, code_##name, 1)
ENGINE(port);
ENGINE(port_archive);
ENGINE(port_wrong);
ENGINE(port_lost);
ENGINE(port_gone);
ENGINE(port_broken);
ENGINE(port_header);
ENGINE(port_symbol);
ENGINE(port_array);
BACKEND(port_none, "Neg<f32>(%x)", generate, NULL, 0);
BACKEND(shim, "Abs<f32>(%x)", generate_shim, code_shim, 1);

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&port,       &port_archive, &port_wrong,  &port_lost,
                                                   &port_gone,  &port_broken,  &port_header, &port_symbol,
                                                   &port_array, &port_none,    &shim};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = COUNT_OF(backends);
  return BYOC_OK;
}
