// SPDX-License-Identifier: Apache-2.0
// Walks over a model's nodes before it is read, so that all unknown operators are reported together.
#include "core/frontend/onnx_coverage.h"

#include "core/frontend/onnx_reader.h"
#include "core/frontend/onnx_wire.h"

typedef struct coverage_t {
  byoc_onnx_reader_t *reader;
  byoc_arena_t *arena;
  byoc_allocator_t scratch;
  byoc_map_t index;   // text map: domain, name and operator set → place in `uses` + 1
  byoc_map_t visited; // pointer map: local functions, to be walked one after the other
  BYOC_VECTOR(byoc_onnx_use_t) uses;
  size_t missing_count;
} coverage_t;

const byoc_op_t *byoc_onnx_find_operator(const byoc_onnx_context_t *context, const Onnx__NodeProto *node) {
  const char *domain = byoc_onnx_domain(node->domain), *name = byoc_onnx_string(node->op_type);
  int64_t version = 0;
  if (!byoc_onnx_find_version(context, domain, &version) || version <= 0) return NULL;
  if (strcmp(domain, "byoc") == 0) return NULL; // operators of the compiler are not for models
  const byoc_op_t *op = byoc_op_find(domain, name, (int32_t)version);
  // Optimisers write operators with operator sets that do not have them yet (LayerNormalization with any).
  return op ? op : byoc_op_find_oldest(domain, name);
}

static int32_t oldest_version(const char *domain, const char *name) {
  int32_t oldest = INT32_MAX;
  for (size_t i = 0; i < byoc_op_count(); i++) {
    const byoc_op_t *op = byoc_op_at(i);
    if (strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0 && op->since_version < oldest) {
      oldest = op->since_version;
    }
  }
  return oldest;
}

static void classify(const byoc_onnx_context_t *context, const Onnx__NodeProto *node, bool is_function,
                     byoc_onnx_use_t *use) {
  const byoc_op_t *op = is_function ? NULL : byoc_onnx_find_operator(context, node);
  if (is_function) {
    use->kind = BYOC_ONNX_USE_FUNCTION;
  } else if (op) {
    use->kind = BYOC_ONNX_USE_KNOWN;
    use->since = op->since_version;
    use->plugin = op->extension ? op->extension->name : NULL;
  } else if (strcmp(use->domain, "byoc") == 0) {
    use->kind = BYOC_ONNX_USE_INTERNAL;
  } else if (use->name[0] == '\0') {
    use->kind = BYOC_ONNX_USE_NAMELESS;
  } else if (!byoc_op_known(use->domain, use->name)) {
    use->kind = BYOC_ONNX_USE_UNKNOWN;
  } else if (use->opset == 0) {
    use->kind = BYOC_ONNX_USE_UNIMPORTED;
  } else {
    use->kind = BYOC_ONNX_USE_TOO_EARLY;
    use->since = oldest_version(use->domain, use->name);
  }
}

