// SPDX-License-Identifier: Apache-2.0
// Resharding: collectives and cuts between two spreads of a value.
#include "core/pass/reshard.h"

#include <string.h>

#include "core/op/op.h"
#include "core/op/write.h"

typedef struct resharder_t {
  byoc_writer_t w;
  const byoc_mesh_t *mesh;
} resharder_t;

// ---- pieces ----

static int64_t dim_of(const byoc_value_t *x, int32_t d) {
  return x->type->dims[d].constant;
}

// The blocks of a group's `members`: each has the dimensions `dims`, and its dimension `dim` consists of `parts` runs.
typedef struct blocks_t {
  int64_t dims[BYOC_MAX_RANK];
  int32_t rank, dim, parts;
  int64_t members;
} blocks_t;

static blocks_t blocks_of(const byoc_value_t *x, int32_t dim, int32_t parts, int64_t members) {
  blocks_t b = {.rank = x->type->rank, .dim = dim, .parts = parts, .members = members};
  for (int32_t d = 0; d < b.rank; ++d) b.dims[d] = dim_of(x, d);
  return b;
}

// Do the members' blocks lie one behind the other in the whole tensor?
static bool is_in_order(const blocks_t *b) {
  int64_t outer = b->parts;
  for (int32_t d = 0; d < b->dim; ++d) outer *= b->dims[d];
  return outer == 1;
}

// [N * d0, d1 ...] ↔ [d0 ..., N * dim ...]
static byoc_value_t *write_rows(byoc_writer_t *w, byoc_value_t *x, const blocks_t *b, int32_t longer) {
  int64_t dims[BYOC_MAX_RANK];
  memcpy(dims, b->dims, sizeof(dims));
  dims[longer] *= b->members;
  return byoc_write_reshape(w, x, dims, b->rank);
}

// The blocks of all members, one behind the other, become the whole tensor.
static byoc_value_t *join(byoc_writer_t *w, byoc_value_t *x, const blocks_t *b) {
  if (b->dim == 0 && b->parts == 1) return x;
  if (is_in_order(b)) return write_rows(w, x, b, b->dim);
  int64_t dims[BYOC_MAX_RANK + 2] = {b->members}, permutation[BYOC_MAX_RANK + 2];
  const int32_t at = b->dim; // of the parts, behind N
  for (int32_t d = 0; d < b->rank; ++d) dims[d + (d > at) + 1] = b->dims[d];
  dims[at + 1] = b->parts;
  dims[at + 2] = b->dims[at] / b->parts;
  for (int32_t d = 0; d < b->rank + 2; ++d) permutation[d] = d <= at ? d + 1 : d == at + 1 ? 0 : d;
  x = byoc_write_reshape(w, x, dims, b->rank + 2);
  x = byoc_write_transpose(w, x, permutation, (size_t)b->rank + 2);
  return write_rows(w, x, b, at);
}

// Splits the whole tensor into the blocks of all members, one behind the other.
static byoc_value_t *part(byoc_writer_t *w, byoc_value_t *x, const blocks_t *b) {
  if (b->dim == 0 && b->parts == 1) return x;
  if (is_in_order(b)) return write_rows(w, x, b, 0);
  int64_t dims[BYOC_MAX_RANK + 2], permutation[BYOC_MAX_RANK + 2];
  const int32_t at = b->dim;
  for (int32_t d = 0; d < b->rank; ++d) dims[d + (d > at ? 2 : 0)] = b->dims[d];
  dims[at] = b->parts;
  dims[at + 1] = b->members;
  dims[at + 2] = b->dims[at] / b->parts;
  for (int32_t d = 0; d < b->rank + 2; ++d) permutation[d] = d == 0 ? at + 1 : d <= at + 1 ? d - 1 : d;
  x = byoc_write_reshape(w, x, dims, b->rank + 2);
  x = byoc_write_transpose(w, x, permutation, (size_t)b->rank + 2);
  return write_rows(w, x, b, 0);
}

