// SPDX-License-Identifier: Apache-2.0
// Reads a saved plan. People edit these files: every field is checked, and an error names the path of the field.
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/collage/plan_json.h"

enum {
  MAX_FILE_BYTES = 512 << 20,
  MAX_NODES = 1 << 24, // of a block
};

typedef struct reader_t {
  const char *file;
  byoc_plan_t *plan;
  byoc_diag_t *diag;
  char path[160]; // of the object being read: "blocks[0].regions[3]"
} reader_t;

static byoc_status_t complain(const reader_t *r, const char *key, const char *what) {
  const char *dot = r->path[0] && key[0] && key[0] != '[' ? "." : "";
  return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "'%s': %s%s%s %s", r->file, r->path, dot, key, what);
}

// ---- fields ----

// Refuses unknown fields: a misspelt one would be ignored silently.
static byoc_status_t check_keys(const reader_t *r, json_t *object, const char *const *known) {
  if (!json_is_object(object)) return complain(r, "", "is not an object");
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    size_t k = 0;
    while (known[k] != NULL && strcmp(known[k], key) != 0) ++k;
    if (known[k] != NULL) continue;
    byoc_status_t status = complain(r, key, "is not a field that plans have");
    const char *nearest = byoc_nearest_match(key, known, k);
    if (nearest != NULL) byoc_diag_hint(r->diag, "did you mean \"%s\"?", nearest);
    return status;
  }
  return BYOC_OK;
}

