// SPDX-License-Identifier: Apache-2.0
// Recurrent networks: all steps of an LSTM, a GRU or a plain network, in one direction or both.
#include <string.h>

#include "engine/function/build.h"

// The operands and results of a network; versions, or -1.
typedef struct recurrent_t {
  dnnl_memory_desc_t x, weights[2], bias, state, y;
  int has_state, has_last; // an initial state is given, the last state is a result
  dnnl_rnn_direction_t direction;
} recurrent_t;

enum { IN_X, IN_WEIGHTS, IN_STATE_WEIGHTS, IN_BIAS, IN_STATE, IN_CELLS, INPUT_COUNT };

static const byoc_dnnl_value_t *input_of(const byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                         uint32_t index) {
  return index < node->input_count && node->inputs[index] >= 0 ? &function->graph.values[node->inputs[index]] : NULL;
}

static int32_t read_recurrent(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, recurrent_t *out) {
  static const char *const directions[] = {"forward", "reverse", "bidirectional"};
  static const dnnl_rnn_direction_t numbers[] = {dnnl_unidirectional_left2right, dnnl_unidirectional_right2left,
                                                 dnnl_bidirectional_concat};
  static const int32_t ranks[] = {3, 5, 5, 4, 4, 4};
  const byoc_dnnl_value_t *in[INPUT_COUNT], *y = &function->graph.values[node->output];
  const char *name = byoc_dnnl_node_string(node, "direction", "forward");
  size_t at = 0;
  while (at < 3 && strcmp(directions[at], name) != 0) ++at;
  int is_right = at < 3 && y->rank == 3;
  for (uint32_t i = 0; i < INPUT_COUNT; ++i) {
    in[i] = input_of(function, node, i);
    if (in[i] != NULL && in[i]->rank != ranks[i]) is_right = 0;
    if (in[i] == NULL && i < IN_STATE) is_right = 0;
  }
  if (!is_right) return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its operands do not match");
  memset(out, 0, sizeof(*out));
  out->direction = numbers[at];
  byoc_dnnl_layout_plain(3, in[IN_X]->dims, &out->x);
  byoc_dnnl_layout_plain(3, y->dims, &out->y);
  for (int i = 0; i < 2; ++i) byoc_dnnl_layout_any(5, in[IN_WEIGHTS + i]->dims, &out->weights[i]);
  byoc_dnnl_layout_plain(4, in[IN_BIAS]->dims, &out->bias);
  // [layers, directions, sequences, hidden]
  const dnnl_dims_t state = {1, in[IN_WEIGHTS]->dims[1], in[IN_X]->dims[1], in[IN_WEIGHTS]->dims[4]};
  byoc_dnnl_layout_plain(4, state, &out->state);
  out->has_state = in[IN_STATE] != NULL;
  out->has_last = node->more[0] >= 0 || node->more[1] >= 0;
  for (uint32_t i = IN_STATE; i < INPUT_COUNT; ++i)
    if (in[i] != NULL && memcmp(in[i]->dims, state, 4 * sizeof(state[0])) != 0) is_right = 0;
  for (int i = 0; i < 2; ++i) {
    const byoc_dnnl_value_t *last = node->more[i] >= 0 ? &function->graph.values[node->more[i]] : NULL;
    if (last != NULL && (last->rank != 4 || memcmp(last->dims, state, 4 * sizeof(state[0])) != 0)) is_right = 0;
  }
  return is_right ? BYOC_OK : byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its states do not match");
}

static int32_t describe(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, const recurrent_t *r,
                        dnnl_rnn_desc_t *out_desc) {
  const byoc_dnnl_api_t *api = function->api;
  const char *cell = byoc_dnnl_node_string(node, "cell", "");
  const dnnl_memory_desc_t *first = r->has_state ? &r->state : NULL, *last = r->has_last ? &r->state : NULL;
  const dnnl_memory_desc_t *weights = &r->weights[0], *state_weights = &r->weights[1];
  const dnnl_prop_kind_t kind = dnnl_forward_inference;
  dnnl_status_t status = dnnl_invalid_arguments;
  if (strcmp(cell, "lstm") == 0)
    status = api->dnnl_lstm_forward_desc_init(out_desc, kind, r->direction, &r->x, first, first, weights, state_weights,
                                              &r->bias, &r->y, last, last, 0);
  else if (strcmp(cell, "gru") == 0)
    status = api->dnnl_gru_forward_desc_init(out_desc, kind, r->direction, &r->x, first, weights, state_weights,
                                             &r->bias, &r->y, last, 0);
  else if (strcmp(cell, "linear_gru") == 0)
    status = api->dnnl_lbr_gru_forward_desc_init(out_desc, kind, r->direction, &r->x, first, weights, state_weights,
                                                 &r->bias, &r->y, last, 0);
  else if (strcmp(cell, "tanh") == 0)
    status = api->dnnl_vanilla_rnn_forward_desc_init(out_desc, kind, dnnl_eltwise_tanh, r->direction, &r->x, first,
                                                     weights, state_weights, &r->bias, &r->y, last, 0, 0.0f, 0.0f);
  else
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its cell is unknown");
  return byoc_dnnl_check(function, status, "describe the recurrent network");
}

