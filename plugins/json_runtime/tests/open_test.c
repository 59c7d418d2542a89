// SPDX-License-Identifier: Apache-2.0
// Tests functions with dynamic sizes: each shape gives the results of plain loops, and a context keeps the shapes used
// last.
#define _GNU_SOURCE // RTLD_NOLOAD
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "byoc/engine.h"
#include "engine/instance/instance.h"
#include "reference.h"
#include "reserve/reserve.h"

extern const byoc_engine_t byoc_engine_dnnl;

#define ELEMENTS_AT_MOST 16384

// The linker replaces the originals by these two (CMakeLists.txt). The first can forbid memory files, as
// vm.memfd_noexec=2 does; the second lets allocations from a number of bytes on fail.
static int forbids_memory_files;
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags) {
  if (!forbids_memory_files) return __real_memfd_create(name, flags);
  errno = EACCES;
  return -1;
}

static uint64_t refused_bytes = UINT64_MAX;
static int refused_count;
void *__real_byoc_dnnl_allocate_pages(uint64_t size_bytes);
void *__wrap_byoc_dnnl_allocate_pages(uint64_t size_bytes);
void *__wrap_byoc_dnnl_allocate_pages(uint64_t size_bytes) {
  if (size_bytes < refused_bytes) return __real_byoc_dnnl_allocate_pages(size_bytes);
  ++refused_count;
  return NULL;
}

// $0 to $2: sizes. The convolution's height, $2, follows from the input's; no tensor of a call has it.
static const char network[] =
    "{'version':1,'open':3,'shapes':2,'inputs':[0,3],'outputs':[7],'values':["
    "{'dtype':'f32','dims':[$0,16,$1,9]},{'dtype':'f32','constant':0,'dims':[32,16,3,3]},"
    "{'dtype':'f32','dims':[$0,32,$2,5]},{'dtype':'f32','dims':[$0,8]},{'dtype':'f32','dims':[$0,32,1,1]},"
    "{'dtype':'f32','dims':[$0,32]},{'dtype':'f32','constant':1,'dims':[40]},{'dtype':'f32','dims':[$0,40]},"
    "{'dtype':'f32','dims':[$0,40]}],'nodes':["
    "{'name':'conv','op':'convolution','inputs':[0,1],'output':2,"
    "'attributes':{'strides':[2,2],'pads':[1,1,1,1]},'post_ops':[{'kind':'eltwise','algorithm':'relu'}]},"
    "{'name':'pool','op':'pooling','inputs':[2],'output':4,'attributes':{'algorithm':'avg','global':1}},"
    "{'name':'flat','op':'reshape','inputs':[4],'output':5},"
    "{'name':'join','op':'concat','inputs':[5,3],'output':8,'attributes':{'axis':1}},"
    "{'name':'add','op':'binary','inputs':[8,6],'output':7,'attributes':{'algorithm':'add'}}]}";

// The text with sizes in the place of $0, $1, ...; NULL: with their numbers. ' stands for ".
static char *instantiate(const char *text, const int64_t *sizes) {
  char *json = malloc(strlen(text) * 2 + 1), *to = json;
  assert_non_null(json);
  for (const char *at = text; *at != '\0'; ++at) {
    if (*at == '$') {
      const int number = *++at - '0';
      to += sprintf(to, "%lld", sizes != NULL ? (long long)sizes[number] : -1ll - number);
    } else {
      *to++ = *at == '\'' ? '"' : *at;
    }
  }
  *to = '\0';
  return json;
}

static float *random_data(uint32_t seed) {
  float *data = malloc(ELEMENTS_AT_MOST * sizeof(*data));
  assert_non_null(data);
  uint32_t state = seed * 2654435761u + 12345u;
  for (int i = 0; i < ELEMENTS_AT_MOST; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(state >> 8) / (float)(1 << 24) * 1.4f - 0.6f;
  }
  return data;
}

