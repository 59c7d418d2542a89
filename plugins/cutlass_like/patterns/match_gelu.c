// SPDX-License-Identifier: Apache-2.0
// Recognises GELU written out by erf or tanh.
#include "patterns/match_gelu.h"

#include <math.h>
#include <string.h>

#include "patterns/match.h"

bool byoc_cutlass_scalar_f32(const byoc_graph_api_t *graph, const byoc_value_t *value, float *out_scalar) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (!value || !graph->value_constant(value, &data)) return false;
  if (data.dtype != BYOC_DTYPE_F32 && !byoc_cutlass_is_half(data.dtype)) return false;
  if (byoc_cutlass_match_elements(&data) != 1) return false;
  *out_scalar = (float)byoc_cutlass_match_element(&data, 0);
  return true;
}

// True if a scalar beside `x` means `expected`, which its type may have rounded.
static bool is_near(const byoc_graph_api_t *graph, const byoc_value_t *x, float scalar, float expected,
                    float tolerance) {
  const uint32_t dtype = graph->value_dtype(x);
  if (dtype == BYOC_DTYPE_F16) tolerance = fmaxf(tolerance, expected * 0x1p-10f);
  if (dtype == BYOC_DTYPE_BF16) tolerance = fmaxf(tolerance, expected * 0x1p-7f);
  return fabsf(scalar - expected) < tolerance;
}

static bool is_op(const byoc_graph_api_t *graph, const byoc_node_t *node, const char *op) {
  return node && graph->node_domain(node)[0] == '\0' && strcmp(graph->node_operator(node), op) == 0;
}

// The non-scalar operand of a node with two operands, and the scalar constant that is the other one; otherwise NULL.
static byoc_value_t *apart_from_scalar(const byoc_graph_api_t *graph, const byoc_node_t *node, float *out_scalar) {
  if (graph->operand_count(node) != 2) return NULL;
  byoc_value_t *a = graph->operand(node, 0), *b = graph->operand(node, 1);
  if (byoc_cutlass_scalar_f32(graph, b, out_scalar)) return a;
  return !is_op(graph, node, "Div") && byoc_cutlass_scalar_f32(graph, a, out_scalar) ? b : NULL;
}

// True if the node is x times about `factor` (with Div: divided by it).
static bool is_scaled(const byoc_graph_api_t *graph, const byoc_node_t *node, const byoc_value_t *x, float factor) {
  float scalar = 0;
  bool divides = is_op(graph, node, "Div");
  if (!divides && !is_op(graph, node, "Mul")) return false;
  return apart_from_scalar(graph, node, &scalar) == x &&
         is_near(graph, x, divides ? 1.0f / scalar : scalar, factor, 1e-4f);
}

// The producer of a node's only operand that is not a scalar; the scalar must be `expected`.
static byoc_node_t *producer_of_sum(const byoc_graph_api_t *graph, const byoc_value_t *value, float expected) {
  float scalar = 0;
  byoc_node_t *add = graph->value_producer(value);
  byoc_value_t *other = is_op(graph, add, "Add") ? apart_from_scalar(graph, add, &scalar) : NULL;
  return other && scalar == expected ? graph->value_producer(other) : NULL;
}

// Whether the value is 1 + Erf(x / sqrt(2)).
static bool is_erf_part(const byoc_graph_api_t *graph, const byoc_value_t *value, const byoc_value_t *x) {
  byoc_node_t *erf = producer_of_sum(graph, value, 1.0f);
  return is_op(graph, erf, "Erf") && is_scaled(graph, graph->value_producer(graph->operand(erf, 0)), x, 0.707106781f);
}

// Whether the value is x + x^3 * 0.044715.
static bool is_cubic(const byoc_graph_api_t *graph, const byoc_value_t *value, const byoc_value_t *x) {
  byoc_node_t *add = graph->value_producer(value);
  if (!is_op(graph, add, "Add")) return false;
  byoc_value_t *a = graph->operand(add, 0), *b = graph->operand(add, 1);
  byoc_node_t *scale = a == x ? graph->value_producer(b) : b == x ? graph->value_producer(a) : NULL;
  float scalar = 0;
  byoc_value_t *cube = is_op(graph, scale, "Mul") ? apart_from_scalar(graph, scale, &scalar) : NULL;
  byoc_node_t *power = cube ? graph->value_producer(cube) : NULL;
  float exponent = 0;
  return is_op(graph, power, "Pow") && graph->operand(power, 0) == x && is_near(graph, x, scalar, 0.044715f, 1e-6f) &&
         byoc_cutlass_scalar_f32(graph, graph->operand(power, 1), &exponent) && exponent == 3.0f;
}

// Whether the value is 1 + Tanh((x + x^3 * 0.044715) * sqrt(2 / pi)).
static bool is_tanh_part(const byoc_graph_api_t *graph, const byoc_value_t *value, const byoc_value_t *x) {
  byoc_node_t *tanh_node = producer_of_sum(graph, value, 1.0f);
  byoc_node_t *scale = is_op(graph, tanh_node, "Tanh") ? graph->value_producer(graph->operand(tanh_node, 0)) : NULL;
  float scalar = 0;
  byoc_value_t *cubic = scale && is_op(graph, scale, "Mul") ? apart_from_scalar(graph, scale, &scalar) : NULL;
  return cubic && is_scaled(graph, scale, cubic, 0.797884561f) && is_cubic(graph, cubic, x);
}

size_t byoc_cutlass_find_gelu(const byoc_graph_api_t *graph, const byoc_node_t *last, const byoc_value_t *x,
                              uint32_t *out_activation) {
  const byoc_value_t *factors[3];
  float scalar = 0;
  size_t count = 0, halves = 0, selves = 0, erfs = 0, tanhs = 0;
  if (!is_op(graph, last, "Mul")) return 0;
  for (uint64_t i = 0; i < 2; ++i) { // one of the two operands is a product itself
    byoc_value_t *operand = graph->operand(last, i);
    byoc_node_t *inner = operand == x ? NULL : graph->value_producer(operand);
    if (is_op(graph, inner, "Mul") && count < 2) {
      factors[count++] = graph->operand(inner, 0);
      operand = graph->operand(inner, 1);
    }
    if (count < 3) factors[count++] = operand;
  }
  if (count != 3) return 0;
  for (size_t i = 0; i < 3; ++i) {
    if (factors[i] == x)
      ++selves;
    else if (byoc_cutlass_scalar_f32(graph, factors[i], &scalar))
      halves += scalar == 0.5f;
    else if (is_erf_part(graph, factors[i], x))
      ++erfs;
    else
      tanhs += is_tanh_part(graph, factors[i], x);
  }
  if (selves != 1 || halves != 1 || erfs + tanhs != 1) return 0;
  *out_activation = erfs ? BYOC_CUTLASS_ACT_GELU : BYOC_CUTLASS_ACT_GELU_TANH;
  return erfs ? 5 : 8;
}
