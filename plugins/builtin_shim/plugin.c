// SPDX-License-Identifier: Apache-2.0
// A plugin of the kind "built-in shim": a table says which operators become which calls of a library's C functions.
// Nothing here knows the library. README.md has the map of the files; docs/tables.md describes tables.
#include <stdio.h>
#include <string.h>

#include "byoc/plugin.h"

#include "code.h"
#include "library.h"
#include "packed.h"
#include "rule.h"

BYOC_PLUGIN_IDENTITY_NEEDS(BYOC_SHIM_TARGET, BYOC_SHIM_VERSION, BYOC_SHIM_TARGET, BYOC_SHIM_DESCRIPTION, 4);

// The table that the build put into the plugin; table_reader has none, and gets those that the host loads.
#ifdef BYOC_SHIM_TABLE
extern const unsigned char BYOC_SHIM_TABLE[];
extern const unsigned long long BYOC_SHIM_TABLE_SIZE;
#define OF_TABLE "the table of '" BYOC_SHIM_TARGET "': "
#else
static const unsigned char BYOC_SHIM_TABLE[1];
static const unsigned long long BYOC_SHIM_TABLE_SIZE;
#define OF_TABLE ""
#endif

typedef struct shim_plugin_t {
  byoc_shim_library_t library; // first: the backend's self is the library's too
  byoc_rule_t rules[BYOC_SHIM_MAX_RULES];
  byoc_shim_code_t code;
  byoc_backend_t backend;
  const byoc_backend_t *backends[1];
} shim_plugin_t;

// The rule whose root node the match binds: rules name their roots after themselves.
static const json_t *find_rule_by_root(const shim_plugin_t *plugin, const byoc_region_t *region) {
  const byoc_shim_table_t *table = &plugin->library.table;
  for (uint32_t i = 0; i < table->rule_count; ++i) {
    const json_t *rule = json_array_get(table->rules, i);
    if (plugin->library.host->region->node(region, byoc_shim_rule_root(table->target, rule)) != NULL) return rule;
  }
  return NULL;
}

static int32_t accept_region(void *self, byoc_region_t *region) {
  const shim_plugin_t *plugin = self;
  const byoc_host_t *host = plugin->library.host;
  const json_t *rule = find_rule_by_root(plugin, region);
  if (rule == NULL) return host->region->decline(region, "no rule of the table has this match");
  byoc_shim_scope_t scope = {.host = host, .region = region};
  if (byoc_shim_walk_rule(&scope, plugin->library.table.target, rule, NULL)) return 1;
  return host->region->decline(region, scope.error);
}

static const json_t *find_rule_by_name(const byoc_shim_table_t *table, const char *name) {
  for (uint32_t i = 0; i < table->rule_count; ++i) {
    const json_t *rule = json_array_get(table->rules, i);
    if (strcmp(json_string_value(json_object_get(rule, "name")), name) == 0) return rule;
  }
  return NULL;
}

// Matches again, writes the rule's operators and calls in front of the match, and takes the match out.
static int32_t rewrite_function(const shim_plugin_t *plugin, byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_host_t *host = plugin->library.host;
  const byoc_shim_table_t *table = &plugin->library.table;
  const json_t *rule = find_rule_by_name(table, host->graph->function_string(function, BYOC_ATTRIBUTE_COMPOSITE, ""));
  if (rule == NULL) return host->codegen->decline(codegen, function, "it is not a match of one of the table's rules");
  const char *pattern = json_string_value(json_object_get(rule, "pattern"));
  byoc_shim_scope_t scope = {.host = host, .region = host->codegen->match(codegen, function, NULL, pattern)};
  if (scope.region == NULL) return host->codegen->decline(codegen, function, "its body does not match its rule");
  // Its conditions held when it was accepted; constants that they looked at may be parameters here.
  if (byoc_shim_packed_symbol(rule) != NULL) return byoc_shim_bind_packed(&scope, rule, codegen, function);
  if (!byoc_shim_walk_rule(&scope, table->target, rule, NULL)) {
    return host->codegen->decline(codegen, function, scope.error);
  }
  const byoc_shim_rewrite_t rewrite = {codegen, function,
                                       host->region->node(scope.region, byoc_shim_rule_root(table->target, rule))};
  if (!byoc_shim_walk_rule(&scope, table->target, rule, &rewrite)) {
    if (scope.error[0] == '\0') return BYOC_INTERNAL; // the host knows why
    return host->codegen->error(codegen, BYOC_INTERNAL, scope.error);
  }
  return host->edit->hand_back(codegen, function);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  shim_plugin_t *plugin = self;
  const byoc_codegen_api_t *api = plugin->library.host->codegen;
  int32_t status = BYOC_OK;
  for (uint64_t i = 0; i < api->function_count(codegen) && status == BYOC_OK; ++i) {
    status = rewrite_function(plugin, codegen, api->function_at(codegen, i));
  }
  return status == BYOC_OK ? byoc_shim_library_add(&plugin->library, codegen) : status;
}

