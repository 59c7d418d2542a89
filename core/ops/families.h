// SPDX-License-Identifier: Apache-2.0
// All families of operators (core/ops/families.def), for code that walks over all of byoc's own rows.
#ifndef BYOC_CORE_OPS_FAMILIES_H_
#define BYOC_CORE_OPS_FAMILIES_H_

#include "core/op/op.h"

extern const byoc_op_family_t byoc_op_families[];
extern const size_t byoc_op_family_count;

#endif // BYOC_CORE_OPS_FAMILIES_H_
