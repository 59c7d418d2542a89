// SPDX-License-Identifier: Apache-2.0
// The codegen table: answers, modules and services of one run of a generate hook.
#include <stdio.h>
#include <string.h>

#include "core/base/foreign.h"
#include "core/base/log.h"
#include "core/ir/attribute_names.h"
#include "core/plugin/abi.h"
#include "core/plugin/accepted_match.h"
#include "core/plugin/cache.h"
#include "core/plugin/host.h"
#include "core/plugin/pattern.h"
#include "core/plugin/session.h"
#include "core/targets/cpu.h"

enum {
  MAX_KEY_BYTES = 1 << 16,
  MAX_REASON_BYTES = 1000,
  MAX_PRECISION_BYTES = 60,
  MAX_FLAGS = 1 << 16,
  MAX_FLAG_BYTES = 4096
};

// ---- the functions of the run ----

static const byoc_target_t *codegen_target(const byoc_codegen_t *codegen) {
  return codegen->target;
}

static byoc_graph_module_t *codegen_module(const byoc_codegen_t *codegen) {
  byoc_graph_note_read(BYOC_READ_MODULE);
  return codegen->module;
}

static uint64_t codegen_function_count(const byoc_codegen_t *codegen) {
  return codegen->function_count;
}

static byoc_function_t *codegen_function_at(const byoc_codegen_t *codegen, uint64_t index) {
  return index < codegen->function_count ? codegen->functions[index] : NULL;
}

// ---- matching ----

// Copies a match into the session, in one piece with the region that points to it.
static byoc_region_t *copy_match(byoc_codegen_t *codegen, const byoc_match_t *match) {
  byoc_region_t *region = BYOC_ARENA_NEW(&codegen->arena, byoc_region_t);
  byoc_node_t **nodes = byoc_arena_copy(&codegen->arena, match->nodes.data, match->nodes.count * sizeof(*nodes));
  byoc_region_binding_t *bindings =
      byoc_arena_copy(&codegen->arena, match->bindings.data, match->bindings.count * sizeof(*bindings));
  if (region == NULL || nodes == NULL || bindings == NULL) return NULL;
  region->target = codegen->target;
  region->nodes = nodes;
  region->node_count = match->nodes.count;
  region->bindings = bindings;
  region->binding_count = match->bindings.count;
  return region;
}

// True if the function was made by this pattern.
static bool is_rule_of(const byoc_target_t *target, const byoc_function_t *function, const char *pattern) {
  const byoc_backend_t *backend = target->kind->backend;
  const char *composite = byoc_attributes_string(&function->attributes, BYOC_ATTRIBUTE_COMPOSITE, "");
  for (uint32_t r = 0; r < backend->rule_count; ++r) {
    const byoc_rule_t *rule = &backend->rules[r];
    if (rule->pattern == NULL || strcmp(rule->pattern, pattern) != 0) continue;
    if (strcmp(rule->name != NULL ? rule->name : "", composite) == 0) return true;
  }
  return false;
}

static byoc_region_t *codegen_match(byoc_codegen_t *codegen, byoc_function_t *function, byoc_value_t *root,
                                    const char *pattern_text) {
  byoc_diag_t diag = {0};
  byoc_status_t status = BYOC_OK;
  const byoc_pattern_t *pattern = NULL;
  byoc_region_t *region = NULL;
  if (function == NULL || pattern_text == NULL || function->module != codegen->module) {
    status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "match: the function or the pattern is missing");
  } else {
    // Bindings point to the names inside the parsed pattern, which lives as long as the session.
    status = byoc_pattern_parse(pattern_text, codegen->target->kind->name, &codegen->arena, &diag, &pattern);
  }
  if (status == BYOC_OK) {
    if (root == NULL && function->body->results.count > 0) root = function->body->results.data[0];
    byoc_node_t *node = byoc_value_producer(root);
    if (node == NULL || node->function != function) return NULL;
    bool failed = false;
    byoc_match_t match;
    byoc_match_init(&match, codegen->allocator);
    bool is_rule = is_rule_of(codegen->target, function, pattern_text);
    if (is_rule ? byoc_pattern_match_accepted(pattern, function, node, &match, &failed)
                : byoc_pattern_match(pattern, node, NULL, NULL, &match, &failed)) {
      region = copy_match(codegen, &match);
      failed = region == NULL;
    }
    byoc_match_deinit(&match);
    if (failed) status = byoc_diag_out_of_memory(&diag);
  }
  if (status != BYOC_OK) byoc_session_settle(codegen, status, &diag);
  return region;
}

