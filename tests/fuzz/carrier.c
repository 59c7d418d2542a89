// SPDX-License-Identifier: Apache-2.0
// A shared object with room for metadata, which the target `metadata` makes an artifact of.
#include "byoc/artifact.h"

__attribute__((section(BYOC_ARTIFACT_METADATA_SECTION), used)) static const char metadata[8192] = "{}";

__attribute__((visibility("default"))) const byoc_artifact_t *byoc_artifact_entry(uint32_t abi_version);
const byoc_artifact_t *byoc_artifact_entry(uint32_t abi_version) {
  (void)abi_version;
  return NULL;
}
