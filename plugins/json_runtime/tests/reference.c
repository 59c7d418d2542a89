// SPDX-License-Identifier: Apache-2.0
// Plain loops over the engine's JSON, to compare its results with.
#include "reference.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANK_LIMIT 8

typedef struct tensor_t {
  int32_t rank;
  int64_t dims[RANK_LIMIT];
  int64_t count;
  float *data;
} tensor_t;

static void die(const char *what) {
  fprintf(stderr, "reference: %s\n", what);
  exit(2);
}

static void read_dims(const json_t *value, tensor_t *tensor) {
  const json_t *dims = json_object_get(value, "dims");
  tensor->rank = (int32_t)json_array_size(dims);
  tensor->count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i) {
    tensor->dims[i] = json_integer_value(json_array_get(dims, (size_t)i));
    tensor->count *= tensor->dims[i];
  }
}

static int64_t attribute_int(const json_t *node, const char *name, int64_t fallback) {
  const json_t *item = json_object_get(json_object_get(node, "attributes"), name);
  return item != NULL ? json_integer_value(item) : fallback;
}

static double attribute_float(const json_t *node, const char *name, double fallback) {
  const json_t *item = json_object_get(json_object_get(node, "attributes"), name);
  return item != NULL ? json_number_value(item) : fallback;
}

static const char *attribute_string(const json_t *node, const char *name) {
  const char *text = json_string_value(json_object_get(json_object_get(node, "attributes"), name));
  return text != NULL ? text : "";
}

static int64_t attribute_at(const json_t *node, const char *name, int32_t index, int64_t fallback) {
  const json_t *array = json_object_get(json_object_get(node, "attributes"), name);
  return array != NULL ? json_integer_value(json_array_get(array, (size_t)index)) : fallback;
}

// Index of the element at `at` (aligned at the last dimension), dimensions of 1 repeated.
static int64_t broadcast_index(const tensor_t *tensor, int32_t rank, const int64_t *at) {
  int64_t index = 0;
  for (int32_t i = 0; i < tensor->rank; ++i) {
    int64_t position = tensor->dims[i] == 1 ? 0 : at[i + rank - tensor->rank];
    index = index * tensor->dims[i] + position;
  }
  return index;
}

static void unravel(const tensor_t *tensor, int64_t index, int64_t *at) {
  for (int32_t i = tensor->rank - 1; i >= 0; --i) {
    at[i] = index % tensor->dims[i];
    index /= tensor->dims[i];
  }
}

static float eltwise(const char *name, float x, double alpha, double beta) {
  if (strcmp(name, "relu") == 0) return x > 0 ? x : (float)alpha * x;
  if (strcmp(name, "tanh") == 0) return tanhf(x);
  if (strcmp(name, "elu") == 0) return x > 0 ? x : (float)(alpha * expm1(x));
  if (strcmp(name, "square") == 0) return x * x;
  if (strcmp(name, "abs") == 0) return fabsf(x);
  if (strcmp(name, "sqrt") == 0) return sqrtf(x);
  if (strcmp(name, "linear") == 0) return (float)(alpha * x + beta);
  if (strcmp(name, "clip") == 0) return x < (float)alpha ? (float)alpha : x > (float)beta ? (float)beta : x;
  if (strcmp(name, "softplus") == 0) return (float)log1p(exp(x));
  if (strcmp(name, "sigmoid") == 0) return (float)(1 / (1 + exp(-x)));
  if (strcmp(name, "exp") == 0) return expf(x);
  if (strcmp(name, "gelu_erf") == 0) return (float)(0.5 * x * (1 + erf(x / sqrt(2.0))));
  if (strcmp(name, "gelu_tanh") == 0)
    return (float)(0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))));
  if (strcmp(name, "swish") == 0) return (float)(x / (1 + exp(-alpha * x)));
  if (strcmp(name, "hardswish") == 0) return x * fminf(fmaxf(x + 3, 0), 6) / 6;
  if (strcmp(name, "mish") == 0) return (float)(x * tanh(log1p(exp(x))));
  if (strcmp(name, "pow") == 0) return (float)(alpha * pow(x, beta));
  if (strcmp(name, "round") == 0) return rintf(x);
  die(name);
  return 0;
}

