// SPDX-License-Identifier: Apache-2.0
// Tensors: every element type in every field that may hold it, external files, sparse tensors, and wrong data.
#include "tests/unit/frontend/frontend_support.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/beneath.h"
#include "core/base/file.h"
#include "core/frontend/onnx_data.h"
#include "core/frontend/onnx_edit.h"
#include "onnx.pb-c.h"

// A model that passes on its only initialiser; `tensor` is for the test to fill.
static byoc_onnx_model_t *make_model(int onnx_type, const char *shape, Onnx__TensorProto **out_tensor) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_initialiser(graph, "t", BYOC_DTYPE_U8, 0, NULL);
  byoc_onnx_graph_output(graph, "t", BYOC_DTYPE_U8, NULL);
  Onnx__ModelProto *message = byoc_test_onnx_message(model);
  Onnx__TensorProto *tensor = message->graph->initializer[0];
  message->graph->output[0]->type = NULL;
  tensor->data_type = onnx_type;
  tensor->has_raw_data = 0;
  tensor->n_dims = 1;
  tensor->dims = byoc_onnx_model_allocate(model, sizeof(int64_t));
  tensor->dims[0] = atoll(shape);
  *out_tensor = tensor;
  return model;
}

static byoc_graph_module_t *read_tensor(byoc_onnx_model_t *model, const byoc_constant_t **out_constant) {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_ok(read_model(model, NULL, &diag, &module), &diag);
  *out_constant = byoc_graph_module_main(module)->body->results.data[0]->constant;
  return module;
}

// The bits of one element, as int32_data, int64_data and uint64_data hold them, for every type that is written as
// varints.
static void reads_narrow_types(void **state) {
  (void)state;
  static const struct {
    byoc_dtype_t dtype;
    int32_t values[2];
    uint8_t bytes[8];
  } cases[] = {
      {BYOC_DTYPE_I8, {-1, 5}, {0xff, 5}},
      {BYOC_DTYPE_U8, {200, 5}, {200, 5}},
      {BYOC_DTYPE_BOOL, {1, 0}, {1, 0}},
      {BYOC_DTYPE_I16, {-2, 300}, {0xfe, 0xff, 0x2c, 1}},
      {BYOC_DTYPE_U16, {65535, 1}, {0xff, 0xff, 1, 0}},
      {BYOC_DTYPE_F16, {0x3c00, 0xbc00}, {0, 0x3c, 0, 0xbc}},
      {BYOC_DTYPE_BF16, {0x3f80, 0xbf80}, {0x80, 0x3f, 0x80, 0xbf}},
      {BYOC_DTYPE_I32, {-1, 7}, {0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0}},
      {BYOC_DTYPE_F8E4M3FN, {0x38, 0xb8}, {0x38, 0xb8}},
      {BYOC_DTYPE_F8E5M2, {0x3c, 0xbc}, {0x3c, 0xbc}},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    int onnx = 0;
    while (byoc_dtype_from_onnx(onnx) != cases[i].dtype) onnx++;
    Onnx__TensorProto *tensor;
    byoc_onnx_model_t *model = make_model(onnx, "2", &tensor);
    tensor->n_int32_data = 2;
    tensor->int32_data = (int32_t *)cases[i].values;
    const byoc_constant_t *constant;
    byoc_graph_module_t *module = read_tensor(model, &constant);
    assert_int_equal(constant->type->dtype, cases[i].dtype);
    assert_memory_equal(constant->data, cases[i].bytes, constant->size_bytes);
    byoc_graph_module_destroy(module);
    // The same as raw data.
    model = make_model(onnx, "2", &tensor);
    tensor->has_raw_data = 1;
    tensor->raw_data = (ProtobufCBinaryData){byoc_dtype_bits(cases[i].dtype) / 4, (uint8_t *)cases[i].bytes};
    module = read_tensor(model, &constant);
    assert_memory_equal(constant->data, cases[i].bytes, constant->size_bytes);
    byoc_graph_module_destroy(module);
  }
}

