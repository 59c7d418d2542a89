// SPDX-License-Identifier: Apache-2.0
// Weights files (core/runtime/weights.h): what is accepted lies inside the file, and what is found is what was
// asked for. Most bytes fail at the hash of the header, so each input is also tried with the hash that fits.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/weights.h"
#include "tests/fuzz/fuzz.h"

static void check_entries(const byoc_weights_view_t *view) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < view->header->entry_count; ++i) {
    const byoc_weights_entry_t *entry = byoc_weights_entry(view, i);
    const char *name = byoc_weights_name(view, entry);
    for (uint64_t k = 0; k < entry->name_bytes; ++k) sum += (uint8_t)name[k];
    for (uint64_t k = 0; k < entry->size_bytes; ++k) sum += view->data[entry->offset_bytes + k];
    const byoc_weights_entry_t *found = byoc_weights_find(view, entry->hash, entry->size_bytes);
    if (found != NULL && (found->hash != entry->hash || found->size_bytes != entry->size_bytes)) {
      fuzz_fail("another entry");
    }
  }
  if (sum == UINT64_MAX) fuzz_fail("the sum of the bytes");
}

static void check(const uint8_t *data, size_t size) {
  char message[256] = "";
  byoc_weights_view_t view;
  const int32_t status = byoc_weights_check(data, size, "file", message, sizeof(message), &view);
  if (status == BYOC_OK)
    check_entries(&view);
  else if (message[0] == '\0')
    fuzz_fail("no reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  void *copy = NULL; // aligned, as a mapping is
  if (posix_memalign(&copy, 64, size > 0 ? size : 1) != 0) return 0;
  if (size > 0) memcpy(copy, data, size);
  check(copy, size);
  if (size >= sizeof(byoc_weights_header_t)) {
    byoc_weights_header_t *header = copy;
    header->header_hash = byoc_weights_hash(header, offsetof(byoc_weights_header_t, header_hash));
    check(copy, size);
  }
  free(copy);
  return 0;
}
