// SPDX-License-Identifier: Apache-2.0
// Transformers, written as PyTorch's exporter writes them at operator set 17: linear layers as MatMul and Add, Gelu
// spelt out, LayerNormalization as one operator.
#include "modelgen.h"

enum { WIDTH = 768, HEADS = 12, HEAD_WIDTH = 64, INNER = 3072 };

static const char *sequence_text(modelgen_t *gen) {
  if (gen->sequence == 0) return "sequence";
  return modelgen_text(gen, "%lld", (long long)gen->sequence);
}

// The constants that every layer shares.
static void add_shared(modelgen_t *gen) {
  const int64_t split[4] = {0, 0, HEADS, HEAD_WIDTH}, merge[3] = {0, 0, WIDTH};
  modelgen_indices(gen, "shape.heads", 4, split);
  modelgen_indices(gen, "shape.hidden", 3, merge);
  modelgen_scalar(gen, "scale", 8.0f); // the root of a head's width
  modelgen_scalar(gen, "one", 1.0f);
  modelgen_scalar(gen, "half", 0.5f);
}

static const char *embed(modelgen_t *gen, const char *name, const char *indices, int64_t rows) {
  const int64_t dims[2] = {rows, WIDTH};
  const char *table = modelgen_text(gen, "%s.weight", name);
  modelgen_weights(gen, table, 2, dims, 1, 0.02f);
  return modelgen_binary(gen, "Gather", name, table, indices);
}

// [batch, sequence, hidden] → [batch, heads, ...] in the order given.
static const char *split_heads(modelgen_t *gen, const char *name, const char *x, const int64_t *order) {
  x = modelgen_binary(gen, "Reshape", modelgen_text(gen, "%s/Reshape", name), x, "shape.heads");
  return modelgen_transpose(gen, modelgen_text(gen, "%s/Transpose", name), x, order, 4);
}

static const int64_t heads_first[4] = {0, 2, 1, 3};
static const int64_t heads_first_transposed[4] = {0, 2, 3, 1};

// softmax(q · k / 8 [+ mask]) · v, heads merged again; k comes transposed.
static const char *attend(modelgen_t *gen, const char *name, const char *q, const char *k, const char *v,
                          const char *mask) {
  const char *x = modelgen_binary(gen, "MatMul", modelgen_text(gen, "%s/scores", name), q, k);
  x = modelgen_binary(gen, "Div", modelgen_text(gen, "%s/Div", name), x, "scale");
  if (mask) x = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/mask", name), x, mask);
  const char *weights = modelgen_text(gen, "%s/Softmax_output", name);
  byoc_onnx_node_int(byoc_onnx_graph_node(gen->graph, "Softmax", modelgen_text(gen, "%s/Softmax", name), x, weights),
                     "axis", -1);
  x = modelgen_binary(gen, "MatMul", modelgen_text(gen, "%s/context", name), weights, v);
  x = modelgen_transpose(gen, modelgen_text(gen, "%s/merge", name), x, heads_first, 4);
  return modelgen_binary(gen, "Reshape", modelgen_text(gen, "%s/hidden", name), x, "shape.hidden");
}

// x · 0.5 · (1 + erf(x / √2))
static const char *gelu_erf(modelgen_t *gen, const char *name, const char *x) {
  const char *y = modelgen_binary(gen, "Div", modelgen_text(gen, "%s/Div", name), x, "gelu.root");
  y = modelgen_unary(gen, "Erf", modelgen_text(gen, "%s/Erf", name), y);
  y = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add", name), y, "one");
  y = modelgen_binary(gen, "Mul", modelgen_text(gen, "%s/Mul", name), x, y);
  return modelgen_binary(gen, "Mul", modelgen_text(gen, "%s/Mul_1", name), y, "half");
}

