// SPDX-License-Identifier: Apache-2.0
// Infers the type of every value, node by node. A declared type of a value is a hint: it gives a type to values that
// inference does not know, and a rank to results of loops and elements of sequences. A declared size never replaces one
// that inference or the run computes; if they differ or may differ, there is a warning. A declared element type that
// differs is an error. When reading is strict, declared sizes are promises: inference uses them where it knows none,
// the run checks them (core/kernel/shapes.h), and a contradiction is an error. Parameters of loop bodies and of local
// functions take the types of their arguments.
#include <string.h>

#include "core/base/log.h"
#include "core/frontend/onnx_reader.h"
#include "core/op/op.h"

byoc_status_t byoc_onnx_declare(byoc_onnx_reader_t *reader, byoc_value_t *value, const Onnx__TypeProto *type,
                                const char *what) {
  const byoc_type_t *declared;
  if (byoc_onnx_holds_maps(type)) { // ai.onnx.ml::ZipMap
    byoc_log(BYOC_LOG_WARNING, "%s is a tensor with a column for each label, and no map from labels to numbers", what);
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_type(reader, type, what, &declared));
  if (!declared) return BYOC_OK;
  const bool ok = byoc_pointer_map_put(&reader->declarations, value, (void *)declared);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

// The most nodes that are inferred: nested loops repeat inference, and a file must not make it run for ever.
enum { MAX_INFERENCES = 32 * 1000 * 1000 };

typedef enum merge_result_t {
  MERGE_AGREES,
  MERGE_LEFT_OPEN, // a declared size is one that only the run knows
  MERGE_SHAPE_DIFFERS,
  MERGE_TYPE_DIFFERS,
  MERGE_NO_MEMORY
} merge_result_t;

static byoc_dim_t fresh_dim(byoc_onnx_reader_t *reader, bool *failed) {
  return byoc_dim_unknown(&reader->module->arena, reader->module->next_id++, failed);
}

// The declared element type and rank, and sizes that only the run knows; declared ones if `takes_sizes`.
static merge_result_t take_rank(byoc_onnx_reader_t *reader, const byoc_type_t *declared, bool takes_sizes,
                                const byoc_type_t **out_type) {
  byoc_dim_t dims[BYOC_MAX_RANK] = {0};
  bool failed = false, is_open = true;
  for (int32_t i = 0; i < declared->rank; i++) {
    const bool is_constant = byoc_dim_is_constant(declared->dims[i]);
    dims[i] = takes_sizes && is_constant ? declared->dims[i] : fresh_dim(reader, &failed);
    is_open &= takes_sizes || !is_constant;
  }
  *out_type = failed ? NULL : byoc_type_tensor(&reader->module->arena, declared->dtype, declared->rank, dims);
  if (!*out_type) return MERGE_NO_MEMORY;
  return is_open ? MERGE_AGREES : MERGE_LEFT_OPEN;
}

// Gives `known` the rank of `declared` if it has none, and compares the sizes if it has.
static merge_result_t merge_tensor(byoc_onnx_reader_t *reader, const byoc_type_t *known, const byoc_type_t *declared,
                                   bool is_element, const byoc_type_t **out_type) {
  const bool knows_nothing = known->kind == BYOC_TYPE_UNKNOWN;
  if (!knows_nothing && known->dtype != declared->dtype) return MERGE_TYPE_DIFFERS;
  if (declared->rank == BYOC_RANK_UNKNOWN) {
    if (knows_nothing) *out_type = declared;
    return MERGE_AGREES;
  }
  if (knows_nothing || known->rank == BYOC_RANK_UNKNOWN) {
    const bool is_promise = reader->options->strictness == BYOC_ONNX_STRICT;
    return take_rank(reader, declared, is_promise || (knows_nothing && !is_element), out_type);
  }
  if (known->rank != declared->rank) return MERGE_SHAPE_DIFFERS;
  const bool is_promise = reader->options->strictness == BYOC_ONNX_STRICT;
  byoc_dim_t dims[BYOC_MAX_RANK] = {0};
  merge_result_t result = MERGE_AGREES;
  for (int32_t i = 0; i < declared->rank; i++) {
    dims[i] = known->dims[i];
    if (!byoc_dim_is_constant(declared->dims[i])) continue;
    if (byoc_dim_is_constant(dims[i]) && dims[i].constant != declared->dims[i].constant) return MERGE_SHAPE_DIFFERS;
    if (!byoc_dim_is_constant(dims[i]) && !is_promise) result = MERGE_LEFT_OPEN;
    if (byoc_dim_is_unknown(dims[i]) && is_promise) dims[i] = declared->dims[i];
  }
  if (is_promise) *out_type = byoc_type_tensor(&reader->module->arena, declared->dtype, declared->rank, dims);
  return *out_type ? result : MERGE_NO_MEMORY;
}

static merge_result_t merge(byoc_onnx_reader_t *reader, const byoc_type_t *known, const byoc_type_t *declared,
                            bool is_element, const byoc_type_t **out_type) {
  *out_type = known;
  if (known->kind != BYOC_TYPE_UNKNOWN && known->kind != declared->kind) return MERGE_TYPE_DIFFERS;
  if (declared->kind == BYOC_TYPE_TENSOR) return merge_tensor(reader, known, declared, is_element, out_type);
  const byoc_type_t *element;
  const merge_result_t result =
      merge(reader, known->kind == BYOC_TYPE_UNKNOWN ? known : known->element, declared->element, true, &element);
  if (result != MERGE_AGREES && result != MERGE_LEFT_OPEN) return result;
  *out_type = declared->kind == BYOC_TYPE_SEQUENCE ? byoc_type_sequence(&reader->module->arena, element)
                                                   : byoc_type_optional(&reader->module->arena, element);
  return *out_type ? result : MERGE_NO_MEMORY;
}

// "value 't' is declared i64[2,1], but NonZero (ai.onnx 13) makes it i64[2,?]"
static void contradict(const byoc_value_t *value, const byoc_type_t *declared, byoc_string_t *out) {
  char maker[256] = "the graph";
  if (byoc_value_producer(value)) byoc_node_describe(value->node, maker, sizeof(maker));
  byoc_string_appendf(out, "value '%s' is declared ", byoc_onnx_string(value->name));
  byoc_type_print(declared, out);
  byoc_string_appendf(out, ", but %s makes it ", maker);
  byoc_type_print(value->type, out);
}

static bool is_output(const byoc_onnx_reader_t *reader, const byoc_value_t *value) {
  const byoc_block_t *body = byoc_graph_module_main(reader->module)->body;
  for (size_t i = 0; i < body->results.count; i++) {
    if (body->results.data[i] == value) return true;
  }
  return false;
}

// The number of values that are reported: in files whose inputs were given other sizes, hundreds of values differ.
enum { MOST_WARNINGS = 8 };

// Warnings report the first ones, and all outputs. Loops are inferred several times, and reported once.
static byoc_status_t tell_shape(byoc_onnx_reader_t *reader, const byoc_value_t *value, const byoc_type_t *declared) {
  // Overriding an input's shape can make the declared shapes of later values wrong.
  const bool is_strict = reader->options->strictness == BYOC_ONNX_STRICT;
  if (reader->options->shape_count > 0 || byoc_pointer_map_find(&reader->told, value)) return BYOC_OK;
  if (!byoc_value_producer(value)) return BYOC_OK; // of a carried value, exporters declare the initial shape
  if (!byoc_pointer_map_put(&reader->told, value, reader)) return byoc_diag_out_of_memory(reader->diag);
  byoc_string_t text;
  byoc_string_init(&text, reader->allocator);
  contradict(value, declared, &text);
  byoc_status_t status = BYOC_OK;
  if (is_strict) {
    status = byoc_onnx_forbidden(reader, "%s", text.data);
  } else if (is_output(reader, value) || reader->told.count <= MOST_WARNINGS) {
    byoc_log(BYOC_LOG_WARNING, "%s; the declaration is left aside", text.data);
  } else {
    reader->unreported_count++;
    byoc_log(BYOC_LOG_INFO, "%s; the declaration is left aside", text.data);
  }
  byoc_string_deinit(&text);
  return status;
}

// Can choose-ranks and sink-into-branches find the rank of a value that only the run knows? A declared rank would be
// that of one run only.
static bool finds_rank(const byoc_value_t *value) {
  const byoc_node_t *node = byoc_value_producer(value);
  return node && !byoc_node_has_trait(node, BYOC_OP_HOST) &&
         (!byoc_node_has_trait(node, BYOC_OP_CONTROL) || byoc_node_is_onnx(node, "If"));
}

// Does the rank become dynamic at this node, and not before it?
static bool opens_rank(const byoc_value_t *value) {
  const byoc_node_t *node = byoc_value_producer(value);
  for (uint32_t i = 0; i < node->operand_count; i++) {
    const byoc_type_t *type = node->operands[i] ? node->operands[i]->type : NULL;
    if (byoc_type_is_tensor(type) && type->rank == BYOC_RANK_UNKNOWN) return false;
  }
  return true;
}

static byoc_status_t apply_declaration(byoc_onnx_reader_t *reader, byoc_value_t *value) {
  const byoc_type_t *declared = byoc_pointer_map_get(&reader->declarations, value);
  if (!declared) return BYOC_OK;
  const byoc_type_t *known = value->type, *merged;
  const bool is_open = byoc_type_is_tensor(known) && known->rank == BYOC_RANK_UNKNOWN;
  const bool is_strict = reader->options->strictness == BYOC_ONNX_STRICT;
  if (is_open && byoc_type_is_tensor(declared) && known->dtype == declared->dtype && finds_rank(value) &&
      (!is_strict ||
       byoc_node_is_onnx(byoc_value_producer(value), "If"))) { // the declared rank may be that of one branch
    const bool is_reported =
        declared->rank != BYOC_RANK_UNKNOWN && !is_strict && is_output(reader, value) && opens_rank(value);
    return is_reported ? tell_shape(reader, value, declared) : BYOC_OK;
  }
  const merge_result_t result = merge(reader, known, declared, false, &merged);
  if (result == MERGE_NO_MEMORY) return byoc_diag_out_of_memory(reader->diag);
  if (result == MERGE_TYPE_DIFFERS) {
    byoc_string_t text;
    byoc_string_init(&text, reader->allocator);
    contradict(value, declared, &text);
    byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s", text.data);
    byoc_string_deinit(&text);
    return BYOC_INVALID_DATA;
  }
  if (result != MERGE_SHAPE_DIFFERS && value->kind != BYOC_VALUE_CONSTANT) value->type = merged;
  const bool differs = result == MERGE_SHAPE_DIFFERS || (result == MERGE_LEFT_OPEN && value->type == known);
  return differs ? tell_shape(reader, value, declared) : BYOC_OK;
}

static byoc_status_t infer_block(byoc_onnx_reader_t *reader, byoc_block_t *block);

static void forget_types(byoc_block_t *block) {
  for (size_t i = 0; i < block->parameters.count; i++) block->parameters.data[i]->type = byoc_type_unknown();
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->result_count; i++) node->results[i]->type = byoc_type_unknown();
    for (uint32_t i = 0; i < node->block_count; i++) forget_types(node->blocks[i]);
    if (node->callee) forget_types(node->callee->body);
  }
}