// Adds the first use of an operator.
static byoc_status_t add_use(coverage_t *coverage, const byoc_onnx_context_t *context, const Onnx__NodeProto *node,
                             size_t index, bool is_function, byoc_onnx_use_t *use) {
  byoc_diag_t *diag = coverage->reader->diag;
  char what[320];
  byoc_onnx_describe_node(node, index, what, sizeof(what));
  use->first = context->function ? byoc_arena_format(coverage->arena, "%s, in local function '%s'", what,
                                                     byoc_onnx_string(context->function->name))
                                 : byoc_arena_copy_string(coverage->arena, what);
  use->domain = byoc_arena_copy_string(coverage->arena, use->domain);
  use->name = byoc_arena_copy_string(coverage->arena, use->name);
  if (!use->first || !use->domain || !use->name) return byoc_diag_out_of_memory(diag);
  classify(context, node, is_function, use);
  coverage->missing_count += byoc_onnx_use_is_missing(use);
  return byoc_vector_push(&coverage->uses, coverage->scratch, *use) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t cover_nodes(coverage_t *coverage, const byoc_onnx_context_t *context,
                                 Onnx__NodeProto *const *nodes, size_t count);

static byoc_status_t cover_node(coverage_t *coverage, const byoc_onnx_context_t *context, const Onnx__NodeProto *node,
                                size_t index) {
  byoc_onnx_reader_t *reader = coverage->reader;
  byoc_onnx_use_t use = {.domain = byoc_onnx_domain(node->domain), .name = byoc_onnx_string(node->op_type)};
  const Onnx__FunctionProto *function;
  BYOC_RETURN_IF_ERROR(byoc_onnx_find_function(reader, node, &function));
  if (function && !byoc_pointer_map_put(&coverage->visited, function, coverage)) {
    return byoc_diag_out_of_memory(reader->diag);
  }
  use.is_imported = byoc_onnx_find_import(context, use.domain, &use.opset);
  if (!byoc_onnx_find_version(context, use.domain, &use.opset) || use.opset < 0) use.opset = 0;
  const char *key = byoc_arena_format(&reader->scratch, "%s\x1f%s\x1f%lld\x1f%d", use.domain, use.name,
                                      (long long)use.opset, function != NULL);
  if (!key) return byoc_diag_out_of_memory(reader->diag);
  size_t place = (size_t)(uintptr_t)byoc_string_map_get(&coverage->index, key);
  if (place == 0) {
    BYOC_RETURN_IF_ERROR(add_use(coverage, context, node, index, function != NULL, &use));
    place = coverage->uses.count;
    if (!byoc_string_map_put(&coverage->index, key, (void *)(uintptr_t)place)) {
      return byoc_diag_out_of_memory(reader->diag);
    }
  }
  coverage->uses.data[place - 1].node_count++;
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__GraphProto *graph = node->attribute[i]->g;
    if (graph) BYOC_RETURN_IF_ERROR(cover_nodes(coverage, context, graph->node, graph->n_node));
  }
  return BYOC_OK;
}

static byoc_status_t cover_nodes(coverage_t *coverage, const byoc_onnx_context_t *context,
                                 Onnx__NodeProto *const *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) BYOC_RETURN_IF_ERROR(cover_node(coverage, context, nodes[i], i));
  return BYOC_OK;
}

static byoc_status_t cover(coverage_t *coverage, byoc_onnx_reader_t *reader, const Onnx__ModelProto *model,
                           byoc_arena_t *arena) {
  *coverage = (coverage_t){.reader = reader, .arena = arena, .scratch = byoc_arena_allocator(&reader->scratch)};
  byoc_string_map_init(&coverage->index, coverage->scratch);
  byoc_pointer_map_init(&coverage->visited, coverage->scratch);
  const byoc_onnx_context_t main = {.import_count = model->n_opset_import, .imports = model->opset_import};
  BYOC_RETURN_IF_ERROR(cover_nodes(coverage, &main, model->graph->node, model->graph->n_node));
  for (size_t i = 0; i < coverage->visited.count; i++) { // it grows as functions call others
    const Onnx__FunctionProto *function = coverage->visited.entries[i].pointer;
    const byoc_onnx_context_t context = {
        .function = function, .import_count = function->n_opset_import, .imports = function->opset_import};
    BYOC_RETURN_IF_ERROR(cover_nodes(coverage, &context, function->node, function->n_node));
  }
  return BYOC_OK;
}

// ---- refusals ----

const char *byoc_onnx_use_reason(const byoc_onnx_use_t *use, char *buffer, size_t size) {
  switch (use->kind) {
  case BYOC_ONNX_USE_TOO_EARLY:
    snprintf(buffer, size, "it is known from operator set %d on", (int)use->since);
    return buffer;
  case BYOC_ONNX_USE_UNIMPORTED:
    return "the model imports no operator set of its domain";
  case BYOC_ONNX_USE_INTERNAL:
    return "domain byoc holds the steps that the compiler makes itself";
  case BYOC_ONNX_USE_NAMELESS:
    return "the node names no operator";
  default:
    return NULL;
  }
}

static const char *shown_domain(const byoc_onnx_use_t *use) {
  return use->domain[0] ? use->domain : "ai.onnx";
}