static float binary(const char *name, float a, float b) {
  if (strcmp(name, "add") == 0) return a + b;
  if (strcmp(name, "sub") == 0) return a - b;
  if (strcmp(name, "mul") == 0) return a * b;
  if (strcmp(name, "div") == 0) return a / b;
  if (strcmp(name, "max") == 0) return a > b || a != a ? a : b;
  if (strcmp(name, "min") == 0) return a < b || a != a ? a : b;
  die(name);
  return 0;
}

// A window along one spatial axis.
typedef struct axis_t {
  int64_t size, stride, pad, dilation;
} axis_t;

// Its size is the weights', the attribute's, or the whole image's. Returns the taps of all axes.
static int64_t read_axes(const json_t *node, const tensor_t *x, const tensor_t *w, int32_t first, axis_t *axes) {
  const int64_t is_global = attribute_int(node, "global", 0);
  int64_t taps = 1;
  for (int32_t d = 0; d < x->rank - 2; ++d) {
    const int64_t asked = is_global != 0 ? x->dims[2 + d] : attribute_at(node, "kernel", d, 1);
    axes[d] = (axis_t){.size = w != NULL ? w->dims[first + d] : asked,
                       .stride = attribute_at(node, "strides", d, 1),
                       .pad = attribute_at(node, "pads", d, 0),
                       .dilation = attribute_at(node, "dilations", d, 1)};
    taps *= axes[d].size;
  }
  return taps;
}

// Continues `index` to the element of x under tap `tap` of the window at `at`; -1 in the padding.
static int64_t under_tap(const tensor_t *x, const axis_t *axes, const int64_t *at, int64_t tap, int64_t index) {
  int64_t position[RANK_LIMIT];
  for (int32_t d = x->rank - 3; d >= 0; --d) {
    position[d] = at[2 + d] * axes[d].stride - axes[d].pad + tap % axes[d].size * axes[d].dilation;
    tap /= axes[d].size;
  }
  for (int32_t d = 0; d < x->rank - 2; ++d) {
    if (position[d] < 0 || position[d] >= x->dims[2 + d]) return -1;
    index = index * x->dims[2 + d] + position[d];
  }
  return index;
}

static void window(const json_t *node, const tensor_t *x, const tensor_t *w, const tensor_t *bias, tensor_t *y,
                   const char *pool) {
  const int32_t grouped = w != NULL && w->rank == x->rank + 1;
  const int64_t groups = grouped ? w->dims[0] : 1, per_group_out = y->dims[1] / groups;
  const int64_t channels = w != NULL ? w->dims[grouped + 1] : 1;
  axis_t axes[RANK_LIMIT];
  const int64_t taps = read_axes(node, x, w, grouped + 2, axes);
  for (int64_t i = 0; i < y->count; ++i) {
    int64_t at[RANK_LIMIT], hits = 0;
    unravel(y, i, at);
    const int64_t channel = w != NULL ? at[1] / per_group_out * channels : at[1];
    double sum = bias != NULL ? bias->data[at[1]] : 0;
    float most = -INFINITY;
    for (int64_t k = 0; k < channels * taps; ++k) {
      const int64_t index = under_tap(x, axes, at, k % taps, at[0] * x->dims[1] + channel + k / taps);
      if (index < 0) continue;
      ++hits;
      sum += w != NULL ? (double)x->data[index] * w->data[at[1] * channels * taps + k] : x->data[index];
      if (w == NULL) most = binary("max", most, x->data[index]);
    }
    if (w == NULL && strcmp(pool, "max") == 0) {
      y->data[i] = most;
    } else {
      y->data[i] = (float)(w != NULL ? sum : sum / (double)(strcmp(pool, "avg") == 0 ? hits : taps));
    }
  }
}

