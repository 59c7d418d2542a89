// SPDX-License-Identifier: Apache-2.0
// Runs the samples and watches values: their ranges, the outliers of channels, their products with each other.
#include <string.h>

#include "core/quantise/prepare.h"
#include "core/quantise/quantise_internal.h"

// ---- runs ----

typedef struct watched_t {
  const char **names;
  byoc_observer_t **observers; // parallel to names
  size_t count;
} watched_t;

static byoc_status_t not_finite(byoc_observed_t observed, const char *name, size_t sample, byoc_diag_t *diag) {
  if (observed == BYOC_OBSERVED_NO_MEMORY) return byoc_diag_out_of_memory(diag);
  byoc_diag_error(diag, BYOC_INVALID_DATA, "the value '%s' of the model is %s in sample %zu", name,
                  observed == BYOC_OBSERVED_NAN ? "NaN" : "infinite", sample + 1);
  byoc_diag_hint(diag, "leave that sample out, or keep the layers that read the value in floats: --exclude NAME");
  return BYOC_INVALID_DATA;
}

static size_t count_of(const byoc_argument_t *value) {
  size_t count = 1;
  for (uint32_t d = 0; d < value->rank; d++) count *= (size_t)value->dims[d];
  return count;
}

static byoc_status_t watch(byoc_quantise_t *q, const watched_t *watched, const char *step, byoc_diag_t *diag) {
  byoc_probe_t *probe;
  if (watched->count == 0) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_quantise_open_probe(q, q->model, watched->names, watched->count, diag, &probe));
  byoc_quantise_begin(q, step, (int64_t)q->options.sample_count);
  byoc_status_t status = BYOC_OK;
  for (size_t s = 0; status == BYOC_OK && s < q->options.sample_count; s++) {
    const byoc_argument_t *values;
    status = byoc_probe_run(probe, q->options.samples[s], diag, &values);
    for (size_t i = 0; status == BYOC_OK && i < watched->count; i++) {
      const byoc_observed_t observed =
          byoc_observer_take(watched->observers[i], values[i].data, count_of(&values[i]), &q->arena);
      if (observed != BYOC_OBSERVED) status = not_finite(observed, watched->names[i], s, diag);
    }
    byoc_quantise_advance(q, (int64_t)s + 1);
  }
  byoc_probe_close(probe);
  return status;
}