// ---- errors and progress ----

static int32_t codegen_error(byoc_codegen_t *codegen, int32_t status, const char *message) {
  byoc_diag_clear(&codegen->hook_error);
  if (status != BYOC_OK) byoc_diag_error(&codegen->hook_error, status, "%s", message != NULL ? message : "no reason");
  return status;
}

static void codegen_log(byoc_codegen_t *codegen, const char *message) {
  byoc_foreign_beat();
  if (message != NULL) byoc_log(BYOC_LOG_INFO, "%s: %s", codegen->target->kind->name, message);
}

static void codegen_progress(byoc_codegen_t *codegen, const char *what, uint64_t done, uint64_t total) {
  const byoc_codegen_services_t *services = codegen->services;
  byoc_foreign_beat();
  if (services->progress != NULL) services->progress(services->self, what != NULL ? what : "", done, total);
}

// ---- answers ----

static int32_t bind_packed(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_packed_binding_t *binding) {
  byoc_diag_t diag = {0};
  byoc_packed_binding_t read;
  byoc_status_t status = byoc_abi_read(binding, byoc_abi_of(byoc_packed_binding_t), "the binding", &read, &diag);
  const int64_t index = status == BYOC_OK ? byoc_session_claim(codegen, function, &diag) : -1;
  if (status == BYOC_OK && index < 0) status = diag.status;
  if (status == BYOC_OK) {
    status = byoc_session_add_packed(codegen, index, &read, &diag);
    if (status == BYOC_OK)
      byoc_session_answer(codegen, index, BYOC_CODEGEN_BOUND);
    else
      byoc_diag_context(&diag, status, "binding function '%s'", function->name);
  }
  return byoc_session_settle(codegen, status, &diag);
}

static int32_t add_json(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_json_module_t *module) {
  byoc_diag_t diag = {0};
  byoc_json_module_t read;
  byoc_status_t status = byoc_abi_read(module, byoc_abi_of(byoc_json_module_t), "the JSON module", &read, &diag);
  const int64_t index = status == BYOC_OK ? byoc_session_claim(codegen, function, &diag) : -1;
  if (status == BYOC_OK && index < 0) status = diag.status;
  if (status == BYOC_OK) {
    status = byoc_session_add_json(codegen, index, &read, &diag);
    if (status == BYOC_OK)
      byoc_session_answer(codegen, index, BYOC_CODEGEN_BOUND);
    else
      byoc_diag_context(&diag, status, "the JSON of function '%s'", function->name);
  }
  return byoc_session_settle(codegen, status, &diag);
}

static int32_t decline(byoc_codegen_t *codegen, byoc_function_t *function, const char *reason) {
  byoc_diag_t diag = {0};
  const int64_t index = byoc_session_claim(codegen, function, &diag);
  if (index < 0) return byoc_session_settle(codegen, diag.status, &diag);
  codegen->results[index].reason =
      byoc_arena_format(&codegen->arena, "%.*s", MAX_REASON_BYTES, reason != NULL ? reason : "");
  if (codegen->results[index].reason == NULL) {
    return byoc_session_settle(codegen, byoc_diag_out_of_memory(&diag), &diag);
  }
  byoc_session_answer(codegen, index, BYOC_CODEGEN_DECLINED);
  return BYOC_OK;
}

typedef struct find_t {
  const byoc_node_t *node;
  bool is_found;
} find_t;