// An instance of the network, and tensors for calls of it.
typedef struct fixture_t {
  char *json;
  char message[512];
  float *inputs[2], *constants[2], *output, *expected;
  int64_t constant_counts[2], x_dims[4], h_dims[2], y_dims[2];
  DLTensor constant_tensors[2], tensors[3];
  byoc_engine_function_t function;
  byoc_runtime_t runtime;
  byoc_dnnl_instance_t *instance;
} fixture_t;

static void report(void *self, const char *message) {
  (void)snprintf(self, 512, "%s", message);
}

static DLTensor tensor_of(float *data, int32_t rank, int64_t *dims) {
  return (DLTensor){.data = data, .ndim = rank, .dtype = {kDLFloat, 32, 1}, .shape = dims};
}

static int32_t create(fixture_t *f, const char *json) {
  f->function = (byoc_engine_function_t){
      .symbol = "test", .json = json, .json_size = strlen(json), .constants = f->constant_tensors, .constant_count = 2};
  const byoc_engine_init_t init = {
      .struct_size = sizeof(init), .function_count = 1, .functions = &f->function, .runtime = &f->runtime};
  void *instance = NULL;
  f->message[0] = '\0';
  const int32_t status = byoc_engine_dnnl.create(&init, &instance);
  f->instance = instance;
  return status;
}

static int set_up(void **state) {
  fixture_t *f = calloc(1, sizeof(*f));
  assert_non_null(f);
  for (uint32_t i = 0; i < 2; ++i) {
    f->inputs[i] = random_data(i);
    f->constants[i] = random_data(10 + i);
    f->constant_counts[i] = i == 0 ? 32 * 16 * 9 : 40;
    f->constant_tensors[i] = tensor_of(f->constants[i], 1, &f->constant_counts[i]);
  }
  f->output = random_data(20);
  f->expected = random_data(21);
  f->tensors[0] = tensor_of(f->inputs[0], 4, f->x_dims);
  f->tensors[1] = tensor_of(f->inputs[1], 2, f->h_dims);
  f->tensors[2] = tensor_of(f->output, 2, f->y_dims);
  f->runtime =
      (byoc_runtime_t){.struct_size = sizeof(f->runtime), .thread_count = 1, .self = f->message, .set_error = report};
  f->json = instantiate(network, NULL);
  if (create(f, f->json) != BYOC_OK) fail_msg("%s", f->message);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture_t *f = *state;
  byoc_engine_dnnl.destroy(f->instance);
  for (uint32_t i = 0; i < 2; ++i) {
    free(f->inputs[i]);
    free(f->constants[i]);
  }
  free(f->output);
  free(f->expected);
  free(f->json);
  free(f);
  return 0;
}

static void set_shape(fixture_t *f, int64_t images, int64_t height) {
  memcpy(f->x_dims, (int64_t[]){images, 16, height, 9}, sizeof(f->x_dims));
  memcpy(f->h_dims, (int64_t[]){images, 8}, sizeof(f->h_dims));
  memcpy(f->y_dims, (int64_t[]){images, 40}, sizeof(f->y_dims));
}

static int32_t run(fixture_t *f) {
  const byoc_call_t call = {
      .struct_size = sizeof(call), .input_count = 2, .output_count = 1, .tensors = f->tensors, .runtime = &f->runtime};
  f->message[0] = '\0';
  return byoc_engine_dnnl.run(f->instance, 0, &call);
}

static void check_shape(fixture_t *f, int64_t images, int64_t height) {
  char *json = instantiate(network, (int64_t[]){images, height, (height + 1) / 2});
  reference_run(json, (const float *const *)f->inputs, (const float *const *)f->constants, &f->expected);
  free(json);
  set_shape(f, images, height);
  memset(f->output, 0xff, ELEMENTS_AT_MOST * sizeof(float));
  if (run(f) != BYOC_OK) fail_msg("%s", f->message);
  for (int64_t i = 0; i < images * 40; ++i) {
    if (fabsf(f->output[i] - f->expected[i]) <= 1e-4f) continue;
    fail_msg("%lld images of height %lld, element %lld: %g, expected %g", (long long)images, (long long)height,
             (long long)i, (double)f->output[i], (double)f->expected[i]);
  }
}

