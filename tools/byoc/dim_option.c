// SPDX-License-Identifier: Apache-2.0
// Reads the values that the command line gives to symbolic dimensions.
#include "dim_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The name may have a '='.
static size_t size_of_name(const char *item) {
  const char *equals = strrchr(item, '=');
  return equals != NULL ? (size_t)(equals - item) : 0;
}

// "128", "1,128", "1,128,open"; false for all other texts.
static bool read_values(const char *text, byoc_dim_option_t *dim) {
  for (;; ++text) {
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || errno != 0 || value < 0 || dim->count == BYOC_MOST_VARIANTS) return false;
    dim->values[dim->count++] = value;
    text = end;
    dim->is_list |= *text == ',';
    if (*text == '\0' || strcmp(text, ",open") == 0) return true;
    if (*text != ',') return false;
  }
}

static bool has_twice(const byoc_dim_option_t *dim, int64_t *out_value) {
  for (size_t i = 1; i < dim->count; ++i) {
    *out_value = dim->values[i];
    for (size_t k = 0; k < i; ++k) {
      if (dim->values[k] == *out_value) return true;
    }
  }
  return false;
}

byoc_status_t byoc_dim_option_read(const byoc_string_items_t *items, size_t index, byoc_diag_t *diag,
                                   byoc_dim_option_t *out_dim) {
  const char *item = items->items[index];
  const size_t size = size_of_name(item);
  *out_dim = (byoc_dim_option_t){.name = item, .name_size = size};
  if (size == 0 || !read_values(item + size + 1, out_dim)) {
    (void)byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dim takes NAME=VALUE with a whole number from 0 on, not '%s'",
                          item);
    byoc_diag_hint(diag, "a list, NAME=1,128, compiles a variant for each of up to %d sizes", BYOC_MOST_VARIANTS);
    return BYOC_INVALID_ARGUMENT;
  }
  int64_t twice = 0;
  if (has_twice(out_dim, &twice)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dim gives '%.*s' the size %lld twice", (int)size, item,
                           (long long)twice);
  }
  for (size_t i = 0; i < index; ++i) {
    const char *earlier = items->items[i];
    if (size_of_name(earlier) != size || strncmp(earlier, item, size) != 0) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dim gives '%.*s' twice", (int)size, item);
  }
  return BYOC_OK;
}

byoc_status_t byoc_dim_option_read_one(const byoc_string_items_t *items, size_t index, byoc_diag_t *diag,
                                       byoc_dim_option_t *out_dim) {
  BYOC_RETURN_IF_ERROR(byoc_dim_option_read(items, index, diag, out_dim));
  if (!out_dim->is_list) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dim gives '%.*s' a list of sizes; a run has one",
                         (int)out_dim->name_size, out_dim->name);
}