static void reads_packed_nibbles(void **state) {
  (void)state;
  for (int onnx = 21; onnx <= 22; onnx++) {
    int32_t pairs[2] = {0x21, 0x03};
    Onnx__TensorProto *tensor;
    byoc_onnx_model_t *model = make_model(onnx, "3", &tensor);
    tensor->n_int32_data = 2;
    tensor->int32_data = pairs;
    const byoc_constant_t *constant;
    byoc_graph_module_t *module = read_tensor(model, &constant);
    assert_int_equal(constant->size_bytes, 2);
    assert_memory_equal(constant->data, "\x21\x03", 2);
    byoc_graph_module_destroy(module);
    // An even number fills its words.
    pairs[1] = 0x43;
    model = make_model(onnx, "4", &tensor);
    tensor->n_int32_data = 2;
    tensor->int32_data = pairs;
    module = read_tensor(model, &constant);
    assert_int_equal(constant->size_bytes, 2);
    assert_memory_equal(constant->data, "\x21\x43", 2);
    byoc_graph_module_destroy(module);
  }
}

static void reads_wide_types(void **state) {
  (void)state;
  const byoc_constant_t *constant;
  Onnx__TensorProto *tensor;
  float floats[4] = {1, -2, 0.5f, 4};
  byoc_onnx_model_t *model = make_model(1, "4", &tensor);
  tensor->n_float_data = 4, tensor->float_data = floats;
  byoc_graph_module_t *module = read_tensor(model, &constant);
  assert_memory_equal(constant->data, floats, sizeof(floats));
  byoc_graph_module_destroy(module);

  model = make_model(14, "2", &tensor); // complex64
  tensor->n_float_data = 4, tensor->float_data = floats;
  module = read_tensor(model, &constant);
  assert_memory_equal(constant->data, floats, sizeof(floats));
  byoc_graph_module_destroy(module);

  double doubles[2] = {1.5, -2.5};
  model = make_model(11, "2", &tensor);
  tensor->n_double_data = 2, tensor->double_data = doubles;
  module = read_tensor(model, &constant);
  assert_memory_equal(constant->data, doubles, sizeof(doubles));
  byoc_graph_module_destroy(module);

  model = make_model(15, "1", &tensor); // complex128
  tensor->n_double_data = 2, tensor->double_data = doubles;
  module = read_tensor(model, &constant);
  assert_memory_equal(constant->data, doubles, sizeof(doubles));
  byoc_graph_module_destroy(module);

  int64_t longs[2] = {INT64_MIN, 12345678901};
  model = make_model(7, "2", &tensor);
  tensor->n_int64_data = 2, tensor->int64_data = longs;
  module = read_tensor(model, &constant);
  assert_memory_equal(constant->data, longs, sizeof(longs));
  byoc_graph_module_destroy(module);

  uint64_t words[2] = {UINT64_MAX, 3};
  model = make_model(13, "2", &tensor);
  tensor->n_uint64_data = 2, tensor->uint64_data = words;
  module = read_tensor(model, &constant);
  assert_memory_equal(constant->data, words, sizeof(words));
  byoc_graph_module_destroy(module);

  words[0] = UINT32_MAX;
  model = make_model(12, "2", &tensor);
  tensor->n_uint64_data = 2, tensor->uint64_data = words;
  module = read_tensor(model, &constant);
  assert_memory_equal(constant->data, ((uint32_t[]){UINT32_MAX, 3}), 8);
  byoc_graph_module_destroy(module);

  ProtobufCBinaryData texts[2] = {{3, (uint8_t *)"abc"}, {0, NULL}};
  model = make_model(8, "2", &tensor);
  tensor->n_string_data = 2, tensor->string_data = texts;
  module = read_tensor(model, &constant);
  assert_string_equal(((const char *const *)constant->data)[0], "abc");
  assert_string_equal(((const char *const *)constant->data)[1], "");
  byoc_graph_module_destroy(module);

  model = make_model(1, "0", &tensor); // no elements, no data
  module = read_tensor(model, &constant);
  assert_int_equal(constant->size_bytes, 0);
  byoc_graph_module_destroy(module);
}

