// SPDX-License-Identifier: Apache-2.0
// json.h - reads the JSON that the plugin writes: objects, lists, integers, null, and texts without escapes.
//
// There are no numbers with a point, whose text depends on the locale of the program around an artifact: reals are
// lists [m, e] that stand for m * 2^e.
#ifndef XNNPACK_ENGINE_JSON_H_
#define XNNPACK_ENGINE_JSON_H_

#include <stdint.h>

typedef enum xnnpack_json_kind_t {
  XNNPACK_JSON_NULL,
  XNNPACK_JSON_INTEGER,
  XNNPACK_JSON_TEXT,
  XNNPACK_JSON_LIST,
  XNNPACK_JSON_OBJECT,
} xnnpack_json_kind_t;

typedef struct xnnpack_json_t {
  xnnpack_json_kind_t kind;
  const char *key, *text; // of a member; of a text: both end at a quotation mark
  int64_t integer;
  uint32_t count;                            // of a list's or an object's items
  const struct xnnpack_json_t *first, *next; // its first item; its next sibling
} xnnpack_json_t;

// Reads a text of `size` bytes, which has to outlive the result; the caller frees that. On failure returns a status and
// sets *out_at to the byte that cannot be read.
int32_t xnnpack_json_read(const char *text, uint64_t size, xnnpack_json_t **out_root, uint64_t *out_at);

// A member, or NULL; also NULL where `json` is NULL or no object.
const xnnpack_json_t *xnnpack_json_member(const xnnpack_json_t *json, const char *key);
// Item `index` of a list, or NULL.
const xnnpack_json_t *xnnpack_json_item(const xnnpack_json_t *json, uint32_t index);
// Its value, or 0 where `json` is NULL or no integer.
int64_t xnnpack_json_integer(const xnnpack_json_t *json);
// The value of [m, e], or `fallback` where `json` is NULL.
double xnnpack_json_real(const xnnpack_json_t *json, double fallback);
int xnnpack_json_is_text(const xnnpack_json_t *json, const char *text);

#endif // XNNPACK_ENGINE_JSON_H_
