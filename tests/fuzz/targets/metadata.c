// SPDX-License-Identifier: Apache-2.0
// The metadata of artifacts: whatever a sealed file says of itself is inspected (tools/byoc/inspect_artifact.h), and
// its tree of modules read (core/compose/artifact/module_tree.h).
#include <stdlib.h>
#include <string.h>

#include "byoc/artifact.h"
#include "core/base/file.h"
#include "core/compose/artifact/module_tree.h"
#include "core/compose/artifact/seal.h"
#include "core/loader/artifact_file.h"
#include "tests/fuzz/fuzz.h"
#include "tools/byoc/inspect_artifact.h"

// A shared object without a seal, and the place of the metadata in it.
static char *carrier;
static size_t carrier_size, metadata_at, metadata_size;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  byoc_diag_t diag = {0};
  byoc_elf_t elf;
  const uint8_t *section = NULL;
  fuzz_check_ok(byoc_file_read(FUZZ_CARRIER, byoc_allocator_system(), &diag, &carrier, &carrier_size), &diag,
                "carrier");
  fuzz_check_ok(byoc_elf_open(carrier, carrier_size, "carrier", &diag, &elf), &diag, "carrier");
  fuzz_check_ok(byoc_elf_find_section(&elf, BYOC_ARTIFACT_METADATA_SECTION, &diag, &section, &metadata_size), &diag,
                "its section");
  metadata_at = (size_t)(section - (const uint8_t *)carrier);
  return freopen("/dev/null", "w", stdout) != NULL ? 0 : 1; // what is inspected is printed
}

static void inspect(const char *text, size_t size) {
  byoc_diag_t diag = {0};
  if (size >= metadata_size) return;
  memcpy(carrier + metadata_at, text, size + 1);
  const char *path = fuzz_file(carrier, carrier_size);
  fuzz_check_ok(byoc_compose_seal(path, &diag), &diag, "sealing");
  const byoc_inspect_place_t place = {0};
  for (int as_json = 0; as_json < 3; ++as_json) {
    const byoc_inspect_view_t view = {.as_json = as_json == 1, .report = as_json == 2 ? "log" : NULL};
    fuzz_check(byoc_inspect_artifact(path, &place, &view, &diag), &diag);
    byoc_diag_clear(&diag);
  }
}

static void read_tree(const char *text) {
  byoc_diag_t diag = {0};
  byoc_module_tree_t tree = {0};
  byoc_status_t status = byoc_module_tree_read(text, fuzz_allocator(), &diag, &tree);
  fuzz_check(status, &diag);
  if (status != BYOC_OK) return;
  byoc_string_t lines;
  byoc_string_init(&lines, fuzz_allocator());
  byoc_module_tree_print(&tree, &lines);
  byoc_string_deinit(&lines);
  byoc_module_tree_deinit(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  inspect(text, size);
  read_tree(text);
  free(text);
  return 0;
}