// A hint about the source of operators of the domain.
static void hint_at_source(byoc_onnx_reader_t *reader, const byoc_onnx_use_t *use) {
  const byoc_op_source_t *source = reader->options->operators;
  const char *refusal = source ? source->refusal(source->self, use->domain) : NULL;
  const char *nearest = byoc_op_nearest(use->domain, use->name);
  if (refusal) {
    byoc_diag_hint(reader->diag, "%s", refusal);
  } else if (nearest) {
    byoc_diag_hint(reader->diag, "the nearest known operator is %s", nearest);
  } else if (!byoc_op_domain_is_reserved(use->domain)) {
    byoc_diag_hint(reader->diag,
                   "a plugin can bring operators of domain %s: name it with --plugin, or write one (docs/plugin.md)",
                   use->domain);
  }
}

// The message if all refused nodes use one operator.
static byoc_status_t refuse_one(byoc_onnx_reader_t *reader, const byoc_onnx_use_t *use) {
  byoc_diag_t *diag = reader->diag;
  char more[64] = "";
  if (use->node_count > 1) {
    snprintf(more, sizeof(more), "; %llu nodes use it", (unsigned long long)use->node_count);
  }
  switch (use->kind) {
  case BYOC_ONNX_USE_INTERNAL:
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "%s: operator %s: domain byoc holds the steps that the compiler makes itself; models cannot "
                           "use them",
                           use->first, use->name);
  case BYOC_ONNX_USE_NAMELESS:
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: it has no operator", use->first);
  case BYOC_ONNX_USE_UNIMPORTED:
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: the model imports no operator set of domain %s", use->first,
                           shown_domain(use));
  case BYOC_ONNX_USE_TOO_EARLY:
    byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s: operator %s is not known in operator set %lld of domain %s%s",
                    use->first, use->name, (long long)use->opset, shown_domain(use), more);
    byoc_diag_hint(diag, "it is known from operator set %d on; convert the model with onnx.version_converter",
                   (int)use->since);
    return BYOC_UNSUPPORTED;
  default:
    byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s: operator %s of domain %s (operator set %lld) is not known%s",
                    use->first, use->name, shown_domain(use), (long long)use->opset, more);
    hint_at_source(reader, use);
    return BYOC_UNSUPPORTED;
  }
}

// "com.acme::Fold (12 nodes)", with the reason unless it is plainly unknown.
static void append_missing(const byoc_onnx_use_t *use, byoc_string_t *out) {
  char buffer[96];
  const char *reason = byoc_onnx_use_reason(use, buffer, sizeof(buffer));
  byoc_string_appendf(out, "%.80s%s%.80s (%llu node%s%s%s)", use->domain, use->domain[0] ? "::" : "",
                      use->name[0] ? use->name : "?", (unsigned long long)use->node_count, byoc_plural(use->node_count),
                      reason ? ": " : "", reason ? reason : "");
}

static byoc_status_t refuse_several(byoc_onnx_reader_t *reader, const coverage_t *coverage) {
  enum { ROOM = 800 }; // of a diagnostic's 1024 bytes
  const byoc_onnx_use_t *foreign = NULL;
  byoc_string_t list;
  byoc_string_init(&list, coverage->scratch);
  size_t told = 0;
  for (size_t i = 0; i < coverage->uses.count; i++) {
    const byoc_onnx_use_t *use = &coverage->uses.data[i];
    if (!byoc_onnx_use_is_missing(use)) continue;
    if (!foreign && use->kind == BYOC_ONNX_USE_UNKNOWN && !byoc_op_domain_is_reserved(use->domain)) foreign = use;
    if (list.size > ROOM) continue;
    byoc_string_append(&list, told++ ? ", " : "");
    append_missing(use, &list);
  }
  if (list.failed) return byoc_diag_out_of_memory(reader->diag);
  if (told < coverage->missing_count) {
    byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%zu of its operators are not known: %s and %zu more",
                    coverage->missing_count, list.data, coverage->missing_count - told);
  } else {
    byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%zu of its operators are not known: %s", coverage->missing_count,
                    list.data);
  }
  const byoc_op_source_t *source = reader->options->operators;
  const char *refusal = foreign && source ? source->refusal(source->self, foreign->domain) : NULL;
  if (refusal) {
    byoc_diag_hint(reader->diag, "%s", refusal);
  } else if (foreign) {
    byoc_diag_hint(reader->diag,
                   "byoc inspect --coverage lists them; a plugin can bring operators of domain %s (docs/plugin.md)",
                   foreign->domain);
  } else {
    byoc_diag_hint(reader->diag, "byoc inspect --coverage lists them; byoc ops lists those that are known");
  }
  return BYOC_UNSUPPORTED;
}

