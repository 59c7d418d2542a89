// SPDX-License-Identifier: Apache-2.0
// Outputs in the caller's memory: buffers that it gives, or an allocator that it has.
#include <stdio.h>
#include <string.h>

#include "core/runtime/cell_memory.h"
#include "core/runtime/context.h"

static bool is_tensor(const byoc_artifact_t *artifact, uint32_t output) {
  return artifact->output_kinds[output][0] == 't';
}

int32_t byoc_model_take_buffers(byoc_model_context_t *context) {
  const byoc_artifact_t *artifact = context->model->artifact;
  byoc_frame_t *frame = &context->shared.frame;
  const byoc_buffer_t *buffers = context->with->outputs;
  uint32_t given = UINT32_MAX, missing = UINT32_MAX;
  for (uint32_t i = 0; i < artifact->output_count; i++) {
    const bool has_memory = buffers != NULL && buffers[i].data != NULL;
    context->placed[i] = has_memory ? buffers[i] : (byoc_buffer_t){0};
    if (has_memory && !is_tensor(artifact, i)) {
      return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "the output '%s' is %s: it cannot be written into a buffer",
                             artifact->outputs[i].name,
                             artifact->output_kinds[i][0] == 's' ? "a sequence" : "an optional");
    }
    if (has_memory) given = i;
    if (!has_memory && artifact->outputs[i].size_bytes > 0) missing = i;
  }
  const bool is_static = context->model->execute == NULL;
  if (!is_static || context->with->allocate != NULL || given == UINT32_MAX || missing == UINT32_MAX) return BYOC_OK;
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT,
                         "the output '%s' has no buffer, but the output '%s' has one: a run needs all of them",
                         artifact->outputs[missing].name, artifact->outputs[given].name);
}

int32_t byoc_model_ask_for(byoc_model_context_t *context, uint32_t output, const byoc_argument_t *tensor,
                           uint64_t size_bytes) {
  const byoc_run_options_t *with = context->with;
  byoc_buffer_t *placed = &context->placed[output];
  if (placed->data != NULL || with->allocate == NULL || size_bytes == 0) return BYOC_OK;
  const bool was_asked = placed->size_bytes > 0; // and gave no memory
  if (!was_asked) placed->data = with->allocate(with->self, output, tensor, size_bytes);
  placed->size_bytes = size_bytes;
  if (placed->data != NULL) return BYOC_OK;
  return byoc_frame_fail(&context->shared.frame, BYOC_OUT_OF_MEMORY,
                         "the caller's allocator has no %llu bytes for the output '%s'", (unsigned long long)size_bytes,
                         context->model->artifact->outputs[output].name);
}

// An output over its input is made elsewhere, because the input may still be read.
static bool is_over_input(const byoc_model_context_t *context, uint32_t output) {
  return context->model->artifact->outputs_over[output] >= 0;
}

void *byoc_model_place(void *self, uint32_t cell, const byoc_argument_t *tensor, uint64_t size_bytes) {
  byoc_model_context_t *context = self;
  const byoc_model_t *model = context->model;
  uint32_t output = 0;
  while (output < model->artifact->output_count && model->output_destinations[output] != cell) output++;
  if (output == model->artifact->output_count || is_over_input(context, output)) return NULL;
  // Without the caller's memory, the run goes on in the context's memory, and fails at its end.
  if (byoc_model_ask_for(context, output, tensor, size_bytes) != BYOC_OK) return NULL;
  const byoc_buffer_t *placed = &context->placed[output];
  return size_bytes <= placed->size_bytes ? placed->data : NULL;
}

int32_t byoc_model_keep_input(byoc_model_context_t *context, uint32_t output) {
  byoc_frame_t *frame = &context->shared.frame;
  const uint32_t index = context->model->output_cells[output];
  const byoc_cell_t *cell = frame->cells[index];
  if (!is_over_input(context, output) || !cell->is_foreign || cell->data == context->placed[output].data) {
    return BYOC_OK;
  }
  byoc_cell_t *copy = byoc_cell_create_tensor(frame, cell->dtype, cell->rank, cell->dims);
  if (copy == NULL) return byoc_frame_out_of_memory(frame);
  const uint64_t size = byoc_cell_size_bytes(cell);
  if (size > 0) memcpy(copy->data, cell->data, (size_t)size);
  byoc_frame_put(frame, index, copy);
  return BYOC_OK;
}

int32_t byoc_model_hand_out(byoc_model_context_t *context, uint32_t output, byoc_argument_t *out_argument) {
  const byoc_model_t *model = context->model;
  byoc_frame_t *frame = &context->shared.frame;
  const uint32_t index = model->output_cells[output];
  const byoc_cell_t *cell = frame->cells[index];
  if (context->with == NULL || !is_tensor(model->artifact, output)) {
    return byoc_frame_export(frame, index, out_argument);
  }
  const byoc_argument_t tensor = {.dtype = cell->dtype, .rank = cell->rank, .dims = cell->dims};
  int32_t status = byoc_model_ask_for(context, output, &tensor, byoc_cell_size_bytes(cell));
  if (status != BYOC_OK) return status;
  const byoc_buffer_t *placed = &context->placed[output];
  if (placed->data == NULL) return byoc_frame_export(frame, index, out_argument);
  return byoc_frame_export_to(frame, index, model->artifact->outputs[output].name, placed, out_argument);
}