static int32_t read_inputs(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, const recurrent_t *r,
                           dnnl_primitive_desc_t primitive_desc, byoc_dnnl_argument_t *arguments, int32_t *count) {
  static const int32_t roles[] = {DNNL_ARG_SRC_LAYER, DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER,
                                  DNNL_ARG_BIAS,      DNNL_ARG_SRC_ITER,      DNNL_ARG_SRC_ITER_C};
  for (uint32_t i = 0; i < INPUT_COUNT && i < node->input_count; ++i) {
    if (node->inputs[i] < 0) continue;
    byoc_dnnl_argument_t *argument = &arguments[(*count)++];
    argument->role = roles[i];
    const dnnl_memory_desc_t *plain = i == IN_X ? &r->x : i == IN_BIAS ? &r->bias : &r->state;
    const int is_weights = i == IN_WEIGHTS || i == IN_STATE_WEIGHTS;
    const dnnl_memory_desc_t wanted =
        is_weights
            ? *function->api->dnnl_primitive_desc_query_md(primitive_desc, dnnl_query_exec_arg_md, argument->role)
            : *plain;
    BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read(function, node->inputs[i], &wanted, &argument->version));
  }
  return BYOC_OK;
}

// The last states: results if a node reads them, otherwise memory that nothing reads.
static int32_t place_last_states(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, const recurrent_t *r,
                                 int is_lstm, byoc_dnnl_argument_t *arguments, int32_t *count) {
  static const int32_t roles[] = {DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C};
  for (int i = 0; r->has_last && i <= is_lstm; ++i) {
    byoc_dnnl_argument_t *argument = &arguments[(*count)++];
    argument->role = roles[i];
    BYOC_DNNL_RETURN_IF_ERROR(node->more[i] >= 0
                                  ? byoc_dnnl_create_result(function, node->more[i], &r->state, &argument->version)
                                  : byoc_dnnl_create_version(function, &r->state, &argument->version));
  }
  return BYOC_OK;
}

// recurrent: x [steps, sequences, size], weights [1, directions, size, gates, hidden] and those of the state, bias, the
// states in front of the first step; gives [steps, sequences, directions * hidden] and the states behind the last one.
int32_t byoc_dnnl_build_recurrent(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_api_t *api = function->api;
  recurrent_t r;
  dnnl_rnn_desc_t op_desc;
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_primitive_desc_t primitive_desc = NULL;
  const int is_lstm = strcmp(byoc_dnnl_node_string(node, "cell", ""), "lstm") == 0;
  BYOC_DNNL_RETURN_IF_ERROR(read_recurrent(function, node, &r));
  BYOC_DNNL_RETURN_IF_ERROR(describe(function, node, &r, &op_desc));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_create_attributes(function, &attributes));
  const dnnl_status_t created =
      api->dnnl_primitive_desc_create(&primitive_desc, &op_desc, attributes, function->engine, NULL);
  (void)api->dnnl_primitive_attr_destroy(attributes);
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(function, created, "create the primitive"));
  byoc_dnnl_argument_t arguments[INPUT_COUNT + 3];
  int32_t count = 0;
  int32_t status = read_inputs(function, node, &r, primitive_desc, arguments, &count);
  if (status == BYOC_OK) status = place_last_states(function, node, &r, is_lstm, arguments, &count);
  int32_t version = -1;
  if (status == BYOC_OK) status = byoc_dnnl_create_result(function, node->output, &r.y, &version);
  if (status != BYOC_OK) {
    (void)api->dnnl_primitive_desc_destroy(primitive_desc);
    return status;
  }
  for (int32_t i = 0; i < count; ++i) {
    const int more = arguments[i].role == DNNL_ARG_DST_ITER ? 0 : arguments[i].role == DNNL_ARG_DST_ITER_C ? 1 : -1;
    if (more >= 0 && node->more[more] >= 0) byoc_dnnl_define(function, node->more[more], arguments[i].version);
  }
  arguments[count++] = (byoc_dnnl_argument_t){DNNL_ARG_DST_LAYER, version};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_add_step(function, primitive_desc, arguments, count));
  return byoc_dnnl_apply_post_ops(function, node, 0, version);
}
