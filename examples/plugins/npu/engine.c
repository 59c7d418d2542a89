// SPDX-License-Identifier: Apache-2.0
// engine.c - runs command streams. It travels in the artifact; here it simulates the chip, where a vendor's engine
// would pass the stream to its driver and wait.
#include <byoc/engine.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"

typedef struct instance_t {
  const byoc_engine_function_t *functions;
  uint8_t *memory; // of the chip
} instance_t;

static const npu_stream_t *stream_of(const byoc_engine_function_t *function) {
  return function->constants[0].data; // aligned: see byoc/engine.h
}

static int32_t fits(const byoc_engine_init_t *init, const char *statement) {
  if (strcmp(statement, NPU_FITS) == 0) return BYOC_OK;
  init->runtime->set_error(init->runtime->self, "the chip is " NPU_FITS);
  return BYOC_UNSUPPORTED;
}

static void destroy(void *self) {
  instance_t *instance = self;
  if (instance != NULL) free(instance->memory);
  free(instance);
}

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  size_t most = 1;
  for (uint32_t f = 0; f < init->function_count; ++f) {
    const size_t bytes = (size_t)stream_of(&init->functions[f])->memory_bytes;
    if (bytes > most) most = bytes;
  }
  instance_t *instance = calloc(1, sizeof(*instance));
  *out_instance = NULL;
  if (instance != NULL) *instance = (instance_t){init->functions, malloc(most)};
  if (instance == NULL || instance->memory == NULL) {
    destroy(instance);
    init->runtime->set_error(init->runtime->self, "out of memory");
    return BYOC_OUT_OF_MEMORY;
  }
  *out_instance = instance;
  return BYOC_OK;
}

// ---- commands ----

static int32_t read(const npu_command_t *command, const uint8_t *at) {
  return command->is_signed ? (int8_t)*at : *at;
}

static uint8_t bounded(const npu_command_t *command, float rounded) {
  if (rounded < (float)command->low) return (uint8_t)command->low;
  return (uint8_t)(rounded > (float)command->high ? command->high : (int32_t)rounded);
}

// One element of a convolution's result.
static int32_t sum_of(const npu_command_t *c, const uint8_t *x, const npu_record_t *record, int32_t first, int32_t y0,
                      int32_t x0) {
  const int32_t depth = c->channels / c->groups;
  const int8_t *w = record->weights;
  int32_t sum = record->bias;
  for (int32_t d = 0; d < depth; ++d) {
    for (int32_t i = 0; i < c->kernel[0]; ++i) {
      for (int32_t j = 0; j < c->kernel[1]; ++j, ++w) {
        const int32_t row = y0 + i, column = x0 + j;
        if (row < 0 || row >= c->height || column < 0 || column >= c->width) continue;
        sum += (read(c, &x[((first + d) * c->height + row) * c->width + column]) - c->input_zeros[0]) * *w;
      }
    }
  }
  return sum;
}

// Convolves image n.
static void convolve(const npu_command_t *c, uint8_t *memory, const uint8_t *records, int32_t n) {
  const uint8_t *x = memory + c->inputs[0] + n * c->channels * c->height * c->width;
  uint8_t *result = memory + c->result + n * c->out_channels * c->out_height * c->out_width;
  for (int32_t o = 0; o < c->out_channels; ++o) {
    const npu_record_t *record = (const npu_record_t *)(const void *)(records + c->records + o * npu_record_bytes(c));
    const int32_t first = o / (c->out_channels / c->groups) * (c->channels / c->groups);
    for (int32_t i = 0; i < c->out_height; ++i) {
      for (int32_t j = 0; j < c->out_width; ++j) {
        const int32_t sum = sum_of(c, x, record, first, i * c->strides[0] - c->pads[0], j * c->strides[1] - c->pads[1]);
        *result++ = bounded(c, nearbyintf((float)sum * record->multiplier / c->scale) + (float)c->zero);
      }
    }
  }
}

// The zero point is added before the sum is rounded, as ONNX Runtime does.
static void add(const npu_command_t *c, uint8_t *memory) {
  const int32_t count = c->images * c->channels * c->height * c->width;
  for (int32_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int k = 0; k < 2; ++k) {
      sum += (float)(read(c, &memory[c->inputs[k] + i]) - c->input_zeros[k]) * c->ratios[k];
    }
    memory[c->result + i] = bounded(c, nearbyintf(sum + (float)c->zero));
  }
}

