// SPDX-License-Identifier: Apache-2.0
// Reads the sharding of a model over ranks that a user asks for, and notes it in the module.
#include "core/pass/shard_spec.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/pass/spread.h"

typedef struct specification_t {
  byoc_graph_module_t *module;
  byoc_diag_t *diag;
  byoc_mesh_t mesh; // of no axes until the mesh is read
  int32_t rank, rank_count;
} specification_t;

static bool set_text(specification_t *s, const char *attribute, const char *text) {
  return byoc_attributes_set_string(&s->module->attributes, attribute, text);
}

static byoc_status_t set_mesh(specification_t *s, const char *text) {
  BYOC_RETURN_IF_ERROR(byoc_mesh_parse(text, 0, s->diag, &s->mesh));
  if (s->mesh.rank_count != s->rank_count) {
    return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "the mesh '%s' has %d ranks, and there are %d", text,
                           s->mesh.rank_count, s->rank_count);
  }
  bool ok = set_text(s, BYOC_ATTRIBUTE_MESH, text) &&
            byoc_attributes_set_int(&s->module->attributes, BYOC_ATTRIBUTE_RANK, s->rank);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
}

// ---- values by name ----

typedef struct marking_t {
  const char *pattern, *ranks;
  size_t count;
} marking_t;

static void mark(marking_t *marking, byoc_value_t *value, const char *name) {
  if (name == NULL || fnmatch(marking->pattern, name, 0) != 0) return;
  value->device.ranks = marking->ranks;
  marking->count += 1;
}

// Outputs go by the names that the model gives them.
static void mark_all(byoc_function_t *main, marking_t *marking) {
  const byoc_block_t *body = main->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    mark(marking, body->parameters.data[i], body->parameters.data[i]->name);
  }
  for (size_t i = 0; i < main->constants.count; ++i) {
    byoc_value_t *value = main->constants.entries[i].value;
    mark(marking, value, value->constant->name);
  }
  BYOC_FOR_EACH_NODE(node, body) {
    for (uint32_t r = 0; r < node->result_count; ++r) mark(marking, node->results[r], node->results[r]->name);
  }
  for (size_t i = 0; i < body->results.count; ++i) {
    byoc_value_t *value = body->results.data[i];
    const char *name = body->result_names.data[i];
    if (name != NULL && (value->name == NULL || strcmp(value->name, name) != 0)) mark(marking, value, name);
  }
}

// PATTERN SPREAD
static byoc_status_t spread(specification_t *s, char *text) {
  char *rest = text + strcspn(text, " \t");
  if (*rest == '\0')
    return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "spread takes a name and a sharding: x tp: 1");
  *rest++ = '\0';
  rest += strspn(rest, " \t");
  byoc_spread_t ignored;
  if (s->mesh.axis_count == 0) return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "the mesh must come first");
  BYOC_RETURN_IF_ERROR(byoc_spread_parse(rest, &s->mesh, s->diag, &ignored));
  byoc_function_t *main = byoc_graph_module_main(s->module);
  marking_t marking = {.pattern = text, .ranks = byoc_arena_copy_string(&s->module->arena, rest)};
  if (marking.ranks == NULL) return byoc_diag_out_of_memory(s->diag);
  if (main != NULL) mark_all(main, &marking);
  if (marking.count > 0) return BYOC_OK;
  return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "no value is named '%s'", text);
}

// ---- lines ----

static byoc_status_t read_line(specification_t *s, char *line) {
  line += strspn(line, " \t\r");
  line[strcspn(line, "#\r")] = '\0';
  for (size_t size = strlen(line); size > 0 && isspace((unsigned char)line[size - 1]); --size) line[size - 1] = '\0';
  if (*line == '\0') return BYOC_OK;
  char *rest = line + strcspn(line, " \t");
  if (*rest != '\0') *rest++ = '\0';
  rest += strspn(rest, " \t");
  if (strcmp(line, "mesh") == 0) return set_mesh(s, rest);
  if (strcmp(line, "spread") == 0) return spread(s, rest);
  if (strcmp(line, "weights") == 0) {
    return set_text(s, BYOC_ATTRIBUTE_CUT_WEIGHTS, rest) ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
  }
  if (strcmp(line, "pipeline") == 0 && *rest == '\0') {
    return byoc_attributes_set_int(&s->module->attributes, BYOC_ATTRIBUTE_PIPELINED, 1)
               ? BYOC_OK
               : byoc_diag_out_of_memory(s->diag);
  }
  return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "'%s' is none of mesh, weights, spread and pipeline", line);
}

static byoc_status_t read_lines(specification_t *s, const char *text, const char *name) {
  int number = 1;
  for (const char *at = text; *at != '\0'; ++number) {
    const size_t size = strcspn(at, "\n");
    char *line = byoc_arena_copy(&s->module->arena, at, size + 1);
    if (line == NULL) return byoc_diag_out_of_memory(s->diag);
    line[size] = '\0';
    BYOC_RETURN_IF_ERROR_IN(s->diag, read_line(s, line), "%s, line %d", name, number);
    at += size + (at[size] == '\n');
  }
  if (s->mesh.axis_count > 0) return BYOC_OK;
  return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "%s does not say of what mesh the ranks are: mesh tp=%d", name,
                         s->rank_count);
}

byoc_status_t byoc_shard_specify(byoc_graph_module_t *module, const char *text, const char *name, int32_t rank,
                                 int32_t rank_count, byoc_diag_t *diag) {
  specification_t s = {.module = module, .diag = diag, .rank = rank, .rank_count = rank_count};
  if (rank_count < 1 || rank < 0 || rank >= rank_count) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no rank %d of %d", rank, rank_count);
  }
  if (strcmp(text, "megatron") != 0) return read_lines(&s, text, name);
  char mesh[32];
  (void)snprintf(mesh, sizeof(mesh), "tp=%d", rank_count);
  BYOC_RETURN_IF_ERROR(set_mesh(&s, mesh));
  return set_text(&s, BYOC_ATTRIBUTE_CUT_WEIGHTS, "tp") ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
