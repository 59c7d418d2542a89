// SPDX-License-Identifier: Apache-2.0
// Meshes of ranks, and the sharding of a tensor over one.
//
// The attributes of a module name its mesh: {mesh = "dp=2, tp=4", rank = 3}. Ranks are numbered along the axes of the
// mesh, the last one fastest. A value may name its sharding (byoc_virtual_device_t.ranks), one entry for each axis
// along which it is not whole:
//
//   "tp: 1"         dimension 1 is cut into as many equal blocks as there are ranks along tp, one for each
//   "tp: 1 * 3"     dimension 1 has 3 equal parts, each of which is cut so: queries, keys and values in one matrix
//   "tp: partial"   the value is the sum of what the ranks have
//   "tp: at 2"      only rank 2 along tp has it
//   "whole"         every rank has all of it
#ifndef BYOC_CORE_PASS_SPREAD_H_
#define BYOC_CORE_PASS_SPREAD_H_

#include "core/ir/graph.h"

enum { BYOC_MESH_MOST_AXES = 4, BYOC_MESH_MOST_RANKS = 1024 };

typedef struct byoc_mesh_t {
  int32_t axis_count, rank_count, rank;
  char names[BYOC_MESH_MOST_AXES][32];
  int32_t sizes[BYOC_MESH_MOST_AXES];
  int32_t strides[BYOC_MESH_MOST_AXES];     // between ranks that differ by one along the axis
  int32_t coordinates[BYOC_MESH_MOST_AXES]; // of this rank
} byoc_mesh_t;

typedef enum byoc_spread_kind_t {
  BYOC_SPREAD_WHOLE,
  BYOC_SPREAD_SPLIT,
  BYOC_SPREAD_PARTIAL,
  BYOC_SPREAD_AT,
} byoc_spread_kind_t;

// Along one axis of the mesh. Fields that a kind does not use are 0.
typedef struct byoc_spread_axis_t {
  byoc_spread_kind_t kind;
  int32_t dim, parts; // SPLIT
  int32_t at;         // AT
} byoc_spread_axis_t;

typedef struct byoc_spread_t {
  byoc_spread_axis_t axes[BYOC_MESH_MOST_AXES];
} byoc_spread_t;

// "dp=2, tp=4". BYOC_INVALID_ARGUMENT, with the reason.
byoc_status_t byoc_mesh_parse(const char *text, int32_t rank, byoc_diag_t *diag, byoc_mesh_t *out_mesh);
// "tp: 1, dp: 0". BYOC_INVALID_ARGUMENT, with the reason.
byoc_status_t byoc_spread_parse(const char *text, const byoc_mesh_t *mesh, byoc_diag_t *diag, byoc_spread_t *out);

bool byoc_spread_axis_equal(const byoc_spread_axis_t *a, const byoc_spread_axis_t *b);
bool byoc_spread_equal(const byoc_spread_t *a, const byoc_spread_t *b);
bool byoc_spread_is_whole(const byoc_spread_t *spread);
// Do all axes that cut the dimension together cut that many elements into equal blocks? Other dimensions may have any
// size.
bool byoc_spread_divides(const byoc_spread_t *spread, const byoc_mesh_t *mesh, int32_t dim, byoc_dim_t extent);

#endif // BYOC_CORE_PASS_SPREAD_H_
