// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes base64 as RFC 4648 has it, for the data of constants in texts.
#include "core/ir/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void byoc_base64_append(byoc_string_t *out, const void *data, size_t size_bytes) {
  const uint8_t *bytes = data;
  char buffer[1024];
  size_t used = 0;
  for (size_t i = 0; i < size_bytes; i += 3) {
    size_t left = size_bytes - i;
    uint32_t group = (uint32_t)bytes[i] << 16;
    if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
    if (left > 2) group |= bytes[i + 2];
    buffer[used++] = alphabet[group >> 18];
    buffer[used++] = alphabet[group >> 12 & 63];
    buffer[used++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
    buffer[used++] = left > 2 ? alphabet[group & 63] : '=';
    if (used == sizeof(buffer)) {
      byoc_string_append_bytes(out, buffer, used);
      used = 0;
    }
  }
  byoc_string_append_bytes(out, buffer, used);
}

static int digit_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool byoc_base64_decode(const char *text, size_t size, void *data, size_t capacity_bytes) {
  uint8_t *bytes = data;
  if (size % 4 != 0 || size / 4 != capacity_bytes / 3 + (capacity_bytes % 3 != 0)) return false;
  size_t digits = size;
  if (capacity_bytes % 3 != 0) digits -= 3 - capacity_bytes % 3; // the digits that padding stands for
  uint32_t group = 0;
  size_t written = 0;
  for (size_t i = 0; i < size; ++i) {
    int value = i < digits ? digit_value(text[i]) : text[i] == '=' ? 0 : -1;
    if (value < 0) return false;
    group = group << 6 | (uint32_t)value;
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) {
      uint8_t byte = (uint8_t)(group >> shift);
      if (written < capacity_bytes) {
        bytes[written++] = byte;
      } else if (byte != 0) {
        return false; // bits are set beyond the end
      }
    }
    group = 0;
  }
  return written == capacity_bytes;
}
