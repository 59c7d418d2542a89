// SPDX-License-Identifier: Apache-2.0
// chip.h - an invented NPU for integers of 8 bits: its command stream, and how many cycles a command takes. Both sides
// include it: the plugin, which compiles, and the engine, which simulates the chip.
//
// The chip has a memory of its own: all values of a region lie in it, image by image and channel by channel. Weights
// are read from outside, once for each command. One command reads values at addresses and writes one value.
#ifndef NPU_CHIP_H_
#define NPU_CHIP_H_

#include <stdint.h>

// Change it with the meaning of a stream; the engine compares it when a context is made.
#define NPU_FITS "npu-1, stream 1"
enum { NPU_MOST_PORTS = 16 };

typedef enum npu_operation_t { NPU_CONV, NPU_ADD, NPU_MAX_POOL, NPU_COPY } npu_operation_t;

typedef struct npu_command_t {
  int32_t operation;               // npu_operation_t
  int32_t inputs[2], result;       // addresses
  int32_t images;                  // all values have as many
  int32_t channels, height, width; // of inputs[0]
  int32_t out_channels, out_height, out_width;
  int32_t kernel[2], strides[2], pads[2]; // rows, columns; padding at the beginning
  int32_t groups;
  int32_t is_signed;            // the bytes of inputs and result are i8; otherwise u8
  int32_t input_zeros[2], zero; // zero points
  float ratios[2];              // NPU_ADD: input scales / result scale
  float scale;                  // NPU_CONV: of the result
  int32_t low, high;            // bounds of the result
  int32_t records;              // NPU_CONV: offset of one npu_record_t for each output channel
} npu_command_t;

// Of one output channel: its numbers, and channels / groups * kernel[0] * kernel[1] weights behind it. The next record
// begins at the next multiple of 8 bytes.
typedef struct npu_record_t {
  float multiplier; // input scale * weight scale
  int32_t bias;
  int8_t weights[];
} npu_record_t;

typedef struct npu_port_t {
  int32_t address, size; // bytes
} npu_port_t;

typedef struct npu_stream_t {
  int32_t input_count, output_count, command_count, memory_bytes, clock_mhz;
  npu_port_t inputs[NPU_MOST_PORTS], outputs[NPU_MOST_PORTS];
  npu_command_t commands[];
} npu_stream_t;

static inline int64_t npu_taps(const npu_command_t *command) { // that one element of the result reads
  return (int64_t)command->kernel[0] * command->kernel[1] *
         (command->operation == NPU_CONV ? command->channels / command->groups : 1);
}
static inline int64_t npu_record_bytes(const npu_command_t *command) {
  return ((int64_t)sizeof(npu_record_t) + npu_taps(command) + 7) / 8 * 8;
}

// 256 products, 16 other operations or 16 bytes of weights in a cycle; the slower one of both decides.
static inline int64_t npu_cycles(const npu_command_t *command) {
  const int64_t results = (int64_t)command->images * command->out_channels * command->out_height * command->out_width;
  const int64_t lanes = command->operation == NPU_CONV ? 256 : 16;
  const int64_t work = (results * npu_taps(command) + lanes - 1) / lanes;
  const int64_t weights = command->operation == NPU_CONV ? npu_record_bytes(command) * command->out_channels / 16 : 0;
  return 32 + (work > weights ? work : weights);
}

static inline const char *npu_name(int32_t operation) {
  static const char *const names[] = {"conv", "add", "max_pool", "copy"};
  return names[operation];
}

#endif // NPU_CHIP_H_