// x · 0.5 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
static const char *gelu_tanh(modelgen_t *gen, const char *name, const char *x) {
  const char *y = modelgen_binary(gen, "Pow", modelgen_text(gen, "%s/Pow", name), x, "gelu.power");
  y = modelgen_binary(gen, "Mul", modelgen_text(gen, "%s/Mul", name), y, "gelu.cubic");
  y = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add", name), x, y);
  y = modelgen_binary(gen, "Mul", modelgen_text(gen, "%s/Mul_1", name), y, "gelu.root");
  y = modelgen_unary(gen, "Tanh", modelgen_text(gen, "%s/Tanh", name), y);
  y = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add_1", name), y, "one");
  const char *half = modelgen_binary(gen, "Mul", modelgen_text(gen, "%s/Mul_2", name), x, "half");
  return modelgen_binary(gen, "Mul", modelgen_text(gen, "%s/Mul_3", name), half, y);
}

// (1 - attention_mask) · -10000, broadcast over heads and rows.
static const char *make_mask(modelgen_t *gen) {
  const int64_t axes[2] = {1, 2};
  modelgen_indices(gen, "mask.axes", 2, axes);
  modelgen_scalar(gen, "mask.value", -10000.0f);
  const char *x = modelgen_binary(gen, "Unsqueeze", "mask/Unsqueeze", "attention_mask", "mask.axes");
  byoc_onnx_node_int(byoc_onnx_graph_node(gen->graph, "Cast", "mask/Cast", x, "mask/Cast_output"), "to", 1);
  x = modelgen_binary(gen, "Sub", "mask/Sub", "one", "mask/Cast_output");
  return modelgen_binary(gen, "Mul", "mask/Mul", x, "mask.value");
}

// Positions 0, 1, ... of a sequence: a constant, or cut to the sequence's length if that is known only at run time.
static const char *make_positions(modelgen_t *gen, int64_t limit) {
  const int64_t count = gen->sequence > 0 ? gen->sequence : limit, dims[2] = {1, count};
  int64_t *positions = byoc_onnx_graph_initialiser(gen->graph, "position_ids", BYOC_DTYPE_I64, 2, dims);
  for (int64_t i = 0; positions && i < count; i++) positions[i] = i;
  if (gen->sequence > 0) return "position_ids";
  modelgen_indices(gen, "positions.start", 1, (const int64_t[]){0});
  modelgen_indices(gen, "positions.axis", 1, (const int64_t[]){1});
  byoc_onnx_node_t *shape = byoc_onnx_graph_node(gen->graph, "Shape", "positions/Shape", "input_ids", "positions/end");
  byoc_onnx_node_int(shape, "start", 1);
  byoc_onnx_node_int(shape, "end", 2);
  return modelgen_unary(gen, "Slice", "positions/Slice", "position_ids,positions.start,positions/end,positions.axis");
}