static int32_t largest_of(const npu_command_t *c, const uint8_t *plane, int32_t y0, int32_t x0) {
  int32_t most = c->low;
  for (int32_t i = 0; i < c->kernel[0]; ++i) {
    for (int32_t j = 0; j < c->kernel[1]; ++j) {
      const int32_t row = y0 + i, column = x0 + j;
      if (row < 0 || row >= c->height || column < 0 || column >= c->width) continue;
      const int32_t value = read(c, &plane[row * c->width + column]);
      if (value > most) most = value;
    }
  }
  return most;
}

static void pool(const npu_command_t *c, uint8_t *memory) {
  uint8_t *result = memory + c->result;
  for (int32_t o = 0; o < c->images * c->channels; ++o) {
    const uint8_t *plane = memory + c->inputs[0] + o * c->height * c->width;
    for (int32_t i = 0; i < c->out_height; ++i) {
      for (int32_t j = 0; j < c->out_width; ++j) {
        *result++ = (uint8_t)largest_of(c, plane, i * c->strides[0] - c->pads[0], j * c->strides[1] - c->pads[1]);
      }
    }
  }
}

static void execute(const npu_command_t *command, uint8_t *memory, const uint8_t *records) {
  switch (command->operation) {
  case NPU_CONV:
    for (int32_t n = 0; n < command->images; ++n) convolve(command, memory, records, n);
    break;
  case NPU_ADD:
    add(command, memory);
    break;
  case NPU_MAX_POOL:
    pool(command, memory);
    break;
  default:
    memcpy(memory + command->result, memory + command->inputs[0],
           (size_t)command->images * (size_t)(command->channels * command->height * command->width));
  }
}

// What a profile shows of a command: the chip's own time and cycles. Artifacts of an older byoc cannot show it.
static int32_t report(const byoc_runtime_t *runtime, const npu_stream_t *stream, const npu_command_t *command) {
  const double cycles = (double)npu_cycles(command), ns = 1000 * cycles / stream->clock_mhz;
  int32_t status = runtime->report_counter(runtime->self, "cycles", "", cycles);
  if (status == BYOC_OK) status = runtime->report_counter(runtime->self, BYOC_COUNTER_DEVICE_TIME, "ns", ns);
  return status == BYOC_OK ? runtime->report_step(runtime->self, npu_name(command->operation), (uint64_t)ns) : status;
}

static int wants_profile(const byoc_runtime_t *runtime) {
  const int knows = runtime->struct_size >= offsetof(byoc_runtime_t, report_tensor) + sizeof(runtime->report_tensor);
  return knows && runtime->wanted != NULL && (runtime->wanted(runtime->self) & BYOC_WANTS_PROFILE) != 0;
}

static int32_t run(void *self, uint32_t index, const byoc_call_t *call) {
  instance_t *instance = self;
  const byoc_engine_function_t *function = &instance->functions[index];
  const npu_stream_t *stream = stream_of(function);
  for (int32_t i = 0; i < stream->input_count; ++i) {
    memcpy(instance->memory + stream->inputs[i].address,
           (const char *)call->tensors[i].data + call->tensors[i].byte_offset, (size_t)stream->inputs[i].size);
  }
  const int is_profiled = wants_profile(call->runtime);
  for (int32_t c = 0; c < stream->command_count; ++c) {
    execute(&stream->commands[c], instance->memory, function->constants[1].data);
    const int32_t status = is_profiled ? report(call->runtime, stream, &stream->commands[c]) : BYOC_OK;
    if (status != BYOC_OK) return status;
  }
  for (int32_t o = 0; o < stream->output_count; ++o) {
    const DLTensor *y = &call->tensors[stream->input_count + o];
    memcpy((char *)y->data + y->byte_offset, instance->memory + stream->outputs[o].address,
           (size_t)stream->outputs[o].size);
  }
  return BYOC_OK;
}

extern BYOC_PACKED const byoc_engine_t npu_engine;
const byoc_engine_t npu_engine = {.struct_size = sizeof(npu_engine),
                                  .abi_version = BYOC_ENGINE_ABI_VERSION,
                                  .name = "npu",
                                  .create = create,
                                  .destroy = destroy,
                                  .run = run,
                                  .fits = fits};