static void destroy(void *self) {
  shim_plugin_t *plugin = self;
  const byoc_host_t *host = plugin->library.host;
  byoc_shim_library_deinit(&plugin->library);
  host->resize(host, plugin, 0);
}

static const char *find_table(const byoc_host_t *host, uint64_t *out_size_bytes) {
  const byoc_table_api_t *api = byoc_shim_table_api(host);
  if (api != NULL) return api->text(host, out_size_bytes);
  *out_size_bytes = BYOC_SHIM_TABLE_SIZE;
  return BYOC_SHIM_TABLE_SIZE > 0 ? (const char *)BYOC_SHIM_TABLE : NULL;
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  uint64_t size_bytes = 0;
  const char *text = find_table(host, &size_bytes);
  if (text == NULL) {
    return host->error(host, BYOC_UNSUPPORTED,
                       "this plugin makes backends of tables: pass the table, NAME.json, instead");
  }
  shim_plugin_t *plugin = host->resize(host, NULL, sizeof(*plugin));
  if (plugin == NULL) return host->error(host, BYOC_OUT_OF_MEMORY, "no memory for the plugin");
  memset(plugin, 0, sizeof(*plugin));
  plugin->library.host = host;
  byoc_shim_table_t *table = &plugin->library.table;
  char error[400];
  if (!byoc_shim_table_read(host, text, (size_t)size_bytes, table, error, sizeof(error))) {
    host->resize(host, plugin, 0);
    char message[480];
    if (error[0] == '\0') return BYOC_INVALID_DATA;
    snprintf(message, sizeof(message), OF_TABLE "%s", error);
    return host->error(host, BYOC_INVALID_DATA, message);
  }
  for (uint32_t i = 0; i < table->rule_count; ++i) {
    const json_t *rule = json_array_get(table->rules, i);
    plugin->rules[i] = (byoc_rule_t){.header = BYOC_HEADER(byoc_rule_t, 1),
                                     .name = json_string_value(json_object_get(rule, "name")),
                                     .pattern = json_string_value(json_object_get(rule, "pattern")),
                                     .flags = byoc_shim_passes_constants(rule) ? BYOC_RULE_PASS_CONSTANTS : 0,
                                     .accept = accept_region};
  }
  plugin->backend = (byoc_backend_t){.header = BYOC_HEADER(byoc_backend_t, 1),
                                     .target = table->target,
                                     .description = table->description,
                                     .flags = BYOC_BACKEND_REENTRANT,
                                     .self = plugin,
                                     .options = table->options,
                                     .option_count = table->option_count,
                                     .option_stride = sizeof(*table->options),
                                     .rules = plugin->rules,
                                     .rule_count = table->rule_count,
                                     .rule_stride = sizeof(*plugin->rules),
                                     .generate = generate,
                                     .runtime_code = &plugin->code.code,
                                     .runtime_code_count = byoc_shim_code_make(table, &plugin->code),
                                     .runtime_code_stride = sizeof(plugin->code.code)};
  plugin->backends[0] = &plugin->backend;
  out_plugin->self = plugin;
  out_plugin->backends = plugin->backends;
  out_plugin->backend_count = 1;
  out_plugin->destroy = destroy;
  return BYOC_OK;
}