void modelgen_build_bert_base(modelgen_t *gen) {
  enum { POSITIONS = 512 };
  const int64_t vocabulary = gen->vocabulary > 0 ? gen->vocabulary : 30522;
  const char *tokens = modelgen_shape(gen, sequence_text(gen));
  byoc_onnx_graph_input(gen->graph, "input_ids", BYOC_DTYPE_I64, tokens);
  byoc_onnx_graph_input(gen->graph, "attention_mask", BYOC_DTYPE_I64, tokens);
  byoc_onnx_graph_input(gen->graph, "token_type_ids", BYOC_DTYPE_I64, tokens);
  add_shared(gen);
  modelgen_scalar(gen, "gelu.root", 1.41421354f);
  const char *mask = make_mask(gen);
  const char *x = embed(gen, "embeddings.word", "input_ids", vocabulary);
  x = modelgen_binary(gen, "Add", "embeddings/Add", x, embed(gen, "embeddings.token_type", "token_type_ids", 2));
  x = modelgen_binary(gen, "Add", "embeddings/Add_1", x,
                      embed(gen, "embeddings.position", make_positions(gen, POSITIONS), POSITIONS));
  x = modelgen_layer_norm(gen, "embeddings.norm", x, WIDTH, 1e-12f);
  for (int64_t layer = 0; layer < gen->layers; layer++) {
    const char *name = modelgen_text(gen, "layer.%d", (int)layer);
    const char *query = modelgen_text(gen, "%s.query", name), *key = modelgen_text(gen, "%s.key", name);
    const char *value = modelgen_text(gen, "%s.value", name);
    const char *q = split_heads(gen, query, modelgen_linear(gen, query, x, WIDTH, WIDTH), heads_first);
    const char *k = split_heads(gen, key, modelgen_linear(gen, key, x, WIDTH, WIDTH), heads_first_transposed);
    const char *v = split_heads(gen, value, modelgen_linear(gen, value, x, WIDTH, WIDTH), heads_first);
    const char *y = attend(gen, modelgen_text(gen, "%s.attention", name), q, k, v, mask);
    y = modelgen_linear(gen, modelgen_text(gen, "%s.attention.output", name), y, WIDTH, WIDTH);
    y = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add", name), y, x);
    x = modelgen_layer_norm(gen, modelgen_text(gen, "%s.attention.norm", name), y, WIDTH, 1e-12f);
    y = modelgen_linear(gen, modelgen_text(gen, "%s.intermediate", name), x, WIDTH, INNER);
    y = gelu_erf(gen, modelgen_text(gen, "%s.gelu", name), y);
    y = modelgen_linear(gen, modelgen_text(gen, "%s.output", name), y, INNER, WIDTH);
    y = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add_1", name), y, x);
    x = modelgen_layer_norm(gen, modelgen_text(gen, "%s.norm", name), y, WIDTH, 1e-12f);
  }
  byoc_onnx_graph_node(gen->graph, "Identity", "last_hidden_state", x, "last_hidden_state");
  byoc_onnx_graph_output(gen->graph, "last_hidden_state", BYOC_DTYPE_F32,
                         modelgen_shape(gen, modelgen_text(gen, "%s,768", sequence_text(gen))));
  const int64_t first = 0;
  byoc_onnx_graph_initialiser_data(gen->graph, "pooler.first", BYOC_DTYPE_I64, 0, NULL, &first);
  byoc_onnx_node_t *gather =
      byoc_onnx_graph_node(gen->graph, "Gather", "pooler/Gather", modelgen_text(gen, "%s,pooler.first", x), "pooler/x");
  byoc_onnx_node_int(gather, "axis", 1);
  x = modelgen_dense(gen, "pooler.dense", "pooler/x", WIDTH, WIDTH, 1.0f);
  byoc_onnx_graph_node(gen->graph, "Tanh", "pooler_output", x, "pooler_output");
  byoc_onnx_graph_output(gen->graph, "pooler_output", BYOC_DTYPE_F32, modelgen_shape(gen, "768"));
}

// What a step needs to write one row of a cache of fixed size: "cache.index", where the row goes, for each of its
// elements, and "cache.mask", which hides the rows behind it.
static void add_fixed_cache(modelgen_t *gen) {
  const int64_t at[4] = {-1, 1, 1, 1}, row[4] = {1, HEADS, 1, HEAD_WIDTH}, dims[4] = {1, 1, 1, gen->sequence};
  modelgen_indices(gen, "cache.at", 4, at);
  modelgen_indices(gen, "cache.row", 4, row);
  modelgen_scalar(gen, "cache.shown", 0.0f);
  modelgen_scalar(gen, "cache.hidden", -10000.0f);
  int64_t *rows = byoc_onnx_graph_initialiser(gen->graph, "cache.rows", BYOC_DTYPE_I64, 4, dims);
  for (int64_t i = 0; rows && i < gen->sequence; i++) rows[i] = i;
  const char *position = modelgen_binary(gen, "Reshape", "cache/Reshape", "position_ids", "cache.at");
  byoc_onnx_graph_node(gen->graph, "Expand", "cache/Expand", modelgen_text(gen, "%s,cache.row", position),
                       "cache.index");
  const char *is_shown = modelgen_binary(gen, "LessOrEqual", "cache/LessOrEqual", "cache.rows", position);
  byoc_onnx_graph_node(gen->graph, "Where", "cache/Where", modelgen_text(gen, "%s,cache.shown,cache.hidden", is_shown),
                       "cache.mask");
}