// Keeps this rank's block of a value that is whole along an axis of the mesh.
static byoc_value_t *cut(resharder_t *r, byoc_value_t *x, int32_t k, const byoc_spread_axis_t *to) {
  byoc_writer_t *w = &r->w;
  const int64_t size = r->mesh->sizes[k], at = r->mesh->coordinates[k];
  blocks_t b = blocks_of(x, to->dim, to->parts, size);
  b.dims[to->dim] /= size;
  const int64_t extent = b.dims[to->dim] / to->parts; // of one run
  int64_t dims[BYOC_MAX_RANK + 2];
  int32_t axis = to->dim;
  int64_t unit = extent;
  if (to->parts > 1) {
    for (int32_t d = 0; d < b.rank; ++d) dims[d + (d > axis ? 2 : 0)] = b.dims[d];
    dims[axis] = to->parts;
    dims[axis + 1] = size;
    dims[axis + 2] = extent;
    x = byoc_write_reshape(w, x, dims, b.rank + 2);
    axis += 1;
    unit = 1;
  }
  byoc_value_t *operands[4] = {x};
  const int64_t numbers[] = {at * unit, (at + 1) * unit, axis};
  for (int i = 0; i < 3; ++i) operands[i + 1] = byoc_write_vector(w, "block", BYOC_DTYPE_I64, 1, &numbers[i]);
  byoc_node_t *slice = byoc_write_many(w, "", "Slice", operands, 4, 1, NULL, 0);
  if (slice == NULL || to->parts == 1) return slice != NULL ? slice->results[0] : NULL;
  return byoc_write_reshape(w, slice->results[0], b.dims, b.rank);
}

// Elements of less than a byte lie in it lowest first; bits that are written one by one are 0 before.
static void copy_bits(uint8_t *to, size_t to_bit, const uint8_t *from, size_t from_bit, size_t count) {
  if (to_bit % 8 == 0 && from_bit % 8 == 0 && count % 8 == 0) {
    memcpy(to + to_bit / 8, from + from_bit / 8, count / 8);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const int bit = from[(from_bit + i) / 8] >> (from_bit + i) % 8 & 1;
    to[(to_bit + i) / 8] |= (uint8_t)(bit << (to_bit + i) % 8);
  }
}

// The same for a constant, whose block is another constant.
static byoc_value_t *cut_constant(resharder_t *r, byoc_value_t *x, int32_t k, const byoc_spread_axis_t *to) {
  const byoc_constant_t *from = x->constant;
  byoc_graph_module_t *module = from->module;
  blocks_t b = blocks_of(x, to->dim, to->parts, r->mesh->sizes[k]);
  b.dims[to->dim] /= b.members;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, from->type->dtype, b.rank, b.dims);
  void *data = NULL;
  byoc_constant_t *made = type != NULL ? byoc_constant_allocate(module, from->name, type, &data) : NULL;
  byoc_value_t *value = made != NULL ? byoc_function_constant(x->function, made) : NULL;
  if (value == NULL) {
    r->w.failed = true;
    return NULL;
  }
  size_t run = byoc_dtype_bits(type->dtype), outer = (size_t)to->parts; // in bits
  for (int32_t d = 0; d < to->dim; ++d) outer *= (size_t)b.dims[d];
  for (int32_t d = to->dim; d < b.rank; ++d) run *= (size_t)b.dims[d];
  run /= (size_t)to->parts;
  const size_t members = (size_t)b.members, at = (size_t)r->mesh->coordinates[k];
  if (run % 8 != 0) memset(data, 0, (size_t)byoc_type_size_bytes(type));
  for (size_t o = 0; o < outer && run > 0; ++o) {
    copy_bits((uint8_t *)data, o * run, (const uint8_t *)from->data, (o * members + at) * run, run);
  }
  return value;
}

static bool is_cut_when_built(const byoc_value_t *x) {
  return byoc_value_is_constant(x) && x->type->dtype != BYOC_DTYPE_STRING;
}

// ---- collectives ----

static byoc_value_t *exchange(resharder_t *r, const char *op, byoc_value_t *x, int32_t k, int32_t root) {
  const bool has_root = strcmp(op, "Broadcast") == 0 || strcmp(op, "GatherBlocks") == 0 ||
                        strcmp(op, "ScatterBlocks") == 0 || strcmp(op, "Reduce") == 0 || strcmp(op, "Send") == 0 ||
                        strcmp(op, "Receive") == 0;
  const byoc_attribute_t attributes[] = {
      {.name = "members", .kind = BYOC_ATTRIBUTE_INT, .i = r->mesh->sizes[k]},
      {.name = "stride", .kind = BYOC_ATTRIBUTE_INT, .i = r->mesh->strides[k]},
      {.name = "root", .kind = BYOC_ATTRIBUTE_INT, .i = root},
  };
  return byoc_write_node(&r->w, "byoc", op, x, NULL, NULL, attributes, has_root ? 3 : 2);
}

// One rank along the axis hands the value to another one.
static byoc_value_t *hand_over(resharder_t *r, byoc_value_t *x, int32_t k, int32_t from, int32_t to) {
  const int32_t own = r->mesh->coordinates[k];
  if (own == from) return exchange(r, "Send", x, k, to);
  return own == to ? exchange(r, "Receive", x, k, from) : x;
}

