// SPDX-License-Identifier: Apache-2.0
// Rewrites operators of older operator sets. Those that are not named here mean the same in newer ones.
#include "core/quantise/upgrade.h"

#include <float.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vector.h"
#include "core/quantise/graph.h"

enum { OLDEST = 7, NEWEST = 21 };

typedef struct upgrade_t {
  byoc_onnx_model_t *model;
  Onnx__GraphProto *graph; // that is being rewritten
  int64_t from, to;
  byoc_map_t names;
  BYOC_VECTOR(Onnx__NodeProto *) nodes; // of the graph, rewritten
  byoc_diag_t *diag;
} upgrade_t;

// ---- pieces ----

static bool crosses(const upgrade_t *u, int64_t version) {
  return u->from < version && version <= u->to;
}

static byoc_status_t refuse(const upgrade_t *u, const Onnx__NodeProto *node, const char *reason) {
  byoc_diag_error(u->diag, BYOC_UNSUPPORTED,
                  "%s '%s' %s, and the model has to be raised from operator set %lld to %lld", node->op_type,
                  byoc_qnode_name(node), reason, (long long)u->from, (long long)u->to);
  byoc_diag_hint(u->diag, "export the model with operator set %lld, or convert it by onnx.version_converter",
                 (long long)u->to);
  return BYOC_UNSUPPORTED;
}

static byoc_status_t push(upgrade_t *u, Onnx__NodeProto *node) {
  return node != NULL && byoc_vector_push(&u->nodes, byoc_allocator_system(), node) ? BYOC_OK
                                                                                    : byoc_diag_out_of_memory(u->diag);
}

// A Constant node with these numbers in front of `node`; gives its name.
static byoc_status_t add_constant(upgrade_t *u, const Onnx__NodeProto *node, const char *suffix, byoc_dtype_t dtype,
                                  bool is_scalar, const void *data, size_t count, const char **out_name) {
  byoc_arena_t *arena = byoc_onnx_model_arena(u->model);
  Onnx__TensorProto *tensor = BYOC_ARENA_NEW(arena, Onnx__TensorProto);
  Onnx__AttributeProto *attribute = BYOC_ARENA_NEW(arena, Onnx__AttributeProto);
  int64_t *dims = BYOC_ARENA_NEW(arena, int64_t);
  Onnx__AttributeProto **list = BYOC_ARENA_NEW(arena, Onnx__AttributeProto *);
  *out_name = byoc_qgraph_new_name(u->model, &u->names, byoc_qnode_name(node), suffix);
  Onnx__NodeProto *constant =
      *out_name != NULL ? byoc_onnx_make_node(u->model, "", "Constant", NULL, 0, out_name, 1) : NULL;
  if (tensor == NULL || attribute == NULL || dims == NULL || list == NULL || constant == NULL) {
    return byoc_diag_out_of_memory(u->diag);
  }
  onnx__tensor_proto__init(tensor);
  onnx__attribute_proto__init(attribute);
  *dims = (int64_t)count;
  tensor->dims = dims;
  tensor->n_dims = is_scalar ? 0 : 1;
  tensor->has_data_type = 1;
  tensor->data_type = dtype == BYOC_DTYPE_I64 ? 7 : 1;
  tensor->has_raw_data = 1;
  tensor->raw_data.len = count * byoc_dtype_bits(dtype) / 8;
  tensor->raw_data.data = byoc_arena_allocate(arena, tensor->raw_data.len + 1, 1);
  if (tensor->raw_data.data == NULL) return byoc_diag_out_of_memory(u->diag);
  if (count > 0) memcpy(tensor->raw_data.data, data, tensor->raw_data.len);
  attribute->name = (char *)"value";
  attribute->has_type = 1;
  attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  attribute->t = tensor;
  list[0] = attribute;
  constant->attribute = list;
  constant->n_attribute = 1;
  return push(u, constant);
}

static bool has_text(const Onnx__NodeProto *node, const char *name, const char *text) {
  const Onnx__AttributeProto *attribute = byoc_onnx_find_attribute(node, name);
  return attribute != NULL && attribute->s.len == strlen(text) && memcmp(attribute->s.data, text, strlen(text)) == 0;
}