// The keys or values of all tokens: those of `now` behind the past ones, or in their row of the cache.
static void add_to_cache(modelgen_t *gen, const char *name, bool is_fixed, const char *past, const char *now,
                         const char *present) {
  const char *operands = modelgen_text(gen, is_fixed ? "%s,cache.index,%s" : "%s,%s", past, now);
  const char *op = is_fixed ? "ScatterElements" : "Concat";
  byoc_onnx_node_int(byoc_onnx_graph_node(gen->graph, op, modelgen_text(gen, "%s/%s", name, op), operands, present),
                     "axis", 2);
}

static bool is_nbits(modelgen_weights_t weights) {
  return weights == IN_NBITS || weights == IN_NBITS_BY_BYTES;
}

// y = x · w + b, with the weights as they are held.
static const char *project(modelgen_t *gen, modelgen_weights_t weights, const char *name, const char *x, int64_t inputs,
                           int64_t outputs) {
  if (weights == IN_F32) return modelgen_linear(gen, name, x, inputs, outputs);
  const char *bias = modelgen_text(gen, "%s.bias", name), *product = modelgen_text(gen, "%s/MatMul", name);
  modelgen_range(gen, bias, outputs, -0.1f, 0.1f);
  if (is_nbits(weights)) {
    product = modelgen_nbits(gen, product, x, inputs, outputs, weights == IN_NBITS_BY_BYTES);
  } else {
    const char *weight = modelgen_text(gen, "%s.weight", name);
    product = modelgen_binary(gen, "MatMul", product, x, modelgen_blocked(gen, weight, inputs, outputs, 0, inputs));
  }
  return modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add", name), product, bias);
}