// Along axis k; the other axes keep what they have.
static byoc_value_t *reshard_axis(resharder_t *r, byoc_value_t *x, int32_t k, const byoc_spread_axis_t *from,
                                  const byoc_spread_axis_t *to) {
  const int64_t size = r->mesh->sizes[k];
  const bool cuts = to->kind == BYOC_SPREAD_SPLIT, was_cut = from->kind == BYOC_SPREAD_SPLIT;
  if (from->kind == BYOC_SPREAD_WHOLE) {
    if (!cuts) return x;
    return is_cut_when_built(x) ? cut_constant(r, x, k, to) : cut(r, x, k, to);
  }
  if (from->kind == BYOC_SPREAD_AT && to->kind == BYOC_SPREAD_AT) return hand_over(r, x, k, from->at, to->at);
  if (cuts) { // into the blocks that the members get
    blocks_t b = blocks_of(x, to->dim, to->parts, size);
    b.dims[to->dim] /= size;
    const blocks_t own = was_cut ? blocks_of(x, from->dim, from->parts, size) : (blocks_t){0};
    x = part(&r->w, x, &b);
    if (!was_cut) {
      return from->kind == BYOC_SPREAD_PARTIAL ? exchange(r, "ReduceScatter", x, k, 0)
                                               : exchange(r, "ScatterBlocks", x, k, from->at);
    }
    x = exchange(r, "AllToAll", x, k, 0);
    blocks_t joined = own;
    joined.dims[to->dim] = b.dims[to->dim];
    return join(&r->w, x, &joined);
  }
  const int32_t root = to->kind == BYOC_SPREAD_AT ? to->at : from->at;
  if (was_cut) {
    const blocks_t b = blocks_of(x, from->dim, from->parts, size);
    x = to->kind == BYOC_SPREAD_AT ? exchange(r, "GatherBlocks", x, k, root) : exchange(r, "AllGather", x, k, 0);
    return x != NULL ? join(&r->w, x, &b) : NULL;
  }
  if (from->kind == BYOC_SPREAD_AT) return exchange(r, "Broadcast", x, k, root);
  return to->kind == BYOC_SPREAD_AT ? exchange(r, "Reduce", x, k, root) : exchange(r, "AllReduce", x, k, 0);
}

// Cut along axis a, to be cut the same way along axis b: ranks that lie opposite each other across the diagonal of
// the two axes exchange their blocks.
static byoc_value_t *swap_axes(resharder_t *r, byoc_value_t *x, int32_t a, int32_t b) {
  const byoc_mesh_t *mesh = r->mesh;
  int64_t targets[BYOC_MESH_MOST_RANKS];
  for (int32_t rank = 0; rank < mesh->rank_count; ++rank) {
    const int32_t on_a = rank / mesh->strides[a] % mesh->sizes[a], on_b = rank / mesh->strides[b] % mesh->sizes[b];
    targets[rank] = rank + (on_b - on_a) * mesh->strides[a] + (on_a - on_b) * mesh->strides[b];
  }
  const byoc_attribute_t attributes[] = {
      {.name = "members", .kind = BYOC_ATTRIBUTE_INT, .i = mesh->rank_count},
      {.name = "targets", .kind = BYOC_ATTRIBUTE_INTS, .ints = targets, .count = (size_t)mesh->rank_count},
  };
  return byoc_write_node(&r->w, "byoc", "Permute", x, NULL, NULL, attributes, 2);
}

// ---- all axes ----

static bool shares_dim(const byoc_spread_t *spread, int32_t k) {
  for (int32_t other = 0; other < BYOC_MESH_MOST_AXES; ++other) {
    const byoc_spread_axis_t *a = &spread->axes[other];
    if (other != k && a->kind == BYOC_SPREAD_SPLIT && a->dim == spread->axes[k].dim) return true;
  }
  return false;
}

// Axes that cut one dimension do so one within the other, the later ones inside: where one of them changes, those
// inside of it are joined first and cut again.
static bool must_join(const byoc_spread_t *now, const byoc_spread_t *to, int32_t k) {
  if (now->axes[k].kind != BYOC_SPREAD_SPLIT) return false;
  for (int32_t outer = 0; outer < k; ++outer) {
    const byoc_spread_axis_t *a = &now->axes[outer], *b = &to->axes[outer];
    const bool is_same = byoc_spread_axis_equal(a, b);
    if (!is_same && a->kind == BYOC_SPREAD_SPLIT && a->dim == now->axes[k].dim) return true;
    if (!is_same && b->kind == BYOC_SPREAD_SPLIT && b->dim == now->axes[k].dim) return true;
  }
  return false;
}