static int has_variant(const fixture_t *f, int64_t images, int64_t height) {
  const byoc_dnnl_variants_t *variants = &f->instance->functions[0];
  for (uint32_t i = 0; i < variants->count; ++i)
    if (variants->items[i]->sizes[0] == images && variants->items[i]->sizes[1] == height) return 1;
  return 0;
}

static void test_shapes_used_last_are_kept(void **state) {
  fixture_t *f = *state;
  check_shape(f, 1, 7);
  check_shape(f, 3, 20); // a larger arena: the first variant moves there
  check_shape(f, 1, 7);
  assert_int_equal(f->instance->functions[0].count, 2);
  check_shape(f, 2, 1); // in the place of 3, 20
  assert_int_equal(f->instance->functions[0].count, 2);
  assert_true(has_variant(f, 1, 7) && has_variant(f, 2, 1) && !has_variant(f, 3, 20));
  for (int64_t i = 0; i < 12; ++i) check_shape(f, 1 + i % 3, 5 + i % 4);
  assert_int_equal(f->instance->functions[0].count, 2);
}

static void test_shapes_met_before_outlive_a_lack_of_memory(void **state) {
  fixture_t *f = *state;
  check_shape(f, 1, 7);
  refused_bytes = f->instance->arena_size_bytes + 1;
  refused_count = 0;
  set_shape(f, 3, 20);
  const int32_t status = run(f);
  refused_bytes = UINT64_MAX;
  assert_int_equal(status, BYOC_OUT_OF_MEMORY);
  assert_true(refused_count > 0);
  assert_non_null(strstr(f->message, "out of memory for the dnnl engine's arena"));
  assert_true(has_variant(f, 1, 7) && !has_variant(f, 3, 20));
  check_shape(f, 1, 7);
  check_shape(f, 3, 20);
}

static void test_shapes_share_repacked_constants(void **state) {
  fixture_t *f = *state;
  check_shape(f, 1, 7);
  check_shape(f, 2, 9);
  const byoc_dnnl_packed_t *packed = f->instance->functions[0].weights.first;
  assert_non_null(packed);
  assert_null(packed->next);
  assert_int_equal(packed->reader_count, 2);
  assert_int_equal(packed->constant, 0);
}

static void test_no_images_no_work(void **state) {
  fixture_t *f = *state;
  set_shape(f, 0, 7);
  const float before = f->output[0];
  assert_int_equal(run(f), BYOC_OK);
  assert_true(f->output[0] == before);
  check_shape(f, 2, 3);
}

static void check_refused(fixture_t *f, const char *expected) {
  const int32_t status = run(f);
  if (status == BYOC_OK || strstr(f->message, expected) == NULL) fail_msg("%d: %s", (int)status, f->message);
}

static void test_misuse_is_refused(void **state) {
  fixture_t *f = *state;
  set_shape(f, 2, 7);
  f->h_dims[0] = 3;
  check_refused(f, "test: tensor 1 has size 3 along axis 0, not 2");
  set_shape(f, 2, 7);
  f->x_dims[3] = 10;
  check_refused(f, "test: tensor 0 has size 10 along axis 3, not 9");
  set_shape(f, 2, 7);
  f->tensors[2].ndim = 1;
  check_refused(f, "test: tensor 2 has 1 dimensions, not 2");
  f->tensors[2].ndim = 2;
  set_shape(f, -2, 7);
  check_refused(f, "test: tensor 0 has size -2 along axis 0, not -1");
  set_shape(f, (int64_t)1 << 40, 7);
  check_refused(f, "has too many elements");
  assert_int_equal(f->instance->functions[0].count, 0); // nothing half-made is kept
  const byoc_call_t call = {
      .struct_size = sizeof(call), .input_count = 1, .output_count = 1, .tensors = f->tensors, .runtime = &f->runtime};
  assert_int_equal(byoc_engine_dnnl.run(f->instance, 0, &call), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(f->message, "called with 1 inputs and 1 outputs, it has 2 and 1"));
  check_shape(f, 2, 7);
}

