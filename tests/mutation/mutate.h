// Makes small changes to an ONNX model, of the kinds that damaged exports or hostile files have. The result is still a
// protobuf message, but seldom a model with a meaning.
#ifndef BYOC_TESTS_MUTATION_MUTATE_H_
#define BYOC_TESTS_MUTATION_MUTATE_H_

#include "onnx.pb-c.h"
#include "tests/support/support.h"

// Makes one change, chosen by `random`, and describes it in `what`. Replaced parts are not freed, since the model
// belongs to a process that ends soon.
void mutate(Onnx__ModelProto *model, byoc_test_random_t *random, char *what, size_t size);

#endif // BYOC_TESTS_MUTATION_MUTATE_H_