// Looks for a node in a function and in those that it calls; goes on as long as it is not found.
static bool is_another(void *self, byoc_node_t *node) {
  find_t *find = self;
  find->is_found = find->is_found || node == find->node;
  if (!find->is_found && node->callee != NULL) (void)byoc_block_walk(node->callee->body, is_another, find);
  return !find->is_found;
}

static byoc_status_t take_nodes(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *const *nodes,
                                uint64_t node_count, const char *reason, byoc_codegen_result_t *result,
                                byoc_diag_t *diag) {
  if (nodes == NULL || node_count == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "single nodes of function '%s' are declined, but none is named",
                           function->name);
  }
  for (uint64_t i = 0; i < node_count; ++i) {
    find_t find = {.node = nodes[i]};
    if (nodes[i] != NULL) (void)byoc_block_walk(function->body, is_another, &find);
    if (find.is_found && nodes[i]->callee == NULL) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "node %llu of the %llu that are declined, counted from 0, is no operator of function '%s'",
                           (unsigned long long)i, (unsigned long long)node_count, function->name);
  }
  byoc_graph_note_read(BYOC_READ_NAMES);
  char first[160], more[48] = "";
  byoc_node_describe(nodes[0], first, sizeof(first));
  if (node_count > 1) snprintf(more, sizeof(more), " and %llu more", (unsigned long long)(node_count - 1));
  result->nodes = byoc_arena_copy(&codegen->arena, nodes, (size_t)node_count * sizeof(*nodes));
  result->node_count = (size_t)node_count;
  result->reason =
      byoc_arena_format(&codegen->arena, "%.*s (%s%s)", MAX_REASON_BYTES, reason != NULL ? reason : "", first, more);
  return result->nodes != NULL && result->reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static int32_t decline_nodes(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *const *nodes,
                             uint64_t node_count, const char *reason) {
  byoc_diag_t diag = {0};
  const int64_t index = byoc_session_claim(codegen, function, &diag);
  if (index < 0) return byoc_session_settle(codegen, diag.status, &diag);
  const byoc_status_t status =
      take_nodes(codegen, function, nodes, node_count, reason, &codegen->results[index], &diag);
  if (status == BYOC_OK) byoc_session_answer(codegen, index, BYOC_CODEGEN_DECLINED);
  return byoc_session_settle(codegen, status, &diag);
}

// ---- modules ----

// Reads the struct, calls `adder`, and names the module in the error.
#define ADD_MODULE(type, adder, what)                                                                                  \
  byoc_diag_t diag = {0};                                                                                              \
  type read;                                                                                                           \
  byoc_status_t status = byoc_abi_read(module, byoc_abi_of(type), "the " what, &read, &diag);                          \
  if (status == BYOC_OK) {                                                                                             \
    status = adder(codegen, &read, &diag);                                                                             \
    if (status != BYOC_OK) {                                                                                           \
      byoc_diag_context(&diag, status, "adding the " what " '%.128s'", read.name != NULL ? read.name : "");            \
    }                                                                                                                  \
  }                                                                                                                    \
  return byoc_session_settle(codegen, status, &diag)

static int32_t add_c_source(byoc_codegen_t *codegen, const byoc_c_source_t *module) {
  ADD_MODULE(byoc_c_source_t, byoc_session_add_c_source, "C source");
}

static int32_t add_static_library(byoc_codegen_t *codegen, const byoc_static_library_t *module) {
  ADD_MODULE(byoc_static_library_t, byoc_session_add_static_library, "static library");
}

static int32_t add_engine(byoc_codegen_t *codegen, const byoc_engine_module_t *module) {
  ADD_MODULE(byoc_engine_module_t, byoc_session_add_engine, "engine");
}

// ---- services ----

