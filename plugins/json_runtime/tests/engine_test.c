// SPDX-License-Identifier: Apache-2.0
// Tests of the engine alone: JSON in, results compared with plain loops.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS, strdup
// The engine against plain loops: one case per operator and per fusion, then many instances in many threads.
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "byoc/engine.h"
#include "reference.h"

extern const byoc_engine_t byoc_engine_dnnl;

#define TENSOR_LIMIT 8

static int thread_limit = 2; // of one instance

static void report(void *self, const char *message) {
  (void)snprintf(self, 512, "%s", message);
}

// ---- memory that runs out ----

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_FAIL_ALLOCATIONS 0 // the sanitizers have their own malloc
#else
#define CAN_FAIL_ALLOCATIONS 1
// This thread's allocations fail from this one on; negative: none does. The C++ library's operator new calls malloc.
static _Thread_local long allocations_left = -1;
static _Thread_local long failed_count;

static int allocation_fails(void) {
  if (allocations_left == 0) ++failed_count;
  if (allocations_left > 0)
    --allocations_left;
  else
    return allocations_left == 0;
  return 0;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size) {
  return allocation_fails() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size) {
  return allocation_fails() ? NULL : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **out_memory, size_t alignment, size_t size) {
  void *memory = allocation_fails() ? NULL : __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *out_memory = memory;
  return 0;
}
#endif

// JSON with ' for ".
static char *json_of(const char *text) {
  char *json = strdup(text);
  assert_non_null(json);
  for (char *at = json; *at != '\0'; ++at)
    if (*at == '\'') *at = '"';
  return json;
}

static float *random_data(int64_t count, uint32_t seed) {
  float *data = malloc((size_t)(count > 0 ? count : 1) * sizeof(float));
  assert_non_null(data);
  uint32_t state = seed * 2654435761u + 12345u;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(state >> 8) / (float)(1 << 24) * 1.4f - 0.6f;
  }
  return data;
}

// All tensors of one case, and what the reference says.
typedef struct fixture_t {
  char *json;
  uint32_t input_count, output_count, constant_count;
  float *inputs[TENSOR_LIMIT], *outputs[TENSOR_LIMIT], *expected[TENSOR_LIMIT], *constants[TENSOR_LIMIT];
  int64_t output_counts[TENSOR_LIMIT];
  int64_t shapes[3 * TENSOR_LIMIT];
  DLTensor tensors[2 * TENSOR_LIMIT], constant_tensors[TENSOR_LIMIT];
  byoc_engine_function_t function;
} fixture_t;

