// SPDX-License-Identifier: Apache-2.0
// Tables of libraries (plugins/builtin_shim/table.h).
#include <stdlib.h>

#include "core/plugin/region.h"
#include "plugins/builtin_shim/table.h"
#include "tests/fuzz/fuzz.h"

static int32_t error(const byoc_host_t *host, int32_t status, const char *message) {
  (void)host;
  (void)message;
  return status;
}

static void *resize(const byoc_host_t *host, void *memory, uint64_t size) {
  (void)host;
  byoc_allocator_t allocator = fuzz_allocator();
  return allocator.resize(allocator.self, memory, (size_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const byoc_host_t host = {.header = BYOC_HEADER(byoc_host_t, BYOC_ABI_MINOR),
                            .abi_major = BYOC_ABI_MAJOR,
                            .version = "fuzz",
                            .resize = resize,
                            .error = error};
  byoc_shim_table_t table;
  char reason[512] = "";
  char *text = fuzz_text(data, size);
  if (byoc_shim_table_read(&host, text, size, &table, reason, sizeof(reason))) {
    byoc_shim_table_deinit(&table);
  } else if (reason[0] == '\0') {
    fuzz_fail("no reason");
  }
  free(text);
  return 0;
}
