// SPDX-License-Identifier: Apache-2.0
// Writes products whose weights are in groups: MatMulNBits, or DequantizeLinear with blocks in front of the product.
#include <string.h>

#include "core/quantise/rewrite.h"

byoc_status_t byoc_qlayer_round(const byoc_qgraph_t *graph, const byoc_qlayer_t *layer, const byoc_qform_t *form,
                                const double *gram, byoc_arena_t *arena, byoc_diag_t *diag, byoc_rounded_t **out) {
  const Onnx__NodeProto *node = graph->message->node[layer->first];
  const byoc_qvalue_t *value = byoc_qgraph_operand(graph, node, 1);
  const float *data = byoc_qvalue_floats(graph, value);
  const int64_t *dims = value->tensor->dims;
  const bool is_turned = byoc_qnode_is_turned(node);
  const byoc_groups_t groups = {.rows = (size_t)dims[is_turned ? 0 : 1],
                                .columns = (size_t)dims[is_turned ? 1 : 0],
                                .group = form->group,
                                .bits = form->bits,
                                .is_symmetric = form->is_symmetric};
  const size_t per_row = byoc_groups_per_row(&groups);
  byoc_rounded_t *rounded = BYOC_ARENA_NEW(arena, byoc_rounded_t);
  float *rows = byoc_allocate(byoc_allocator_system(), groups.rows * groups.columns + 1, sizeof(*rows));
  *out = rounded;
  if (rounded == NULL || rows == NULL) {
    byoc_free(byoc_allocator_system(), rows);
    return byoc_diag_out_of_memory(diag);
  }
  *rounded = (byoc_rounded_t){groups, BYOC_ARENA_ARRAY(arena, uint8_t, groups.rows * groups.columns + 1),
                              BYOC_ARENA_ARRAY(arena, float, groups.rows *per_row + 1),
                              BYOC_ARENA_ARRAY(arena, uint8_t, groups.rows * per_row + 1)};
  const bool fits = rounded->integers != NULL && rounded->scales != NULL && rounded->zeros != NULL;
  byoc_status_t status = fits ? BYOC_OK : BYOC_OUT_OF_MEMORY;
  for (size_t k = 0; k < groups.columns; k++) {
    for (size_t n = 0; n < groups.rows; n++) {
      rows[n * groups.columns + k] = is_turned ? data[n * groups.columns + k] : data[k * groups.rows + n];
    }
  }
  if (fits && gram != NULL) {
    status = byoc_groups_round_with_feedback(rows, &groups, gram, rounded->integers, rounded->scales, rounded->zeros);
  } else if (fits) {
    byoc_groups_round(rows, &groups, NULL, rounded->integers, rounded->scales, rounded->zeros);
  }
  byoc_free(byoc_allocator_system(), rows);
  if (status == BYOC_INVALID_DATA) {
    byoc_diag_error(diag, status, "the products of the inputs of '%s' with each other have no inverse", layer->name);
    byoc_diag_hint(diag, "keep the layer in floats, --exclude NAME, or round without --gptq");
    return status;
  }
  return status == BYOC_OK ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- MatMulNBits ----

static void put_bits(uint8_t *to, size_t index, int bits, uint8_t value) {
  if (bits == 8) {
    to[index] = value;
  } else {
    to[index / 2] |= (uint8_t)(value << (index % 2 * 4));
  }
}

typedef struct operands_t {
  const char *names[3]; // weights, scales, zero points
} operands_t;

static byoc_status_t pack_blocks(byoc_qwriter_t *writer, const byoc_rounded_t *rounded, const char *base,
                                 operands_t *out) {
  const byoc_groups_t *groups = &rounded->groups;
  const size_t per_row = byoc_groups_per_row(groups), blob = groups->group * (size_t)groups->bits / 8;
  const size_t zero_bytes = (per_row * (size_t)groups->bits + 7) / 8;
  const int64_t dims[] = {(int64_t)groups->rows, (int64_t)per_row, (int64_t)blob};
  const int64_t scale_count = (int64_t)(groups->rows * per_row), zero_count = (int64_t)(groups->rows * zero_bytes);
  uint8_t *bytes = byoc_qwriter_initialiser(writer, base, "_quantized", BYOC_DTYPE_U8, 3, dims, &out->names[0]);
  float *scales = byoc_qwriter_initialiser(writer, base, "_scale", BYOC_DTYPE_F32, 1, &scale_count, &out->names[1]);
  if (bytes == NULL || scales == NULL) return byoc_diag_out_of_memory(writer->diag);
  for (size_t r = 0; r < groups->rows; r++) {
    for (size_t i = 0; i < groups->columns; i++) { // groups follow each other, each of whole bytes
      put_bits(bytes + r * per_row * blob, i, groups->bits, rounded->integers[r * groups->columns + i]);
    }
  }
  memcpy(scales, rounded->scales, groups->rows * per_row * sizeof(*scales));
  out->names[2] = NULL;
  if (groups->is_symmetric) return BYOC_OK; // the middle is what MatMulNBits takes without zero points
  uint8_t *zeros = byoc_qwriter_initialiser(writer, base, "_zero_point", BYOC_DTYPE_U8, 1, &zero_count, &out->names[2]);
  if (zeros == NULL) return byoc_diag_out_of_memory(writer->diag);
  for (size_t r = 0; r < groups->rows; r++) {
    for (size_t g = 0; g < per_row; g++) {
      put_bits(zeros + r * zero_bytes, g, groups->bits, rounded->zeros[r * per_row + g]);
    }
  }
  return BYOC_OK;
}

static byoc_status_t add_matmul_nbits(byoc_qwriter_t *writer, const Onnx__NodeProto *node, const char *data,
                                      const char *result, const byoc_rounded_t *rounded, const operands_t *operands) {
  const byoc_qvalue_t *bias = byoc_qgraph_operand(writer->graph, node, 2);
  const char *product = bias != NULL ? byoc_qwriter_name(writer, result, "_product") : result;
  if (product == NULL) return byoc_diag_out_of_memory(writer->diag);
  const char *inputs[] = {data, operands->names[0], operands->names[1], operands->names[2]};
  Onnx__NodeProto *nbits = byoc_onnx_make_node(writer->model, "com.microsoft", "MatMulNBits", inputs,
                                               operands->names[2] != NULL ? 4 : 3, &product, 1);
  if (nbits == NULL) return byoc_diag_out_of_memory(writer->diag);
  nbits->name = node->name;
  byoc_onnx_add_attribute_int(writer->model, nbits, "K", (int64_t)rounded->groups.columns);
  byoc_onnx_add_attribute_int(writer->model, nbits, "N", (int64_t)rounded->groups.rows);
  byoc_onnx_add_attribute_int(writer->model, nbits, "bits", rounded->groups.bits);
  byoc_onnx_add_attribute_int(writer->model, nbits, "block_size", (int64_t)rounded->groups.group);
  byoc_onnx_model_set_opset(writer->model, "com.microsoft", 1);
  BYOC_RETURN_IF_ERROR(byoc_qwriter_add(writer, nbits));
  if (bias == NULL) return BYOC_OK;
  return byoc_qwriter_add(
      writer, byoc_onnx_make_node(writer->model, "", "Add", (const char *[]){product, bias->name}, 2, &result, 1));
}

// ---- DequantizeLinear with blocks ----

// The element (row, column) of a matrix of rows and columns as the model has it.
static size_t place(size_t row, size_t column, size_t rows, size_t columns, bool is_turned) {
  return is_turned ? row * columns + column : column * rows + row;
}

static byoc_status_t lay_out(byoc_qwriter_t *writer, const byoc_rounded_t *rounded, const char *base, bool is_turned,
                             operands_t *out) {
  const byoc_groups_t *groups = &rounded->groups;
  const size_t rows = groups->rows, columns = groups->columns, per_row = byoc_groups_per_row(groups);
  const byoc_dtype_t dtype = groups->bits == 4 ? BYOC_DTYPE_U4 : BYOC_DTYPE_U8;
  const int64_t dims[2][2] = {{(int64_t)columns, (int64_t)rows}, {(int64_t)rows, (int64_t)columns}};
  const int64_t scale_dims[2][2] = {{(int64_t)per_row, (int64_t)rows}, {(int64_t)rows, (int64_t)per_row}};
  uint8_t *bytes = byoc_qwriter_initialiser(writer, base, "_quantized", dtype, 2, dims[is_turned], &out->names[0]);
  float *scales =
      byoc_qwriter_initialiser(writer, base, "_scale", BYOC_DTYPE_F32, 2, scale_dims[is_turned], &out->names[1]);
  uint8_t *zeros =
      byoc_qwriter_initialiser(writer, base, "_zero_point", dtype, 2, scale_dims[is_turned], &out->names[2]);
  if (bytes == NULL || scales == NULL || zeros == NULL) return byoc_diag_out_of_memory(writer->diag);
  for (size_t r = 0; r < rows; r++) {
    for (size_t c = 0; c < columns; c++) {
      put_bits(bytes, place(r, c, rows, columns, is_turned), groups->bits, rounded->integers[r * columns + c]);
    }
    for (size_t g = 0; g < per_row; g++) {
      scales[place(r, g, rows, per_row, is_turned)] = rounded->scales[r * per_row + g];
      put_bits(zeros, place(r, g, rows, per_row, is_turned), groups->bits, rounded->zeros[r * per_row + g]);
    }
  }
  return BYOC_OK;
}

static byoc_status_t add_dequantised(byoc_qwriter_t *writer, const Onnx__NodeProto *node, const char *data,
                                     const char *result, const char *weights) {
  Onnx__NodeProto *copy = byoc_onnx_copy_node(writer->model, node);
  if (copy == NULL) return byoc_diag_out_of_memory(writer->diag);
  copy->input[0] = (char *)data;
  copy->input[1] = (char *)weights;
  copy->output[0] = (char *)result;
  return byoc_qwriter_add(writer, copy);
}

byoc_status_t byoc_qwriter_add_groups(byoc_qwriter_t *writer, const Onnx__NodeProto *node, const char *data,
                                      const char *result) {
  const byoc_rounded_t *rounded = byoc_string_map_get(writer->form->rounded, node->output[0]);
  const char *base = node->input[1];
  const bool is_turned = byoc_qnode_is_turned(node);
  if (rounded == NULL)
    return byoc_diag_error(writer->diag, BYOC_INTERNAL, "the weights of '%s' were not rounded", base);
  // Layers share integers unless these were rounded with feedback, which depends on the inputs of the layer.
  const char *key = byoc_arena_format(&writer->arena, "%s\n%p", base, (const void *)rounded);
  operands_t *operands = key != NULL ? byoc_string_map_get(&writer->weights_of, key) : NULL;
  if (operands == NULL) {
    operands = BYOC_ARENA_NEW(&writer->arena, operands_t);
    if (operands == NULL || key == NULL) return byoc_diag_out_of_memory(writer->diag);
    BYOC_RETURN_IF_ERROR(writer->form->is_dequantise ? lay_out(writer, rounded, base, is_turned, operands)
                                                     : pack_blocks(writer, rounded, base, operands));
    if (writer->form->is_dequantise) {
      const char *name = byoc_qwriter_name(writer, base, "_dequantized");
      Onnx__NodeProto *dequantise =
          name != NULL ? byoc_onnx_make_node(writer->model, "", "DequantizeLinear", operands->names, 3, &name, 1)
                       : NULL;
      if (dequantise == NULL) return byoc_diag_out_of_memory(writer->diag);
      byoc_onnx_add_attribute_int(writer->model, dequantise, "axis", is_turned ? 1 : 0);
      byoc_onnx_add_attribute_int(writer->model, dequantise, "block_size", (int64_t)rounded->groups.group);
      BYOC_RETURN_IF_ERROR(byoc_qwriter_add(writer, dequantise));
      operands->names[0] = name;
    }
    if (!byoc_string_map_put(&writer->weights_of, key, operands)) return byoc_diag_out_of_memory(writer->diag);
  }
  return writer->form->is_dequantise ? add_dequantised(writer, node, data, result, operands->names[0])
                                     : add_matmul_nbits(writer, node, data, result, rounded, operands);
}