static DLTensor tensor_of(float *data, int64_t *shape) {
  return (DLTensor){.data = data, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}

static void fixture_init(fixture_t *fixture, const char *text, uint32_t seed) {
  memset(fixture, 0, sizeof(*fixture));
  fixture->json = json_of(text);
  int64_t count = 0, *shape = fixture->shapes;
  for (uint32_t i = 0; (count = reference_count(fixture->json, "inputs", i)) >= 0; ++i) {
    fixture->inputs[i] = random_data(count, seed + i);
    *shape = count;
    fixture->tensors[fixture->input_count++] = tensor_of(fixture->inputs[i], shape++);
  }
  for (uint32_t i = 0; (count = reference_count(fixture->json, "constant", i)) >= 0; ++i) {
    fixture->constants[i] = random_data(count, seed + 100 + i);
    for (int64_t j = 0; strstr(text, "batch_norm") != NULL && j < count; ++j) // variances are positive
      fixture->constants[i][j] = fabsf(fixture->constants[i][j]) + 0.1f;
    *shape = count;
    fixture->constant_tensors[fixture->constant_count++] = tensor_of(fixture->constants[i], shape++);
  }
  for (uint32_t i = 0; (count = reference_count(fixture->json, "outputs", i)) >= 0; ++i) {
    fixture->outputs[i] = random_data(count, 7);
    fixture->expected[i] = random_data(count, 8);
    fixture->output_counts[i] = *shape = count;
    fixture->tensors[fixture->input_count + fixture->output_count++] = tensor_of(fixture->outputs[i], shape++);
  }
  fixture->function = (byoc_engine_function_t){.symbol = "test",
                                               .json = fixture->json,
                                               .json_size = strlen(fixture->json),
                                               .constants = fixture->constant_tensors,
                                               .constant_count = fixture->constant_count};
  reference_run(fixture->json, (const float *const *)fixture->inputs, (const float *const *)fixture->constants,
                fixture->expected);
}

static void fixture_deinit(fixture_t *fixture) {
  for (uint32_t i = 0; i < TENSOR_LIMIT; ++i) {
    free(fixture->inputs[i]);
    free(fixture->outputs[i]);
    free(fixture->expected[i]);
    free(fixture->constants[i]);
  }
  free(fixture->json);
}

static int fixture_matches(const fixture_t *fixture) {
  for (uint32_t i = 0; i < fixture->output_count; ++i) {
    for (int64_t j = 0; j < fixture->output_counts[i]; ++j) {
      float got = fixture->outputs[i][j], expected = fixture->expected[i][j];
      if (isnan(expected) ? isnan(got) : fabsf(got - expected) <= 1e-4f + 1e-3f * fabsf(expected)) continue;
      fprintf(stderr, "output %u, element %lld: %g, expected %g\n%s\n", i, (long long)j, (double)got, (double)expected,
              fixture->json);
      return 0;
    }
  }
  return 1;
}

static int32_t fixture_run(fixture_t *fixture, void *instance, const byoc_runtime_t *runtime) {
  byoc_call_t call = {.struct_size = sizeof(call),
                      .input_count = fixture->input_count,
                      .output_count = fixture->output_count,
                      .tensors = fixture->tensors,
                      .runtime = runtime};
  return byoc_engine_dnnl.run(instance, 0, &call);
}

static void check(const char *text, int32_t thread_count) {
  fixture_t fixture;
  fixture_init(&fixture, text, 1);
  char message[512] = "";
  byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = thread_count, .self = message, .set_error = report};
  byoc_engine_init_t init = {
      .struct_size = sizeof(init), .function_count = 1, .functions = &fixture.function, .runtime = &runtime};
  void *instance = NULL;
  int32_t status = byoc_engine_dnnl.create(&init, &instance);
  if (status != BYOC_OK) fail_msg("%s\n%s", message, text);
  for (int round = 0; round < 2; ++round) { // the second run must not see the first one's traces
    for (uint32_t i = 0; i < fixture.output_count; ++i)
      memset(fixture.outputs[i], 0xff, (size_t)fixture.output_counts[i] * sizeof(float));
    assert_int_equal(fixture_run(&fixture, instance, &runtime), BYOC_OK);
    assert_true(fixture_matches(&fixture));
  }
  byoc_engine_dnnl.destroy(instance);
  fixture_deinit(&fixture);
}

#define V(dims)     "{'dtype':'f32','dims':[" dims "]}"
#define C(at, dims) "{'dtype':'f32','constant':" #at ",'dims':[" dims "]}"
#define GRAPH(in, out, values, nodes)                                                                                  \
  "{'version':1,'inputs':[" in "],'outputs':[" out "],'values':[" values "],'nodes':[" nodes "]}"
#define NODE(op, inputs, output, attributes, post_ops)                                                                 \
  "{'name':'" op "','op':'" op "','inputs':[" inputs "],'output':" #output ",'attributes':{" attributes                \
  "},'post_ops':[" post_ops "]}"
#define RELU       "{'kind':'eltwise','algorithm':'relu'}"
#define ADD(value) "{'kind':'binary','algorithm':'add','input':" #value "}"
#define MUL(value) "{'kind':'binary','algorithm':'mul','input':" #value "}"
#define UNARY(name, alpha, beta)                                                                                       \
  GRAPH("0", "1", V("2,3,5,7") "," V("2,3,5,7"),                                                                       \
        NODE("eltwise", "0", 1, "'algorithm':'" name "','alpha':" alpha ",'beta':" beta, ""))
#define POOL(name, in, out, attributes)                                                                                \
  GRAPH("0", "1", V(in) "," V(out), NODE("pooling", "0", 1, "'algorithm':'" name "'," attributes, ""))
#define CONV(in, w, out, attributes, post_ops)                                                                         \
  GRAPH("0", "3", V(in) "," C(0, w) "," C(1, "32") "," V(out), NODE("convolution", "0,1,2", 3, attributes, post_ops))

