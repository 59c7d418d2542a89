// SPDX-License-Identifier: Apache-2.0
// Small models and arrays for the command's tests.
#ifndef BYOC_TESTS_CLI_MODELS_H_
#define BYOC_TESTS_CLI_MODELS_H_

#include "core/frontend/onnx_write.h"

// y = relu(x * w + b): input "in/x:0" f32[2,4], output "out/y:0" f32[2,3]. With `dim` other than "2" the first
// dimension is that symbol. Also writes x.npy and y.npy with matching values (2 rows).
void write_tiny(const char *path, const char *rows);
// Convolutions, pooling, a matrix product, softmax: input "image" f32[1,3,12,12], output "scores" f32[1,10]. Every
// target finds something to do.
void write_vision(const char *path);
// Dimensions that the model calls by names of its own: input "x" f32[1,2,T]; outputs "half" f32[1,2,frames], every
// second frame, "first" f32[1,2,T], at most sixteen, and "places" i64[3,hits] of what is not 0.
void write_frames(const char *path);
// One node of an unknown operator.
void write_unknown_operator(const char *path);
// A row-major f32 array as .npy.
void write_npy(const char *path, size_t rank, const int64_t *dims, const float *values);
// The same with elements of NumPy's `descriptor` ("<c8"), `size_bytes` in all.
void write_npy_of(const char *path, const char *descriptor, size_t rank, const int64_t *dims, const void *values,
                  size_t size_bytes);
// y = x, both of this type and shape ("3").
void write_identity(const char *path, byoc_dtype_t dtype, const char *shape);
// As text: Relu, Exp, Neg, Abs, and Add of the results of Abs and Exp, each on f32[65536]: nodes 0 to 4.
void write_chain(const char *path);

// The metadata of two builds of one program may tell different options and initialisers. For the shell: `same A.so
// B.so` compares the artifacts' data, `code` is a filter of --emit=c that leaves the size of the metadata out.
#define BYOC_TEST_SAME                                                                                                 \
  "same() { for f; do objcopy -O binary --only-section=.byoc.data $f $f.data || return; done; cmp $1.data $2.data; "   \
  "}; "                                                                                                                \
  "code() { grep -v metadata_size_bytes; }; "

#endif // BYOC_TESTS_CLI_MODELS_H_
