// SPDX-License-Identifier: Apache-2.0
// Gives the operator table its families when a program starts. The table (core/op/table.c) knows no family, because it
// is below them. core/CMakeLists.txt links this file into every program that uses core.
#include "core/ops/families.h"

#define BYOC_OP_FAMILY(name)                                                                                           \
  extern const byoc_op_t byoc_ops_##name[];                                                                            \
  extern const size_t byoc_ops_##name##_count;
#include "core/ops/families.def"
#undef BYOC_OP_FAMILY

#define BYOC_OP_FAMILY(name) {byoc_ops_##name, &byoc_ops_##name##_count},
const byoc_op_family_t byoc_op_families[] = {
#include "core/ops/families.def"
};
#undef BYOC_OP_FAMILY
const size_t byoc_op_family_count = sizeof(byoc_op_families) / sizeof(byoc_op_families[0]);

__attribute__((constructor)) static void fill_table(void) {
  byoc_op_table_set(byoc_op_families, byoc_op_family_count);
}