// Gives the node inputs up to `count`, with "" for those that are left out.
static bool reserve_inputs(upgrade_t *u, Onnx__NodeProto *node, size_t count) {
  if (node->n_input >= count) return true;
  char **inputs = BYOC_ARENA_ARRAY(byoc_onnx_model_arena(u->model), char *, count);
  if (inputs == NULL) return false;
  for (size_t i = 0; i < count; i++) inputs[i] = i < node->n_input ? node->input[i] : (char *)"";
  node->input = inputs;
  node->n_input = count;
  return true;
}

// Makes an input of a list attribute, if the node has it.
static byoc_status_t list_to_input(upgrade_t *u, Onnx__NodeProto *node, const char *name, size_t input) {
  const Onnx__AttributeProto *list = byoc_onnx_find_attribute(node, name);
  if (list == NULL) return BYOC_OK;
  const char *constant;
  byoc_status_t status = BYOC_OK;
  if (list->n_floats > 0) {
    status = add_constant(u, node, "_values", BYOC_DTYPE_F32, false, list->floats, list->n_floats, &constant);
  } else {
    int64_t none = 0;
    const int64_t *ints = list->n_ints > 0 ? list->ints : &none;
    status = add_constant(u, node, "_values", BYOC_DTYPE_I64, false, ints, list->n_ints, &constant);
  }
  if (status != BYOC_OK) return status;
  if (!reserve_inputs(u, node, input + 1)) return byoc_diag_out_of_memory(u->diag);
  node->input[input] = (char *)constant;
  byoc_onnx_remove_attribute(node, name);
  return BYOC_OK;
}

static byoc_status_t float_to_input(upgrade_t *u, Onnx__NodeProto *node, const char *name, size_t input) {
  const Onnx__AttributeProto *number = byoc_onnx_find_attribute(node, name);
  if (number == NULL) return BYOC_OK;
  const char *constant;
  float values[2] = {number->f};
  BYOC_RETURN_IF_ERROR(add_constant(u, node, "_value", BYOC_DTYPE_F32, true, values, 1, &constant));
  if (!reserve_inputs(u, node, input + 1)) return byoc_diag_out_of_memory(u->diag);
  node->input[input] = (char *)constant;
  byoc_onnx_remove_attribute(node, name);
  return BYOC_OK;
}

// ---- operators ----

// spatial = 1 is the only form since 9.
static byoc_status_t batch_normalization(upgrade_t *u, Onnx__NodeProto *node) {
  if (crosses(u, 9) && byoc_onnx_attribute_int(node, "spatial", 1) != 1) return refuse(u, node, "is not spatial");
  if (crosses(u, 14) && node->n_output > 1) return refuse(u, node, "trains");
  byoc_onnx_remove_attribute(node, "spatial");
  return BYOC_OK;
}

static byoc_status_t dropout(upgrade_t *u, Onnx__NodeProto *node) {
  if (crosses(u, 12)) byoc_onnx_remove_attribute(node, "ratio"); // it is for training
  return BYOC_OK;
}