static void expect_tensor_error(byoc_onnx_model_t *model, byoc_status_t status, const char *part) {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_error(read_model(model, NULL, &diag, &module), status, &diag, "initialiser 't'");
  byoc_test_error(diag.status, status, &diag, part);
}

static void expect_cut(byoc_onnx_model_t *model, const char *part) {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_test_error(read_model(model, NULL, &diag, &module), BYOC_UNSUPPORTED, &diag, part);
  byoc_test_error(diag.status, BYOC_UNSUPPORTED, &diag, "has a NUL character inside");
}

// Texts end at the first NUL here: each place where a model has texts.
static void refuses_texts_that_would_be_cut(void **state) {
  (void)state;
  ProtobufCBinaryData texts[2] = {{3, (uint8_t *)"abc"}, {3, (uint8_t *)"d\0e"}};
  Onnx__TensorProto *tensor;
  byoc_onnx_model_t *model = make_model(8, "2", &tensor);
  tensor->n_string_data = 2, tensor->string_data = texts;
  expect_cut(model, "initialiser 't': string 1");

  static const char *const names[] = {"value_string", "value_strings", "mode"};
  for (size_t i = 0; i < 3; i++) {
    model = new_model();
    byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
    byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, i < 2 ? "Constant" : "Pad", "", i < 2 ? "" : "x", "y");
    byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2");
    byoc_onnx_graph_output(graph, "y", i < 2 ? BYOC_DTYPE_STRING : BYOC_DTYPE_F32, NULL);
    const char *const given[] = {"abc", "def"};
    if (i == 1) byoc_test_onnx_strings(node, names[i], given, 2);
    if (i != 1) byoc_onnx_node_string(node, names[i], "def");
    Onnx__ModelProto *message = byoc_test_onnx_message(model);
    Onnx__AttributeProto *attribute = message->graph->node[0]->attribute[0];
    (i == 1 ? attribute->strings[1] : attribute->s).data[1] = '\0';
    expect_cut(model, i < 2 ? "node 0 (Constant)" : "attribute 'mode'");
  }
}

// Two names that are the same up to a NUL would become one. Nobody reads documentation.
static void refuses_names_that_would_be_cut(void **state) {
  (void)state;
  for (int is_name = 0; is_name < 2; is_name++) {
    Onnx__TensorProto *tensor;
    byoc_onnx_model_t *model = make_model(1, "0", &tensor);
    tensor->doc_string = (char *)"here_it_is";
    Onnx__ModelProto *message = byoc_test_onnx_message(model);
    if (is_name) message->graph->name = (char *)"here_it_is";
    if (is_name) tensor->doc_string = (char *)"";
    byoc_diag_t diag = {0};
    uint8_t *data;
    size_t size;
    byoc_test_ok(byoc_onnx_model_pack(model, &diag, &data, &size), &diag);
    byoc_onnx_model_destroy(model);
    uint8_t *place = memmem(data, size, "here_it_is", 10);
    assert_non_null(place);
    place[4] = '\0';
    byoc_graph_module_t *module;
    const byoc_status_t status =
        byoc_onnx_read_memory(data, size, "test.onnx", NULL, byoc_allocator_system(), &diag, &module);
    byoc_free(byoc_allocator_system(), data);
    if (is_name) byoc_test_error(status, BYOC_INVALID_DATA, &diag, "in GraphProto.name: a name has a NUL character");
    if (!is_name) byoc_test_ok(status, &diag);
    byoc_graph_module_destroy(module);
  }
}

