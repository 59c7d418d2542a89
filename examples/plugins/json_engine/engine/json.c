// SPDX-License-Identifier: Apache-2.0
// A reader of JSON: one array of items, linked to their neighbours.
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/status.h"

enum { DEPTH_LIMIT = 16 };

typedef struct reader_t {
  const char *text, *end;
  xnnpack_json_t *items;
  uint64_t count;
} reader_t;

static void skip_space(reader_t *reader) {
  while (reader->text < reader->end && strchr(" \t\r\n", *reader->text) != NULL) ++reader->text;
}

// Takes one character if it is the next.
static int take(reader_t *reader, char wanted) {
  skip_space(reader);
  if (reader->text == reader->end || *reader->text != wanted) return 0;
  ++reader->text;
  return 1;
}

static const char *read_text(reader_t *reader) {
  if (!take(reader, '"')) return NULL;
  const char *begin = reader->text;
  while (reader->text < reader->end && *reader->text != '"' && *reader->text != '\\') ++reader->text;
  return take(reader, '"') ? begin : NULL;
}

static int read_integer(reader_t *reader, int64_t *out_integer) {
  const int is_negative = take(reader, '-');
  uint64_t value = 0;
  int digits = 0;
  for (; reader->text < reader->end && *reader->text >= '0' && *reader->text <= '9' && digits < 18; ++digits)
    value = value * 10 + (uint64_t)(*reader->text++ - '0');
  *out_integer = is_negative ? -(int64_t)value : (int64_t)value;
  return digits > 0;
}

static xnnpack_json_t *read_item(reader_t *reader, int depth);

static int read_items(reader_t *reader, xnnpack_json_t *parent, char closing, int depth) {
  const xnnpack_json_t **link = &parent->first;
  if (depth == DEPTH_LIMIT) return 0;
  if (take(reader, closing)) return 1;
  do {
    const char *key = closing == '}' ? read_text(reader) : NULL;
    if (closing == '}' && (key == NULL || !take(reader, ':'))) return 0;
    xnnpack_json_t *item = read_item(reader, depth + 1);
    if (item == NULL) return 0;
    item->key = key;
    *link = item;
    link = &item->next;
    ++parent->count;
  } while (take(reader, ','));
  return take(reader, closing);
}

static xnnpack_json_t *read_item(reader_t *reader, int depth) {
  xnnpack_json_t *item = &reader->items[reader->count++];
  skip_space(reader);
  if (reader->end - reader->text >= 4 && memcmp(reader->text, "null", 4) == 0) {
    reader->text += 4;
    return item;
  }
  if (take(reader, '{')) {
    item->kind = XNNPACK_JSON_OBJECT;
    return read_items(reader, item, '}', depth) ? item : NULL;
  }
  if (take(reader, '[')) {
    item->kind = XNNPACK_JSON_LIST;
    return read_items(reader, item, ']', depth) ? item : NULL;
  }
  if (reader->text < reader->end && *reader->text == '"') {
    item->kind = XNNPACK_JSON_TEXT;
    item->text = read_text(reader);
    return item->text != NULL ? item : NULL;
  }
  item->kind = XNNPACK_JSON_INTEGER;
  return read_integer(reader, &item->integer) ? item : NULL;
}

int32_t xnnpack_json_read(const char *text, uint64_t size, xnnpack_json_t **out_root, uint64_t *out_at) {
  // Each item but the first follows a comma or the beginning of a list or an object.
  uint64_t limit = 1;
  for (uint64_t i = 0; i < size; ++i) limit += text[i] == ',' || text[i] == '[' || text[i] == '{';
  *out_root = NULL;
  *out_at = 0;
  reader_t reader = {.text = text, .end = text + size, .items = calloc(limit, sizeof(xnnpack_json_t))};
  if (reader.items == NULL) return BYOC_OUT_OF_MEMORY;
  const int is_read = read_item(&reader, 0) != NULL;
  skip_space(&reader);
  if (!is_read || reader.text != reader.end) {
    *out_at = (uint64_t)(reader.text - text);
    free(reader.items);
    return BYOC_INVALID_DATA;
  }
  *out_root = reader.items;
  return BYOC_OK;
}

static int is_equal(const char *quoted, const char *text) {
  const size_t length = strlen(text);
  return strncmp(quoted, text, length) == 0 && quoted[length] == '"';
}

const xnnpack_json_t *xnnpack_json_member(const xnnpack_json_t *json, const char *key) {
  if (json == NULL || json->kind != XNNPACK_JSON_OBJECT) return NULL;
  for (const xnnpack_json_t *item = json->first; item != NULL; item = item->next)
    if (is_equal(item->key, key)) return item;
  return NULL;
}

const xnnpack_json_t *xnnpack_json_item(const xnnpack_json_t *json, uint32_t index) {
  if (json == NULL || json->kind != XNNPACK_JSON_LIST) return NULL;
  const xnnpack_json_t *item = json->first;
  for (; item != NULL && index > 0; --index) item = item->next;
  return item;
}

int64_t xnnpack_json_integer(const xnnpack_json_t *json) {
  return json != NULL && json->kind == XNNPACK_JSON_INTEGER ? json->integer : 0;
}

double xnnpack_json_real(const xnnpack_json_t *json, double fallback) {
  if (json == NULL) return fallback;
  const int64_t exponent = xnnpack_json_integer(xnnpack_json_item(json, 1));
  if (exponent < -2000 || exponent > 2000) return fallback;
  return ldexp((double)xnnpack_json_integer(xnnpack_json_item(json, 0)), (int)exponent);
}

int xnnpack_json_is_text(const xnnpack_json_t *json, const char *text) {
  return json != NULL && json->kind == XNNPACK_JSON_TEXT && is_equal(json->text, text);
}