static bool is_first_of_domain(const coverage_t *coverage, size_t index) {
  const byoc_onnx_use_t *uses = coverage->uses.data;
  for (size_t i = 0; i < index; i++) {
    const bool is_reported = uses[i].kind == BYOC_ONNX_USE_KNOWN && !uses[i].is_imported;
    if (is_reported && strcmp(uses[i].domain, uses[index].domain) == 0) return false;
  }
  return true;
}

// Operators that are known, but not by the operator sets that the model imports.
static byoc_status_t check_imported(byoc_onnx_reader_t *reader, const coverage_t *coverage, size_t index) {
  const byoc_onnx_use_t *use = &coverage->uses.data[index];
  if (use->kind != BYOC_ONNX_USE_KNOWN) return BYOC_OK;
  if (!use->is_imported && is_first_of_domain(coverage, index)) {
    return byoc_onnx_forbidden(reader, "%s: the model imports no operator set of domain %s; version 1 is used",
                               use->first, shown_domain(use));
  }
  if (use->is_imported && use->since > use->opset) {
    return byoc_onnx_tolerate(reader, "%s: operator %s is not in operator set %lld of domain %s, but in %d", use->first,
                              use->name, (long long)use->opset, shown_domain(use), (int)use->since);
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_check_operators(byoc_onnx_reader_t *reader, const Onnx__ModelProto *model) {
  coverage_t coverage;
  BYOC_RETURN_IF_ERROR(cover(&coverage, reader, model, &reader->scratch));
  if (coverage.missing_count > 1) return refuse_several(reader, &coverage);
  for (size_t i = 0; i < coverage.uses.count; i++) {
    if (byoc_onnx_use_is_missing(&coverage.uses.data[i])) return refuse_one(reader, &coverage.uses.data[i]);
    BYOC_RETURN_IF_ERROR(check_imported(reader, &coverage, i));
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_cover_file(const char *path, const byoc_op_source_t *operators, byoc_arena_t *arena,
                                   byoc_diag_t *diag, byoc_onnx_coverage_t *out_coverage) {
  *out_coverage = (byoc_onnx_coverage_t){0};
  byoc_diag_t own_diag = {0};
  byoc_file_view_t view = {0};
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  const byoc_onnx_read_options_t options = {.operators = operators};
  byoc_onnx_reader_t reader = {.diag = diag ? diag : &own_diag, .options = &options};
  byoc_onnx_reader_init(&reader, view.data, view.size_bytes, byoc_arena_allocator(arena));
  const Onnx__ModelProto *model = NULL;
  coverage_t coverage;
  byoc_status_t status = byoc_onnx_open_model(&reader, &model);
  if (status == BYOC_OK) status = cover(&coverage, &reader, model, arena);
  if (status == BYOC_OK) {
    byoc_onnx_use_t *uses = BYOC_ARENA_ARRAY(arena, byoc_onnx_use_t, coverage.uses.count + 1);
    if (!uses) status = byoc_diag_out_of_memory(reader.diag);
    for (size_t i = 0; uses && i < coverage.uses.count; i++) uses[i] = coverage.uses.data[i];
    if (uses) *out_coverage = (byoc_onnx_coverage_t){uses, coverage.uses.count, coverage.missing_count};
  }
  byoc_arena_deinit(&reader.scratch);
  byoc_file_view_close(&view);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(reader.diag, status, "reading %s", path);
}
