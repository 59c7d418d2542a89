// SPDX-License-Identifier: Apache-2.0
// Compares layers and outputs of a quantised model with those of floats.
#include <math.h>
#include <string.h>

#include "core/quantise/quantise_internal.h"

typedef struct error_t {
  double signal, noise; // sums of squares
} error_t;

// NAN: NaN or infinities were among the values.
static double decibels(error_t error) {
  if (!isfinite(error.signal) || !isfinite(error.noise)) return (double)NAN;
  if (error.noise == 0) return INFINITY;
  return error.signal > 0 ? 10 * log10(error.signal / error.noise) : -INFINITY;
}

static void add_error(error_t *error, const byoc_argument_t *value, const byoc_argument_t *other) {
  size_t count = 1, other_count = 1;
  for (uint32_t d = 0; d < value->rank; d++) count *= (size_t)value->dims[d];
  for (uint32_t d = 0; d < other->rank; d++) other_count *= (size_t)other->dims[d];
  const float *a = value->data, *b = other->data;
  for (size_t i = 0; i < count && count == other_count; i++) {
    const double difference = (double)b[i] - (double)a[i];
    error->signal += (double)a[i] * (double)a[i];
    error->noise += difference * difference;
  }
}

// ---- weights ----

// The error of a layer's weights; NAN: it has none.
static double weights_db(const byoc_quantise_t *q, const byoc_qlayer_t *layer, byoc_arena_t *arena) {
  const Onnx__NodeProto *node = q->graph.message->node[layer->first];
  uint32_t operand;
  const byoc_qvalue_t *value = byoc_qlayer_weights(&q->graph, node, &operand);
  if (value == NULL) return (double)NAN;
  const float *data = byoc_qvalue_floats(&q->graph, value);
  error_t error = {0};
  const byoc_rounded_t *rounded = byoc_string_map_get(&q->rounded, node->output[0]);
  if (rounded != NULL) {
    const byoc_groups_t *groups = &rounded->groups;
    const bool is_turned = byoc_qnode_is_turned(node);
    for (size_t r = 0; r < groups->rows; r++) {
      for (size_t c = 0; c < groups->columns; c++) {
        const size_t at = r * byoc_groups_per_row(groups) + c / groups->group;
        const int steps = rounded->integers[r * groups->columns + c] - rounded->zeros[at];
        const double weight = (double)(is_turned ? data[r * groups->columns + c] : data[c * groups->rows + r]);
        const double difference = (double)((float)steps * rounded->scales[at]) - weight;
        error.signal += weight * weight;
        error.noise += difference * difference;
      }
    }
    return decibels(error);
  }
  byoc_qscales_t chosen;
  const size_t count = (size_t)byoc_onnx_tensor_count(value->tensor);
  int8_t *bytes = BYOC_ARENA_ARRAY(arena, int8_t, count + 1);
  if (bytes == NULL || !byoc_qlayer_scales(&q->graph, &q->plan, &q->form, node, arena, &chosen)) return (double)NAN;
  const byoc_channels_t channels = chosen.channels;
  const float *scales = chosen.scales;
  byoc_channel_round(data, channels, scales, bytes);
  for (size_t i = 0; i < count; i++) {
    const double difference = (double)(bytes[i] * scales[i / channels.inner % channels.count]) - (double)data[i];
    error.signal += (double)data[i] * (double)data[i];
    error.noise += difference * difference;
  }
  return decibels(error);
}

// ---- layers by themselves ----