static void refuses_wrong_data(void **state) {
  (void)state;
  Onnx__TensorProto *tensor;
  float floats[4] = {0};
  int32_t ints[2] = {300, 0};
  byoc_onnx_model_t *model = make_model(1, "2", &tensor);
  tensor->n_float_data = 3, tensor->float_data = floats;
  expect_tensor_error(model, BYOC_INVALID_DATA, "its shape takes 2 numbers, float_data has 3");
  model = make_model(1, "2", &tensor);
  tensor->has_raw_data = 1, tensor->raw_data = (ProtobufCBinaryData){7, (uint8_t *)floats};
  expect_tensor_error(model, BYOC_INVALID_DATA, "its shape takes 8 bytes, its raw data has 7");
  expect_tensor_error(make_model(1, "2", &tensor), BYOC_INVALID_DATA, "it holds no data");
  expect_tensor_error(make_model(1, "-2", &tensor), BYOC_INVALID_DATA, "dimension 0 is negative (-2)");
  expect_tensor_error(make_model(27, "2", &tensor), BYOC_UNSUPPORTED, "element type 27 (float6e2m3)");
  expect_tensor_error(make_model(0, "2", &tensor), BYOC_UNSUPPORTED, "element type 0 (undefined)");
  expect_tensor_error(make_model(99, "2", &tensor), BYOC_UNSUPPORTED, "element type 99");
  model = make_model(7, "2", &tensor);
  tensor->n_float_data = 2, tensor->float_data = floats;
  expect_tensor_error(model, BYOC_INVALID_DATA, "element type i64 with data in float_data");
  model = make_model(1, "1", &tensor);
  tensor->n_float_data = 1, tensor->float_data = floats;
  tensor->has_raw_data = 1, tensor->raw_data = (ProtobufCBinaryData){4, (uint8_t *)floats};
  expect_tensor_error(model, BYOC_INVALID_DATA, "beside raw_data");
  model = make_model(8, "1", &tensor);
  tensor->has_raw_data = 1, tensor->raw_data = (ProtobufCBinaryData){4, (uint8_t *)floats};
  expect_tensor_error(model, BYOC_INVALID_DATA, "strings cannot be raw data");
  int64_t dims[20] = {0};
  for (int i = 0; i < 20; i++) dims[i] = 1;
  model = make_model(1, "1", &tensor);
  tensor->n_dims = 20, tensor->dims = dims;
  expect_tensor_error(model, BYOC_UNSUPPORTED, "20 dimensions, more than the 16");
  dims[0] = dims[1] = INT64_C(1) << 40;
  model = make_model(1, "1", &tensor);
  tensor->n_dims = 2, tensor->dims = dims;
  expect_tensor_error(model, BYOC_INVALID_DATA, "multiply to more than 64 bits");
  dims[0] = INT64_C(1) << 50;
  model = make_model(1, "1", &tensor); // memory for a petabyte that does not exist must not be requested
  tensor->n_dims = 1, tensor->dims = dims;
  expect_tensor_error(model, BYOC_INVALID_DATA, "it holds no data");
  model = make_model(3, "2", &tensor);
  tensor->n_int32_data = 2, tensor->int32_data = ints;
  expect_tensor_error(model, BYOC_INVALID_DATA, "does not fit i8");
}

// ---- sequences in separate files ----

static byoc_status_t read_sequence(const void *data, size_t size, byoc_diag_t *diag) {
  char *folder = byoc_test_folder(), path[600];
  snprintf(path, sizeof(path), "%s/sequence.pb", folder);
  byoc_test_ok(byoc_file_write(path, data, size, diag), diag);
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), diag, &module), diag);
  byoc_onnx_value_t value;
  byoc_status_t status = byoc_onnx_read_value_file(path, BYOC_TYPE_SEQUENCE, module, diag, &value);
  byoc_graph_module_destroy(module);
  free(folder);
  return status;
}

// A sequence of an optional, of a sequence and of nothing: field 7 holds optionals, field 5 sequences.
static void reads_sequences_of_optionals(void **state) {
  (void)state;
  static const uint8_t file[] = {0x3a, 0x02, 0x2a, 0x00, 0x3a, 0x00, 0x2a, 0x00};
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), path[600];
  snprintf(path, sizeof(path), "%s/sequence.pb", folder);
  byoc_test_ok(byoc_file_write(path, file, sizeof(file), &diag), &diag);
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &module), &diag);
  byoc_onnx_value_t value;
  byoc_test_ok(byoc_onnx_read_value_file(path, BYOC_TYPE_SEQUENCE, module, &diag, &value), &diag);
  assert_int_equal(value.count, 3);
  assert_int_equal(value.items[0].kind, BYOC_TYPE_OPTIONAL);
  assert_int_equal(value.items[0].count, 1);
  assert_int_equal(value.items[0].items[0].kind, BYOC_TYPE_SEQUENCE);
  assert_int_equal(value.items[1].kind, BYOC_TYPE_OPTIONAL);
  assert_int_equal(value.items[1].count, 0);
  assert_int_equal(value.items[2].kind, BYOC_TYPE_SEQUENCE);
  byoc_graph_module_destroy(module);
  free(folder);
}

