// SPDX-License-Identifier: Apache-2.0
// Reads and prints meshes of ranks, and shardings of values over them.
#include "core/pass/spread.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- words ----

static const char *skip_space(const char *at) {
  while (isspace((unsigned char)*at)) ++at;
  return at;
}

// A word of letters, digits and underscores; false if there is none, or if it is too long.
static bool read_word(const char **at, char *out, size_t size) {
  const char *begin = *at = skip_space(*at);
  while (isalnum((unsigned char)**at) || **at == '_') ++*at;
  const size_t length = (size_t)(*at - begin);
  if (length == 0 || length >= size) return false;
  memcpy(out, begin, length);
  out[length] = '\0';
  return true;
}

static bool read_sign(const char **at, char sign) {
  *at = skip_space(*at);
  if (**at != sign) return false;
  ++*at;
  return true;
}

static bool read_number(const char **at, int32_t *out) {
  char *end = NULL;
  *at = skip_space(*at);
  if (!isdigit((unsigned char)**at)) return false;
  const long number = strtol(*at, &end, 10);
  if (number > BYOC_MESH_MOST_RANKS) return false;
  *at = end;
  *out = (int32_t)number;
  return true;
}

// ---- meshes ----

static bool read_axes(const char *text, byoc_mesh_t *mesh) {
  const char *at = text;
  mesh->rank_count = 1;
  do {
    const int32_t k = mesh->axis_count++;
    if (k == BYOC_MESH_MOST_AXES || !read_word(&at, mesh->names[k], sizeof(mesh->names[k])) || !read_sign(&at, '=') ||
        !read_number(&at, &mesh->sizes[k]) || mesh->sizes[k] < 1) {
      return false;
    }
    for (int32_t other = 0; other < k; ++other) {
      if (strcmp(mesh->names[other], mesh->names[k]) == 0) return false;
    }
    mesh->rank_count *= mesh->sizes[k];
    if (mesh->rank_count > BYOC_MESH_MOST_RANKS) return false;
  } while (read_sign(&at, ','));
  return *skip_space(at) == '\0';
}

byoc_status_t byoc_mesh_parse(const char *text, int32_t rank, byoc_diag_t *diag, byoc_mesh_t *out_mesh) {
  *out_mesh = (byoc_mesh_t){0};
  byoc_mesh_t mesh = {.rank = rank};
  if (!read_axes(text, &mesh)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "the mesh is '%s'; up to %d axes of different names, and up to %d ranks, are written so: "
                           "dp=2, tp=4",
                           text, BYOC_MESH_MOST_AXES, BYOC_MESH_MOST_RANKS);
  }
  if (rank < 0 || rank >= mesh.rank_count) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the mesh '%s' has %d ranks, from 0; there is no rank %d", text,
                           mesh.rank_count, rank);
  }
  for (int32_t k = mesh.axis_count - 1, stride = 1; k >= 0; stride *= mesh.sizes[k--]) {
    mesh.strides[k] = stride;
    mesh.coordinates[k] = rank / stride % mesh.sizes[k];
  }
  *out_mesh = mesh;
  return BYOC_OK;
}

// ---- spreads ----

static bool read_entry(const char **at, const byoc_mesh_t *mesh, byoc_spread_t *spread) {
  char name[32], word[32];
  if (!read_word(at, name, sizeof(name)) || !read_sign(at, ':')) return false;
  int32_t k = 0;
  while (k < mesh->axis_count && strcmp(mesh->names[k], name) != 0) ++k;
  if (k == mesh->axis_count || spread->axes[k].kind != BYOC_SPREAD_WHOLE) return false;
  byoc_spread_axis_t *axis = &spread->axes[k];
  if (read_number(at, &axis->dim)) {
    axis->kind = BYOC_SPREAD_SPLIT;
    axis->parts = 1;
    return axis->dim < BYOC_MAX_RANK && (!read_sign(at, '*') || (read_number(at, &axis->parts) && axis->parts > 0));
  }
  if (!read_word(at, word, sizeof(word))) return false;
  if (strcmp(word, "partial") == 0) axis->kind = BYOC_SPREAD_PARTIAL;
  if (strcmp(word, "at") == 0) axis->kind = BYOC_SPREAD_AT;
  if (axis->kind == BYOC_SPREAD_AT) return read_number(at, &axis->at) && axis->at < mesh->sizes[k];
  return axis->kind == BYOC_SPREAD_PARTIAL;
}

static bool read_entries(const char *text, const byoc_mesh_t *mesh, byoc_spread_t *spread) {
  const char *at = text;
  do {
    if (!read_entry(&at, mesh, spread)) return false;
  } while (read_sign(&at, ','));
  return *skip_space(at) == '\0';
}

byoc_status_t byoc_spread_parse(const char *text, const byoc_mesh_t *mesh, byoc_diag_t *diag, byoc_spread_t *out) {
  *out = (byoc_spread_t){0};
  byoc_spread_t spread = {0};
  if (strcmp(text, "whole") == 0) return BYOC_OK;
  if (read_entries(text, mesh, &spread)) {
    *out = spread;
    return BYOC_OK;
  }
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is no sharding of a value over the mesh", text);
  byoc_diag_hint(diag, "for an axis tp of the mesh: 'tp: 1' (a dimension), 'tp: 1 * 3', 'tp: partial', 'tp: at 0'; "
                       "'whole'");
  return status;
}

bool byoc_spread_axis_equal(const byoc_spread_axis_t *a, const byoc_spread_axis_t *b) {
  return a->kind == b->kind && a->dim == b->dim && a->parts == b->parts && a->at == b->at;
}

bool byoc_spread_equal(const byoc_spread_t *a, const byoc_spread_t *b) {
  for (int32_t k = 0; k < BYOC_MESH_MOST_AXES; ++k) {
    if (!byoc_spread_axis_equal(&a->axes[k], &b->axes[k])) return false;
  }
  return true;
}

bool byoc_spread_is_whole(const byoc_spread_t *spread) {
  const byoc_spread_t whole = {0};
  return byoc_spread_equal(spread, &whole);
}

bool byoc_spread_divides(const byoc_spread_t *spread, const byoc_mesh_t *mesh, int32_t dim, byoc_dim_t extent) {
  int64_t blocks = 1;
  for (int32_t k = 0; k < mesh->axis_count; ++k) {
    const byoc_spread_axis_t *axis = &spread->axes[k];
    if (axis->kind == BYOC_SPREAD_SPLIT && axis->dim == dim) blocks *= (int64_t)mesh->sizes[k] * axis->parts;
  }
  return blocks == 1 || (byoc_dim_is_constant(extent) && extent.constant > 0 && extent.constant % blocks == 0);
}