// One decoding step of GPT-2: a token comes in, the keys and values of the sequence so far come in and go out, longer
// or with one more row written.
static void build_gpt2(modelgen_t *gen, bool is_fixed, modelgen_weights_t weights) {
  enum { POSITIONS = 1024 };
  const int64_t vocabulary = gen->vocabulary > 0 ? gen->vocabulary : 50257;
  const char *past = gen->sequence == 0 ? "past" : sequence_text(gen);
  const char *present = gen->sequence == 0 ? "present" : modelgen_text(gen, "%lld", (long long)gen->sequence + 1);
  if (is_fixed) present = past;
  const char *past_shape = modelgen_shape(gen, modelgen_text(gen, "12,%s,64", past));
  const char *present_shape = modelgen_shape(gen, modelgen_text(gen, "12,%s,64", present));
  byoc_onnx_graph_input(gen->graph, "input_ids", BYOC_DTYPE_I64, modelgen_shape(gen, "1"));
  byoc_onnx_graph_input(gen->graph, "position_ids", BYOC_DTYPE_I64, modelgen_shape(gen, "1"));
  add_shared(gen);
  modelgen_scalar(gen, "gelu.root", 0.797884583f);
  modelgen_scalar(gen, "gelu.cubic", 0.044715f);
  modelgen_scalar(gen, "gelu.power", 3.0f);
  if (is_nbits(weights)) byoc_onnx_model_import(gen->model, "com.microsoft", 1);
  const bool is_blocked = weights == IN_BLOCKS;
  enum { EMBEDDED = 2500 }; // weights of 0.02 on average
  if (is_blocked) modelgen_blocked(gen, "wte.weight", vocabulary, WIDTH, 1, EMBEDDED);
  const char *x = is_blocked ? modelgen_binary(gen, "Gather", "wte", "wte.weight", "input_ids")
                             : embed(gen, "wte", "input_ids", vocabulary);
  x = modelgen_binary(gen, "Add", "embed/Add", x, embed(gen, "wpe", "position_ids", POSITIONS));
  const char *outputs[2 * 12];
  const int64_t split[3] = {WIDTH, WIDTH, WIDTH}, swap[4] = {0, 1, 3, 2};
  modelgen_indices(gen, "split.qkv", 3, split);
  if (is_fixed) add_fixed_cache(gen);
  for (int64_t layer = 0; layer < gen->layers; layer++) {
    const char *name = modelgen_text(gen, "h.%d", (int)layer);
    const char *y = modelgen_layer_norm(gen, modelgen_text(gen, "%s.ln_1", name), x, WIDTH, 1e-5f);
    y = project(gen, weights, modelgen_text(gen, "%s.attn.c_attn", name), y, WIDTH, 3 * WIDTH);
    const char *parts[3];
    for (int i = 0; i < 3; i++) parts[i] = modelgen_text(gen, "%s.attn.%c", name, "qkv"[i]);
    byoc_onnx_node_int(byoc_onnx_graph_node(gen->graph, "Split", modelgen_text(gen, "%s.attn.split", name),
                                            modelgen_text(gen, "%s,split.qkv", y),
                                            modelgen_text(gen, "%s,%s,%s", parts[0], parts[1], parts[2])),
                       "axis", 2);
    const char *q = split_heads(gen, modelgen_text(gen, "%s/q", name), parts[0], heads_first);
    const char *caches[2];
    for (int i = 0; i < 2; i++) {
      const char *kind = i == 0 ? "key" : "value";
      const char *input = modelgen_text(gen, "past_%s_%d", kind, (int)layer);
      caches[i] = modelgen_text(gen, "present_%s_%d", kind, (int)layer);
      const char *now = split_heads(gen, modelgen_text(gen, "%s/%s", name, kind), parts[i + 1], heads_first);
      byoc_onnx_graph_input(gen->graph, input, BYOC_DTYPE_F32, past_shape);
      add_to_cache(gen, modelgen_text(gen, "%s/%s", name, kind), is_fixed, input, now, caches[i]);
      outputs[2 * layer + i] = caches[i];
    }
    const char *k = modelgen_transpose(gen, modelgen_text(gen, "%s/k", name), caches[0], swap, 4);
    y = attend(gen, modelgen_text(gen, "%s.attn", name), q, k, caches[1], is_fixed ? "cache.mask" : NULL);
    y = project(gen, weights, modelgen_text(gen, "%s.attn.c_proj", name), y, WIDTH, WIDTH);
    x = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add", name), x, y);
    y = modelgen_layer_norm(gen, modelgen_text(gen, "%s.ln_2", name), x, WIDTH, 1e-5f);
    y = project(gen, weights, modelgen_text(gen, "%s.mlp.c_fc", name), y, WIDTH, INNER);
    y = gelu_tanh(gen, modelgen_text(gen, "%s.gelu", name), y);
    y = project(gen, weights, modelgen_text(gen, "%s.mlp.c_proj", name), y, INNER, WIDTH);
    x = modelgen_binary(gen, "Add", modelgen_text(gen, "%s/Add_1", name), x, y);
  }
  x = modelgen_layer_norm(gen, "ln_f", x, WIDTH, 1e-5f);
  const int64_t swap_matrix[2] = {1, 0};
  if (is_nbits(weights)) {
    const char *logits = modelgen_nbits(gen, "lm_head", x, WIDTH, vocabulary, weights == IN_NBITS_BY_BYTES);
    byoc_onnx_graph_node(gen->graph, "Identity", "logits", logits, "logits");
  } else {
    const char *head = modelgen_transpose(gen, "lm_head/Transpose", "wte.weight", swap_matrix, 2);
    byoc_onnx_graph_node(gen->graph, "MatMul", "lm_head", modelgen_text(gen, "%s,%s", x, head), "logits");
  }
  byoc_onnx_graph_output(gen->graph, "logits", BYOC_DTYPE_F32,
                         modelgen_shape(gen, modelgen_text(gen, "1,%lld", (long long)vocabulary)));
  for (int64_t i = 0; i < 2 * gen->layers; i++) {
    byoc_onnx_graph_output(gen->graph, outputs[i], BYOC_DTYPE_F32, present_shape);
  }
}

void modelgen_build_gpt2_step(modelgen_t *gen) {
  build_gpt2(gen, false, IN_F32);
}

void modelgen_build_gpt2_cached(modelgen_t *gen) {
  build_gpt2(gen, true, IN_F32);
}

void modelgen_build_gpt2_nbits(modelgen_t *gen) {
  build_gpt2(gen, false, IN_NBITS);
}

void modelgen_build_gpt2_bytes(modelgen_t *gen) {
  build_gpt2(gen, false, IN_NBITS_BY_BYTES);
}

void modelgen_build_gpt2_blocked(modelgen_t *gen) {
  build_gpt2(gen, false, IN_BLOCKS);
}