static const char *const cases[] = {
    CONV("1,3,17,19", "32,3,3,3", "1,32,17,19", "'pads':[1,1,1,1]", RELU),
    CONV("2,16,17,19", "32,16,3,3", "2,32,9,9", "'pads':[1,0,1,1],'strides':[2,2]",
         "{'kind':'eltwise','algorithm':'clip','alpha':0.0,'beta':6.0}"),
    CONV("1,16,15,15", "32,16,3,3", "1,32,11,11", "'dilations':[2,2]", "{'kind':'eltwise','algorithm':'sigmoid'}"),
    CONV("1,16,14,14", "32,16,3,3", "1,32,14,14", "'pads':[1,1,1,1],'algorithm':'auto'", RELU),
    CONV("1,10,14", "32,10,3", "1,32,12", "'pads':[0,0]", "{'kind':'eltwise','algorithm':'gelu_erf'}"),
    CONV("1,4,6,7,8", "32,4,3,3,3", "1,32,4,5,6", "'pads':[0,0,0,0,0,0]", "{'kind':'eltwise','algorithm':'tanh'}"),
    CONV("1,32,9,9", "32,1,1,3,3", "1,32,9,9", "'pads':[1,1,1,1]", RELU),
    CONV("1,12,9,9", "4,8,3,3,3", "1,32,9,9", "'pads':[1,1,1,1]", "{'kind':'eltwise','algorithm':'elu','alpha':1.0}"),
    CONV("1,16,9,9", "32,16,1,1", "1,32,9,9", "'pads':[0,0,0,0]",
         "{'kind':'eltwise','algorithm':'hardswish'},{'kind':'eltwise','algorithm':'linear','alpha':2.0,'beta':-1.0}"),
    // relu, then add: the sum comes after an elementwise function
    GRAPH("0,3", "2", V("1,16,8,8") "," C(0, "16,16,3,3") "," V("1,16,8,8") "," V("1,16,8,8"),
          NODE("convolution", "0,1", 2, "'pads':[1,1,1,1]", RELU "," ADD(3))),
    // a residual block: the shortcut's memory becomes the result's
    GRAPH(
        "0", "9",
        V("1,32,12,12") "," C(0, "16,32,1,1") "," C(1, "16") "," V("1,16,12,12") "," C(2, "16,16,3,3") "," V(
            "1,16,12,12") "," C(3, "32,16,1,1") "," V("1,32,12,12") "," C(4, "32,32,1,1") "," V("1,32,12,12"),
        NODE("convolution", "0,1,2", 3, "", RELU) "," NODE("convolution", "3,4", 5, "'pads':[1,1,1,1]", RELU) "," NODE(
            "convolution", "0,8", 7, "", "") "," NODE("convolution", "5,6", 9, "", ADD(7) "," RELU)),
    // the value added is the convolution's own input
    GRAPH("0", "3", V("1,16,8,8") "," C(0, "16,16,3,3") "," V("1,16,8,8") "," V("1,16,8,8"),
          NODE("eltwise", "0", 2, "'algorithm':'relu'", "") "," NODE("convolution", "2,1", 3, "'pads':[1,1,1,1]",
                                                                     ADD(2) "," RELU)),
    // the value added is needed later on, and is an output too
    GRAPH("0", "5,2",
          V("1,16,8,8") "," C(0, "16,16,3,3") "," V("1,16,8,8") "," V("1,16,8,8") "," V("1,16,8,8") "," V("1,16,8,8"),
          NODE("convolution", "0,1", 2, "'pads':[1,1,1,1]",
               "") "," NODE("convolution", "0,1", 3, "'pads':[1,1,1,1]",
                            ADD(2) "," RELU) "," NODE("convolution", "3,1", 4, "'pads':[1,1,1,1]",
                                                      ADD(0)) "," NODE("binary", "4,2", 5, "'algorithm':'mul'", RELU)),
    // a channel-wise scale, a scalar and a full operand after a convolution
    GRAPH("0,5", "4",
          V("1,20,8,8") "," C(0, "24,20,3,3") "," C(1, "24,1,1") "," C(2, "1") "," V("1,24,8,8") "," V("1,24,8,8"),
          NODE("convolution", "0,1", 4, "'pads':[1,1,1,1]", MUL(2) "," ADD(3) "," MUL(5))),
    POOL("max", "1,16,13,13", "1,16,7,7", "'kernel':[3,3],'strides':[2,2],'pads':[1,1,1,1]"),
    POOL("avg", "1,5,13,13", "1,5,7,7", "'kernel':[3,3],'strides':[2,2],'pads':[1,1,1,1]"),
    POOL("avg_include_pad", "1,5,13,13", "1,5,7,7", "'kernel':[3,3],'strides':[2,2],'pads':[1,1,1,1]"),
    POOL("avg", "2,40,7,7", "2,40,1,1", "'kernel':[7,7]"),
    POOL("max", "1,4,11,11", "1,4,5,5", "'kernel':[2,2],'dilations':[2,2],'strides':[2,2]"),
    POOL("max", "1,4,11", "1,4,10", "'kernel':[2]"),
    GRAPH("0", "3", V("4,64") "," C(0, "10,64") "," C(1, "10") "," V("4,10"),
          NODE("inner_product", "0,1,2", 3, "", RELU)),
    GRAPH("0", "3", V("4,64") "," C(0, "64,10") "," C(1, "10") "," V("4,10"), NODE("matmul", "0,1,2", 3, "", RELU)),
    GRAPH("0", "3", V("2,7,64") "," C(0, "64,48") "," C(1, "48") "," V("2,7,48"),
          NODE("matmul", "0,1,2", 3, "", "{'kind':'eltwise','algorithm':'gelu_erf'}")),
    GRAPH("0,4", "3", V("2,7,64") "," C(0, "64,48") "," C(1, "48") "," V("2,7,48") "," V("2,7,48"),
          NODE("matmul", "0,1,2", 3, "", ADD(4))),
    GRAPH("0,1", "2", V("2,3,7,16") "," V("2,3,9,16") "," V("2,3,7,9"),
          NODE("matmul", "0,1", 2, "'transpose_b':1,'scale':0.25", "")),
    GRAPH("0,1", "2", V("5,7") "," V("5,9") "," V("7,9"), NODE("matmul", "0,1", 2, "'transpose_a':1", "")),
    GRAPH("0,1", "2", V("3,4,7,8") "," V("4,8,9") "," V("3,4,7,9"), NODE("matmul", "0,1", 2, "", "")),
    // attention scores: scale, mask, softmax
    GRAPH("0,1,2", "5",
          V("1,4,8,16") "," V("1,4,16,8") "," V("1,1,1,8") "," V("1,4,8,8") "," V("1,4,8,8") "," V("1,4,8,8"),
          NODE("matmul", "0,1", 3, "'scale':0.25", ADD(2)) "," NODE("softmax", "3", 5, "'axis':3", "")),
    GRAPH("0", "1", V("3,10") "," V("3,10"), NODE("softmax", "0", 1, "'axis':1", "")),
    GRAPH("0", "1", V("3,10,5") "," V("3,10,5"), NODE("softmax", "0", 1, "'axis':1,'log':1", "")),
    GRAPH("0", "5", V("2,24,5,5") "," C(0, "24") "," C(1, "24") "," C(2, "24") "," C(3, "24") "," V("2,24,5,5"),
          NODE("batch_normalization", "0,1,2,3,4", 5, "'epsilon':0.001", RELU)),
    GRAPH("0", "3", V("2,6,32") "," C(0, "32") "," C(1, "32") "," V("2,6,32"),
          NODE("layer_normalization", "0,1,2", 3, "'axis':2,'epsilon':1e-5", "")),
    GRAPH("0", "1", V("2,6,4,8") "," V("2,6,4,8"), NODE("layer_normalization", "0", 1, "'axis':2", "")),
    GRAPH("0", "1", V("1,20,6,6") "," V("1,20,6,6"),
          NODE("lrn", "0", 1, "'size':5,'alpha':0.1,'beta':0.75,'k':2.0", "")),
    UNARY("relu", "0", "0"),
    UNARY("relu", "0.1", "0"),
    UNARY("tanh", "0", "0"),
    UNARY("elu", "1.5", "0"),
    UNARY("square", "0", "0"),
    UNARY("abs", "0", "0"),
    UNARY("linear", "2", "0.5"),
    UNARY("clip", "-0.25", "0.25"),
    UNARY("softplus", "1", "0"),
    UNARY("sigmoid", "0", "0"),
    UNARY("exp", "0", "0"),
    UNARY("gelu_tanh", "0", "0"),
    UNARY("gelu_erf", "0", "0"),
    UNARY("swish", "1", "0"),
    UNARY("hardswish", "0", "0"),
    UNARY("mish", "0", "0"),
    UNARY("round", "0", "0"),
    UNARY("pow", "1", "2"),
    GRAPH("0,1", "2", V("2,3,4,5") "," V("3,1,5") "," V("2,3,4,5"),
          NODE("binary", "0,1", 2, "'algorithm':'sub'", "{'kind':'eltwise','algorithm':'linear','alpha':-1.0}")),
    GRAPH("0,1", "2", V("2,3,4,5") "," V("1") "," V("2,3,4,5"), NODE("binary", "0,1", 2, "'algorithm':'max'", RELU)),
    GRAPH("0,1", "2", V("6,5") "," V("6,5") "," V("6,5"), NODE("binary", "0,1", 2, "'algorithm':'min'", "")),
    // largest and smallest as post-ops, with a row and with a full operand, and what follows them
    GRAPH("0,3", "2", V("4,24") "," C(0, "24,20") "," V("4,20") "," V("20"),
          NODE("matmul", "0,1", 2, "", "{'kind':'binary','algorithm':'max','input':3}")),
    GRAPH("0,3", "2", V("1,16,7,7") "," C(0, "20,16,1,1") "," V("1,20,7,7") "," V("1,20,7,7"),
          NODE("convolution", "0,1", 2, "", "{'kind':'binary','algorithm':'min','input':3}," RELU "," MUL(3))),
    // x * sigmoid(x): the operand of the post-op is the input
    GRAPH("0", "2", V("1,8,4,4") "," V("1,8,4,4") "," V("1,8,4,4"),
          NODE("eltwise", "0", 1, "'algorithm':'linear','alpha':1.0,'beta':0.5",
               "") "," NODE("eltwise", "1", 2, "'algorithm':'sigmoid'", MUL(1))),
    GRAPH("0", "2", V("2,6,5,5") "," C(0, "6,1,1") "," V("2,6,5,5"), NODE("prelu", "0,1", 2, "", "")),
    GRAPH("0", "1", V("2,3,4,5") "," V("2,3,1,1"), NODE("reduction", "0", 1, "'algorithm':'mean','axes':[2,3]", "")),
    GRAPH("0", "1", V("2,3,8") "," V("2,3"), NODE("reduction", "0", 1, "'algorithm':'sum','axes':[2]", "")),
    GRAPH("0", "1", V("2,3,8") "," V("2,8"), NODE("reduction", "0", 1, "'algorithm':'max','axes':[1]", RELU)),
    GRAPH("0", "1", V("2,3,40") "," V("2,3,1"), NODE("reduction", "0", 1, "'algorithm':'min','axes':[2]", "")),
    GRAPH("0,1,2", "3", V("1,16,4,4") "," V("1,8,4,4") "," V("1,3,4,4") "," V("1,27,4,4"),
          NODE("concat", "0,1,2", 3, "'axis':1", "")),
    // concat of blocked layouts, and an operand used twice
    GRAPH("0", "5",
          V("1,8,6,6") "," C(0, "16,8,1,1") "," C(1, "24,8,3,3") "," V("1,16,6,6") "," V("1,24,6,6") "," V("1,56,6,6"),
          NODE("convolution", "0,1", 3, "", RELU) "," NODE("convolution", "0,2", 4, "'pads':[1,1,1,1]",
                                                           RELU) "," NODE("concat", "3,4,3", 5, "'axis':1", "")),
    // convolution, flatten, product; and the flattened value as an output of its own
    GRAPH("0", "6,3",
          V("2,8,6,6") "," C(0, "16,8,3,3") "," V("2,16,4,4") "," V("2,256") "," C(1, "256,10") "," C(2, "10") "," V(
              "2,10"),
          NODE("convolution", "0,1", 2, "", RELU) "," NODE("reshape", "2", 3, "", "") "," NODE("matmul", "3,4,5", 6, "",
                                                                                               "")),
    // heads: [1,6,32] → [1,6,4,8] → [1,4,6,8]
    GRAPH("0", "3", V("1,6,32") "," V("1,6,4,8") "," V("1,4,6,8") "," V("1,4,6,8"),
          NODE("reshape", "0", 1, "", "") "," NODE("transpose", "1", 2, "'permutation':[0,2,1,3]",
                                                   "") "," NODE("eltwise", "2", 3, "'algorithm':'relu'", "")),
    GRAPH("0", "1", V("2,3,4") "," V("4,2,3"), NODE("transpose", "0", 1, "'permutation':[2,0,1]", "")),
    GRAPH("0", "2", V("1,8,6,6") "," V("1,4,6,6") "," V("1,4,6,6"),
          NODE("slice", "0", 1, "'offsets':[0,4,0,0]", "") "," NODE("eltwise", "1", 2, "'algorithm':'abs'", "")),
    // a slice through blocks of a convolution's result
    GRAPH("0", "3", V("1,8,6,6") "," C(0, "32,8,1,1") "," V("1,32,6,6") "," V("1,5,6,6"),
          NODE("convolution", "0,1", 2, "", "") "," NODE("slice", "2", 3, "'offsets':[0,7,0,0]", "")),
    // nothing but an input that is an output too
    GRAPH("0", "0,1", V("3,4") "," V("12"), NODE("reshape", "0", 1, "", "")),
};