// A convolution with these pads and the maximum of all its results, run on two images of a height.
static int32_t run_convolution(fixture_t *f, const char *pads, int64_t height) {
  byoc_engine_dnnl.destroy(f->instance);
  char text[1024];
  (void)snprintf(text, sizeof(text),
                 "{'version':1,'open':3,'inputs':[0],'outputs':[3],'values':["
                 "{'dtype':'f32','dims':[$0,16,$1,9]},{'dtype':'f32','constant':0,'dims':[32,16,3,3]},"
                 "{'dtype':'f32','dims':[$0,32,$2,7]},{'dtype':'f32','dims':[$0,32,1,1]}],'nodes':["
                 "{'name':'conv','op':'convolution','inputs':[0,1],'output':2,'attributes':{'pads':[%s]}},"
                 "{'name':'pool','op':'pooling','inputs':[2],'output':3,"
                 "'attributes':{'algorithm':'max','global':1}}]}",
                 pads);
  char *json = instantiate(text, NULL);
  assert_int_equal(create(f, json), BYOC_OK);
  int64_t y_dims[4] = {2, 32, 1, 1};
  DLTensor tensors[] = {f->tensors[0], tensor_of(f->output, 4, y_dims)};
  set_shape(f, 2, height);
  const byoc_call_t call = {
      .struct_size = sizeof(call), .input_count = 1, .output_count = 1, .tensors = tensors, .runtime = &f->runtime};
  const int32_t status = byoc_engine_dnnl.run(f->instance, 0, &call);
  free(json);
  return status;
}

static void test_sizes_that_do_not_follow_are_refused(void **state) {
  fixture_t *f = *state;
  assert_int_equal(run_convolution(f, "0,0,0,0", 2), BYOC_INVALID_DATA); // a window of three
  assert_non_null(strstr(f->message, "axis 2 of its result has no size for these inputs"));
  assert_int_equal(run_convolution(f, "0,0,0,0", 3), BYOC_OK);
  assert_int_equal(run_convolution(f, "2,0,2,0", 0), BYOC_UNSUPPORTED); // padding is all that it sees
  assert_non_null(strstr(f->message, "node conv (convolution): oneDNN makes no result from an operand without"));
}

static void test_damaged_open_sizes(void **state) {
  fixture_t *f = *state;
  static const char *const damaged[] = {"'open':-1", "'open':2", "'open':99999999"};
  for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); ++i) {
    byoc_engine_dnnl.destroy(f->instance);
    char *json = instantiate(network, NULL), *with = instantiate(damaged[i], NULL);
    char *at = strstr(json, "\"open\":3"), *text = malloc(strlen(json) + strlen(with) + 1);
    assert_true(at != NULL && text != NULL);
    (void)sprintf(text, "%.*s%s%s", (int)(at - json), json, with, at + strlen("\"open\":3"));
    assert_int_equal(create(f, text), BYOC_INVALID_DATA);
    assert_non_null(strstr(f->message, "damaged"));
    assert_null(f->instance);
    free(text);
    free(with);
    free(json);
  }
}

static void test_reserve_is_there_where_it_may_be(void **state) {
  (void)state;
  assert_int_equal(dlopen(BYOC_DNNL_RESERVE_SONAME, RTLD_LAZY | RTLD_NOLOAD) == NULL, forbids_memory_files);
}

int main(int argument_count, char **arguments) {
  forbids_memory_files = argument_count > 1 && strcmp(arguments[1], "without_reserve") == 0;
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {TEST(test_shapes_used_last_are_kept),
                                     TEST(test_shapes_met_before_outlive_a_lack_of_memory),
                                     TEST(test_shapes_share_repacked_constants),
                                     TEST(test_no_images_no_work),
                                     TEST(test_misuse_is_refused),
                                     TEST(test_sizes_that_do_not_follow_are_refused),
                                     TEST(test_damaged_open_sizes),
                                     TEST(test_reserve_is_there_where_it_may_be)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
