// SPDX-License-Identifier: Apache-2.0
// The embedded sources of the runtime (byoc_embed in core/CMakeLists.txt, which writes the list).
#include "core/compose/cc/runtime_files.h"

#define X(name, path)                                                                                                  \
  extern const unsigned char byoc_embed_##name[];                                                                      \
  extern const unsigned long long byoc_embed_##name##_size;
#include "runtime_files.def"
#undef X

#define X(name, path) +1
const size_t byoc_runtime_file_count = 0
#include "runtime_files.def"
    ;
#undef X

byoc_embedded_header_t byoc_runtime_file(size_t index) {
  const byoc_embedded_header_t files[] = {
#define X(name, path) {path, byoc_embed_##name, (size_t)byoc_embed_##name##_size},
#include "runtime_files.def"
  };
  return files[index];
}