static void test_operators(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    check(cases[i], 1);
    if (thread_limit > 1) check(cases[i], 2);
  }
}

// A NaN in an operand gives NaN in those results that depend on it, and in no other: in every operator, as a post-op or
// alone, in each lane of a vector. A run without NaN follows.
static void check_nan(const char *text, int32_t thread_count) {
  fixture_t fixture;
  fixture_init(&fixture, text, 1);
  char message[512] = "";
  byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = thread_count, .self = message, .set_error = report};
  byoc_engine_init_t init = {
      .struct_size = sizeof(init), .function_count = 1, .functions = &fixture.function, .runtime = &runtime};
  void *instance = NULL;
  if (byoc_engine_dnnl.create(&init, &instance) != BYOC_OK) fail_msg("%s\n%s", message, text);
  for (int64_t round = 0; round < 17; ++round) {
    for (uint32_t i = 0; i < fixture.input_count; ++i) {
      const int64_t count = fixture.shapes[i];
      for (int64_t j = round; round < 16 && j < count; j += 97 + i) fixture.inputs[i][j] = j % 2 == 0 ? NAN : -NAN;
    }
    reference_run(fixture.json, (const float *const *)fixture.inputs, (const float *const *)fixture.constants,
                  fixture.expected);
    assert_int_equal(fixture_run(&fixture, instance, &runtime), BYOC_OK);
    assert_true(fixture_matches(&fixture));
    for (uint32_t i = 0; i < fixture.input_count; ++i) {
      const int64_t count = fixture.shapes[i];
      for (int64_t j = 0; j < count; ++j)
        if (isnan(fixture.inputs[i][j])) fixture.inputs[i][j] = 0.5f;
    }
  }
  byoc_engine_dnnl.destroy(instance);
  fixture_deinit(&fixture);
}