// elem_type = 1 in a varint of ten bytes; the last byte holds only the 64th bit.
static void reads_numbers_of_64_bits_and_no_longer(void **state) {
  (void)state;
  uint8_t file[] = {0x10, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01};
  byoc_diag_t diag = {0};
  byoc_test_ok(read_sequence(file, sizeof(file), &diag), &diag);
  file[10] = 0x02;
  byoc_test_error(read_sequence(file, sizeof(file), &diag), BYOC_INVALID_DATA, &diag, "it is damaged");
}

// ---- external data ----

typedef struct external_t {
  const char *location, *offset, *length;
} external_t;

static byoc_onnx_model_t *make_external(external_t external) {
  Onnx__TensorProto *tensor;
  byoc_onnx_model_t *model = make_model(1, "4", &tensor);
  static Onnx__StringStringEntryProto entries[3];
  static Onnx__StringStringEntryProto *list[3] = {&entries[0], &entries[1], &entries[2]};
  const char *const keys[3] = {"location", "offset", "length"};
  const char *const values[3] = {external.location, external.offset, external.length};
  size_t count = 0;
  for (int i = 0; i < 3; i++) {
    if (!values[i]) continue;
    onnx__string_string_entry_proto__init(&entries[count]);
    entries[count].key = (char *)keys[i];
    entries[count++].value = (char *)values[i];
  }
  tensor->n_external_data = count;
  tensor->external_data = list;
  tensor->has_data_location = 1;
  tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  return model;
}

static void reads_external_files(void **state) {
  (void)state;
  char *folder = byoc_test_folder(), path[600], data_path[600];
  snprintf(path, sizeof(path), "%s/model.onnx", folder);
  snprintf(data_path, sizeof(data_path), "%s/weights.bin", folder);
  byoc_diag_t diag = {0};
  const float values[6] = {9, 1, 2, 3, 4, 9};
  byoc_test_ok(byoc_file_write(data_path, values, sizeof(values), &diag), &diag);
  static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4665\nsize 24\n";
  snprintf(data_path, sizeof(data_path), "%s/pointer.bin", folder);
  byoc_test_ok(byoc_file_write(data_path, pointer, sizeof(pointer) - 1, &diag), &diag);
  byoc_onnx_model_t *model = make_external((external_t){"weights.bin", "4", "16"});
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_onnx_read_file(path, NULL, byoc_allocator_system(), &diag, &module), &diag);
  const byoc_constant_t *constant = byoc_graph_module_main(module)->body->results.data[0]->constant;
  assert_memory_equal(constant->data, values + 1, 16);
  byoc_graph_module_destroy(module);

  static const struct {
    external_t external;
    const char *part;
  } wrong[] = {
      {{"weights.bin", "12", "16"}, "it needs 16 bytes from byte 12 of 'weights.bin', which has 24 bytes"},
      {{"weights.bin", "18446744073709551615", "16"}, "which has 24 bytes"},
      {{"weights.bin", "0", "12"}, "its shape takes 16 bytes, its external data has 12"},
      {{"weights.bin", "-4", NULL}, "not a size"},
      {{"weights.bin", "99999999999999999999", NULL}, "not a size"},
      {{"../weights.bin", NULL, NULL}, "not inside the model's folder"},
      {{"a/../../weights.bin", NULL, NULL}, "not inside the model's folder"},
      {{"/etc/passwd", NULL, NULL}, "not inside the model's folder"},
      {{"", NULL, NULL}, "not inside the model's folder"},
      {{NULL, NULL, NULL}, "has no location"},
      {{"missing.bin", NULL, NULL}, "missing.bin"},
      {{"pointer.bin", NULL, NULL}, "pointer.bin is a Git LFS pointer"},
  };
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    byoc_diag_clear(&diag);
    model = make_external(wrong[i].external);
    byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
    byoc_onnx_model_destroy(model);
    const byoc_status_t status = byoc_onnx_read_file(path, NULL, byoc_allocator_system(), &diag, &module);
    assert_int_not_equal(status, BYOC_OK);
    byoc_test_error(status, status, &diag, wrong[i].part);
    byoc_test_error(status, status, &diag, "initialiser 't'");
  }
  expect_error(make_external((external_t){"weights.bin", NULL, NULL}), NULL, BYOC_INVALID_ARGUMENT,
               "no folder is known");
  free(folder);
}