// One collective does it if no other axis cuts the dimensions that it joins or cuts.
static bool goes_directly(const byoc_spread_t *now, const byoc_spread_t *to, int32_t k) {
  const byoc_spread_axis_t *a = &now->axes[k], *b = &to->axes[k];
  if (b->kind != BYOC_SPREAD_SPLIT) return true;
  if (a->kind == BYOC_SPREAD_WHOLE || (a->kind == BYOC_SPREAD_SPLIT && a->dim == b->dim)) return false;
  if (shares_dim(to, k) || (a->kind == BYOC_SPREAD_SPLIT && shares_dim(now, k))) return false;
  for (int32_t other = 0; other < BYOC_MESH_MOST_AXES; ++other) {
    const byoc_spread_axis_t *o = &now->axes[other];
    if (other != k && o->kind == BYOC_SPREAD_SPLIT && o->dim == b->dim) return false;
  }
  return true;
}

static byoc_value_t *swap_if_possible(resharder_t *r, byoc_value_t *x, byoc_spread_t *now, const byoc_spread_t *to) {
  for (int32_t a = 0; a < r->mesh->axis_count; ++a) {
    for (int32_t b = 0; b < r->mesh->axis_count; ++b) {
      const bool fits = now->axes[a].kind == BYOC_SPREAD_SPLIT && to->axes[a].kind == BYOC_SPREAD_WHOLE &&
                        now->axes[b].kind == BYOC_SPREAD_WHOLE && r->mesh->sizes[a] == r->mesh->sizes[b] &&
                        byoc_spread_axis_equal(&now->axes[a], &to->axes[b]) && !shares_dim(now, a);
      if (!fits) continue;
      now->axes[b] = now->axes[a];
      now->axes[a] = (byoc_spread_axis_t){0};
      return swap_axes(r, x, a, b);
    }
  }
  return x;
}

static byoc_value_t *reshard(resharder_t *r, byoc_value_t *x, const byoc_spread_t *from, const byoc_spread_t *to) {
  static const byoc_spread_axis_t whole = {0};
  byoc_spread_t now = *from;
  x = swap_if_possible(r, x, &now, to);
  for (int32_t k = r->mesh->axis_count - 1; k >= 0 && x != NULL; --k) {
    if (now.axes[k].kind == BYOC_SPREAD_WHOLE) continue;
    const bool joins = must_join(&now, to, k);
    if (byoc_spread_axis_equal(&now.axes[k], &to->axes[k]) && !joins) continue;
    const byoc_spread_axis_t *next = !joins && goes_directly(&now, to, k) ? &to->axes[k] : &whole;
    x = reshard_axis(r, x, k, &now.axes[k], next);
    now.axes[k] = *next;
  }
  for (int32_t k = 0; k < r->mesh->axis_count && x != NULL; ++k) {
    if (byoc_spread_axis_equal(&now.axes[k], &to->axes[k])) continue;
    x = reshard_axis(r, x, k, &now.axes[k], &to->axes[k]);
    now.axes[k] = to->axes[k];
  }
  return x;
}

// Only sums, and values that move as they are, need no shape.
static bool needs_shape(const byoc_spread_t *from, const byoc_spread_t *to) {
  for (int32_t k = 0; k < BYOC_MESH_MOST_AXES; ++k) {
    const byoc_spread_axis_t *a = &from->axes[k], *b = &to->axes[k];
    const bool is_cut = a->kind == BYOC_SPREAD_SPLIT || b->kind == BYOC_SPREAD_SPLIT;
    if (is_cut && !byoc_spread_axis_equal(a, b)) return true;
  }
  return false;
}

byoc_status_t byoc_reshard(byoc_value_t *value, const byoc_spread_t *from, const byoc_spread_t *to,
                           const byoc_mesh_t *mesh, byoc_node_t *before, byoc_diag_t *diag, byoc_value_t **out_value) {
  *out_value = value;
  if (byoc_spread_equal(from, to)) return BYOC_OK;
  const char *name = value->name != NULL ? value->name : byoc_value_is_constant(value) ? value->constant->name : "";
  for (int32_t k = 0; k < mesh->axis_count; ++k) {
    if (to->axes[k].kind != BYOC_SPREAD_PARTIAL || from->axes[k].kind == BYOC_SPREAD_PARTIAL) continue;
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "'%s' cannot be made a sum over the ranks of '%s'", name,
                           mesh->names[k]);
  }
  const byoc_type_t *type = value->type;
  if (needs_shape(from, to) &&
      (!byoc_type_is_tensor(type) || !byoc_type_is_static(type) || type->rank + 2 > BYOC_MAX_RANK)) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_UNSUPPORTED, "'%s' is exchanged between ranks, and its shape is not known", name);
    byoc_diag_hint(diag, "give symbolic dimensions their values with --dim");
    return status;
  }
  resharder_t r = {.w = {.node = before, .diag = diag}, .mesh = mesh};
  byoc_value_t *made = reshard(&r, value, from, to);
  if (made == NULL || r.w.failed) return byoc_diag_failure(diag);
  *out_value = made;
  return BYOC_OK;
}