static void test_keeps_nan(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i)
    for (int32_t threads = 1; threads <= thread_limit; ++threads) check_nan(cases[i], threads);
}

// The caller's own flag of invalid operations stays as it is.
static void test_leaves_the_flags(void **state) {
  (void)state;
  fixture_t fixture;
  fixture_init(&fixture, UNARY("clip", "-0.25", "0.25"), 1);
  fixture.inputs[0][5] = NAN;
  char message[512] = "";
  byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .self = message, .set_error = report};
  byoc_engine_init_t init = {
      .struct_size = sizeof(init), .function_count = 1, .functions = &fixture.function, .runtime = &runtime};
  void *instance = NULL;
  assert_int_equal(byoc_engine_dnnl.create(&init, &instance), BYOC_OK);
  for (int is_raised = 0; is_raised < 2; ++is_raised) {
    assert_int_equal(is_raised ? feraiseexcept(FE_INVALID) : feclearexcept(FE_INVALID), 0);
    assert_int_equal(fixture_run(&fixture, instance, &runtime), BYOC_OK);
    assert_int_equal(fetestexcept(FE_INVALID) != 0, is_raised);
    assert_true(isnan(fixture.outputs[0][5]));
  }
  byoc_engine_dnnl.destroy(instance);
  fixture_deinit(&fixture);
}