// Two initialisers of 64 KiB and more and a small one, written apart and read again. If the model cannot be written,
// the older file of data stays, and nothing else is left.
static void writes_data_apart_or_nothing(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  char *folder = byoc_test_folder(), path[600], data_path[600], **names;
  size_t count;
  snprintf(path, sizeof(path), "%s/model.onnx", folder);
  snprintf(data_path, sizeof(data_path), "%s/model.onnx.data", folder);
  byoc_diag_t diag = {0};
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  const char *const tensors[] = {"a", "small", "b"};
  for (int t = 0; t < 3; t++) {
    const int64_t elements = t == 1 ? 3 : COUNT;
    float *data = byoc_onnx_graph_initialiser(graph, tensors[t], BYOC_DTYPE_F32, 1, &elements);
    for (int64_t i = 0; i < elements; i++) data[i] = (float)(i + 100000 * t);
    byoc_onnx_graph_output(graph, tensors[t], BYOC_DTYPE_F32, NULL);
  }
  byoc_test_ok(byoc_file_write(data_path, "older", 5, &diag), &diag);
  byoc_test_ok(byoc_make_directories(path, &diag), &diag);
  assert_int_not_equal(byoc_onnx_model_write_apart(model, path, data_path, &diag), BYOC_OK);
  diag = (byoc_diag_t){0};
  char *older;
  size_t size;
  byoc_test_ok(byoc_file_read(data_path, byoc_allocator_system(), &diag, &older, &size), &diag);
  assert_int_equal(size, 5);
  byoc_free(byoc_allocator_system(), older);
  byoc_test_ok(byoc_list_directory(folder, byoc_allocator_system(), &diag, &names, &count), &diag);
  assert_int_equal(count, 2);
  byoc_free_names(byoc_allocator_system(), names, count);
  byoc_test_ok(byoc_remove_tree(path, &diag), &diag);
  byoc_test_ok(byoc_onnx_model_write_apart(model, path, data_path, &diag), &diag);
  byoc_onnx_model_destroy(model);
  byoc_graph_module_t *module;
  byoc_test_ok(byoc_onnx_read_file(path, NULL, byoc_allocator_system(), &diag, &module), &diag);
  for (int t = 0; t < 3; t++) {
    const byoc_constant_t *constant = byoc_graph_module_main(module)->body->results.data[t]->constant;
    const int64_t last = t == 1 ? 2 : COUNT - 1;
    assert_true(byoc_constant_element_f64(constant, last) == (double)(last + 100000 * t));
  }
  byoc_graph_module_destroy(module);
  free(folder);
}