static byoc_status_t read_request(byoc_codegen_t *codegen, const byoc_compile_request_t *requests, uint32_t stride,
                                  uint32_t i, byoc_diag_t *diag, byoc_compile_request_t *out) {
  BYOC_RETURN_IF_ERROR(
      byoc_abi_read_at(requests, stride, i, byoc_abi_of(byoc_compile_request_t), "a request to compile", out, diag));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_strings(out->flags, "the flags of a compilation", MAX_FLAG_BYTES, MAX_FLAGS,
                                             &codegen->arena, diag, &out->flags));
  if (out->name == NULL) out->name = codegen->target->kind->name;
  return BYOC_OK;
}

static byoc_status_t compile_sources(byoc_codegen_t *codegen, const byoc_compile_request_t *requests, uint32_t count,
                                     uint32_t stride, byoc_diag_t *diag, const void **out_objects,
                                     uint64_t *out_sizes_bytes) {
  byoc_compile_request_t *read = BYOC_ARENA_ARRAY(&codegen->arena, byoc_compile_request_t, (size_t)count + 1);
  byoc_bytes_t *objects = BYOC_ARENA_ARRAY(&codegen->arena, byoc_bytes_t, (size_t)count + 1);
  if (read == NULL || objects == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(read_request(codegen, requests, stride, i, diag, &read[i]));
  }
  if (codegen->services->compile == NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "there is no C compiler in this run");
  }
  const byoc_foreign_t hook = byoc_foreign_enter(NULL);
  const byoc_status_t status = codegen->services->compile(codegen->services->self, read, count,
                                                          byoc_arena_allocator(&codegen->arena), diag, objects);
  byoc_foreign_leave(&hook);
  if (status != BYOC_OK) return status;
  for (uint32_t i = 0; i < count; ++i) {
    out_objects[i] = objects[i].data;
    out_sizes_bytes[i] = objects[i].size_bytes;
  }
  return BYOC_OK;
}

static int32_t compile(byoc_codegen_t *codegen, const byoc_compile_request_t *request, const void **out_object,
                       uint64_t *out_size_bytes) {
  byoc_diag_t diag = {0};
  *out_object = NULL;
  *out_size_bytes = 0;
  return byoc_session_note(codegen, compile_sources(codegen, request, 1, UINT32_MAX, &diag, out_object, out_size_bytes),
                           &diag);
}

static int32_t compile_all(byoc_codegen_t *codegen, const byoc_compile_request_t *requests, uint32_t count,
                           uint32_t stride, const void **out_objects, uint64_t *out_sizes_bytes) {
  byoc_diag_t diag = {0};
  for (uint32_t i = 0; i < count; ++i) {
    out_objects[i] = NULL;
    out_sizes_bytes[i] = 0;
  }
  return byoc_session_note(
      codegen, compile_sources(codegen, requests, count, stride, &diag, out_objects, out_sizes_bytes), &diag);
}

static byoc_status_t measure_object(byoc_codegen_t *codegen, const byoc_measure_request_t *request,
                                    double *out_median_ns, byoc_diag_t *diag) {
  byoc_measure_request_t read;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_read(request, byoc_abi_of(byoc_measure_request_t), "a request to measure", &read, diag));
  const uint64_t count = (uint64_t)read.input_count + read.output_count;
  byoc_tensor_data_t *tensors = BYOC_ARENA_ARRAY(&codegen->arena, byoc_tensor_data_t, (size_t)count);
  if (tensors == NULL) return byoc_diag_out_of_memory(diag);
  for (uint64_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_abi_read_at(read.tensors, read.tensor_stride, i, byoc_abi_of(byoc_tensor_data_t),
                                          "a tensor to measure with", &tensors[i], diag));
  }
  read.tensors = tensors;
  read.tensor_stride = sizeof(*tensors);
  if (codegen->services->measure == NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "nothing can be measured in this run");
  }
  const byoc_foreign_t hook = byoc_foreign_enter(NULL);
  const byoc_status_t status =
      codegen->services->measure(codegen->services->self, &read, codegen->allocator, diag, out_median_ns);
  byoc_foreign_leave(&hook);
  return status;
}

