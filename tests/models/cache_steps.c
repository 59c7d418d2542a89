// SPDX-License-Identifier: Apache-2.0
// A user's program: decodes with a cache that is written in place, beside one that is not, and compares. It needs
// byoc/artifact.h and -ldl, nothing else.
// usage: cache_steps IN_PLACE.so REFERENCE.so STEPS
//
// Both are one model with inputs of i64 (a token, its position) and a cache: pairs of an input and an output of which
// IN_PLACE.so says, by outputs_over, that they may be the same memory. The reference gets two buffers for each pair,
// which change places after a step.
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/artifact.h"

enum { MOST_PORTS = 128, VOCABULARY = 2000 };

typedef struct decoder_t {
  const byoc_artifact_t *artifact;
  byoc_context_t *context;
  const void *inputs[MOST_PORTS];
  void *outputs[MOST_PORTS];
} decoder_t;

static void *allocate(uint64_t size_bytes) {
  size_t size = ((size_t)size_bytes + 127) / 64 * 64;
  void *memory = aligned_alloc(64, size);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return memset(memory, 0, size);
}

static void open_decoder(const char *path, decoder_t *decoder) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  byoc_artifact_entry_t entry = NULL;
  void *symbol = library != NULL ? dlsym(library, BYOC_ARTIFACT_ENTRY) : NULL;
  memcpy(&entry, &symbol, sizeof(entry));
  decoder->artifact = entry != NULL ? entry(BYOC_ARTIFACT_ABI) : NULL;
  if (decoder->artifact == NULL) {
    fprintf(stderr, "%s cannot be loaded\n", path);
    exit(1);
  }
  if (decoder->artifact->create(NULL, &decoder->context) != BYOC_OK) {
    fprintf(stderr, "%s: %s\n", path, decoder->artifact->last_error(NULL));
    exit(1);
  }
}

// The number behind a key of the metadata.
static unsigned long long metadata_number(const byoc_artifact_t *artifact, const char *key) {
  const char *at = strstr(artifact->metadata, key);
  return at != NULL ? strtoull(at + strlen(key) + 1, NULL, 10) : 0;
}

// Each gets memory of its own, but an output that may be written over an input is given that of the input.
static void allocate_ports(decoder_t *decoder, const int32_t *in_place) {
  const byoc_artifact_t *artifact = decoder->artifact;
  for (uint32_t i = 0; i < artifact->input_count; ++i) decoder->inputs[i] = allocate(artifact->inputs[i].size_bytes);
  for (uint32_t i = 0; i < artifact->output_count; ++i) {
    const int is_shared = in_place != NULL && in_place[i] >= 0;
    decoder->outputs[i] =
        is_shared ? (void *)(uintptr_t)decoder->inputs[in_place[i]] : allocate(artifact->outputs[i].size_bytes);
  }
}

// The position wraps around at the end of the cache.
static void step(decoder_t *decoder, int64_t number, int64_t rows) {
  const byoc_artifact_t *artifact = decoder->artifact;
  int seen = 0;
  for (uint32_t i = 0; i < artifact->input_count; ++i) {
    if (artifact->inputs[i].dtype != BYOC_DTYPE_I64) continue;
    *(int64_t *)(uintptr_t)decoder->inputs[i] = seen++ == 0 ? number * 7919 % VOCABULARY : number % rows;
  }
  if (artifact->run(decoder->context, decoder->inputs, decoder->outputs) == BYOC_OK) return;
  fprintf(stderr, "step %lld: %s\n", (long long)number, artifact->last_error(decoder->context));
  exit(1);
}

// The largest difference of two outputs, and the largest value.
static double compare(const float *a, const float *b, uint64_t count, double *most) {
  double difference = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!(fabs((double)a[i] - (double)b[i]) <= difference)) difference = fabs((double)a[i] - (double)b[i]);
    if (fabs((double)a[i]) > *most) *most = fabs((double)a[i]);
  }
  return difference;
}

int main(int argc, char **argv) {
  decoder_t in_place, reference;
  if (argc != 4) return 2;
  open_decoder(argv[1], &in_place);
  open_decoder(argv[2], &reference);
  const byoc_artifact_t *artifact = in_place.artifact;
  if (artifact->struct_size < offsetof(byoc_artifact_t, outputs_over) + sizeof(artifact->outputs_over) ||
      artifact->input_count > MOST_PORTS || artifact->output_count > MOST_PORTS) {
    fprintf(stderr, "%s was made by an older byoc, or has too many tensors\n", argv[1]);
    return 1;
  }
  const int32_t *over = artifact->outputs_over;
  allocate_ports(&in_place, over);
  allocate_ports(&reference, NULL);
  int64_t rows = 1;
  for (uint32_t i = 0; i < artifact->output_count; ++i) {
    if (over[i] >= 0) rows = artifact->outputs[i].dims[2];
  }
  double difference = 0, cache_difference = 0, most = 0, most_cached = 0;
  const int64_t steps = strtoll(argv[3], NULL, 10);
  for (int64_t number = 0; number < steps; ++number) {
    step(&in_place, number, rows);
    step(&reference, number, rows);
    for (uint32_t i = 0; i < artifact->output_count; ++i) {
      const uint64_t count = artifact->outputs[i].size_bytes / sizeof(float);
      if (over[i] < 0) {
        const double found = compare(in_place.outputs[i], reference.outputs[i], count, &most);
        if (!(found <= difference)) difference = found;
        continue;
      }
      if (number + 1 == steps) {
        const double found = compare(in_place.outputs[i], reference.outputs[i], count, &most_cached);
        if (!(found <= cache_difference)) cache_difference = found;
      }
      void *swapped = (void *)(uintptr_t)reference.inputs[over[i]];
      reference.inputs[over[i]] = reference.outputs[i];
      reference.outputs[i] = swapped;
    }
  }
  printf("bytes copied per step: %llu with two buffers, %llu in place\n",
         metadata_number(reference.artifact, "\"copied_bytes\""),
         metadata_number(artifact, "\"copied_bytes_in_place\""));
  printf("%lld steps: results differ by at most %g of %g, the caches behind them by %g of %g\n", (long long)steps,
         difference, most, cache_difference, most_cached);
  in_place.artifact->destroy(in_place.context);
  reference.artifact->destroy(reference.context);
  return difference <= 1e-3 * most && cache_difference <= 1e-3 * most_cached && most > 0 && most_cached > 0 ? 0 : 1;
}