static void matmul(const json_t *node, const tensor_t *a, const tensor_t *b, const tensor_t *bias, tensor_t *y) {
  int transpose_a = attribute_int(node, "transpose_a", 0) != 0,
      transpose_b = attribute_int(node, "transpose_b", 0) != 0;
  int64_t depth = a->dims[a->rank - (transpose_a ? 2 : 1)];
  int32_t r = y->rank;
  for (int64_t i = 0; i < y->count; ++i) {
    int64_t at[RANK_LIMIT], at_a[RANK_LIMIT], at_b[RANK_LIMIT];
    unravel(y, i, at);
    memcpy(at_a, at, sizeof(at));
    memcpy(at_b, at, sizeof(at));
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      at_a[r - 2] = transpose_a ? k : at[r - 2];
      at_a[r - 1] = transpose_a ? at[r - 2] : k;
      at_b[r - 2] = transpose_b ? at[r - 1] : k;
      at_b[r - 1] = transpose_b ? k : at[r - 1];
      sum += (double)a->data[broadcast_index(a, r, at_a)] * b->data[broadcast_index(b, r, at_b)];
    }
    sum *= attribute_float(node, "scale", 1);
    y->data[i] = (float)(sum + (bias != NULL ? bias->data[at[r - 1]] : 0));
  }
}

// Softmax over one axis; with `scale` set, layer normalisation from `axis` on.
static void rows(const json_t *node, const tensor_t *x, const tensor_t *scale, const tensor_t *shift, tensor_t *y,
                 int normalise) {
  int64_t axis = attribute_int(node, "axis", x->rank - 1), inner = 1, length = x->dims[axis];
  for (int32_t i = (int32_t)axis + 1; i < x->rank; ++i) *(normalise ? &length : &inner) *= x->dims[i];
  for (int64_t o = 0; o < x->count / length / inner; ++o) {
    for (int64_t in = 0; in < inner; ++in) {
      const float *from = x->data + o * length * inner + in;
      float *to = y->data + o * length * inner + in;
      double most = -INFINITY, sum = 0, mean = 0, square = 0;
      for (int64_t i = 0; i < length; ++i) most = fmax(most, from[i * inner]);
      for (int64_t i = 0; i < length; ++i) sum += exp(from[i * inner] - most);
      for (int64_t i = 0; i < length; ++i) mean += from[i * inner] / (double)length;
      for (int64_t i = 0; i < length; ++i) square += pow(from[i * inner] - mean, 2) / (double)length;
      for (int64_t i = 0; i < length; ++i) {
        double value = from[i * inner];
        if (normalise) {
          value = (value - mean) / sqrt(square + attribute_float(node, "epsilon", 1e-5));
          if (scale != NULL) value *= scale->data[i];
          if (shift != NULL) value += shift->data[i];
        } else {
          value = attribute_int(node, "log", 0) != 0 ? value - most - log(sum) : exp(value - most) / sum;
        }
        to[i * inner] = (float)value;
      }
    }
  }
}

static void reduce(const json_t *node, const tensor_t *x, tensor_t *y) {
  const char *name = attribute_string(node, "algorithm");
  const json_t *axes = json_object_get(json_object_get(node, "attributes"), "axes");
  tensor_t kept = *x;
  kept.count = 1;
  for (size_t i = 0; i < json_array_size(axes); ++i) kept.dims[json_integer_value(json_array_get(axes, i))] = 1;
  for (int32_t i = 0; i < kept.rank; ++i) kept.count *= kept.dims[i];
  for (int64_t i = 0; i < y->count; ++i)
    y->data[i] = strcmp(name, "max") == 0 ? -INFINITY : strcmp(name, "min") == 0 ? INFINITY : strcmp(name, "mul") == 0;
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t at[RANK_LIMIT];
    unravel(x, i, at);
    float *to = &y->data[broadcast_index(&kept, x->rank, at)];
    *to = binary(strcmp(name, "mean") == 0 || strcmp(name, "sum") == 0 ? "add" : name, *to, x->data[i]);
  }
  if (strcmp(name, "mean") == 0)
    for (int64_t i = 0; i < y->count; ++i) y->data[i] /= (float)(x->count / kept.count);
}