typedef struct worker_t {
  uint32_t seed;
  int failures;
} worker_t;

static void *work(void *argument) {
  worker_t *worker = argument;
  for (uint32_t round = 0; round < 6; ++round) {
    fixture_t fixture;
    fixture_init(&fixture, cases[10 + (round + worker->seed) % 6], worker->seed + round);
    char message[512];
    byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .self = message, .set_error = report};
    byoc_engine_init_t init = {
        .struct_size = sizeof(init), .function_count = 1, .functions = &fixture.function, .runtime = &runtime};
    void *instance = NULL;
    if (byoc_engine_dnnl.create(&init, &instance) != BYOC_OK) ++worker->failures;
    for (int i = 0; i < 20 && worker->failures == 0; ++i)
      if (fixture_run(&fixture, instance, &runtime) != BYOC_OK || !fixture_matches(&fixture)) ++worker->failures;
    byoc_engine_dnnl.destroy(instance);
    fixture_deinit(&fixture);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { count = 8 };
  pthread_t threads[count];
  worker_t workers[count];
  for (uint32_t i = 0; i < count; ++i) {
    workers[i] = (worker_t){.seed = i};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (uint32_t i = 0; i < count; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(workers[i].failures, 0);
  }
}

// Weights [30, 16, 3, 3] in a layout padded to blocks of output channels: o/block, h, w, i, block.
static void check_packed(const char *packed_text, int block) {
  static const char text[] =
      GRAPH("0", "2", V("1,16,9,9") "," C(0, "30,16,3,3") "," V("1,30,7,7"), NODE("convolution", "0,1", 2, "", RELU));
  fixture_t fixture;
  fixture_init(&fixture, text, 5);
  // The artifact's constants are read-only: a page that faults when written to.
  size_t size = 32 * 16 * 9 * sizeof(float);
  float *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(page, MAP_FAILED);
  for (int o = 0; o < 30; ++o)
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < 9; ++k)
        page[((o / block * 9 + k) * 16 + i) * block + o % block] = fixture.constants[0][(o * 16 + i) * 9 + k];
  assert_int_equal(mprotect(page, size, PROT_READ), 0);
  int64_t shape[1] = {32 * 16 * 9};
  fixture.constant_tensors[0] = tensor_of(page, shape);
  char *packed_json = json_of(packed_text), message[512] = "";
  fixture.function.json = packed_json;
  fixture.function.json_size = strlen(packed_json);
  byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .self = message, .set_error = report};
  byoc_engine_init_t init = {
      .struct_size = sizeof(init), .function_count = 1, .functions = &fixture.function, .runtime = &runtime};
  void *instance = NULL;
  if (byoc_engine_dnnl.create(&init, &instance) != BYOC_OK) fail_msg("%s", message);
  assert_int_equal(fixture_run(&fixture, instance, &runtime), BYOC_OK);
  assert_true(fixture_matches(&fixture));
  byoc_engine_dnnl.destroy(instance);
  free(packed_json);
  assert_int_equal(munmap(page, size), 0);
  fixture_deinit(&fixture);
}

