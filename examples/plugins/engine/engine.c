// SPDX-License-Identifier: Apache-2.0
// engine.c - the engine: it travels inside the artifact, and runs the command streams. A vendor's engine would open the
// chip in `create`, load the streams there, and wait for the chip in `run`.
#include <byoc/engine.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

enum { BLOCK = 256 }; // elements that all steps work on before the next ones

typedef struct instance_t {
  const byoc_engine_function_t *functions;
  float values[ABACUS_MOST_VALUES][BLOCK];
} instance_t;

// The statement of a module is what abacus.c said about it: this engine knows one version of the stream.
static int32_t fits(const byoc_engine_init_t *init, const char *statement) {
  if (strcmp(statement, ABACUS_STREAM) == 0) return BYOC_OK;
  init->runtime->set_error(init->runtime->self, "the engine runs " ABACUS_STREAM);
  return BYOC_UNSUPPORTED;
}

static int32_t create(const byoc_engine_init_t *init, void **out_instance) {
  instance_t *instance = calloc(1, sizeof(*instance));
  *out_instance = instance;
  if (instance == NULL) {
    init->runtime->set_error(init->runtime->self, "out of memory");
    return BYOC_OUT_OF_MEMORY;
  }
  instance->functions = init->functions;
  return BYOC_OK;
}

static void destroy(void *instance) {
  free(instance);
}

static float compute(int32_t operation, float left, float right) {
  switch (operation) {
  case ABACUS_ADD:
    return left + right;
  case ABACUS_SUB:
    return left - right;
  case ABACUS_MUL:
    return left * right;
  case ABACUS_MAX:
    return left > right || left != left ? left : right; // NaN stays NaN
  default:
    return left < 0 ? 0 : left;
  }
}

// Fills a block with elements of an input or constant; one element stands for all.
static void load(float *block, const DLTensor *tensor, int64_t count, int64_t begin, int64_t size) {
  const float *data = (const float *)((const char *)tensor->data + tensor->byte_offset);
  int64_t own = 1;
  for (int32_t d = 0; d < tensor->ndim; ++d) own *= tensor->shape[d];
  for (int64_t i = 0; i < size; ++i) block[i] = own == count ? data[begin + i] : data[0];
}

static int32_t run(void *self, uint32_t index, const byoc_call_t *call) {
  instance_t *instance = self;
  const byoc_engine_function_t *function = &instance->functions[index];
  const abacus_stream_t *stream = function->constants[0].data; // aligned: see byoc/engine.h
  const int64_t count = stream->element_count;
  const int32_t loaded = stream->input_count + stream->constant_count;
  for (int64_t begin = 0; begin < count; begin += BLOCK) {
    const int64_t size = count - begin < BLOCK ? count - begin : BLOCK;
    for (int32_t v = 0; v < loaded; ++v) {
      const int32_t constant = v - stream->input_count;
      load(instance->values[v], constant < 0 ? &call->tensors[v] : &function->constants[1 + constant], count, begin,
           size);
    }
    for (int32_t s = 0; s < stream->step_count; ++s) {
      const abacus_step_t *step = &stream->steps[s];
      const float *left = instance->values[step->left], *right = instance->values[step->right];
      for (int64_t i = 0; i < size; ++i) instance->values[loaded + s][i] = compute(step->operation, left[i], right[i]);
    }
    for (int32_t o = 0; o < stream->output_count; ++o) {
      const DLTensor *y = &call->tensors[stream->input_count + o];
      memcpy((char *)y->data + y->byte_offset + (size_t)begin * sizeof(float), instance->values[stream->outputs[o]],
             (size_t)size * sizeof(float));
    }
  }
  return BYOC_OK;
}

extern BYOC_PACKED const byoc_engine_t abacus_engine;
const byoc_engine_t abacus_engine = {.struct_size = sizeof(abacus_engine),
                                     .abi_version = BYOC_ENGINE_ABI_VERSION,
                                     .name = "abacus",
                                     .create = create,
                                     .destroy = destroy,
                                     .run = run,
                                     .fits = fits};
