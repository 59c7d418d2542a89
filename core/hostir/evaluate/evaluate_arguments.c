// SPDX-License-Identifier: Apache-2.0
// The evaluator's entry points: takes inputs, runs the program, gives outputs.
#include "core/hostir/evaluate/evaluate_internal.h"
#include "core/runtime/overlap.h"

// Places buffers that are not in cells; `inputs` and `outputs` are NULL if theirs are.
static void place_buffers(byoc_evaluator_t *evaluator, const void *const *inputs, void *const *outputs) {
  const byoc_host_program_t *program = evaluator->program;
  for (size_t k = 0; inputs != NULL && k < program->inputs.count; ++k) {
    evaluator->addresses[program->inputs.data[k]->index] = (uint8_t *)(uintptr_t)inputs[k];
  }
  for (size_t k = 0; outputs != NULL && k < program->outputs.count; ++k) {
    evaluator->addresses[program->outputs.data[k]->index] = outputs[k];
  }
  for (size_t k = 0; k < program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind == BYOC_HOST_BUFFER_CONSTANT) evaluator->addresses[k] = (uint8_t *)(uintptr_t)buffer->data;
    if (buffer->device == NULL && buffer->kind == BYOC_HOST_BUFFER_LOCAL &&
        buffer->offset_bytes != BYOC_HOST_OFFSET_NONE) {
      evaluator->addresses[k] = evaluator->workspace + buffer->offset_bytes;
    }
  }
  for (size_t k = 0; k < program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_VIEW || evaluator->addresses[buffer->base->index] == NULL) continue;
    if (byoc_host_buffer_moves(buffer)) continue; // placed by the instructions that use it
    evaluator->addresses[k] = evaluator->addresses[buffer->base->index] + buffer->offset_bytes;
  }
}

// Outputs share no bytes with inputs that they are not written over, nor with each other.
static byoc_status_t check_overlaps(const byoc_evaluator_t *evaluator, const void *const *inputs, void *const *outputs,
                                    byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  const uint32_t input_count = (uint32_t)program->inputs.count, output_count = (uint32_t)program->outputs.count;
  byoc_span_t *spans = byoc_allocate(evaluator->allocator, (size_t)input_count + output_count + 1, sizeof(*spans));
  int32_t *over = byoc_allocate(evaluator->allocator, (size_t)output_count + 1, sizeof(*over));
  byoc_status_t status = spans != NULL && over != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (uint32_t k = 0; status == BYOC_OK && k < input_count; ++k) {
    spans[k] = byoc_span_of(inputs[k], program->inputs.data[k]->size_bytes, k);
  }
  for (uint32_t k = 0; status == BYOC_OK && k < output_count; ++k) {
    const byoc_host_buffer_t *output = program->outputs.data[k];
    spans[input_count + k] = byoc_span_of(outputs[k], output->size_bytes, input_count + k);
    over[k] = -1;
    for (uint32_t i = 0; i < input_count && output->over != NULL; ++i) {
      if (output->over == program->inputs.data[i]) over[k] = (int32_t)i;
    }
  }
  uint32_t ports[2];
  if (status == BYOC_OK && byoc_find_overlap(spans, input_count, output_count, over, ports)) {
    const bool is_input = ports[0] < input_count;
    const byoc_host_buffer_t *first =
        is_input ? program->inputs.data[ports[0]] : program->outputs.data[ports[0] - input_count];
    status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the %s '%s' and the output '%s' overlap in memory",
                             is_input ? "input" : "output", byoc_host_port_name(first),
                             byoc_host_port_name(program->outputs.data[ports[1] - input_count]));
  }
  byoc_free(evaluator->allocator, spans);
  byoc_free(evaluator->allocator, over);
  return status;
}

byoc_status_t byoc_evaluator_run(byoc_evaluator_t *evaluator, const void *const *inputs, void *const *outputs,
                                 byoc_diag_t *diag) {
  if (evaluator->program->is_dynamic) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "the shapes of '%s' are known only when it runs",
                           evaluator->program->name);
  }
  BYOC_RETURN_IF_ERROR(check_overlaps(evaluator, inputs, outputs, diag));
  byoc_frame_reset(&evaluator->frame);
  place_buffers(evaluator, inputs, outputs);
  BYOC_RETURN_IF_ERROR(byoc_evaluator_run_body(evaluator, diag));
  byoc_frame_finish(&evaluator->frame);
  return BYOC_OK;
}