// The type that covers both: dimensions that differ become unknown; if the ranks differ, it is unranked.
static const byoc_type_t *generalise(byoc_onnx_reader_t *reader, const byoc_type_t *a, const byoc_type_t *b,
                                     bool *changed) {
  byoc_arena_t *arena = &reader->module->arena;
  if (a->kind == BYOC_TYPE_UNKNOWN) {
    *changed |= b->kind != BYOC_TYPE_UNKNOWN;
    return b;
  }
  if (a->kind != b->kind) return a; // the loop's own inference reports it
  if (a->kind != BYOC_TYPE_TENSOR) {
    const byoc_type_t *element = generalise(reader, a->element, b->element, changed);
    if (!element || element == a->element) return element ? a : NULL;
    return a->kind == BYOC_TYPE_SEQUENCE ? byoc_type_sequence(arena, element) : byoc_type_optional(arena, element);
  }
  if (a->rank == BYOC_RANK_UNKNOWN || a->dtype != b->dtype) return a;
  if (a->rank != b->rank) {
    *changed = true;
    return byoc_type_tensor(arena, a->dtype, BYOC_RANK_UNKNOWN, NULL);
  }
  byoc_dim_t dims[BYOC_MAX_RANK] = {0};
  bool differs = false, failed = false;
  for (int32_t i = 0; i < a->rank; i++) {
    dims[i] = a->dims[i];
    if (byoc_dim_is_unknown(dims[i]) || byoc_dim_equal(dims[i], b->dims[i])) continue;
    dims[i] = fresh_dim(reader, &failed);
    differs = true;
  }
  if (failed) return NULL;
  if (!differs) return a;
  *changed = true;
  return byoc_type_tensor(arena, a->dtype, a->rank, dims);
}