#define PACKED(strides, block)                                                                                         \
  GRAPH("0", "2",                                                                                                      \
        V("1,16,9,9") ",{'dtype':'f32','constant':0,'dims':[30,16,3,3],'layout':{'padded':[32,16,3,3],"                \
                      "'strides':[" strides "],'blocks':[" block "],'block_dims':[0]}}," V("1,30,7,7"),                \
        NODE("convolution", "0,1", 2, "", RELU))

static void test_packed_constants(void **state) {
  (void)state;
  check_packed(PACKED("2304,16,768,256", "16"), 16);
}

// The blocks are of a layout that no convolution wants here, so they are repacked.
static void test_constants_packed_for_another_processor(void **state) {
  (void)state;
  check_packed(PACKED("288,2,96,32", "2"), 2);
}

// Each cut and each changed byte of a description is refused with a message or still runs; nothing crashes.
static void test_damaged_json(void **state) {
  (void)state;
  char *json = json_of(cases[10]);
  size_t size = strlen(json);
  float *data = random_data(1 << 16, 3);
  int64_t shape[1] = {1 << 16};
  DLTensor constants[TENSOR_LIMIT];
  for (int i = 0; i < TENSOR_LIMIT; ++i) constants[i] = tensor_of(data, shape);
  char message[512];
  byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .self = message, .set_error = report};
  for (size_t i = 0; i < 2 * size; ++i) {
    size_t at = i % size;
    char saved = json[at];
    if (i >= size) json[at] = (char)('0' + (saved + i) % 10);
    byoc_engine_function_t function = {.symbol = "test",
                                       .json = json,
                                       .json_size = i < size ? at : size,
                                       .constants = constants,
                                       .constant_count = TENSOR_LIMIT};
    byoc_engine_init_t init = {
        .struct_size = sizeof(init), .function_count = 1, .functions = &function, .runtime = &runtime};
    void *instance = NULL;
    message[0] = '\0';
    int32_t status = byoc_engine_dnnl.create(&init, &instance);
    if (i < size) assert_int_not_equal(status, BYOC_OK);
    if (status != BYOC_OK) {
      assert_null(instance);
      assert_string_not_equal(message, "");
    }
    byoc_engine_dnnl.destroy(instance);
    json[at] = saved;
  }
  free(data);
  free(json);
}