static byoc_status_t watched_open(byoc_quantise_t *q, size_t most, watched_t *out, byoc_diag_t *diag) {
  *out = (watched_t){BYOC_ARENA_ARRAY(&q->arena, const char *, most + 1),
                     BYOC_ARENA_ARRAY(&q->arena, byoc_observer_t *, most + 1), 0};
  return out->names != NULL && out->observers != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t add_watched(byoc_quantise_t *q, watched_t *watched, const char *name, byoc_observer_t observer,
                                 byoc_diag_t *diag) {
  byoc_observer_t *copy = byoc_arena_copy(&q->arena, &observer, sizeof(observer));
  if (copy == NULL) return byoc_diag_out_of_memory(diag);
  watched->names[watched->count] = name;
  watched->observers[watched->count++] = copy;
  return BYOC_OK;
}

// ---- ranges ----

byoc_status_t byoc_quantise_observe(byoc_quantise_t *q, byoc_diag_t *diag) {
  watched_t watched;
  BYOC_RETURN_IF_ERROR(watched_open(q, q->plan.params.count, &watched, diag));
  for (size_t i = 0; i < q->plan.params.count; i++) {
    const byoc_qparams_t *params = q->plan.params.entries[i].value;
    if (byoc_string_map_get(&q->observers, params->value->name) != NULL) continue;
    const byoc_observer_t observer = {.keeps_histogram = q->options.range.method != BYOC_RANGE_MINMAX};
    BYOC_RETURN_IF_ERROR(add_watched(q, &watched, params->value->name, observer, diag));
  }
  BYOC_RETURN_IF_ERROR(watch(q, &watched, "watching the values of layers", diag));
  for (size_t i = 0; i < watched.count; i++) {
    if (!byoc_string_map_put(&q->observers, watched.names[i], watched.observers[i])) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}

// ---- smoothing ----

// The constant matrix' side that meets the input.
static size_t channels_of(const byoc_qgraph_t *graph, const Onnx__NodeProto *node) {
  const Onnx__TensorProto *weights = byoc_qgraph_operand(graph, node, 1)->tensor;
  return (size_t)weights->dims[byoc_qnode_is_turned(node) ? 1 : 0];
}

static bool has_name(const watched_t *watched, const char *name) {
  for (size_t i = 0; i < watched->count; i++) {
    if (strcmp(watched->names[i], name) == 0) return true;
  }
  return false;
}

// The inputs of products by constant matrices in the plan, each once.
static byoc_status_t list_inputs(byoc_quantise_t *q, watched_t *watched, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(watched_open(q, q->plan.layer_count, watched, diag));
  for (size_t l = 0; l < q->plan.layer_count; l++) {
    const Onnx__NodeProto *node = q->graph.message->node[q->plan.layers[l].first];
    if (!byoc_qsmooth_takes(&q->graph, node) || has_name(watched, node->input[0])) continue;
    const byoc_observer_t observer = {.channel_count = channels_of(&q->graph, node)};
    BYOC_RETURN_IF_ERROR(add_watched(q, watched, node->input[0], observer, diag));
  }
  return BYOC_OK;
}

// Reads the changed model again, for the types of its new values.
static byoc_status_t reload(byoc_quantise_t *q, byoc_diag_t *diag) {
  uint8_t *bytes = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(byoc_setup_open(&q->smoothed, &q->setup_options, q->registry, byoc_allocator_system(), diag));
  BYOC_RETURN_IF_ERROR(byoc_setup_parse_targets(&q->smoothed, &q->setup_options, diag));
  BYOC_RETURN_IF_ERROR(byoc_onnx_model_pack(q->model, diag, &bytes, &size));
  const byoc_status_t status = byoc_setup_read_memory(&q->smoothed, &q->setup_options, bytes, size, diag);
  byoc_free(byoc_allocator_system(), bytes);
  return status;
}

byoc_status_t byoc_quantise_smooth(byoc_quantise_t *q, byoc_diag_t *diag) {
  watched_t watched;
  BYOC_RETURN_IF_ERROR(list_inputs(q, &watched, diag));
  BYOC_RETURN_IF_ERROR(watch(q, &watched, "watching the channels of activations", diag));
  byoc_qsmoothed_t *inputs = BYOC_ARENA_ARRAY(&q->arena, byoc_qsmoothed_t, watched.count + 1);
  if (inputs == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < watched.count; i++) {
    const byoc_observer_t *observer = watched.observers[i];
    inputs[i] = (byoc_qsmoothed_t){watched.names[i], observer->channel_limits, observer->channel_count};
  }
  BYOC_RETURN_IF_ERROR(byoc_qsmooth(q->model, byoc_quantise_current_module(q), inputs, watched.count,
                                    q->options.smoothing, diag, &q->report.smoothed_count));
  return reload(q, diag);
}

// ---- groups ----

enum { GRAM_BYTES = 1 << 30 }; // of sums of products that are kept at once

static byoc_status_t round_layer(byoc_quantise_t *q, const byoc_qlayer_t *layer, const double *gram, byoc_diag_t *diag,
                                 byoc_rounded_t **out) {
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_qlayer_round(&q->graph, layer, &q->form, gram, &q->arena, diag, out),
                          "rounding the weights of '%s'", layer->name);
  return BYOC_OK;
}

// Adds up the products of the inputs [first, end) over all samples.
static byoc_status_t add_grams(byoc_quantise_t *q, byoc_probe_t *probe, const watched_t *watched, size_t first,
                               size_t end, double **grams, byoc_diag_t *diag) {
  for (size_t s = 0; s < q->options.sample_count; s++) {
    const byoc_argument_t *values;
    BYOC_RETURN_IF_ERROR(byoc_probe_run(probe, q->options.samples[s], diag, &values));
    for (size_t i = first; i < end; i++) {
      const size_t columns = watched->observers[i]->channel_count, count = count_of(&values[i]);
      byoc_observer_t finite = {0};
      const byoc_observed_t observed = byoc_observer_take(&finite, values[i].data, count, &q->arena);
      if (observed != BYOC_OBSERVED) return not_finite(observed, watched->names[i], s, diag);
      if (columns > 0) byoc_gram_add(values[i].data, count / columns, columns, grams[i]);
    }
    byoc_quantise_advance(q, (int64_t)s + 1);
  }
  return BYOC_OK;
}

static byoc_status_t round_readers(byoc_quantise_t *q, const char *input, const double *gram, int64_t *done,
                                   byoc_diag_t *diag) {
  for (size_t l = 0; l < q->plan.layer_count; l++) {
    const byoc_qlayer_t *layer = &q->plan.layers[l];
    const Onnx__NodeProto *node = q->graph.message->node[layer->first];
    byoc_rounded_t *rounded;
    if (strcmp(node->input[0], input) != 0) continue;
    BYOC_RETURN_IF_ERROR(round_layer(q, layer, gram, diag, &rounded));
    if (!byoc_string_map_put(&q->rounded, node->output[0], rounded)) return byoc_diag_out_of_memory(diag);
    byoc_quantise_advance(q, ++*done);
  }
  return BYOC_OK;
}

// As many inputs at a time as memory allows: their products, then the layers that read them.
static byoc_status_t round_with_feedback(byoc_quantise_t *q, byoc_probe_t *probe, const watched_t *watched,
                                         byoc_diag_t *diag) {
  double **grams = BYOC_ARENA_ARRAY(&q->arena, double *, watched->count + 1);
  byoc_status_t status = grams != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  int64_t done = 0;
  for (size_t first = 0, end = 0; status == BYOC_OK && first < watched->count; first = end) {
    size_t bytes = 0;
    for (; end < watched->count && (end == first || bytes < GRAM_BYTES); end++) {
      const size_t columns = watched->observers[end]->channel_count;
      grams[end] = byoc_allocate(byoc_allocator_system(), columns * columns + 1, sizeof(double));
      if (grams[end] == NULL) status = byoc_diag_out_of_memory(diag);
      bytes += columns * columns * sizeof(double);
    }
    byoc_quantise_begin(q, "watching the inputs of products", (int64_t)q->options.sample_count);
    if (status == BYOC_OK) status = add_grams(q, probe, watched, first, end, grams, diag);
    byoc_quantise_begin(q, "rounding weights", (int64_t)q->plan.layer_count);
    for (size_t i = first; i < end; i++) {
      if (status == BYOC_OK) status = round_readers(q, watched->names[i], grams[i], &done, diag);
      byoc_free(byoc_allocator_system(), grams[i]);
    }
  }
  return status;
}

// Layers that read a matrix in the same orientation share its integers. The text maps: matrix → byoc_rounded_t *, of
// products that read it by rows of outputs, and of the others.
static byoc_status_t round_to_nearest(byoc_quantise_t *q, byoc_map_t *turned, byoc_map_t *straight, byoc_diag_t *diag) {
  byoc_quantise_begin(q, "rounding weights", (int64_t)q->plan.layer_count);
  for (size_t l = 0; l < q->plan.layer_count; l++) {
    const Onnx__NodeProto *node = q->graph.message->node[q->plan.layers[l].first];
    byoc_map_t *map = byoc_qnode_is_turned(node) ? turned : straight;
    byoc_rounded_t *rounded = byoc_string_map_get(map, node->input[1]);
    if (rounded == NULL) {
      BYOC_RETURN_IF_ERROR(round_layer(q, &q->plan.layers[l], NULL, diag, &rounded));
      if (!byoc_string_map_put(map, node->input[1], rounded)) return byoc_diag_out_of_memory(diag);
    }
    if (!byoc_string_map_put(&q->rounded, node->output[0], rounded)) return byoc_diag_out_of_memory(diag);
    byoc_quantise_advance(q, (int64_t)l + 1);
  }
  return BYOC_OK;
}

byoc_status_t byoc_quantise_round(byoc_quantise_t *q, byoc_diag_t *diag) {
  if (q->options.has_feedback) {
    watched_t watched;
    byoc_probe_t *probe;
    BYOC_RETURN_IF_ERROR(list_inputs(q, &watched, diag));
    BYOC_RETURN_IF_ERROR(byoc_quantise_open_probe(q, q->model, watched.names, watched.count, diag, &probe));
    const byoc_status_t status = round_with_feedback(q, probe, &watched, diag);
    byoc_probe_close(probe);
    return status;
  }
  byoc_map_t turned, straight;
  byoc_string_map_init(&turned, byoc_allocator_system());
  byoc_string_map_init(&straight, byoc_allocator_system());
  const byoc_status_t status = round_to_nearest(q, &turned, &straight, diag);
  byoc_map_deinit(&turned);
  byoc_map_deinit(&straight);
  return status;
}