// Carried values of a loop may change their shape with each iteration: starts with the types of the arguments, and
// widens them until the body returns the types that it gets.
static byoc_status_t infer_loop_body(byoc_onnx_reader_t *reader, byoc_node_t *node, byoc_block_t *body) {
  const size_t count = body->parameters.count;
  const byoc_type_t **types = BYOC_ARENA_ARRAY(&reader->scratch, const byoc_type_t *, count + 1);
  byoc_arena_t *arena = &reader->module->arena;
  if (!types) return byoc_diag_out_of_memory(reader->diag);
  for (size_t i = 0; i < count; i++) {
    types[i] = byoc_type_unknown();
    if (i == 0) types[i] = byoc_type_tensor(arena, BYOC_DTYPE_I64, 0, NULL);
    if (i == 1) types[i] = byoc_type_tensor(arena, BYOC_DTYPE_BOOL, 0, NULL);
    if (i >= 2 && i < node->operand_count && node->operands[i]) types[i] = node->operands[i]->type;
    // The type of an empty sequence does not have the shapes of its elements.
    const byoc_node_t *producer = i >= 2 && i < node->operand_count ? byoc_value_producer(node->operands[i]) : NULL;
    if (producer && byoc_node_is_onnx(producer, "SequenceEmpty")) {
      types[i] = byoc_type_sequence(arena, byoc_type_unknown());
    }
    if (!types[i]) return byoc_diag_out_of_memory(reader->diag);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < count; i++) body->parameters.data[i]->type = types[i];
    BYOC_RETURN_IF_ERROR(infer_block(reader, body));
    for (size_t i = 2; i < count && i - 1 < body->results.count; i++) {
      const byoc_type_t *given = body->results.data[i - 1]->type;
      types[i] = generalise(reader, types[i], given, &changed);
      if (!types[i]) return byoc_diag_out_of_memory(reader->diag);
    }
    if (changed) forget_types(body);
  }
  return BYOC_OK;
}

