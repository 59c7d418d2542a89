// SPDX-License-Identifier: Apache-2.0
// Takes Relu for an engine that cannot start on every machine (starter_engine.c). Its option -chip says what the code
// is for; -mute hands over an engine that cannot compare it.
#include <string.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY("demo_starter", "1.0", "starter", "Relu by an engine that may not start");

extern BYOC_PACKED const byoc_engine_t starter_engine;
static const byoc_host_t *host;

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  return host->graph->value_dtype(host->region->value(region, "x")) == BYOC_DTYPE_F32
             ? 1
             : host->region->decline(region, "the element type is not f32");
}

static const byoc_option_t options[] = {{.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "chip",
                                         .type = BYOC_OPTION_STRING,
                                         .help = "the chip that the code is for"},
                                        {.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "mute",
                                         .type = BYOC_OPTION_BOOL,
                                         .help = "an engine without fits"}};

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_codegen_api_t *api = host->codegen;
  const byoc_target_t *target = api->target(codegen);
  const char *chip = host->target->option_string(target, "chip");
  static byoc_engine_t mute;
  mute = starter_engine;
  mute.fits = NULL;
  const byoc_file_content_t file = {
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "libstarter.a", .path = ENGINE_ARCHIVE};
  const byoc_engine_module_t engine = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                       .name = "starter",
                                       .symbol = "starter_engine",
                                       .files = &file,
                                       .file_count = 1,
                                       .file_stride = sizeof(file),
                                       .in_process =
                                           host->target->option_int(target, "mute") ? &mute : &starter_engine};
  const byoc_json_module_t json = {
      .header = BYOC_HEADER(byoc_json_module_t, 1), .engine = "starter", .json = "{\"op\": \"Relu\"}", .fits = chip};
  int32_t status = api->add_engine(codegen, &engine);
  for (uint64_t i = 0; i < api->function_count(codegen) && status == BYOC_OK; ++i) {
    status = api->add_json(codegen, api->function_at(codegen, i), &json);
  }
  return status;
}

static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "starter.relu", .pattern = "Relu(%x)", .accept = accept}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "starter",
                                       .description = "Relu by an engine that may not start",
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