void byoc_host_port_info(const byoc_host_buffer_t *buffer, byoc_port_info_t *out_info, char *kinds, int64_t *dims) {
  const byoc_type_t *type = buffer->type;
  size_t depth = 0;
  for (; type->element != NULL && depth < BYOC_HOST_MAX_KINDS - 2; type = type->element) {
    kinds[depth++] = type->kind == BYOC_TYPE_SEQUENCE ? 's' : 'o';
  }
  kinds[depth++] = 't';
  kinds[depth] = '\0';
  bool is_known = byoc_type_is_tensor(type) && type->rank != BYOC_RANK_UNKNOWN;
  *out_info = (byoc_port_info_t){.name = byoc_host_port_name(buffer),
                                 .kinds = kinds,
                                 .dtype = type->dtype,
                                 .rank = is_known ? (uint32_t)type->rank : BYOC_ARGUMENT_ANY_RANK,
                                 .dims = dims};
  for (int32_t d = 0; is_known && d < type->rank; ++d) {
    dims[d] = byoc_dim_is_constant(type->dims[d]) ? type->dims[d].constant : -1;
  }
}

static byoc_status_t run_dynamic(byoc_evaluator_t *evaluator, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                                 byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  place_buffers(evaluator, NULL, NULL);
  for (size_t k = 0; k < program->inputs.count; ++k) {
    char kinds[BYOC_HOST_MAX_KINDS];
    int64_t dims[BYOC_MAX_RANK];
    byoc_port_info_t info;
    byoc_host_port_info(program->inputs.data[k], &info, kinds, dims);
    byoc_status_t status = byoc_frame_import(&evaluator->frame, program->inputs.data[k]->index, &inputs[k], &info);
    if (status != BYOC_OK) return byoc_evaluator_failed(evaluator, status, NULL, diag);
  }
  BYOC_RETURN_IF_ERROR(byoc_evaluator_run_body(evaluator, diag));
  for (size_t k = 0; k < program->outputs.count; ++k) {
    const byoc_host_buffer_t *output = program->outputs.data[k];
    byoc_status_t status = byoc_frame_export(&evaluator->frame, output->index, &outputs[k]);
    if (status != BYOC_OK) return byoc_evaluator_failed(evaluator, status, byoc_host_port_name(output), diag);
  }
  return BYOC_OK;
}

// Runs a static program: shapes are checked, results get memory.
static byoc_status_t run_static(byoc_evaluator_t *evaluator, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                                byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  BYOC_VECTOR(const void *) in = {0};
  BYOC_VECTOR(void *) out = {0};
  byoc_status_t status = BYOC_OK;
  for (size_t k = 0; k < program->inputs.count + program->outputs.count && status == BYOC_OK; ++k) {
    bool is_input = k < program->inputs.count;
    const byoc_host_buffer_t *buffer =
        is_input ? program->inputs.data[k] : program->outputs.data[k - program->inputs.count];
    char kinds[BYOC_HOST_MAX_KINDS];
    int64_t *dims = byoc_frame_scratch(&evaluator->frame, sizeof(int64_t) * BYOC_MAX_RANK);
    byoc_port_info_t info;
    if (dims == NULL) status = byoc_diag_out_of_memory(diag);
    if (dims == NULL) break;
    byoc_host_port_info(buffer, &info, kinds, dims);
    if (is_input) {
      byoc_status_t fits = byoc_frame_check_argument(&evaluator->frame, &inputs[k], &info);
      if (fits != BYOC_OK) status = byoc_evaluator_failed(evaluator, fits, NULL, diag);
      if (!byoc_vector_push(&in, evaluator->allocator, inputs[k].data)) status = byoc_diag_out_of_memory(diag);
      continue;
    }
    void *data = byoc_frame_scratch(&evaluator->frame, buffer->size_bytes);
    outputs[k - program->inputs.count] =
        (byoc_argument_t){.dtype = info.dtype, .rank = info.rank, .dims = dims, .data = data};
    if (data == NULL || !byoc_vector_push(&out, evaluator->allocator, data)) status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) {
    place_buffers(evaluator, in.data, out.data);
    status = byoc_evaluator_run_body(evaluator, diag);
  }
  for (size_t k = 0; k < program->outputs.count && status == BYOC_OK; ++k) {
    const byoc_host_buffer_t *buffer = program->outputs.data[k];
    if (buffer->type->dtype != BYOC_DTYPE_STRING) continue;
    status = byoc_frame_keep_texts(&evaluator->frame, out.data[k], buffer->size_bytes / sizeof(char *));
    if (status != BYOC_OK) (void)byoc_diag_out_of_memory(diag);
  }
  byoc_vector_deinit(&in, evaluator->allocator);
  byoc_vector_deinit(&out, evaluator->allocator);
  return status;
}

byoc_status_t byoc_evaluator_run_arguments(byoc_evaluator_t *evaluator, const byoc_argument_t *inputs,
                                           byoc_argument_t *outputs, byoc_diag_t *diag) {
  byoc_frame_reset(&evaluator->frame);
  evaluator->error[0] = '\0';
  BYOC_RETURN_IF_ERROR(evaluator->program->is_dynamic ? run_dynamic(evaluator, inputs, outputs, diag)
                                                      : run_static(evaluator, inputs, outputs, diag));
  byoc_frame_finish(&evaluator->frame);
  return BYOC_OK;
}