#if CAN_FAIL_ALLOCATIONS
// oneDNN makes objects in each run. If there is no memory for them, the reserve provides it.
static void test_runs_without_memory(void **state) {
  (void)state;
  long all = 0;
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
    fixture_t fixture;
    fixture_init(&fixture, cases[c], 1);
    char message[512] = "";
    byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .self = message, .set_error = report};
    byoc_engine_init_t init = {
        .struct_size = sizeof(init), .function_count = 1, .functions = &fixture.function, .runtime = &runtime};
    void *instance = NULL;
    assert_int_equal(byoc_engine_dnnl.create(&init, &instance), BYOC_OK);
    for (long n = 0; n < 1000; ++n) {
      failed_count = 0;
      allocations_left = n;
      int32_t status = fixture_run(&fixture, instance, &runtime);
      allocations_left = -1;
      assert_int_equal(status, BYOC_OK);
      assert_true(fixture_matches(&fixture));
      all += failed_count;
      if (failed_count == 0) break;
    }
    byoc_engine_dnnl.destroy(instance);
    fixture_deinit(&fixture);
  }
  assert_in_range(all, 100, 100000); // otherwise no allocation was made to fail
}

// If memory runs out at any allocation of create, create reports it, and the next instance is right.
static void test_creates_without_memory(void **state) {
  (void)state;
  enum { STEP = 7 }; // allocations between two tries
  long refused = 0;
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c += 5) {
    fixture_t fixture;
    fixture_init(&fixture, cases[c], 1);
    char message[512] = "";
    byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .self = message, .set_error = report};
    byoc_engine_init_t init = {
        .struct_size = sizeof(init), .function_count = 1, .functions = &fixture.function, .runtime = &runtime};
    void *instance = NULL;
    for (long n = (long)c % STEP; n < 100000; n += STEP) {
      message[0] = '\0';
      failed_count = 0;
      allocations_left = n;
      int32_t status = byoc_engine_dnnl.create(&init, &instance);
      allocations_left = -1;
      if (failed_count == 0) break;
      assert_int_equal(status, BYOC_OUT_OF_MEMORY);
      assert_non_null(strstr(message, "memory"));
      assert_null(instance);
      ++refused;
    }
    assert_non_null(instance);
    assert_int_equal(fixture_run(&fixture, instance, &runtime), BYOC_OK);
    assert_true(fixture_matches(&fixture));
    byoc_engine_dnnl.destroy(instance);
    fixture_deinit(&fixture);
  }
  assert_in_range(refused, 100, 100000);
}
#endif

int main(int argc, char **argv) {
  if (argc > 1) thread_limit = atoi(argv[1]);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_operators),
    cmocka_unit_test(test_keeps_nan),
    cmocka_unit_test(test_leaves_the_flags),
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_packed_constants),
    cmocka_unit_test(test_constants_packed_for_another_processor),
    cmocka_unit_test(test_damaged_json),
#if CAN_FAIL_ALLOCATIONS
    cmocka_unit_test(test_runs_without_memory),
    cmocka_unit_test(test_creates_without_memory),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