static int32_t measure(byoc_codegen_t *codegen, const byoc_measure_request_t *request, double *out_median_ns) {
  byoc_diag_t diag = {0};
  *out_median_ns = 0;
  return byoc_session_note(codegen, measure_object(codegen, request, out_median_ns, &diag), &diag);
}

static byoc_status_t check_key(const char *key, byoc_diag_t *diag) {
  if (key != NULL && key[0] != '\0' && strnlen(key, MAX_KEY_BYTES) < MAX_KEY_BYTES) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "a cache key is empty or longer than %d bytes", MAX_KEY_BYTES);
}

static byoc_plugin_cache_t cache_of(const byoc_codegen_t *codegen) {
  const byoc_target_kind_t *kind = codegen->target->kind;
  return (byoc_plugin_cache_t){.folder = codegen->services->cache_directory,
                               .plugin = kind->plugin_name,
                               .version = kind->plugin_version,
                               .content = kind->plugin_content};
}

static int32_t cache_get(byoc_codegen_t *codegen, const char *key, const void **out_data, uint64_t *out_size_bytes) {
  byoc_diag_t diag = {0};
  size_t size_bytes = 0;
  *out_data = NULL;
  *out_size_bytes = 0;
  byoc_status_t status = check_key(key, &diag);
  if (status == BYOC_OK && codegen->services->cache_directory == NULL) return BYOC_NOT_FOUND;
  if (status == BYOC_OK) {
    const byoc_plugin_cache_t cache = cache_of(codegen);
    status = byoc_plugin_cache_get(&cache, key, &codegen->arena, &diag, out_data, &size_bytes);
  }
  *out_size_bytes = size_bytes;
  return byoc_session_note(codegen, status, &diag);
}

static int32_t cache_put(byoc_codegen_t *codegen, const char *key, const void *data, uint64_t size_bytes) {
  byoc_diag_t diag = {0};
  byoc_status_t status = check_key(key, &diag);
  if (status == BYOC_OK && (data == NULL || size_bytes > SIZE_MAX)) {
    status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "nothing to keep under '%.64s'", key);
  }
  if (status == BYOC_OK && codegen->services->cache_directory == NULL) return BYOC_OK;
  if (status == BYOC_OK) {
    const byoc_plugin_cache_t cache = cache_of(codegen);
    status = byoc_plugin_cache_put(&cache, key, data, (size_t)size_bytes, &diag);
    // With a full or read-only disk the entry is computed again next time.
    if (status != BYOC_OK) byoc_log(BYOC_LOG_INFO, "%s: not cached: %s", codegen->target->kind->name, diag.message);
  }
  return byoc_session_note(codegen, status, &diag);
}

static const char *cpu_features(const byoc_codegen_t *codegen) {
  return codegen->services->cpu_features != NULL ? codegen->services->cpu_features : "";
}

static const char *option_cpu_features(byoc_codegen_t *codegen, const char *name) {
  const char *value = byoc_target_option_cpu(codegen->target, name), *features = NULL;
  if (strcmp(value, "native") == 0) return cpu_features(codegen);
  byoc_string_t text;
  byoc_string_init(&text, byoc_arena_allocator(&codegen->arena));
  byoc_cpu_print(byoc_target_cpu_features(codegen->target, name), &text);
  if (!text.failed) features = text.data;
  return features != NULL ? features : "";
}

static byoc_status_t require_features(byoc_codegen_t *session, const char *features, byoc_diag_t *diag) {
  uint64_t required = 0, offered = 0, known = 0;
  if (features == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the required features are NULL");
  BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(features, diag, &required));
  BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(cpu_features(session), diag, &offered));
  byoc_string_t *report = &session->report->required_cpu_features;
  BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(report->data, diag, &known));
  const uint64_t missing = required & ~offered;
  if (missing != 0) {
    int feature = 0;
    while (!(missing >> feature & 1u)) ++feature;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "it requires the processor feature '%s', which the artifact's processor does not have",
                           byoc_cpu_feature_name((byoc_cpu_feature_t)feature));
  }
  byoc_string_clear(report);
  byoc_cpu_print(known | required, report);
  return report->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static int32_t require_cpu_features(byoc_codegen_t *codegen, const char *features) {
  byoc_diag_t diag = {0};
  return byoc_session_settle(codegen, require_features(codegen, features, &diag), &diag);
}