// Files outside the model's folder, or files that block, which the author of a model could name.
static void refuses_external_files_elsewhere(void **state) {
  (void)state;
  char *folder = byoc_test_folder(), *outside = byoc_test_folder(), path[600], name[600], other[600];
  byoc_diag_t diag = {0};
  const float values[4] = {1, 2, 3, 4};
  snprintf(path, sizeof(path), "%s/model.onnx", folder);
  snprintf(other, sizeof(other), "%s/secret.bin", outside);
  byoc_test_ok(byoc_file_write(other, values, sizeof(values), &diag), &diag);
  snprintf(name, sizeof(name), "%s/link.bin", folder);
  assert_int_equal(symlink(other, name), 0);
  snprintf(name, sizeof(name), "%s/dirlink", folder);
  assert_int_equal(symlink(outside, name), 0);
  snprintf(name, sizeof(name), "%s/hard.bin", folder);
  assert_int_equal(link(other, name), 0);
  snprintf(name, sizeof(name), "%s/zero.bin", folder);
  assert_int_equal(symlink("/dev/zero", name), 0);
  snprintf(name, sizeof(name), "%s/pipe.bin", folder);
  assert_int_equal(mkfifo(name, 0600), 0);
  snprintf(name, sizeof(name), "%s/short.bin", folder);
  byoc_test_ok(byoc_file_write(name, values, 8, &diag), &diag);
  snprintf(name, sizeof(name), "%s/weights.bin", folder);
  byoc_test_ok(byoc_file_write(name, values, sizeof(values), &diag), &diag);
  snprintf(name, sizeof(name), "%s/inner.bin", folder);
  assert_int_equal(symlink("weights.bin", name), 0);
  static const struct {
    const char *location, *part;
  } rows[] = {
      {"link.bin", "a symbolic link in 'link.bin' leads out of the folder"},
      {"dirlink/secret.bin", "a symbolic link in 'dirlink/secret.bin' leads out of the folder"},
      {"zero.bin", "leads out of the folder"},
      {"hard.bin", "has another name elsewhere (a hard link)"},
      {"pipe.bin", "is not a regular file"},
      {".", "is not a regular file"},
      {"short.bin", "it needs 16 bytes from byte 0 of 'short.bin', which has 8 bytes"},
      {"weights.bin", NULL},
      {"inner.bin", NULL}, // a link that stays inside
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    byoc_diag_clear(&diag);
    byoc_onnx_model_t *model = make_external((external_t){rows[i].location, NULL, NULL});
    byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
    byoc_onnx_model_destroy(model);
    byoc_graph_module_t *module = NULL;
    const byoc_status_t status = byoc_onnx_read_file(path, NULL, byoc_allocator_system(), &diag, &module);
    if (rows[i].part == NULL) byoc_test_ok(status, &diag);
    if (rows[i].part != NULL) assert_int_not_equal(status, BYOC_OK);
    if (rows[i].part != NULL) byoc_test_error(status, status, &diag, rows[i].part);
    byoc_graph_module_destroy(module);
  }
  // On a kernel without the system call.
  static const struct {
    const char *path;
    int error;
  } steps[] = {{"weights.bin", 0},   {"./weights.bin", 0},          {"link.bin", ELOOP},
               {"inner.bin", ELOOP}, {"dirlink/secret.bin", ELOOP}, {"../secret.bin", EXDEV},
               {"none.bin", ENOENT}};
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
    int file = byoc_open_beneath(folder, steps[i].path, true);
    if (steps[i].error == 0) assert_true(file >= 0);
    if (steps[i].error != 0) assert_int_equal(errno, steps[i].error);
    if (file >= 0) close(file);
  }
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  byoc_test_ok(byoc_remove_tree(outside, &diag), &diag);
  free(outside);
  free(folder);
}

// Weights that are large enough stay in the mapped file.
// Weights stay in the file, as raw data and as packed floats.
static int count_views(bool is_typed) {
  char *folder = byoc_test_folder(), path[600];
  snprintf(path, sizeof(path), "%s/model.onnx", folder);
  byoc_diag_t diag = {0};
  const int64_t dims[1] = {100000};
  int viewed = 0;
  for (int shift = 0; shift < 4; shift++) { // one of four places in the file is aligned for a float
    byoc_onnx_model_t *model = new_model();
    byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
    float *w = byoc_onnx_graph_initialiser(graph, &"abcd"[shift], BYOC_DTYPE_F32, 1, dims);
    for (int i = 0; i < 100000; i++) w[i] = (float)i;
    byoc_onnx_graph_output(graph, &"abcd"[shift], BYOC_DTYPE_F32, "100000");
    if (is_typed) {
      const Onnx__ModelProto *message = byoc_test_onnx_message(model);
      Onnx__TensorProto *tensor = message->graph->initializer[0];
      tensor->has_raw_data = 0;
      tensor->n_float_data = 100000, tensor->float_data = w;
    }
    byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
    byoc_graph_module_t *module;
    byoc_test_ok(byoc_onnx_read_file(path, NULL, byoc_allocator_system(), &diag, &module), &diag);
    const byoc_constant_t *constant = byoc_graph_module_main(module)->body->results.data[0]->constant;
    assert_int_equal((uintptr_t)constant->data % 4, 0);
    assert_memory_equal(constant->data, w, 400000);
    viewed += module->mappings.count > 0;
    byoc_graph_module_destroy(module);
    byoc_onnx_model_destroy(model);
  }
  free(folder);
  return viewed;
}

