// SPDX-License-Identifier: Apache-2.0
// Models whose shapes are known only when they run: a decoder with a loop, a detector, an LSTM over lengths.
#include "modelgen.h"

// Greedy decoding: a prompt of P tokens, then one token per turn until `steps` are made or token 0 comes. The cache of
// keys and values grows by one row per turn.
void modelgen_build_greedy_decoder(modelgen_t *gen) {
  enum { VOCABULARY = 97, WIDTH = 48 };
  const int64_t embedding[2] = {VOCABULARY, WIDTH}, minus_one = -1, whole = INT64_MAX, zero = 0;
  byoc_onnx_graph_t *graph = gen->graph;
  byoc_onnx_graph_input(graph, "prompt", BYOC_DTYPE_I64, "prompt_length");
  byoc_onnx_graph_input(graph, "steps", BYOC_DTYPE_I64, "");
  modelgen_weights(gen, "embedding", 2, embedding, WIDTH, 3.0f);
  modelgen_indices(gen, "last", 1, &minus_one);
  modelgen_indices(gen, "end", 1, &whole);
  modelgen_indices(gen, "end_of_text", 1, &zero);
  modelgen_scalar(gen, "scale", 0.14433756f); // 1 / sqrt(WIDTH)
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Gather", "embed", "embedding,prompt", "cache"), "axis", 0);
  byoc_onnx_graph_node(graph, "Slice", "first", "prompt,last,end", "token");
  const uint8_t yes = 1;
  byoc_onnx_graph_initialiser_data(graph, "yes", BYOC_DTYPE_BOOL, 0, NULL, &yes);

  byoc_onnx_graph_t *body = byoc_onnx_model_nested_graph(gen->model, "decode");
  gen->graph = body;
  byoc_onnx_graph_input(body, "turn", BYOC_DTYPE_I64, "");
  byoc_onnx_graph_input(body, "goes_on_in", BYOC_DTYPE_BOOL, "");
  byoc_onnx_graph_input(body, "token_in", BYOC_DTYPE_I64, "1");
  byoc_onnx_graph_input(body, "cache_in", BYOC_DTYPE_F32, NULL);
  byoc_onnx_node_int(byoc_onnx_graph_node(body, "Gather", "look_up", "embedding,token_in", "x"), "axis", 0);
  const char *q = modelgen_linear(gen, "query", "x", WIDTH, WIDTH);
  const char *k = modelgen_linear(gen, "key", "cache_in", WIDTH, WIDTH);
  const char *k_t = modelgen_transpose(gen, "key_t", k, (const int64_t[]){1, 0}, 2);
  const char *scores = modelgen_binary(gen, "MatMul", "scores", q, k_t);
  scores = modelgen_binary(gen, "Mul", "scaled", scores, "scale");
  byoc_onnx_node_int(byoc_onnx_graph_node(body, "Softmax", "weights", scores, "attention"), "axis", -1);
  const char *context = modelgen_binary(gen, "MatMul", "context", "attention", "cache_in");
  context = modelgen_linear(gen, "project", context, WIDTH, WIDTH);
  const char *h = modelgen_layer_norm(gen, "norm", modelgen_binary(gen, "Add", "residual", context, "x"), WIDTH, 1e-5f);
  const char *logits = modelgen_linear(gen, "head", h, WIDTH, VOCABULARY);
  byoc_onnx_node_t *best = byoc_onnx_graph_node(body, "ArgMax", "best", logits, "token_out");
  byoc_onnx_node_int(best, "axis", 1);
  byoc_onnx_node_int(best, "keepdims", 0);
  byoc_onnx_graph_node(body, "Equal", "is_end", "token_out,end_of_text", "ends");
  byoc_onnx_graph_node(body, "Not", "is_not_end", "ends", "goes_on_1");
  byoc_onnx_graph_node(body, "Squeeze", "goes_on", "goes_on_1", "goes_on_out");
  byoc_onnx_node_int(byoc_onnx_graph_node(body, "Gather", "embed_next", "embedding,token_out", "row"), "axis", 0);
  byoc_onnx_node_int(byoc_onnx_graph_node(body, "Concat", "grow", "cache_in,row", "cache_out"), "axis", 0);
  byoc_onnx_graph_node(body, "Identity", "emit", "token_out", "emitted");
  byoc_onnx_graph_output(body, "goes_on_out", BYOC_DTYPE_BOOL, "");
  byoc_onnx_graph_output(body, "token_out", BYOC_DTYPE_I64, "1");
  byoc_onnx_graph_output(body, "cache_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_output(body, "emitted", BYOC_DTYPE_I64, "1");
  gen->graph = graph;

  byoc_onnx_node_t *loop =
      byoc_onnx_graph_node(graph, "Loop", "decode", "steps,yes,token,cache", "last_token,last_cache,tokens");
  byoc_onnx_node_graph(loop, "body", body);
  byoc_onnx_graph_output(graph, "tokens", BYOC_DTYPE_I64, "made,1");
  byoc_onnx_graph_output(graph, "last_token", BYOC_DTYPE_I64, "1");
  byoc_onnx_graph_output(graph, "last_cache", BYOC_DTYPE_F32, "rows,48");
}

// A small one-stage detector for images of any size: three strided convolutions, a head of box and class maps, then
// NonMaxSuppression and the boxes that it keeps.
void modelgen_build_detector(modelgen_t *gen) {
  enum { CLASSES = 3 };
  static const int64_t widths[] = {3, 8, 16, 24};
  byoc_onnx_graph_t *graph = gen->graph;
  byoc_onnx_graph_input(graph, "image", BYOC_DTYPE_F32, "1,3,height,width");
  const char *x = "image";
  for (int i = 0; i < 3; i++) {
    const modelgen_conv_t conv = {.inputs = widths[i],
                                  .outputs = widths[i + 1],
                                  .kernel = 3,
                                  .stride = 2,
                                  .pad = 1,
                                  .groups = 1,
                                  .gain = 1.4142135f};
    x = modelgen_conv(gen, modelgen_text(gen, "conv%d", i), x, conv, true);
    x = modelgen_unary(gen, "Relu", modelgen_text(gen, "relu%d", i), x);
  }
  const modelgen_conv_t box = {.inputs = 24, .outputs = 4, .kernel = 1, .stride = 1, .groups = 1, .gain = 2.0f};
  const modelgen_conv_t score = {.inputs = 24, .outputs = CLASSES, .kernel = 1, .stride = 1, .groups = 1, .gain = 2.0f};
  const int64_t box_shape[3] = {1, 4, -1}, score_shape[3] = {1, CLASSES, -1}, most = 20, second = 2;
  modelgen_indices(gen, "box_shape", 3, box_shape);
  modelgen_indices(gen, "score_shape", 3, score_shape);
  const char *boxes =
      modelgen_binary(gen, "Reshape", "flat_boxes", modelgen_conv(gen, "box", x, box, true), "box_shape");
  boxes = modelgen_unary(gen, "Sigmoid", "place", boxes);
  boxes = modelgen_transpose(gen, "boxes", boxes, (const int64_t[]){0, 2, 1}, 3);
  const char *scores =
      modelgen_binary(gen, "Reshape", "flat_scores", modelgen_conv(gen, "score", x, score, true), "score_shape");
  scores = modelgen_unary(gen, "Sigmoid", "scores", scores);
  modelgen_indices(gen, "most", 1, &most);
  const float iou = 0.4f, threshold = 0.55f;
  const int64_t one = 1;
  byoc_onnx_graph_initialiser_data(graph, "iou", BYOC_DTYPE_F32, 1, &one, &iou);
  byoc_onnx_graph_initialiser_data(graph, "threshold", BYOC_DTYPE_F32, 1, &one, &threshold);
  byoc_onnx_graph_node(graph, "NonMaxSuppression", "keep",
                       modelgen_text(gen, "%s,%s,most,iou,threshold", boxes, scores), "kept");
  byoc_onnx_graph_initialiser_data(graph, "second", BYOC_DTYPE_I64, 0, NULL, &second);
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Gather", "which", "kept,second", "anchors"), "axis", 1);
  byoc_onnx_graph_node(graph, "Squeeze", "all_boxes", modelgen_text(gen, "%s,axis_0", boxes), "plain_boxes");
  const int64_t axis = 0;
  modelgen_indices(gen, "axis_0", 1, &axis);
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Gather", "found", "plain_boxes,anchors", "found_boxes"), "axis", 0);
  byoc_onnx_graph_output(graph, "kept", BYOC_DTYPE_I64, "count,3");
  byoc_onnx_graph_output(graph, "found_boxes", BYOC_DTYPE_F32, "count,4");
}

// A bidirectional LSTM over sequences of different lengths, and its mean over time.
void modelgen_build_lstm(modelgen_t *gen) {
  enum { INPUTS = 12, HIDDEN = 16 };
  const int64_t w[3] = {2, 4 * HIDDEN, INPUTS}, r[3] = {2, 4 * HIDDEN, HIDDEN}, b[2] = {2, 8 * HIDDEN}, axis = 0;
  byoc_onnx_graph_t *graph = gen->graph;
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "time,batch,12");
  byoc_onnx_graph_input(graph, "lengths", BYOC_DTYPE_I32, "batch");
  modelgen_weights(gen, "w", 3, w, INPUTS, 1.0f);
  modelgen_weights(gen, "r", 3, r, HIDDEN, 1.0f);
  modelgen_weights(gen, "b", 2, b, HIDDEN, 1.0f);
  byoc_onnx_node_t *lstm = byoc_onnx_graph_node(graph, "LSTM", "lstm", "x,w,r,b,lengths", "y,y_h,y_c");
  byoc_onnx_node_int(lstm, "hidden_size", HIDDEN);
  byoc_onnx_node_string(lstm, "direction", "bidirectional");
  byoc_onnx_node_t *mean = byoc_onnx_graph_node(graph, "ReduceMean", "mean", "y", "mean_y");
  byoc_onnx_node_ints(mean, "axes", &axis, 1);
  byoc_onnx_node_int(mean, "keepdims", 0);
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "time,2,batch,16");
  byoc_onnx_graph_output(graph, "y_h", BYOC_DTYPE_F32, "2,batch,16");
  byoc_onnx_graph_output(graph, "y_c", BYOC_DTYPE_F32, "2,batch,16");
  byoc_onnx_graph_output(graph, "mean_y", BYOC_DTYPE_F32, "2,batch,16");
}
