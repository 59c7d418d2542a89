// SPDX-License-Identifier: Apache-2.0
// Packs constants at build time into the layouts that primitives want.
#include "pack.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/layout.h"
#include "engine/graph/open_sizes.h"
#include "engine/instance/instance.h"

static void keep_message(void *self, const char *message) {
  (void)byoc_dnnl_fail(self, BYOC_INTERNAL, "%s", message);
}

static int32_t fail_without_memory(byoc_dnnl_error_t *error) {
  return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY, "out of memory");
}

// The value that stands for a constant; -1 if there are several.
static int32_t only_value_of(const byoc_dnnl_draft_t *draft, int32_t constant) {
  int32_t found = -1;
  for (uint32_t i = 0; i < draft->value_count; ++i) {
    if (draft->values[i].constant != constant) continue;
    if (found >= 0) return -1;
    found = (int32_t)i;
  }
  return found;
}

// A function with dynamic sizes is prepared for one image or a text of middling size, to see which layouts it wants.
// They depend on the channels mostly; where a run finds that it wants others, it makes them.
static int32_t prepare(const byoc_dnnl_draft_t *draft, byoc_dnnl_instance_t *instance, const int32_t *inputs,
                       uint32_t input_count, byoc_dnnl_error_t *error) {
  const uint32_t count = draft->sizes.count;
  if (count == 0) return BYOC_OK;
  int64_t *sizes = malloc(count * sizeof(*sizes));
  if (sizes == NULL) return fail_without_memory(error);
  for (uint32_t i = 0; i < count; ++i) sizes[i] = BYOC_DNNL_SIZE_UNKNOWN;
  for (uint32_t i = 0; i < input_count; ++i) {
    const byoc_dnnl_shape_t *shape = &draft->values[inputs[i]].shape;
    for (int32_t axis = shape->rank - 1; axis >= 0; --axis)
      if (shape->dims[axis] < 0) sizes[-1 - shape->dims[axis]] = axis == 0 ? 1 : 64;
  }
  const int32_t status = byoc_dnnl_instance_prepare(instance, 0, sizes, error);
  free(sizes);
  return status;
}

static int32_t pack_constant(byoc_dnnl_draft_t *draft, const byoc_dnnl_instance_t *instance, uint32_t constant,
                             byoc_dnnl_error_t *error) {
  const dnnl_memory_desc_t *desc = NULL;
  const void *data = NULL;
  uint64_t size = 0;
  int32_t value = only_value_of(draft, (int32_t)constant);
  if (value < 0 || !byoc_dnnl_instance_packed_constant(instance, 0, constant, &desc, &data, &size)) return BYOC_OK;
  byoc_dnnl_draft_value_t *v = &draft->values[value];
  if (desc->ndims != v->shape.rank ||
      memcmp(desc->dims, v->shape.dims, (size_t)desc->ndims * sizeof(desc->dims[0])) != 0)
    return BYOC_OK;
  float *copy = malloc((size_t)size);
  json_t *layout = byoc_dnnl_layout_emit(desc);
  if (copy == NULL || layout == NULL) {
    free(copy);
    json_decref(layout);
    return fail_without_memory(error);
  }
  memcpy(copy, data, (size_t)size);
  free(draft->constants[constant].owned);
  draft->constants[constant] = (byoc_dnnl_draft_constant_t){copy, size, copy};
  v->layout = layout;
  return BYOC_OK;
}

int32_t byoc_dnnl_pack_constants(byoc_dnnl_draft_t *draft, const char *symbol, const int32_t *inputs,
                                 uint32_t input_count, const int32_t *outputs, uint32_t output_count,
                                 byoc_dnnl_error_t *error) {
  int32_t status = BYOC_OK;
  uint64_t size = 0;
  byoc_dnnl_instance_t *instance = NULL;
  char *json = byoc_dnnl_draft_emit(draft, inputs, input_count, outputs, output_count, &size);
  DLTensor *tensors = calloc((size_t)draft->constant_count + 1, sizeof(*tensors));
  int64_t *counts = calloc((size_t)draft->constant_count + 1, sizeof(*counts));
  if (json == NULL || tensors == NULL || counts == NULL) {
    status = fail_without_memory(error);
    goto cleanup;
  }
  for (uint32_t i = 0; i < draft->constant_count; ++i) {
    counts[i] = (int64_t)(draft->constants[i].size_bytes / sizeof(float));
    tensors[i] = (DLTensor){.data = (void *)(uintptr_t)draft->constants[i].data,
                            .ndim = 1,
                            .dtype = {kDLFloat, 32, 1},
                            .shape = &counts[i]};
  }
  // One thread, whatever the artifact will use: the same inputs give the same bytes on every machine of a kind.
  byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = 1, .self = error, .set_error = keep_message};
  byoc_engine_function_t function = {
      .symbol = symbol, .json = json, .json_size = size, .constants = tensors, .constant_count = draft->constant_count};
  byoc_engine_init_t init = {
      .struct_size = sizeof(init), .function_count = 1, .functions = &function, .runtime = &runtime};
  status = byoc_dnnl_instance_create(&init, &instance, error);
  if (status == BYOC_OK) status = prepare(draft, instance, inputs, input_count, error);
  for (uint32_t i = 0; i < draft->constant_count && status == BYOC_OK; ++i)
    status = pack_constant(draft, instance, i, error);
cleanup:
  byoc_dnnl_instance_destroy(instance);
  free(counts);
  free(tensors);
  free(json);
  return status;
}