static byoc_status_t list_layers(byoc_quantise_t *q, byoc_diag_t *diag) {
  q->report.layers = BYOC_ARENA_ARRAY(&q->arena, byoc_quantise_layer_t, q->plan.layer_count + 1);
  if (q->report.layers == NULL) return byoc_diag_out_of_memory(diag);
  q->report.layer_count = 0;
  for (size_t l = 0; l < q->plan.layer_count; l++) {
    const byoc_qlayer_t *layer = &q->plan.layers[l];
    if (!layer->is_reported) continue;
    byoc_arena_t scratch;
    byoc_arena_init(&scratch, byoc_allocator_system());
    byoc_quantise_layer_t *to = &q->report.layers[q->report.layer_count++];
    const char *result = q->graph.message->node[layer->first]->output[0];
    *to = (byoc_quantise_layer_t){.name = byoc_arena_copy_string(&q->arena, layer->name),
                                  .op = byoc_arena_copy_string(&q->arena, layer->op),
                                  .result = byoc_arena_copy_string(&q->arena, result),
                                  .alone_db = (double)NAN,
                                  .whole_db = (double)NAN,
                                  .weights_db = layer->is_product ? weights_db(q, layer, &scratch) : (double)NAN};
    byoc_arena_deinit(&scratch);
    if (to->name == NULL || to->op == NULL || to->result == NULL) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// The name of the result of a layer in the model of floats.
static const char *result_of(const byoc_quantise_t *q, const byoc_qlayer_t *layer) {
  return q->graph.message->node[layer->last]->output[0];
}

static byoc_status_t run_alone(byoc_quantise_t *q, byoc_onnx_model_t *model, const char *const *alone,
                               byoc_diag_t *diag) {
  const size_t count = q->plan.layer_count;
  const char **names = BYOC_ARENA_ARRAY(&q->arena, const char *, 2 * count + 1);
  error_t *errors = BYOC_ARENA_ARRAY(&q->arena, error_t, count + 1);
  if (names == NULL || errors == NULL) return byoc_diag_out_of_memory(diag);
  size_t used = 0;
  for (size_t l = 0; l < count; l++) {
    if (alone[l] == NULL) continue;
    names[used++] = result_of(q, &q->plan.layers[l]);
    names[used++] = alone[l];
  }
  byoc_probe_t *probe;
  BYOC_RETURN_IF_ERROR(byoc_quantise_open_probe(q, model, names, used, diag, &probe));
  byoc_quantise_begin(q, "measuring the layers by themselves", (int64_t)q->options.sample_count);
  byoc_status_t status = BYOC_OK;
  for (size_t s = 0; status == BYOC_OK && s < q->options.sample_count; s++) {
    const byoc_argument_t *values;
    status = byoc_probe_run(probe, q->options.samples[s], diag, &values);
    for (size_t i = 0; status == BYOC_OK && i < used / 2; i++)
      add_error(&errors[i], &values[2 * i], &values[2 * i + 1]);
    byoc_quantise_advance(q, (int64_t)s + 1);
  }
  byoc_probe_close(probe);
  for (size_t i = 0; i < q->report.layer_count; i++) q->report.layers[i].alone_db = decibels(errors[i]);
  return status;
}

byoc_status_t byoc_quantise_compare_layers(byoc_quantise_t *q, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(list_layers(q, diag));
  if (q->options.sample_count == 0) return BYOC_OK;
  byoc_qwriter_t writer;
  const char **alone = BYOC_ARENA_ARRAY(&q->arena, const char *, q->plan.layer_count + 1);
  if (alone == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(byoc_qwriter_open(&writer, &q->graph, &q->plan, &q->form, diag));
  byoc_status_t status = byoc_qwriter_compare(&writer, alone);
  if (status == BYOC_OK) status = run_alone(q, writer.model, alone, diag);
  byoc_qwriter_close(&writer);
  return status;
}

// ---- the result ----

typedef struct pair_t {
  byoc_probe_t *floats, *integers;
  error_t *errors; // of layers, then of outputs
  size_t count;
} pair_t;

static byoc_status_t run_both(byoc_quantise_t *q, pair_t *pair, byoc_diag_t *diag) {
  byoc_quantise_begin(q, "measuring the quantised model", (int64_t)q->options.sample_count);
  for (size_t s = 0; s < q->options.sample_count; s++) {
    const byoc_argument_t *a, *b;
    BYOC_RETURN_IF_ERROR(byoc_probe_run(pair->floats, q->options.samples[s], diag, &a));
    BYOC_RETURN_IF_ERROR(byoc_probe_run(pair->integers, q->options.samples[s], diag, &b));
    for (size_t i = 0; i < pair->count; i++) add_error(&pair->errors[i], &a[i], &b[i]);
    byoc_quantise_advance(q, (int64_t)s + 1);
  }
  return BYOC_OK;
}

// The layers of the plan, then the outputs of the model that are floats.
static size_t list_results(const byoc_quantise_t *q, const char **names) {
  size_t count = 0;
  for (size_t l = 0; l < q->plan.layer_count; l++) {
    if (q->plan.layers[l].is_reported) names[count++] = result_of(q, &q->plan.layers[l]);
  }
  for (size_t i = 0; i < q->graph.message->n_output; i++) {
    const char *name = q->graph.message->output[i]->name;
    if (byoc_qvalue_is_activation(byoc_qgraph_value(&q->graph, name))) names[count++] = name;
  }
  return count;
}

static byoc_quantise_layer_t *find_layer(const byoc_quantise_t *q, const byoc_qlayer_t *layer) {
  const char *result = q->graph.message->node[layer->first]->output[0];
  for (size_t i = 0; i < q->report.layer_count; i++) {
    if (strcmp(q->report.layers[i].result, result) == 0) return &q->report.layers[i];
  }
  return NULL;
}

static byoc_status_t fill_report(byoc_quantise_t *q, const error_t *errors, const char *const *names, size_t count,
                                 byoc_diag_t *diag) {
  size_t at = 0;
  for (size_t l = 0; l < q->plan.layer_count; l++) {
    if (!q->plan.layers[l].is_reported) continue;
    byoc_quantise_layer_t *layer = find_layer(q, &q->plan.layers[l]);
    if (layer != NULL) layer->whole_db = decibels(errors[at]);
    at++;
  }
  q->report.outputs = BYOC_ARENA_ARRAY(&q->arena, byoc_quantise_output_t, count - at + 1);
  if (q->report.outputs == NULL) return byoc_diag_out_of_memory(diag);
  for (; at < count; at++) {
    const error_t error = errors[at];
    const double db = decibels(error);
    const double relative = isnan(db) ? db : error.signal > 0 ? sqrt(error.noise / error.signal) : error.noise > 0;
    q->report.outputs[q->report.output_count++] = (byoc_quantise_output_t){names[at], db, relative};
  }
  return BYOC_OK;
}

byoc_status_t byoc_quantise_compare_result(byoc_quantise_t *q, byoc_diag_t *diag) {
  if (q->options.sample_count == 0) return BYOC_OK;
  const size_t most = q->plan.layer_count + q->graph.message->n_output;
  const char **names = BYOC_ARENA_ARRAY(&q->arena, const char *, most + 1);
  pair_t pair = {.errors = BYOC_ARENA_ARRAY(&q->arena, error_t, most + 1)};
  if (names == NULL || pair.errors == NULL) return byoc_diag_out_of_memory(diag);
  pair.count = list_results(q, names);
  byoc_status_t status = byoc_quantise_open_probe(q, q->model, names, pair.count, diag, &pair.floats);
  if (status == BYOC_OK) status = byoc_quantise_open_probe(q, q->result, names, pair.count, diag, &pair.integers);
  if (status == BYOC_OK) status = run_both(q, &pair, diag);
  byoc_probe_close(pair.floats);
  byoc_probe_close(pair.integers);
  return status == BYOC_OK ? fill_report(q, pair.errors, names, pair.count, diag) : status;
}
