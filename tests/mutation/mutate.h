// Small changes to an ONNX model, each of them the kind that a damaged export or a hostile file has: still a protobuf
// message, seldom a model that means anything.
#ifndef BYOC_TESTS_MUTATION_MUTATE_H_
#define BYOC_TESTS_MUTATION_MUTATE_H_

#include "onnx.pb-c.h"
#include "tests/support/support.h"

// Makes one change, the one that `random` chooses, and says in `what` which. What it replaces is not freed: the model
// is for a process that ends soon.
void mutate(Onnx__ModelProto *model, byoc_test_random_t *random, char *what, size_t size);

#endif // BYOC_TESTS_MUTATION_MUTATE_H_
