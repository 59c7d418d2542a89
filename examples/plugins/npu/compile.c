// SPDX-License-Identifier: Apache-2.0
// Memory: each value gets the lowest address that is free while it lives. Weights: one record for each output channel.
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct slot_t {
  const byoc_value_t *value;
  int64_t address, size;
  uint64_t first, last; // steps at which it is alive; step 0 loads the inputs, step i + 1 is node i
} slot_t;

typedef struct compiler_t {
  const byoc_graph_api_t *graph;
  slot_t *slots;
  uint64_t slot_count, step;
  int64_t memory_bytes, used_bytes;
  npu_program_t *program;
} compiler_t;

static int fail(compiler_t *c, const char *reason) {
  snprintf(c->program->reason, sizeof(c->program->reason), "%s", reason);
  return 0;
}

static const slot_t *find(const compiler_t *c, const byoc_value_t *value) {
  for (uint64_t i = 0; i < c->slot_count; ++i) {
    if (c->slots[i].value == value) return &c->slots[i];
  }
  return NULL;
}

// The slot that is alive at one of the new one's steps, and overlaps it.
static const slot_t *obstacle(const compiler_t *c, const slot_t *slot) {
  for (uint64_t i = 0; i < c->slot_count; ++i) {
    const slot_t *other = &c->slots[i];
    const int meet = other->last >= slot->first && other->first <= slot->last;
    if (meet && other->address < slot->address + slot->size && slot->address < other->address + other->size) {
      return other;
    }
  }
  return NULL;
}

static int place(compiler_t *c, const byoc_value_t *value, uint64_t last) {
  slot_t slot = {value, 0, (c->graph->value_element_count(value) + 63) / 64 * 64, c->step, last};
  for (const slot_t *other; (other = obstacle(c, &slot)) != NULL;) slot.address = other->address + other->size;
  if (slot.address + slot.size > c->memory_bytes) return fail(c, "its values do not fit into the chip's memory");
  if (slot.address + slot.size > c->used_bytes) c->used_bytes = slot.address + slot.size;
  c->slots[c->slot_count++] = slot;
  return 1;
}

// The last step that reads the value: the end for results.
static uint64_t last_use(const compiler_t *c, byoc_node_t *const *nodes, uint64_t count, const byoc_value_t *value,
                         const byoc_value_t *const *results, uint64_t result_count) {
  uint64_t last = c->step;
  for (uint64_t r = 0; r < result_count; ++r) {
    if (results[r] == value) return count + 1;
  }
  for (uint64_t i = 0; i < count; ++i) {
    for (uint64_t k = 0; k < c->graph->operand_count(nodes[i]); ++k) {
      if (c->graph->operand(nodes[i], k) == value) last = i + 1;
    }
  }
  return last;
}

static int add_records(compiler_t *c, const npu_layer_t *layer, npu_command_t *command) {
  const int64_t size = npu_record_bytes(command), taps = npu_taps(command);
  uint8_t *grown = realloc(c->program->records, (size_t)(c->program->record_bytes + size * command->out_channels));
  if (grown == NULL) return fail(c, "out of memory");
  c->program->records = grown;
  command->records = (int32_t)c->program->record_bytes;
  for (int32_t o = 0; o < command->out_channels; ++o) {
    npu_record_t *record = (npu_record_t *)(void *)(grown + c->program->record_bytes);
    memset(record, 0, (size_t)size);
    const float scale = layer->weight_scales[layer->weight_scale_count > 1 ? o : 0];
    record->multiplier = layer->input_scales[0] * scale;
    record->bias = layer->bias != NULL ? layer->bias[o] : 0;
    for (int64_t t = 0; t < taps; ++t) {
      record->weights[t] = layer->weights[layer->is_transposed ? t * command->out_channels + o : o * taps + t];
    }
    c->program->record_bytes += size;
  }
  return 1;
}

static int add_command(compiler_t *c, const npu_layer_t *layer, uint64_t last) {
  npu_command_t *command = &c->program->stream->commands[c->program->stream->command_count++];
  *command = layer->command;
  for (int32_t i = 0; i < layer->input_count; ++i) {
    const slot_t *slot = find(c, layer->inputs[i]);
    if (slot == NULL) return fail(c, "it reads a constant");
    command->inputs[i] = (int32_t)slot->address;
  }
  if (!place(c, layer->result, last)) return 0;
  command->result = (int32_t)find(c, layer->result)->address;
  if (command->operation == NPU_CONV && !add_records(c, layer, command)) return 0;
  c->program->cycles += npu_cycles(command);
  return 1;
}

static npu_port_t port_of(const compiler_t *c, const byoc_value_t *value) {
  const slot_t *slot = find(c, value);
  if (slot == NULL) return (npu_port_t){-1, 0};
  return (npu_port_t){(int32_t)slot->address, (int32_t)c->graph->value_element_count(value)};
}

static int is_byte(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  const uint32_t dtype = graph->value_dtype(value);
  return (dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_U8) && graph->value_element_count(value) > 0;
}

int npu_compile(const byoc_graph_api_t *graph, byoc_node_t *const *nodes, uint64_t count,
                const byoc_value_t *const *inputs, uint64_t input_count, const byoc_value_t *const *results,
                uint64_t result_count, int64_t memory_bytes, int64_t clock_mhz, npu_program_t *out_program) {
  *out_program = (npu_program_t){.stream_bytes = (int64_t)(sizeof(npu_stream_t) + count * sizeof(npu_command_t))};
  compiler_t c = {graph, .memory_bytes = memory_bytes, .program = out_program};
  if (input_count > NPU_MOST_PORTS || result_count > NPU_MOST_PORTS) {
    return fail(&c, "it has more than 16 inputs or results");
  }
  out_program->stream = calloc(1, (size_t)out_program->stream_bytes);
  c.slots = calloc(input_count + count, sizeof(*c.slots));
  int ok = out_program->stream != NULL && c.slots != NULL ? 1 : fail(&c, "out of memory");
  for (uint64_t i = 0; i < input_count && ok; ++i) {
    if (!is_byte(graph, inputs[i])) ok = fail(&c, "an input has no bytes, or an open shape");
    if (ok) ok = place(&c, inputs[i], last_use(&c, nodes, count, inputs[i], results, result_count));
    if (ok) out_program->stream->inputs[i] = port_of(&c, inputs[i]);
  }
  for (c.step = 1; c.step <= count && ok; ++c.step) {
    npu_layer_t layer;
    const char *reason = npu_layer_read(graph, nodes[c.step - 1], &layer);
    ok = reason != NULL ? fail(&c, reason)
                        : add_command(&c, &layer, last_use(&c, nodes, count, layer.result, results, result_count));
  }
  for (uint64_t r = 0; r < result_count && ok; ++r) {
    out_program->stream->outputs[r] = port_of(&c, results[r]);
    if (out_program->stream->outputs[r].address < 0) ok = fail(&c, "a result is a constant");
  }
  if (ok) {
    out_program->stream->input_count = (int32_t)input_count, out_program->stream->output_count = (int32_t)result_count;
    out_program->stream->memory_bytes = (int32_t)c.used_bytes;
    out_program->stream->clock_mhz = (int32_t)clock_mhz;
  }
  free(c.slots);
  return ok;
}

void npu_program_free(npu_program_t *program) {
  free(program->stream);
  free(program->records);
}
