// SPDX-License-Identifier: Apache-2.0
// Holds today's headers to the manifest of a released minor: what it had is where it was, with the size and the type
// that it had. Structs that grow may be larger.
#include <stddef.h>

#include "probe_headers.h"

#define COMPARE_GROWS >=
#define COMPARE_FIXED ==
#define BYOC_ABI_STRUCT(type, filler, growth, since, size)                                                             \
  _Static_assert(sizeof(type) COMPARE_##growth(size), #type " has another size than in a released minor");
#define BYOC_ABI_FIELD(type, name, since, offset, size, need, zero, ...)                                               \
  _Static_assert(offsetof(type, name) == (offset), #type "." #name " is not where it was in a released minor");        \
  _Static_assert(sizeof(((type *)0)->name) == (size), #type "." #name " has another size than in a released minor");   \
  _Static_assert(_Generic(&((type *)0)->name, __typeof__(__VA_ARGS__) * : 1, default : 0),                             \
                 #type "." #name " has another type than in a released minor");
#include "kept.def"
