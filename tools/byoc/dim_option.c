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

byoc_status_t byoc_dim_option_read(const byoc_text_items_t *items, size_t index, byoc_diag_t *diag,
                                   byoc_dim_option_t *out_dim) {
  const char *item = items->items[index];
  const size_t size = size_of_name(item);
  char *end = NULL;
  errno = 0;
  const long long value = size > 0 ? strtoll(item + size + 1, &end, 10) : -1;
  if (size == 0 || end == item + size + 1 || *end != '\0' || errno != 0 || value < 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "--dim takes NAME=VALUE with a whole number from 0 on, not '%s'", item);
  }
  *out_dim = (byoc_dim_option_t){.name = item, .name_size = size, .value = value};
  for (size_t i = 0; i < index; ++i) {
    const char *earlier = items->items[i];
    if (size_of_name(earlier) != size || strncmp(earlier, item, size) != 0) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dim gives '%.*s' twice", (int)size, item);
  }
  return BYOC_OK;
}