static void views_large_weights(void **state) {
  (void)state;
  assert_in_range(count_views(false), 1, 4);
  assert_in_range(count_views(true), 1, 4);
}

// ---- sparse ----

static byoc_onnx_model_t *make_sparse(size_t index_rank, int64_t *indices, int64_t *dims) {
  byoc_onnx_model_t *model = new_model();
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_initialiser_data(graph, "t", BYOC_DTYPE_F32, 1, (const int64_t[]){2}, (const float[]){5, 6});
  const int64_t index_dims[2] = {2, 2};
  byoc_onnx_graph_initialiser_data(graph, "i", BYOC_DTYPE_I64, index_rank, index_dims, indices);
  byoc_onnx_graph_output(graph, "t", BYOC_DTYPE_F32, "2,3");
  Onnx__ModelProto *message = byoc_test_onnx_message(model);
  Onnx__SparseTensorProto *sparse = byoc_onnx_model_allocate(model, sizeof(*sparse));
  onnx__sparse_tensor_proto__init(sparse);
  sparse->values = message->graph->initializer[0];
  sparse->indices = message->graph->initializer[1];
  sparse->n_dims = 2;
  sparse->dims = dims;
  message->graph->sparse_initializer = byoc_onnx_model_allocate(model, sizeof(sparse));
  message->graph->sparse_initializer[0] = sparse;
  message->graph->n_sparse_initializer = 1;
  message->graph->n_initializer = 0;
  return model;
}

static void reads_sparse_tensors(void **state) {
  (void)state;
  int64_t linear[2] = {1, 5}, pairs[4] = {0, 1, 1, 2}, dims[2] = {2, 3}, outside[2] = {1, 6};
  const float dense[6] = {0, 5, 0, 0, 0, 6};
  const byoc_constant_t *constant;
  byoc_graph_module_t *module = read_tensor(make_sparse(1, linear, dims), &constant);
  assert_memory_equal(constant->data, dense, sizeof(dense));
  byoc_graph_module_destroy(module);
  module = read_tensor(make_sparse(2, pairs, dims), &constant);
  assert_memory_equal(constant->data, dense, sizeof(dense));
  byoc_graph_module_destroy(module);
  expect_error(make_sparse(1, outside, dims), NULL, BYOC_INVALID_DATA, "index 1 lies outside its shape");
  int64_t huge[2] = {1 << 20, 1 << 20};
  expect_error(make_sparse(1, linear, huge), NULL, BYOC_UNSUPPORTED, "when dense");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_narrow_types),
      cmocka_unit_test(reads_packed_nibbles),
      cmocka_unit_test(reads_wide_types),
      cmocka_unit_test(refuses_wrong_data),
      cmocka_unit_test(reads_numbers_of_64_bits_and_no_longer),
      cmocka_unit_test(reads_external_files),
      cmocka_unit_test(writes_data_apart_or_nothing),
      cmocka_unit_test(refuses_external_files_elsewhere),
      cmocka_unit_test(refuses_texts_that_would_be_cut),
      cmocka_unit_test(refuses_names_that_would_be_cut),
      cmocka_unit_test(views_large_weights),
      cmocka_unit_test(reads_sparse_tensors),
      cmocka_unit_test(reads_sequences_of_optionals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
