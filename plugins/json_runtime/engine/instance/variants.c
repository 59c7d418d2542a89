// SPDX-License-Identifier: Apache-2.0
// Keeps the variants of one function.
#include "engine/instance/variants.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/open_sizes.h"

static int32_t out_of_memory(const byoc_dnnl_variants_t *variants, byoc_dnnl_error_t *error) {
  return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "%s: out of memory", variants->description->symbol);
}

int32_t byoc_dnnl_variants_init(const byoc_engine_function_t *description, byoc_dnnl_variants_t *out_variants,
                                byoc_dnnl_error_t *error) {
  memset(out_variants, 0, sizeof(*out_variants));
  out_variants->description = description;
  const int32_t status = byoc_dnnl_graph_init(description, &out_variants->graph, error);
  if (status != BYOC_OK) return status;
  out_variants->open_count = out_variants->graph.open_count;
  out_variants->limit = out_variants->open_count > 0 ? (uint64_t)out_variants->graph.shape_limit : 1;
  out_variants->sizes = calloc((size_t)out_variants->open_count + 1, sizeof(*out_variants->sizes));
  return out_variants->sizes != NULL ? BYOC_OK : out_of_memory(out_variants, error);
}

static void destroy_variant(byoc_dnnl_variant_t *variant) {
  if (variant->function.api != NULL) byoc_dnnl_function_deinit(&variant->function);
  free(variant->sizes);
  free(variant);
}

void byoc_dnnl_variants_deinit(byoc_dnnl_variants_t *variants) {
  for (uint32_t i = 0; i < variants->count; ++i) destroy_variant(variants->items[i]);
  free(variants->items);
  free(variants->sizes);
  byoc_dnnl_graph_deinit(&variants->graph);
  memset(variants, 0, sizeof(*variants));
}

byoc_dnnl_function_t *byoc_dnnl_variants_find(byoc_dnnl_variants_t *variants, int is_careful) {
  for (uint32_t i = 0; i < variants->count; ++i) {
    byoc_dnnl_variant_t *variant = variants->items[i];
    if (variant->is_careful != is_careful) continue;
    if (memcmp(variant->sizes, variants->sizes, variants->open_count * sizeof(*variant->sizes)) != 0) continue;
    variant->used_at = ++variants->time;
    return &variant->function;
  }
  return NULL;
}

// Drops the variant used longest ago if there are as many as may be; careful ones and others are counted apart.
static void drop_oldest(byoc_dnnl_variants_t *variants, int is_careful) {
  uint32_t oldest = 0;
  uint64_t count = 0;
  for (uint32_t i = 0; i < variants->count; ++i) {
    if (variants->items[i]->is_careful != is_careful) continue;
    if (count++ == 0 || variants->items[i]->used_at < variants->items[oldest]->used_at) oldest = i;
  }
  if (count < variants->limit) return;
  destroy_variant(variants->items[oldest]);
  variants->items[oldest] = variants->items[--variants->count];
}

void byoc_dnnl_variants_drop_newest(byoc_dnnl_variants_t *variants) {
  destroy_variant(variants->items[--variants->count]);
}

// The graph with all sizes known. The first variant of constant sizes takes the one that was read.
static int32_t resolve(byoc_dnnl_variants_t *variants, byoc_dnnl_graph_t *out_graph, byoc_dnnl_error_t *error) {
  if (variants->open_count == 0 && variants->graph.root == NULL)
    return byoc_dnnl_graph_init(variants->description, out_graph, error);
  if (variants->open_count == 0) {
    *out_graph = variants->graph;
    memset(&variants->graph, 0, sizeof(variants->graph));
    return BYOC_OK;
  }
  int64_t *sizes = malloc(variants->open_count * sizeof(*sizes));
  int32_t status = byoc_dnnl_graph_init(variants->description, out_graph, error);
  if (status == BYOC_OK && sizes == NULL) status = out_of_memory(variants, error);
  if (status == BYOC_OK) {
    memcpy(sizes, variants->sizes, variants->open_count * sizeof(*sizes));
    status = byoc_dnnl_open_sizes_resolve(out_graph, sizes, error);
  }
  free(sizes);
  if (status != BYOC_OK) byoc_dnnl_graph_deinit(out_graph);
  return status;
}

int32_t byoc_dnnl_variants_add(byoc_dnnl_variants_t *variants, int is_careful, const byoc_dnnl_api_t *api,
                               dnnl_engine_t engine, byoc_dnnl_function_t **out_function, byoc_dnnl_error_t *error) {
  *out_function = NULL;
  drop_oldest(variants, is_careful);
  byoc_dnnl_variant_t **items = realloc(variants->items, ((size_t)variants->count + 1) * sizeof(*items));
  if (items == NULL) return out_of_memory(variants, error);
  variants->items = items;
  byoc_dnnl_variant_t *variant = calloc(1, sizeof(*variant));
  if (variant == NULL) return out_of_memory(variants, error);
  byoc_dnnl_graph_t graph;
  variant->is_careful = is_careful;
  variant->used_at = ++variants->time;
  variant->sizes = malloc((variants->open_count + 1) * sizeof(*variant->sizes));
  int32_t status = variant->sizes != NULL ? resolve(variants, &graph, error) : out_of_memory(variants, error);
  if (status == BYOC_OK) {
    memcpy(variant->sizes, variants->sizes, variants->open_count * sizeof(*variant->sizes));
    status = byoc_dnnl_function_build(api, engine, variants->description, is_careful, &graph, &variants->weights,
                                      &variant->function, error);
  }
  if (status != BYOC_OK) {
    destroy_variant(variant);
    return status;
  }
  variants->items[variants->count++] = variant;
  *out_function = &variant->function;
  return BYOC_OK;
}
