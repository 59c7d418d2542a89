// SPDX-License-Identifier: Apache-2.0
// Makes small changes to an ONNX model, of the kinds that damaged exports or hostile files have. The result is still a
// protobuf message, but seldom a model with a meaning.
#ifndef BYOC_TESTS_MUTATION_MUTATE_H_
#define BYOC_TESTS_MUTATION_MUTATE_H_

#include "core/base/arena.h"
#include "onnx.pb-c.h"
#include "tests/support/support.h"

// Makes one change, chosen by `random`, and describes it in `what`. New parts live in `arena`; those that they replace
// are not freed, so the model should live in an arena too.
void mutate(Onnx__ModelProto *model, byoc_test_random_t *random, byoc_arena_t *arena, char *what, size_t size);

#endif // BYOC_TESTS_MUTATION_MUTATE_H_