static void run_node(const json_t *node, tensor_t *const *in, size_t input_count, tensor_t *y) {
  const char *op = json_string_value(json_object_get(node, "op")), *algorithm = attribute_string(node, "algorithm");
  const tensor_t *x = in[0], *third = input_count > 2 ? in[2] : NULL;
  double alpha = attribute_float(node, "alpha", 0), beta = attribute_float(node, "beta", 0);
  int64_t at[RANK_LIMIT], offset = 0;
  if (strcmp(op, "convolution") == 0) {
    window(node, x, in[1], third, y, "");
  } else if (strcmp(op, "pooling") == 0) {
    window(node, x, NULL, NULL, y, algorithm);
  } else if (strcmp(op, "matmul") == 0) {
    matmul(node, x, in[1], third, y);
  } else if (strcmp(op, "inner_product") == 0) {
    for (int64_t i = 0; i < y->count; ++i) {
      int64_t depth = in[1]->count / in[1]->dims[0], n = i / y->dims[1], o = i % y->dims[1];
      double sum = third != NULL ? third->data[o] : 0;
      for (int64_t k = 0; k < depth; ++k) sum += (double)x->data[n * depth + k] * in[1]->data[o * depth + k];
      y->data[i] = (float)sum;
    }
  } else if (strcmp(op, "softmax") == 0) {
    rows(node, x, NULL, NULL, y, 0);
  } else if (strcmp(op, "layer_normalization") == 0) {
    rows(node, x, input_count > 1 ? in[1] : NULL, third, y, 1);
  } else if (strcmp(op, "reduction") == 0) {
    reduce(node, x, y);
  } else if (strcmp(op, "concat") == 0) {
    int64_t axis = attribute_int(node, "axis", 0);
    for (size_t k = 0; k < input_count; ++k) {
      for (int64_t i = 0; i < in[k]->count; ++i) {
        unravel(in[k], i, at);
        at[axis] += offset;
        y->data[broadcast_index(y, y->rank, at)] = in[k]->data[i];
      }
      offset += in[k]->dims[axis];
    }
  } else {
    for (int64_t i = 0; i < y->count; ++i) {
      unravel(y, i, at);
      int64_t c = y->rank > 1 ? at[1] : 0;
      if (strcmp(op, "eltwise") == 0) {
        y->data[i] = eltwise(algorithm, x->data[i], alpha, beta);
      } else if (strcmp(op, "binary") == 0) {
        y->data[i] = binary(algorithm, x->data[i], in[1]->data[broadcast_index(in[1], y->rank, at)]);
      } else if (strcmp(op, "prelu") == 0) {
        y->data[i] = x->data[i] > 0 ? x->data[i] : x->data[i] * in[1]->data[broadcast_index(in[1], y->rank, at)];
      } else if (strcmp(op, "batch_normalization") == 0) {
        double scale = in[1]->data[c] / sqrt(in[4]->data[c] + attribute_float(node, "epsilon", 1e-5));
        y->data[i] = (float)((x->data[i] - in[3]->data[c]) * scale + in[2]->data[c]);
      } else if (strcmp(op, "lrn") == 0) {
        int64_t size = attribute_int(node, "size", 5), plane = x->count / x->dims[0] / x->dims[1];
        double sum = 0;
        for (int64_t k = c - (size - 1) / 2; k <= c + size / 2; ++k)
          if (k >= 0 && k < x->dims[1]) sum += pow(x->data[i + (k - c) * plane], 2);
        double k = attribute_float(node, "k", 1);
        y->data[i] = (float)(x->data[i] / pow(k + attribute_float(node, "alpha", 1e-4) * sum / (double)size,
                                              attribute_float(node, "beta", 0.75)));
      } else if (strcmp(op, "reshape") == 0) {
        y->data[i] = x->data[i];
      } else if (strcmp(op, "transpose") == 0) {
        int64_t from[RANK_LIMIT];
        for (int32_t d = 0; d < y->rank; ++d) from[attribute_at(node, "permutation", d, d)] = at[d];
        y->data[i] = x->data[broadcast_index(x, x->rank, from)];
      } else if (strcmp(op, "slice") == 0) {
        for (int32_t d = 0; d < y->rank; ++d) at[d] += attribute_at(node, "offsets", d, 0);
        y->data[i] = x->data[broadcast_index(x, x->rank, at)];
      } else {
        die(op);
      }
    }
  }
}

