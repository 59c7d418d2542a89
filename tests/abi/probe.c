// SPDX-License-Identifier: Apache-2.0
// The probe library: one exported function per struct of a manifest, so that the debug information of the library
// describes all of them, and abidiff compares them.
#include "probe_headers.h"

#define BYOC_ABI_STRUCT(type, ...)                                                                                     \
  __attribute__((visibility("default"))) void byoc_probe_##type(type *value);                                          \
  void byoc_probe_##type(type *value) {                                                                                \
    (void)value;                                                                                                       \
  }
#include "probe.def"