static int32_t wants_source(const byoc_codegen_t *codegen) {
  return codegen->services != NULL && codegen->services->as_source;
}

static const char *cpu_vendor(const byoc_codegen_t *codegen) {
  return codegen->services->cpu_vendor != NULL ? codegen->services->cpu_vendor : "";
}

static int32_t report_precision(byoc_codegen_t *codegen, const byoc_function_t *function, const char *precision,
                                const char *lapse) {
  byoc_diag_t diag = {0};
  const int64_t index = byoc_session_find(codegen, function);
  if (index < 0 || precision == NULL) {
    return byoc_session_settle(codegen,
                               byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT,
                                               "a precision is reported without a name or for a function that is not "
                                               "one of this run"),
                               &diag);
  }
  byoc_codegen_result_t *result = &codegen->results[index];
  result->precision = byoc_arena_format(&codegen->arena, "%.*s", MAX_PRECISION_BYTES, precision);
  result->lapse = lapse != NULL ? byoc_arena_format(&codegen->arena, "%.*s", MAX_REASON_BYTES, lapse) : NULL;
  if (result->precision != NULL && (lapse == NULL || result->lapse != NULL)) return BYOC_OK;
  return byoc_session_settle(codegen, byoc_diag_out_of_memory(&diag), &diag);
}

static const char *triple(const byoc_codegen_t *codegen) {
  return codegen->services != NULL ? codegen->services->triple : NULL;
}

static int32_t add_report(byoc_codegen_t *codegen, const byoc_function_t *function, const byoc_report_t *report) {
  byoc_diag_t diag = {0};
  byoc_report_t read;
  byoc_status_t status = byoc_abi_read(report, byoc_abi_of(byoc_report_t), "the report", &read, &diag);
  if (status == BYOC_OK) {
    status = byoc_session_add_report(codegen, function, &read, &diag);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "the report '%.64s'", read.name);
  }
  return byoc_session_settle(codegen, status, &diag);
}

static int32_t declare_runtime_options(byoc_codegen_t *codegen, const char *owner, const byoc_option_t *options,
                                       uint32_t count, uint32_t stride) {
  byoc_diag_t diag = {0};
  const byoc_status_t status = byoc_session_declare_options(codegen, owner, options, count, stride, &diag);
  if (status != BYOC_OK) {
    byoc_diag_context(&diag, status, "the run-time options of '%.64s'", owner != NULL ? owner : "");
  }
  return byoc_session_settle(codegen, status, &diag);
}

const byoc_codegen_api_t *byoc_host_codegen_api(void) {
  static const byoc_codegen_api_t api = {
      .header = BYOC_HEADER(byoc_codegen_api_t, 1),
      .target = codegen_target,
      .module = codegen_module,
      .function_count = codegen_function_count,
      .function_at = codegen_function_at,
      .match = codegen_match,
      .error = codegen_error,
      .log = codegen_log,
      .progress = codegen_progress,
      .bind_packed = bind_packed,
      .add_json = add_json,
      .decline = decline,
      .add_c_source = add_c_source,
      .add_static_library = add_static_library,
      .add_engine = add_engine,
      .compile = compile,
      .measure = measure,
      .cache_get = cache_get,
      .cache_put = cache_put,
      .cpu_features = cpu_features,
      .require_cpu_features = require_cpu_features,
      .compile_all = compile_all,
      .option_cpu_features = option_cpu_features,
      .wants_source = wants_source,
      .cpu_vendor = cpu_vendor,
      .report_precision = report_precision,
      .decline_nodes = decline_nodes,
      .triple = triple,
      .add_report = add_report,
      .declare_runtime_options = declare_runtime_options,
  };
  return &api;
}