static byoc_status_t clip(upgrade_t *u, Onnx__NodeProto *node) {
  if (!crosses(u, 11)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(float_to_input(u, node, "min", 1));
  return float_to_input(u, node, "max", 2);
}

static byoc_status_t pad(upgrade_t *u, Onnx__NodeProto *node) {
  if (!crosses(u, 11)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(list_to_input(u, node, "pads", 1));
  return float_to_input(u, node, "value", 2);
}

static byoc_status_t slice(upgrade_t *u, Onnx__NodeProto *node) {
  if (!crosses(u, 10)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(list_to_input(u, node, "starts", 1));
  BYOC_RETURN_IF_ERROR(list_to_input(u, node, "ends", 2));
  return list_to_input(u, node, "axes", 3);
}

static byoc_status_t top_k(upgrade_t *u, Onnx__NodeProto *node) {
  const Onnx__AttributeProto *k = byoc_onnx_find_attribute(node, "k");
  if (!crosses(u, 10) || k == NULL) return BYOC_OK;
  const char *constant;
  const int64_t values[2] = {k->i};
  BYOC_RETURN_IF_ERROR(add_constant(u, node, "_k", BYOC_DTYPE_I64, false, values, 1, &constant));
  if (!reserve_inputs(u, node, 2)) return byoc_diag_out_of_memory(u->diag);
  node->input[1] = (char *)constant;
  byoc_onnx_remove_attribute(node, "k");
  return BYOC_OK;
}

static byoc_status_t axes_13(upgrade_t *u, Onnx__NodeProto *node) {
  return crosses(u, 13) ? list_to_input(u, node, "axes", 1) : BYOC_OK;
}

static byoc_status_t axes_18(upgrade_t *u, Onnx__NodeProto *node) {
  return crosses(u, 18) ? list_to_input(u, node, "axes", 1) : BYOC_OK;
}

static byoc_status_t split(upgrade_t *u, Onnx__NodeProto *node) {
  if (crosses(u, 13)) BYOC_RETURN_IF_ERROR(list_to_input(u, node, "split", 1));
  const bool has_sizes = node->n_input > 1 && node->input[1][0] != '\0';
  if (crosses(u, 18) && !has_sizes && byoc_onnx_find_attribute(node, "num_outputs") == NULL) {
    byoc_onnx_add_attribute_int(u->model, node, "num_outputs", (int64_t)node->n_output);
  }
  return BYOC_OK;
}

// Until 12 the axes from `axis` on were one: Flatten, the function along the last axis, and the shape of the input.
static byoc_status_t softmax(upgrade_t *u, Onnx__NodeProto *node) {
  if (!crosses(u, 13)) return BYOC_OK;
  const int64_t axis = byoc_onnx_attribute_int(node, "axis", 1);
  byoc_onnx_remove_attribute(node, "axis");
  byoc_onnx_add_attribute_int(u->model, node, "axis", -1);
  if (axis == -1) return BYOC_OK;
  const char *input = node->input[0], *name = byoc_qnode_name(node), *result = node->output[0];
  const char *shape = byoc_qgraph_new_name(u->model, &u->names, name, "_shape");
  const char *flat = byoc_qgraph_new_name(u->model, &u->names, name, "_flat");
  const char *done = byoc_qgraph_new_name(u->model, &u->names, name, "_rows");
  if (shape == NULL || flat == NULL || done == NULL) return byoc_diag_out_of_memory(u->diag);
  Onnx__NodeProto *flatten = byoc_onnx_make_node(u->model, "", "Flatten", &input, 1, &flat, 1);
  byoc_onnx_add_attribute_int(u->model, flatten, "axis", axis);
  BYOC_RETURN_IF_ERROR(push(u, byoc_onnx_make_node(u->model, "", "Shape", &input, 1, &shape, 1)));
  BYOC_RETURN_IF_ERROR(push(u, flatten));
  node->input[0] = (char *)flat;
  node->output[0] = (char *)done;
  BYOC_RETURN_IF_ERROR(push(u, node));
  return push(u, byoc_onnx_make_node(u->model, "", "Reshape", (const char *[]){done, shape}, 2, &result, 1));
}

// 13 has no tf_half_pixel_for_nn: v = (x + 0.5) / scale. half_pixel has v - 0.5, which gives two of the nearest modes
// an equal form: floor(v) is v - 0.5 rounded to nearest with halves up, and v rounded with halves down is ceil(v -
// 0.5).
static byoc_status_t resize_12(upgrade_t *u, Onnx__NodeProto *node) {
  if (!has_text(node, "coordinate_transformation_mode", "tf_half_pixel_for_nn")) return BYOC_OK;
  const bool is_floor = has_text(node, "nearest_mode", "floor");
  const bool is_prefer_floor =
      byoc_onnx_find_attribute(node, "nearest_mode") == NULL || has_text(node, "nearest_mode", "round_prefer_floor");
  const bool is_nearest = byoc_onnx_find_attribute(node, "mode") == NULL || has_text(node, "mode", "nearest");
  if (!is_nearest || (!is_floor && !is_prefer_floor)) {
    return refuse(u, node, "has the mode tf_half_pixel_for_nn, which is not in 13");
  }
  byoc_onnx_remove_attribute(node, "coordinate_transformation_mode");
  byoc_onnx_remove_attribute(node, "nearest_mode");
  byoc_onnx_add_attribute_string(u->model, node, "coordinate_transformation_mode", "half_pixel");
  byoc_onnx_add_attribute_string(u->model, node, "nearest_mode", is_floor ? "round_prefer_ceil" : "ceil");
  return BYOC_OK;
}

// Upsample, and Resize of 10, scale by x_original = floor(x / scale).
static byoc_status_t resize(upgrade_t *u, Onnx__NodeProto *node) {
  const bool is_upsample = strcmp(node->op_type, "Upsample") == 0;
  if (!crosses(u, 11)) return crosses(u, 13) ? resize_12(u, node) : BYOC_OK;
  if (is_upsample) BYOC_RETURN_IF_ERROR(list_to_input(u, node, "scales", 1));
  if (node->n_input < 2) return refuse(u, node, "has no scales");
  const char *scales = node->input[1];
  if (!reserve_inputs(u, node, 3)) return byoc_diag_out_of_memory(u->diag);
  node->op_type = (char *)"Resize";
  node->input[1] = (char *)"";
  node->input[2] = (char *)scales;
  byoc_onnx_add_attribute_string(u->model, node, "coordinate_transformation_mode", "asymmetric");
  byoc_onnx_add_attribute_string(u->model, node, "nearest_mode", "floor");
  return BYOC_OK;
}

static byoc_status_t scatter(upgrade_t *u, Onnx__NodeProto *node) {
  if (crosses(u, 11)) node->op_type = (char *)"ScatterElements";
  return BYOC_OK;
}

static byoc_status_t roi_align(upgrade_t *u, Onnx__NodeProto *node) {
  if (crosses(u, 16)) {
    byoc_onnx_add_attribute_string(u->model, node, "coordinate_transformation_mode", "output_half_pixel");
  }
  return BYOC_OK;
}

static byoc_status_t grid_sample(upgrade_t *u, Onnx__NodeProto *node) {
  return crosses(u, 20) ? refuse(u, node, "has other names of modes since 20") : BYOC_OK;
}

static byoc_status_t scan(upgrade_t *u, Onnx__NodeProto *node) {
  return crosses(u, 9) ? refuse(u, node, "has another form since 9") : BYOC_OK;
}

static byoc_status_t group_normalization(upgrade_t *u, Onnx__NodeProto *node) {
  return crosses(u, 21) ? refuse(u, node, "has a scale of another shape since 21") : BYOC_OK;
}

static byoc_status_t dft(upgrade_t *u, Onnx__NodeProto *node) {
  return crosses(u, 20) ? refuse(u, node, "takes its axis as an input since 20") : BYOC_OK;
}

static const struct {
  const char *op;
  byoc_status_t (*rewrite)(upgrade_t *u, Onnx__NodeProto *node);
} rewrites[] = {
    {"BatchNormalization", batch_normalization},
    {"Dropout", dropout},
    {"Clip", clip},
    {"Pad", pad},
    {"Slice", slice},
    {"TopK", top_k},
    {"Squeeze", axes_13},
    {"Unsqueeze", axes_13},
    {"ReduceSum", axes_13},
    {"ReduceMean", axes_18},
    {"ReduceMax", axes_18},
    {"ReduceMin", axes_18},
    {"ReduceProd", axes_18},
    {"ReduceL1", axes_18},
    {"ReduceL2", axes_18},
    {"ReduceLogSum", axes_18},
    {"ReduceLogSumExp", axes_18},
    {"ReduceSumSquare", axes_18},
    {"Split", split},
    {"Softmax", softmax},
    {"LogSoftmax", softmax},
    {"Hardmax", softmax},
    {"Upsample", resize},
    {"Resize", resize},
    {"Scatter", scatter},
    {"RoiAlign", roi_align},
    {"GridSample", grid_sample},
    {"Scan", scan},
    {"GroupNormalization", group_normalization},
    {"DFT", dft},
};

// ---- graphs ----

static byoc_status_t upgrade_graph(upgrade_t *u, Onnx__GraphProto *graph);

static byoc_status_t upgrade_node(upgrade_t *u, Onnx__NodeProto *original) {
  Onnx__NodeProto *node = byoc_onnx_copy_node(u->model, original);
  if (node == NULL) return byoc_diag_out_of_memory(u->diag);
  for (size_t a = 0; a < node->n_attribute; a++) {
    if (node->attribute[a]->g != NULL) BYOC_RETURN_IF_ERROR(upgrade_graph(u, node->attribute[a]->g));
  }
  for (size_t i = 0; i < sizeof(rewrites) / sizeof(rewrites[0]); i++) {
    if (!byoc_onnx_node_is(node, rewrites[i].op)) continue;
    BYOC_RETURN_IF_ERROR(rewrites[i].rewrite(u, node));
    break;
  }
  for (size_t i = u->nodes.count; i-- > 0;) {
    if (u->nodes.data[i] == node) return BYOC_OK; // the rewrite has placed it
  }
  return push(u, node);
}

static byoc_status_t upgrade_graph(upgrade_t *u, Onnx__GraphProto *graph) {
  upgrade_t inner = *u;
  inner.graph = graph;
  memset(&inner.nodes, 0, sizeof(inner.nodes));
  byoc_status_t status = BYOC_OK;
  for (size_t n = 0; status == BYOC_OK && n < graph->n_node; n++) status = upgrade_node(&inner, graph->node[n]);
  if (status == BYOC_OK) {
    status = byoc_qgraph_set_nodes(u->model, graph, inner.nodes.data, inner.nodes.count, u->diag);
  }
  byoc_vector_deinit(&inner.nodes, byoc_allocator_system());
  u->names = inner.names;
  return status;
}

// Since IR version 4 an initialiser need not be an input; one that is may be overridden, and then is no constant.
static void drop_default_inputs(Onnx__GraphProto *graph, byoc_map_t *initialisers) {
  size_t kept = 0;
  for (size_t i = 0; i < graph->n_input; i++) {
    if (byoc_string_map_find(initialisers, graph->input[i]->name) == NULL) graph->input[kept++] = graph->input[i];
  }
  graph->n_input = kept;
}

static byoc_status_t raise_ir(byoc_onnx_model_t *model, byoc_diag_t *diag) {
  Onnx__ModelProto *message = byoc_onnx_model_message(model);
  if (message->ir_version < 4) {
    byoc_map_t initialisers;
    bool done = true;
    byoc_string_map_init(&initialisers, byoc_allocator_system());
    for (size_t i = 0; i < message->graph->n_initializer; i++) {
      done = done && byoc_string_map_put(&initialisers, message->graph->initializer[i]->name, NULL);
    }
    if (done) drop_default_inputs(message->graph, &initialisers);
    byoc_map_deinit(&initialisers);
    if (!done) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_upgrade(byoc_onnx_model_t *model, int64_t opset, byoc_diag_t *diag) {
  Onnx__ModelProto *message = byoc_onnx_model_message(model);
  const int64_t ir_version = opset >= 21 ? 10 : 7; // the first versions that come with these operator sets
  upgrade_t u = {.model = model, .from = byoc_onnx_model_opset(model, ""), .to = opset, .diag = diag};
  BYOC_RETURN_IF_ERROR(raise_ir(model, diag));
  if (message->ir_version < ir_version) byoc_onnx_model_set_ir_version(model, ir_version);
  if (u.from >= opset) return BYOC_OK;
  if (u.from < OLDEST || opset > NEWEST) {
    byoc_diag_error(diag, BYOC_UNSUPPORTED, "the model has operator set %lld of ai.onnx, and %lld is needed",
                    (long long)u.from, (long long)opset);
    byoc_diag_hint(diag, "models from operator set %d on can be raised; export it anew", OLDEST);
    return BYOC_UNSUPPORTED;
  }
  if (message->n_functions > 0) {
    byoc_diag_error(diag, BYOC_UNSUPPORTED,
                    "the model has local functions, and cannot be raised from operator set %lld to %lld",
                    (long long)u.from, (long long)opset);
    byoc_diag_hint(diag, "export it with operator set %lld", (long long)opset);
    return BYOC_UNSUPPORTED;
  }
  byoc_string_map_init(&u.names, byoc_allocator_system());
  byoc_status_t status = byoc_qgraph_names(message->graph, &u.names, diag);
  if (status == BYOC_OK) status = upgrade_graph(&u, message->graph);
  byoc_map_deinit(&u.names);
  if (status == BYOC_OK) byoc_onnx_model_set_opset(model, "", opset);
  return status;
}
