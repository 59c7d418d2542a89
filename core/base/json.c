// Makes JSON strings of texts that may not be UTF-8, and tells why a text was not read.
#include "core/base/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

json_t *byoc_json_text(const char *text) {
  json_t *value = json_string(text);
  if (value != NULL) return value;
  char *copy = strdup(text);
  if (copy == NULL) return NULL;
  for (char *at = copy; *at != '\0'; ++at) {
    if ((unsigned char)*at >= 0x80) *at = '?';
  }
  value = json_string(copy);
  free(copy);
  return value;
}

// ---- reading ----

static _Thread_local bool has_failed; // an allocation of this thread
static pthread_once_t allocation_once = PTHREAD_ONCE_INIT;

static void *allocate(size_t size) {
  void *memory = malloc(size);
  if (memory == NULL) has_failed = true;
  return memory;
}

static void watch_allocations(void) {
  json_set_alloc_funcs(allocate, free);
}

json_t *byoc_json_load(const void *text, size_t size_bytes, size_t flags, json_error_t *out_error) {
  pthread_once(&allocation_once, watch_allocations);
  has_failed = false;
  json_t *value = json_loadb(text, size_bytes, flags, out_error);
  if (value == NULL && has_failed) out_error->text[0] = '\0';
  return value;
}

bool byoc_json_out_of_memory(const json_error_t *error) {
  return error->text[0] == '\0';
}
