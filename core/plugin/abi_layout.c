// SPDX-License-Identifier: Apache-2.0
// Compares every struct of the public headers with its rows in byoc/abi.def: sizes, offsets and types. This file makes
// no code; if it does not compile, a header or the manifest has changed (docs/abi.md says what may change).
#include <stddef.h>

#include "byoc/artifact.h"
#include "byoc/communicator.h"
#include "byoc/device_plugin.h"
#include "byoc/driver_check.h"
#include "byoc/operator_plugin.h"
#include "byoc/table.h"
#include "byoc/verify.h"

#define BYOC_ABI_STRUCT(type, filler, growth, since, size)                                                             \
  _Static_assert(sizeof(type) == (size), #type " has another size than in byoc/abi.def");
#define BYOC_ABI_FIELD(type, name, since, offset, size, need, zero, ...)                                               \
  _Static_assert(offsetof(type, name) == (offset), #type "." #name " is at another offset than in byoc/abi.def");      \
  _Static_assert(sizeof(((type *)0)->name) == (size), #type "." #name " has another size than in byoc/abi.def");       \
  _Static_assert(_Generic(&((type *)0)->name, __typeof__(__VA_ARGS__) * : 1, default : 0),                             \
                 #type "." #name " has another type than in byoc/abi.def");
#include "byoc/abi.def"