void reference_run(const char *json, const float *const *inputs, const float *const *constants, float *const *outputs) {
  json_t *root = json_loads(json, 0, NULL);
  if (root == NULL) die("malformed JSON");
  const json_t *values = json_object_get(root, "values"), *nodes = json_object_get(root, "nodes");
  size_t value_count = json_array_size(values);
  tensor_t *tensors = calloc(value_count + 1, sizeof(*tensors));
  if (tensors == NULL) die("out of memory");
  for (size_t i = 0; i < value_count; ++i) {
    const json_t *value = json_array_get(values, i), *constant = json_object_get(value, "constant");
    read_dims(value, &tensors[i]);
    tensors[i].data = malloc((size_t)tensors[i].count * sizeof(float));
    if (tensors[i].data == NULL) die("out of memory");
    if (constant != NULL)
      memcpy(tensors[i].data, constants[json_integer_value(constant)], (size_t)tensors[i].count * sizeof(float));
  }
  for (size_t i = 0; i < json_array_size(json_object_get(root, "inputs")); ++i) {
    tensor_t *tensor = &tensors[json_integer_value(json_array_get(json_object_get(root, "inputs"), i))];
    memcpy(tensor->data, inputs[i], (size_t)tensor->count * sizeof(float));
  }
  for (size_t n = 0; n < json_array_size(nodes); ++n) {
    const json_t *node = json_array_get(nodes, n), *ids = json_object_get(node, "inputs");
    tensor_t *in[64] = {NULL}, *y = &tensors[json_integer_value(json_object_get(node, "output"))];
    for (size_t i = 0; i < json_array_size(ids) && i < 64; ++i)
      if (!json_is_null(json_array_get(ids, i))) in[i] = &tensors[json_integer_value(json_array_get(ids, i))];
    run_node(node, in, json_array_size(ids), y);
    const json_t *post_ops = json_object_get(node, "post_ops");
    for (size_t p = 0; p < json_array_size(post_ops); ++p) {
      const json_t *post_op = json_array_get(post_ops, p), *operand = json_object_get(post_op, "input");
      const char *algorithm = json_string_value(json_object_get(post_op, "algorithm"));
      for (int64_t i = 0; i < y->count; ++i) {
        int64_t at[RANK_LIMIT];
        unravel(y, i, at);
        const tensor_t *other = operand != NULL ? &tensors[json_integer_value(operand)] : NULL;
        y->data[i] = other != NULL
                         ? binary(algorithm, y->data[i], other->data[broadcast_index(other, y->rank, at)])
                         : eltwise(algorithm, y->data[i], json_number_value(json_object_get(post_op, "alpha")),
                                   json_number_value(json_object_get(post_op, "beta")));
      }
    }
  }
  for (size_t i = 0; i < json_array_size(json_object_get(root, "outputs")); ++i) {
    const tensor_t *tensor = &tensors[json_integer_value(json_array_get(json_object_get(root, "outputs"), i))];
    memcpy(outputs[i], tensor->data, (size_t)tensor->count * sizeof(float));
  }
  for (size_t i = 0; i < value_count; ++i) free(tensors[i].data);
  free(tensors);
  json_decref(root);
}

int64_t reference_count(const char *json, const char *what, uint32_t index) {
  json_t *root = json_loads(json, 0, NULL);
  const json_t *values = json_object_get(root, "values");
  tensor_t tensor = {.count = -1};
  if (strcmp(what, "constant") != 0) {
    const json_t *item = json_array_get(json_object_get(root, what), index);
    if (item != NULL) read_dims(json_array_get(values, (size_t)json_integer_value(item)), &tensor);
  } else {
    for (size_t i = 0; i < json_array_size(values); ++i) {
      const json_t *constant = json_object_get(json_array_get(values, i), "constant");
      if (constant != NULL && json_integer_value(constant) == index) read_dims(json_array_get(values, i), &tensor);
    }
  }
  json_decref(root);
  return tensor.count;
}