static const byoc_type_t *drop_axis(byoc_onnx_reader_t *reader, const byoc_type_t *type, int64_t axis) {
  if (type->kind != BYOC_TYPE_TENSOR || type->rank < 1) return type;
  if (axis < 0) axis += type->rank;
  byoc_dim_t dims[BYOC_MAX_RANK] = {0};
  int32_t rank = 0;
  for (int32_t i = 0; i < type->rank; i++) {
    if (i != axis) dims[rank++] = type->dims[i];
  }
  if (rank == type->rank) return type; // the axis is wrong; the operator's inference reports it
  return byoc_type_tensor(&reader->module->arena, type->dtype, rank, dims);
}

// Scan from operator set 9 on: states keep their type, scanned inputs lose the axis they are scanned along.
static byoc_status_t set_scan_parameters(byoc_onnx_reader_t *reader, byoc_node_t *node, byoc_block_t *body) {
  const int64_t scanned = byoc_node_int(node, "num_scan_inputs");
  if (scanned < 0 || scanned > node->operand_count || node->since_version < 9) return BYOC_OK;
  size_t axis_count = 0;
  const int64_t *axes = byoc_node_ints(node, "scan_input_axes", &axis_count);
  const size_t states = node->operand_count - (size_t)scanned;
  for (size_t i = 0; i < node->operand_count && i < body->parameters.count; i++) {
    if (!node->operands[i]) continue;
    const byoc_type_t *type = node->operands[i]->type;
    if (i >= states) type = drop_axis(reader, type, i - states < axis_count ? axes[i - states] : 0);
    if (!type) return byoc_diag_out_of_memory(reader->diag);
    body->parameters.data[i]->type = type;
  }
  return BYOC_OK;
}

// SequenceMap gives its body one element of each sequence, and plain tensors unchanged. Dynamic dimensions may differ
// between elements.
static byoc_status_t set_map_parameters(byoc_onnx_reader_t *reader, byoc_node_t *node, byoc_block_t *body) {
  for (size_t i = 0; i < node->operand_count && i < body->parameters.count; i++) {
    const byoc_type_t *type = node->operands[i] ? node->operands[i]->type : NULL;
    if (!type) continue;
    if (type->kind == BYOC_TYPE_SEQUENCE) {
      type = type->element;
      byoc_dim_t dims[BYOC_MAX_RANK] = {0};
      bool failed = false;
      for (int32_t d = 0; d < type->rank; d++) {
        dims[d] = byoc_dim_is_constant(type->dims[d]) ? type->dims[d] : fresh_dim(reader, &failed);
      }
      if (type->kind == BYOC_TYPE_TENSOR) {
        type = byoc_type_tensor(&reader->module->arena, type->dtype, type->rank, dims);
      }
      if (!type || failed) return byoc_diag_out_of_memory(reader->diag);
    }
    body->parameters.data[i]->type = type;
  }
  return BYOC_OK;
}