static byoc_status_t read_text(const reader_t *r, json_t *object, const char *key, bool is_optional,
                               const char **out_text) {
  json_t *value = json_object_get(object, key);
  *out_text = "";
  if (value == NULL && is_optional) return BYOC_OK;
  if (!json_is_string(value)) return complain(r, key, value ? "is not a string" : "is missing");
  *out_text = byoc_arena_copy_string(&r->plan->arena, json_string_value(value));
  return *out_text ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

static byoc_status_t read_bool(const reader_t *r, json_t *object, const char *key, bool *out_value) {
  json_t *value = json_object_get(object, key);
  *out_value = json_is_true(value);
  return value == NULL || json_is_boolean(value) ? BYOC_OK : complain(r, key, "is neither true nor false");
}

// Of time, or of MiB. Missing: NaN. null: infinity.
static byoc_status_t read_cost(const reader_t *r, json_t *object, const char *key, double *out_cost_ns) {
  json_t *value = json_object_get(object, key);
  *out_cost_ns = value == NULL ? NAN : INFINITY;
  if (value == NULL || json_is_null(value)) return BYOC_OK;
  *out_cost_ns = json_number_value(value);
  if (json_is_number(value) && *out_cost_ns >= 0) return BYOC_OK;
  return complain(r, key, byoc_ends_with(key, "_mib") ? "is no number of MiB" : "is no number of nanoseconds");
}

// Beside a stated cost. Missing: 0.
static byoc_status_t read_stated(const reader_t *r, json_t *object, const char *key, double *out_value) {
  json_t *value = json_object_get(object, key);
  *out_value = json_number_value(value);
  return value == NULL || (json_is_number(value) && *out_value >= 0) ? BYOC_OK
                                                                     : complain(r, key, "is no number from 0");
}

// Missing: 0. null: infinity.
static byoc_status_t read_error(const reader_t *r, json_t *object, const char *key, double *out_error) {
  json_t *value = json_object_get(object, key);
  *out_error = json_is_null(value) ? INFINITY : json_number_value(value);
  const bool is_right = value == NULL || json_is_null(value) || (json_is_number(value) && *out_error >= 0);
  return is_right ? BYOC_OK : complain(r, key, "is no number from 0");
}

static byoc_status_t read_number(const reader_t *r, json_t *value, const char *key, size_t limit, const char *what,
                                 uint32_t *out_number) {
  *out_number = 0;
  if (value == NULL) return complain(r, key, "is missing");
  json_int_t number = json_integer_value(value);
  if (json_is_integer(value) && number >= 0 && (uint64_t)number < limit) {
    *out_number = (uint32_t)number;
    return BYOC_OK;
  }
  char text[80];
  snprintf(text, sizeof(text), "is none of the %zu %s", limit, what);
  return complain(r, key, text);
}

static byoc_status_t read_source(const reader_t *r, json_t *object, byoc_cost_source_t *out_source) {
#define BYOC_COST_SOURCE_NAMED(NAME, text) text,
  static const char *const names[] = {BYOC_COST_SOURCE_LIST(BYOC_COST_SOURCE_NAMED)};
#undef BYOC_COST_SOURCE_NAMED
  json_t *value = json_object_get(object, "source");
  *out_source = BYOC_COST_SOURCE_NONE;
  if (value == NULL) return BYOC_OK;
  for (size_t s = 0; json_is_string(value) && s < sizeof(names) / sizeof(names[0]); ++s) {
    if (strcmp(names[s], json_string_value(value)) != 0) continue;
    *out_source = (byoc_cost_source_t)s;
    return BYOC_OK;
  }
  return complain(r, "source", "is none of none, bound, estimate, measured, database, stated");
}

static byoc_status_t read_array(const reader_t *r, json_t *object, const char *key, bool is_optional,
                                json_t **out_array) {
  *out_array = json_object_get(object, key);
  if (*out_array == NULL && is_optional) return BYOC_OK;
  return json_is_array(*out_array) ? BYOC_OK : complain(r, key, *out_array ? "is not a list" : "is missing");
}

// The nodes are rising, and there is at least one.
static byoc_status_t read_nodes(const reader_t *r, json_t *object, size_t limit, const uint32_t **out_nodes,
                                uint32_t *out_count) {
  json_t *array = NULL;
  BYOC_RETURN_IF_ERROR(read_array(r, object, "nodes", false, &array));
  size_t count = json_array_size(array);
  if (count == 0 || count > limit) return complain(r, "nodes", "must hold nodes of the block, each once");
  uint32_t *nodes = BYOC_ARENA_ARRAY(&r->plan->arena, uint32_t, count);
  if (nodes == NULL) return byoc_diag_out_of_memory(r->diag);
  for (size_t i = 0; i < count; ++i) {
    char key[32];
    snprintf(key, sizeof(key), "nodes[%zu]", i);
    BYOC_RETURN_IF_ERROR(read_number(r, json_array_get(array, i), key, limit, "nodes of the block", &nodes[i]));
    if (i > 0 && nodes[i] <= nodes[i - 1]) return complain(r, key, "does not rise");
  }
  *out_nodes = nodes;
  *out_count = (uint32_t)count;
  return BYOC_OK;
}

static byoc_status_t read_target(const reader_t *r, json_t *object, uint32_t *out_target) {
  return read_number(r, json_object_get(object, "target"), "target", r->plan->targets.count, "targets", out_target);
}

// ---- rows ----

static byoc_status_t read_edges(reader_t *r, json_t *object, uint32_t number, byoc_plan_node_t *node) {
  static const char *const known[] = {"from", "type", NULL};
  json_t *array = NULL;
  BYOC_RETURN_IF_ERROR(read_array(r, object, "edges", true, &array));
  size_t count = json_array_size(array);
  byoc_plan_edge_t *edges = BYOC_ARENA_ARRAY(&r->plan->arena, byoc_plan_edge_t, count);
  if (edges == NULL) return byoc_diag_out_of_memory(r->diag);
  size_t length = strlen(r->path);
  for (size_t e = 0; e < count; ++e) {
    json_t *edge = json_array_get(array, e);
    snprintf(r->path + length, sizeof(r->path) - length, ".edges[%zu]", e);
    BYOC_RETURN_IF_ERROR(check_keys(r, edge, known));
    BYOC_RETURN_IF_ERROR(
        read_number(r, json_object_get(edge, "from"), "from", number, "nodes before this one", &edges[e].from));
    BYOC_RETURN_IF_ERROR(read_text(r, edge, "type", false, &edges[e].type));
  }
  r->path[length] = '\0';
  node->edges = edges;
  node->edge_count = (uint32_t)count;
  return BYOC_OK;
}

static byoc_status_t read_node(reader_t *r, json_t *object, byoc_plan_block_t *block) {
  static const char *const known[] = {"op", "name", "type", "edges", NULL};
  byoc_plan_node_t node = {.region = UINT32_MAX};
  BYOC_RETURN_IF_ERROR(check_keys(r, object, known));
  BYOC_RETURN_IF_ERROR(read_text(r, object, "op", false, &node.op));
  BYOC_RETURN_IF_ERROR(read_text(r, object, "name", true, &node.name));
  BYOC_RETURN_IF_ERROR(read_text(r, object, "type", false, &node.result_type));
  BYOC_RETURN_IF_ERROR(read_edges(r, object, (uint32_t)block->nodes.count, &node));
  return byoc_vector_push(&block->nodes, r->plan->arena.allocator, node) ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

static byoc_status_t read_candidate(reader_t *r, json_t *object, byoc_plan_block_t *block) {
  static const char *const known[] = {"target",     "rule",   "nodes",       "cost_ns",   "source", "reason",
                                      "given_back", "chosen", "moved_bytes", "energy_nj", "error",  NULL};
  byoc_plan_candidate_t row = {0};
  BYOC_RETURN_IF_ERROR(check_keys(r, object, known));
  BYOC_RETURN_IF_ERROR(read_target(r, object, &row.target));
  BYOC_RETURN_IF_ERROR(read_text(r, object, "rule", false, &row.rule));
  BYOC_RETURN_IF_ERROR(read_nodes(r, object, block->nodes.count, &row.nodes, &row.node_count));
  BYOC_RETURN_IF_ERROR(read_cost(r, object, "cost_ns", &row.cost_ns));
  BYOC_RETURN_IF_ERROR(read_source(r, object, &row.source));
  BYOC_RETURN_IF_ERROR(read_stated(r, object, "moved_bytes", &row.moved_bytes));
  BYOC_RETURN_IF_ERROR(read_stated(r, object, "energy_nj", &row.energy_nj));
  BYOC_RETURN_IF_ERROR(read_error(r, object, "error", &row.error));
  BYOC_RETURN_IF_ERROR(read_bool(r, object, "given_back", &row.is_fallback));
  BYOC_RETURN_IF_ERROR(read_bool(r, object, "chosen", &row.is_chosen));
  if (json_object_get(object, "reason") != NULL)
    BYOC_RETURN_IF_ERROR(read_text(r, object, "reason", false, &row.reason));
  return byoc_vector_push(&block->candidates, r->plan->arena.allocator, row) ? BYOC_OK
                                                                             : byoc_diag_out_of_memory(r->diag);
}

static bool is_of_candidate(const byoc_plan_region_t *region, const byoc_plan_candidate_t *candidate) {
  return region->target == candidate->target && region->node_count == candidate->node_count &&
         memcmp(region->nodes, candidate->nodes, region->node_count * sizeof(uint32_t)) == 0;
}

// Notes the region at each of its nodes.
static byoc_status_t enter_region(const reader_t *r, const byoc_plan_region_t *region, byoc_plan_block_t *block) {
  for (uint32_t i = 0; i < region->node_count && !region->falls_back; ++i) {
    byoc_plan_node_t *node = &block->nodes.data[region->nodes[i]];
    if (node->region != UINT32_MAX) {
      char text[80];
      snprintf(text, sizeof(text), "holds node %u, which regions[%u] holds too", region->nodes[i], node->region);
      return complain(r, "", text);
    }
    node->region = (uint32_t)block->regions.count;
  }
  return byoc_vector_push(&block->regions, r->plan->arena.allocator, *region) ? BYOC_OK
                                                                              : byoc_diag_out_of_memory(r->diag);
}

static byoc_status_t read_region(reader_t *r, json_t *object, byoc_plan_block_t *block) {
  static const char *const known[] = {"target",    "rule",        "nodes",      "candidate", "cost_ns",
                                      "source",    "moved_bytes", "given_back", "later",     "types",
                                      "precision", "lapse",       "energy_nj",  "error",     NULL};
  byoc_plan_region_t row = {.candidate = UINT32_MAX};
  BYOC_RETURN_IF_ERROR(check_keys(r, object, known));
  BYOC_RETURN_IF_ERROR(read_target(r, object, &row.target));
  BYOC_RETURN_IF_ERROR(read_text(r, object, "rule", true, &row.rule));
  BYOC_RETURN_IF_ERROR(read_nodes(r, object, block->nodes.count, &row.nodes, &row.node_count));
  BYOC_RETURN_IF_ERROR(read_cost(r, object, "cost_ns", &row.cost_ns));
  BYOC_RETURN_IF_ERROR(read_source(r, object, &row.source));
  BYOC_RETURN_IF_ERROR(read_stated(r, object, "moved_bytes", &row.moved_bytes));
  BYOC_RETURN_IF_ERROR(read_stated(r, object, "energy_nj", &row.energy_nj));
  BYOC_RETURN_IF_ERROR(read_error(r, object, "error", &row.error));
  BYOC_RETURN_IF_ERROR(read_bool(r, object, "given_back", &row.falls_back));
  BYOC_RETURN_IF_ERROR(read_bool(r, object, "later", &row.is_later));
  if (json_object_get(object, "types") != NULL) BYOC_RETURN_IF_ERROR(read_text(r, object, "types", false, &row.types));
  if (json_object_get(object, "precision") != NULL)
    BYOC_RETURN_IF_ERROR(read_text(r, object, "precision", false, &row.precision));
  if (json_object_get(object, "lapse") != NULL) BYOC_RETURN_IF_ERROR(read_text(r, object, "lapse", false, &row.lapse));
  json_t *candidate = json_object_get(object, "candidate");
  if (candidate != NULL) {
    BYOC_RETURN_IF_ERROR(read_number(r, candidate, "candidate", block->candidates.count, "candidates", &row.candidate));
    if (!is_of_candidate(&row, &block->candidates.data[row.candidate])) {
      byoc_status_t status = complain(r, "candidate", "has another target or other nodes than this region");
      byoc_diag_hint(r->diag, "leave \"candidate\" out of a region that was edited");
      return status;
    }
  }
  return enter_region(r, &row, block);
}

static byoc_status_t read_decline(reader_t *r, json_t *object, byoc_plan_block_t *block) {
  static const char *const known[] = {"target", "rule", "nodes", "reason", NULL};
  byoc_plan_decline_t row = {0};
  BYOC_RETURN_IF_ERROR(check_keys(r, object, known));
  BYOC_RETURN_IF_ERROR(read_target(r, object, &row.target));
  BYOC_RETURN_IF_ERROR(read_text(r, object, "rule", false, &row.rule));
  BYOC_RETURN_IF_ERROR(read_nodes(r, object, block->nodes.count, &row.nodes, &row.node_count));
  BYOC_RETURN_IF_ERROR(read_text(r, object, "reason", false, &row.reason));
  return byoc_vector_push(&block->declines, r->plan->arena.allocator, row) ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

// ---- blocks ----

static byoc_status_t read_rows(reader_t *r, json_t *object, const char *key, bool is_optional,
                               byoc_status_t (*read)(reader_t *r, json_t *row, byoc_plan_block_t *block),
                               byoc_plan_block_t *block) {
  json_t *array = NULL;
  BYOC_RETURN_IF_ERROR(read_array(r, object, key, is_optional, &array));
  if (json_array_size(array) > MAX_NODES) return complain(r, key, "is too long");
  size_t length = strlen(r->path), index;
  json_t *row;
  json_array_foreach(array, index, row) {
    snprintf(r->path + length, sizeof(r->path) - length, ".%s[%zu]", key, index);
    BYOC_RETURN_IF_ERROR(read(r, row, block));
  }
  r->path[length] = '\0';
  return BYOC_OK;
}

static byoc_status_t read_hash(const reader_t *r, json_t *object, uint64_t *out_hash) {
  const char *text = json_string_value(json_object_get(object, "hash"));
  if (text == NULL || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) {
    return complain(r, "hash", "is not 16 hexadecimal digits");
  }
  *out_hash = strtoull(text, NULL, 16);
  return BYOC_OK;
}

// The row joins the plan before its parts are read, so that deinit frees them even after an error.
static byoc_status_t read_block(reader_t *r, json_t *object) {
  static const char *const known[] = {"name",           "hash",     "cost_ns", "transition_ns",
                                      "lower_bound_ns", "proven",   "nodes",   "regions",
                                      "candidates",     "declines", NULL};
  byoc_plan_t *plan = r->plan;
  BYOC_RETURN_IF_ERROR(check_keys(r, object, known));
  if (!byoc_vector_push(&plan->blocks, plan->arena.allocator, (byoc_plan_block_t){0})) {
    return byoc_diag_out_of_memory(r->diag);
  }
  byoc_plan_block_t *block = &plan->blocks.data[plan->blocks.count - 1];
  BYOC_RETURN_IF_ERROR(read_text(r, object, "name", false, &block->name));
  BYOC_RETURN_IF_ERROR(read_hash(r, object, &block->hash));
  BYOC_RETURN_IF_ERROR(read_cost(r, object, "cost_ns", &block->cost_ns));
  BYOC_RETURN_IF_ERROR(read_cost(r, object, "transition_ns", &block->transition_ns));
  BYOC_RETURN_IF_ERROR(read_cost(r, object, "lower_bound_ns", &block->lower_bound_ns));
  BYOC_RETURN_IF_ERROR(read_bool(r, object, "proven", &block->is_proven));
  BYOC_RETURN_IF_ERROR(read_rows(r, object, "nodes", false, read_node, block));
  BYOC_RETURN_IF_ERROR(read_rows(r, object, "candidates", true, read_candidate, block));
  BYOC_RETURN_IF_ERROR(read_rows(r, object, "regions", false, read_region, block));
  return read_rows(r, object, "declines", true, read_decline, block);
}

// ---- the document ----

static byoc_status_t read_targets(reader_t *r, json_t *document) {
  json_t *array = NULL;
  BYOC_RETURN_IF_ERROR(read_array(r, document, "targets", false, &array));
  if (json_array_size(array) == 0) return complain(r, "targets", "is empty");
  for (size_t t = 0; t < json_array_size(array); ++t) {
    const char *text = json_string_value(json_array_get(array, t));
    if (text == NULL) return complain(r, "targets", "holds a value that is no string");
    text = byoc_arena_copy_string(&r->plan->arena, text);
    if (text == NULL || !byoc_vector_push(&r->plan->targets, r->plan->arena.allocator, text)) {
      return byoc_diag_out_of_memory(r->diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t read_alternatives(reader_t *r, json_t *document) {
  static const char *const known[] = {"name", "sum_ns", "whole_ns", "whole_mib", "error", NULL};
  json_t *array = NULL;
  BYOC_RETURN_IF_ERROR(read_array(r, document, "rivals", true, &array));
  for (size_t i = 0; i < json_array_size(array); ++i) {
    json_t *row = json_array_get(array, i);
    byoc_plan_alternative_t alternative = {0};
    snprintf(r->path, sizeof(r->path), "rivals[%zu]", i);
    BYOC_RETURN_IF_ERROR(check_keys(r, row, known));
    BYOC_RETURN_IF_ERROR(read_text(r, row, "name", false, &alternative.name));
    BYOC_RETURN_IF_ERROR(read_cost(r, row, "sum_ns", &alternative.sum_ns));
    BYOC_RETURN_IF_ERROR(read_cost(r, row, "whole_ns", &alternative.whole_ns));
    BYOC_RETURN_IF_ERROR(read_cost(r, row, "whole_mib", &alternative.whole_mib));
    BYOC_RETURN_IF_ERROR(read_error(r, row, "error", &alternative.error));
    if (!byoc_vector_push(&r->plan->alternatives, r->plan->arena.allocator, alternative))
      return byoc_diag_out_of_memory(r->diag);
  }
  r->path[0] = '\0';
  return BYOC_OK;
}

static byoc_status_t read_point(const reader_t *r, json_t *row, byoc_plan_budget_t *budget) {
  static const char *const known[] = {"cost_ns", "error", NULL};
  byoc_plan_point_t point = {0};
  BYOC_RETURN_IF_ERROR(check_keys(r, row, known));
  BYOC_RETURN_IF_ERROR(read_cost(r, row, "cost_ns", &point.cost_ns));
  BYOC_RETURN_IF_ERROR(read_error(r, row, "error", &point.error));
  return byoc_vector_push(&budget->curve, r->plan->arena.allocator, point) ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

static byoc_status_t read_budget(reader_t *r, json_t *document) {
  static const char *const known[] = {"allowed", "measured", "promised", "samples", "generated", "curve", NULL};
  json_t *object = json_object_get(document, "budget"), *curve = NULL;
  byoc_plan_budget_t *budget = &r->plan->budget;
  if (object == NULL) return BYOC_OK;
  snprintf(r->path, sizeof(r->path), "budget");
  BYOC_RETURN_IF_ERROR(check_keys(r, object, known));
  BYOC_RETURN_IF_ERROR(read_error(r, object, "allowed", &budget->allowed));
  BYOC_RETURN_IF_ERROR(read_error(r, object, "measured", &budget->measured));
  BYOC_RETURN_IF_ERROR(read_error(r, object, "promised", &budget->promised));
  BYOC_RETURN_IF_ERROR(read_number(r, json_object_get(object, "samples"), "samples", UINT32_MAX, "counts of samples",
                                   &budget->sample_count));
  BYOC_RETURN_IF_ERROR(read_bool(r, object, "generated", &budget->is_generated));
  BYOC_RETURN_IF_ERROR(read_array(r, object, "curve", true, &curve));
  if (json_array_size(curve) > MAX_NODES) return complain(r, "curve", "is too long");
  for (size_t i = 0; i < json_array_size(curve); ++i) {
    snprintf(r->path, sizeof(r->path), "budget.curve[%zu]", i);
    BYOC_RETURN_IF_ERROR(read_point(r, json_array_get(curve, i), budget));
  }
  r->path[0] = '\0';
  return BYOC_OK;
}

static byoc_status_t check_format(const reader_t *r, json_t *document) {
  json_t *version = json_object_get(document, "version");
  const char *format = json_string_value(json_object_get(document, "format"));
  if (format == NULL || strcmp(format, BYOC_PLAN_FORMAT) != 0 || !json_is_integer(version)) {
    return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "'%s' is not a plan: it was not written by --save-plan",
                           r->file);
  }
  if (json_integer_value(version) == BYOC_PLAN_VERSION) return BYOC_OK;
  return byoc_diag_error(r->diag, BYOC_VERSION, "'%s' is a plan of version %lld; this byoc reads version %d", r->file,
                         (long long)json_integer_value(version), BYOC_PLAN_VERSION);
}

// Missing: 0.
static byoc_status_t read_limit(const reader_t *r, json_t *document, const char *key, uint32_t *out_limit) {
  json_t *value = json_object_get(document, key);
  *out_limit = 0;
  return value == NULL ? BYOC_OK : read_number(r, value, key, MAX_NODES, "limits that a search may have", out_limit);
}

static byoc_status_t read_document(reader_t *r, json_t *document) {
  static const char *const known[] = {"format",    "version",   "model",     "strategy", "whole_ns",
                                      "whole_mib", "max_nodes", "max_depth", "targets",  "rivals",
                                      "blocks",    "budget",    NULL};
  json_t *blocks = NULL;
  BYOC_RETURN_IF_ERROR(check_format(r, document));
  BYOC_RETURN_IF_ERROR(check_keys(r, document, known));
  BYOC_RETURN_IF_ERROR(read_text(r, document, "model", true, &r->plan->model));
  BYOC_RETURN_IF_ERROR(read_text(r, document, "strategy", true, &r->plan->strategy));
  BYOC_RETURN_IF_ERROR(read_cost(r, document, "whole_ns", &r->plan->whole_ns));
  BYOC_RETURN_IF_ERROR(read_cost(r, document, "whole_mib", &r->plan->whole_mib));
  BYOC_RETURN_IF_ERROR(read_limit(r, document, "max_nodes", &r->plan->max_nodes));
  BYOC_RETURN_IF_ERROR(read_limit(r, document, "max_depth", &r->plan->max_depth));
  BYOC_RETURN_IF_ERROR(read_budget(r, document));
  BYOC_RETURN_IF_ERROR(read_targets(r, document));
  BYOC_RETURN_IF_ERROR(read_alternatives(r, document));
  BYOC_RETURN_IF_ERROR(read_array(r, document, "blocks", false, &blocks));
  for (size_t b = 0; b < json_array_size(blocks); ++b) {
    snprintf(r->path, sizeof(r->path), "blocks[%zu]", b);
    BYOC_RETURN_IF_ERROR(read_block(r, json_array_get(blocks, b)));
  }
  return BYOC_OK;
}

static byoc_status_t parse(const char *path, const byoc_file_view_t *view, byoc_diag_t *diag, json_t **out_document) {
  *out_document = NULL;
  if (view->size_bytes > MAX_FILE_BYTES) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is too large for a plan: %zu bytes", path, view->size_bytes);
  }
  json_error_t error;
  *out_document = byoc_json_load(view->data, view->size_bytes, JSON_REJECT_DUPLICATES, &error);
  if (*out_document != NULL) return BYOC_OK;
  if (byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is not JSON: line %d, column %d: %s", path, error.line,
                         error.column, error.text);
}

byoc_status_t byoc_plan_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, byoc_plan_t *out_plan) {
  byoc_plan_init(out_plan, allocator);
  reader_t reader = {.file = path, .plan = out_plan, .diag = diag};
  byoc_file_view_t view;
  json_t *document = NULL;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_status_t status = parse(path, &view, diag, &document);
  byoc_file_view_close(&view);
  if (status == BYOC_OK) status = read_document(&reader, document);
  json_decref(document);
  if (status != BYOC_OK) byoc_plan_deinit(out_plan);
  return status;
}