// A branch may contradict itself if it is not run. Its nodes get no types here; byoc_infer_module, which follows,
// replaces them by a message.
static byoc_status_t infer_branches(byoc_onnx_reader_t *reader, byoc_node_t *node) {
  byoc_diag_t *diag = reader->diag, fault = {0};
  for (uint32_t i = 0; i < node->block_count; i++) {
    byoc_diag_t own = {0};
    reader->diag = &own;
    const byoc_status_t status = infer_block(reader, node->blocks[i]);
    reader->diag = diag;
    BYOC_RETURN_IF_ERROR(byoc_infer_branch_fault(node->blocks[i], status, &own, diag));
    if (status == BYOC_OK) continue;
    if (fault.status != BYOC_OK) return byoc_diag_adopt(diag, &fault);
    fault = own;
    forget_types(node->blocks[i]);
  }
  return BYOC_OK;
}

static byoc_status_t infer_nested(byoc_onnx_reader_t *reader, byoc_node_t *node) {
  if (byoc_node_is_onnx(node, "If")) return infer_branches(reader, node);
  byoc_block_t *body = byoc_node_find_block(node, "body");
  if (body && byoc_node_is_onnx(node, "Loop")) return infer_loop_body(reader, node, body);
  if (body && byoc_node_is_onnx(node, "Scan")) BYOC_RETURN_IF_ERROR(set_scan_parameters(reader, node, body));
  if (body && byoc_node_is_onnx(node, "SequenceMap")) BYOC_RETURN_IF_ERROR(set_map_parameters(reader, node, body));
  for (uint32_t i = 0; i < node->block_count; i++) BYOC_RETURN_IF_ERROR(infer_block(reader, node->blocks[i]));
  return BYOC_OK;
}

static byoc_status_t infer_callee(byoc_onnx_reader_t *reader, byoc_node_t *node) {
  byoc_block_t *body = node->callee->body;
  for (size_t i = 0; i < body->parameters.count && i < node->operand_count; i++) {
    body->parameters.data[i]->type = node->operands[i]->type;
  }
  BYOC_RETURN_IF_ERROR_IN(reader->diag, infer_block(reader, body), "in local function '%s'", node->callee->name);
  return BYOC_OK;
}

static byoc_status_t infer_block(byoc_onnx_reader_t *reader, byoc_block_t *block) {
  if (block->owner) {
    for (size_t i = 0; i < block->parameters.count; i++) {
      BYOC_RETURN_IF_ERROR(apply_declaration(reader, block->parameters.data[i]));
    }
  }
  BYOC_FOR_EACH_NODE(node, block) {
    if (++reader->inference_count > MAX_INFERENCES) {
      return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "its loops are nested too deeply to infer their types");
    }
    if (node->callee) BYOC_RETURN_IF_ERROR(infer_callee(reader, node));
    if (node->block_count > 0) BYOC_RETURN_IF_ERROR(infer_nested(reader, node));
    BYOC_RETURN_IF_ERROR(byoc_infer_node(node, reader->diag));
    for (uint32_t i = 0; i < node->result_count; i++) BYOC_RETURN_IF_ERROR(apply_declaration(reader, node->results[i]));
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_infer(byoc_onnx_reader_t *reader) {
  byoc_block_t *body = byoc_graph_module_main(reader->module)->body;
  BYOC_RETURN_IF_ERROR(infer_block(reader, body));
  // Outputs that no node makes: inputs and constants that are passed on.
  for (size_t i = 0; i < body->results.count; i++) {
    if (!byoc_value_producer(body->results.data[i])) {
      BYOC_RETURN_IF_ERROR(apply_declaration(reader, body->results.data[i]));
    }
  }
  if (reader->unreported_count > 0) {
    byoc_log(BYOC_LOG_WARNING, "%zu more values have other shapes than the model declares", reader->unreported_count);
  }
  return BYOC_OK;
}
