// SPDX-License-Identifier: Apache-2.0
// byoc quantise: what it writes, what it tells, and what it refuses.
#include "core/base/file.h"
#include "core/frontend/onnx_edit.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"
#include "tests/support/group.h"

#include <math.h>
#include <string.h>

// Seeded weights around 0.
static void fill(float *data, size_t count, uint32_t seed) {
  for (size_t i = 0; data != NULL && i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = ((float)(seed >> 8) / 8388608.0f - 1) * 0.3f;
  }
}

static void add_weights(byoc_onnx_graph_t *graph, const char *name, size_t rank, const int64_t *dims, uint32_t seed) {
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= (size_t)dims[i];
  fill(byoc_onnx_graph_initialiser(graph, name, BYOC_DTYPE_F32, rank, dims), count, seed);
}

// Convolutions with an addition and a concatenation, in an operator set that is too old for scales by channel: Softmax
// has the meaning of before 13, and Clip has attributes. Two outputs, and a branch that reads an inner value.
static void write_old(const char *path) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "old", 9);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "N,3,8,8");
  byoc_onnx_graph_input(graph, "c", BYOC_DTYPE_BOOL, "");
  add_weights(graph, "w1", 4, (const int64_t[]){8, 3, 3, 3}, 1);
  add_weights(graph, "w2", 4, (const int64_t[]){8, 8, 3, 3}, 2);
  add_weights(graph, "b2", 1, (const int64_t[]){8}, 3);
  add_weights(graph, "w3", 2, (const int64_t[]){16, 10}, 4);
  byoc_onnx_graph_node(graph, "Conv", "first", "x,w1", "a0");
  byoc_onnx_node_t *clip = byoc_onnx_graph_node(graph, "Clip", "clip", "a0", "a");
  byoc_onnx_node_float(clip, "min", 0);
  byoc_onnx_node_float(clip, "max", 6);
  byoc_onnx_node_t *conv = byoc_onnx_graph_node(graph, "Conv", "second", "a,w2,b2", "b");
  byoc_onnx_node_ints(conv, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
  byoc_onnx_graph_node(graph, "Add", "sum", "a,b", "s0");
  byoc_onnx_graph_node(graph, "Relu", "", "s0", "s");
  byoc_onnx_node_t *concat = byoc_onnx_graph_node(graph, "Concat", "joined", "s,a", "j");
  byoc_onnx_node_int(concat, "axis", 1);
  byoc_onnx_graph_node(graph, "GlobalAveragePool", "pool", "j", "g");
  byoc_onnx_graph_node(graph, "Flatten", "", "g", "f");
  byoc_onnx_graph_node(graph, "MatMul", "last", "f,w3", "m");
  byoc_onnx_graph_node(graph, "Softmax", "", "m", "y");
  byoc_onnx_graph_t *yes = byoc_onnx_model_nested_graph(model, "yes"), *no = byoc_onnx_model_nested_graph(model, "no");
  byoc_onnx_graph_node(yes, "Neg", "", "b", "yes_out");
  byoc_onnx_graph_output(yes, "yes_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_node(no, "Abs", "", "b", "no_out");
  byoc_onnx_graph_output(no, "no_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_node_t *branch = byoc_onnx_graph_node(graph, "If", "", "c", "z");
  byoc_onnx_node_graph(branch, "then_branch", yes);
  byoc_onnx_node_graph(branch, "else_branch", no);
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "N,10");
  byoc_onnx_graph_output(graph, "z", BYOC_DTYPE_F32, "N,8,6,6");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

// Products behind a LayerNormalization with an outlier; one matrix is read twice, and a table is tied to a product.
static void write_products(const char *path) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "products", 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "ids", BYOC_DTYPE_I64, "6");
  add_weights(graph, "table", 2, (const int64_t[]){64, 64}, 1);
  add_weights(graph, "shared", 2, (const int64_t[]){64, 64}, 2);
  add_weights(graph, "up", 2, (const int64_t[]){96, 64}, 3);
  add_weights(graph, "bias", 1, (const int64_t[]){96}, 4);
  float *scale = byoc_onnx_graph_initialiser(graph, "scale", BYOC_DTYPE_F32, 1, (const int64_t[]){64});
  float *shift = byoc_onnx_graph_initialiser(graph, "shift", BYOC_DTYPE_F32, 1, (const int64_t[]){64});
  for (int i = 0; i < 64; ++i) {
    scale[i] = i == 5 ? 30.0f : 1.0f;
    shift[i] = 0.1f;
  }
  byoc_onnx_graph_node(graph, "Gather", "", "table,ids", "x");
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "LayerNormalization", "norm", "x,scale,shift", "n"), "axis", -1);
  byoc_onnx_graph_node(graph, "MatMul", "once", "n,shared", "p");
  byoc_onnx_graph_node(graph, "Tanh", "", "p", "t");
  byoc_onnx_graph_node(graph, "MatMul", "twice", "t,shared", "q");
  byoc_onnx_node_int(byoc_onnx_graph_node(graph, "Gemm", "up", "n,up,bias", "u"), "transB", 1);
  byoc_onnx_graph_node(graph, "MatMul", "head", "q,table", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "6,64");
  byoc_onnx_graph_output(graph, "u", BYOC_DTYPE_F32, "6,96");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static void write_unsorted(const char *path) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "unsorted", 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "4,4");
  byoc_onnx_graph_node(graph, "Relu", "second", "a", "y");
  byoc_onnx_graph_node(graph, "MatMul", "first", "x,x", "a");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "4,4");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

// Lets a tensor of f32[4] lie in the file "data.bin" of the model's folder.
static void put_apart(Onnx__TensorProto *tensor) {
  static Onnx__StringStringEntryProto location = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
  static Onnx__StringStringEntryProto *list[] = {&location};
  location.key = (char *)"location";
  location.value = (char *)"data.bin";
  tensor->has_raw_data = 0;
  tensor->raw_data = (ProtobufCBinaryData){0};
  tensor->n_external_data = 1;
  tensor->external_data = list;
  tensor->has_data_location = 1;
  tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

// A Constant node whose tensor lies apart.
static void add_constant_apart(byoc_onnx_model_t *model, Onnx__GraphProto *graph, const char *name) {
  static Onnx__TensorProto tensor = ONNX__TENSOR_PROTO__INIT;
  static Onnx__AttributeProto value = ONNX__ATTRIBUTE_PROTO__INIT;
  static Onnx__AttributeProto *list[] = {&value};
  static int64_t dims[] = {4};
  tensor.n_dims = 1;
  tensor.dims = dims;
  tensor.has_data_type = 1;
  tensor.data_type = 1;
  put_apart(&tensor);
  value.name = (char *)"value";
  value.has_type = 1;
  value.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
  value.t = &tensor;
  Onnx__NodeProto *node = byoc_onnx_make_node(model, "", "Constant", NULL, 0, &name, 1);
  assert_non_null(node);
  node->n_attribute = 1;
  node->attribute = list;
  memmove(graph->node + 1, graph->node, graph->n_node++ * sizeof(*graph->node));
  graph->node[0] = node;
}

// y = (x * w) + part, and in both branches of an If one more addition. What is added lies in a file apart: an
// initialiser of one branch, and Constant nodes of the other one and of the main graph.
static void write_apart(const char *path) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "apart", 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,16");
  byoc_onnx_graph_input(graph, "c", BYOC_DTYPE_BOOL, "");
  add_weights(graph, "w", 2, (const int64_t[]){16, 4}, 1);
  byoc_onnx_graph_t *yes = byoc_onnx_model_nested_graph(model, "yes"), *no = byoc_onnx_model_nested_graph(model, "no");
  byoc_onnx_graph_node(graph, "MatMul", "product", "x,w", "p");
  byoc_onnx_graph_node(graph, "Add", "", "p,part", "s");
  byoc_onnx_graph_initialiser(yes, "yes_part", BYOC_DTYPE_F32, 1, (const int64_t[]){4});
  byoc_onnx_graph_node(yes, "Add", "", "s,yes_part", "yes_out");
  byoc_onnx_graph_output(yes, "yes_out", BYOC_DTYPE_F32, NULL);
  byoc_onnx_graph_node(no, "Sub", "", "s,no_part", "no_out");
  byoc_onnx_graph_node(no, "Identity", "", "no_out", "no_end"); // room for one more node
  byoc_onnx_graph_node(no, "Identity", "", "no_end", "no_last");
  byoc_onnx_graph_output(no, "no_last", BYOC_DTYPE_F32, NULL);
  byoc_onnx_node_t *branch = byoc_onnx_graph_node(graph, "If", "", "c", "y");
  byoc_onnx_node_graph(branch, "then_branch", yes);
  byoc_onnx_node_graph(branch, "else_branch", no);
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "2,4");
  Onnx__GraphProto *message = byoc_onnx_model_message(model)->graph;
  const Onnx__NodeProto *last = message->node[2];
  put_apart(last->attribute[0]->g->initializer[0]);
  add_constant_apart(model, last->attribute[1]->g, "no_part");
  add_constant_apart(model, message, "part");
  const float parts[] = {1, 2, 3, 4};
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("apart/data.bin", parts, sizeof(parts), &diag), &diag);
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static void write_samples(void) {
  enum { COUNT = 3 * 8 * 8 };
  const int64_t dims[] = {1, 3, 8, 8}, stacked[] = {3, 1, 3, 8, 8};
  float x[3 * COUNT];
  const uint8_t yes = 1;
  fill(x, 3 * COUNT, 77);
  byoc_test_shell(0, "mkdir -p samples/a samples/b stacked bad wrong ids");
  write_npy("samples/a/x.npy", 4, dims, x);
  write_npy("samples/b/x.npy", 4, dims, x + COUNT);
  write_npy_of("samples/a/c.npy", "|b1", 0, NULL, &yes, 1);
  byoc_test_shell(0, "cp samples/a/c.npy samples/b");
  write_npy("stacked/x.npy", 5, stacked, x);
  write_npy("x.npy", 4, dims, x);
  x[7] = NAN;
  write_npy("bad/x.npy", 4, dims, x);
  byoc_test_shell(0, "cp samples/a/c.npy bad");
  write_npy("wrong/x.npy", 2, dims, x);
  int64_t ids[12];
  for (int i = 0; i < 12; ++i) ids[i] = i % 6 < 4 ? i % 6 / 2 : i * 5;
  write_npy_of("ids/first.npy", "<i8", 1, (const int64_t[]){6}, ids, 6 * sizeof(*ids));
  write_npy_of("ids/second.npy", "<i8", 1, (const int64_t[]){6}, ids + 6, 6 * sizeof(*ids));
  byoc_test_shell(0, "cp samples/a/c.npy wrong; mkdir nothing; echo 1 > nothing/readme");
}

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_old("old.onnx");
  write_products("products.onnx");
  write_samples();
  return 0;
}

// All layers become units on integers; the Softmax of before 13 and the branch keep their meaning.
static void test_layers_of_a_quantised_model_are_units(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc quantise old.onnx --calibrate samples -o q.onnx");
  byoc_test_printed("3 products quantised, 0 in floats");
  byoc_test_printed("operator set 13");
  byoc_test_shell(0, "byoc run old.onnx --evaluate --input x=x.npy --input c=samples/a/c.npy --output-dir want && "
                     "byoc run q.onnx --evaluate --input x=x.npy --input c=samples/a/c.npy --expect y=want/y.npy "
                     "--expect z=want/z.npy --atol 0.03");
  byoc_test_shell(0, "byoc explain q.onnx -t c --dim N=1");
  byoc_test_printed("QLinearConv");
  byoc_test_printed("QLinearAdd");
  byoc_test_printed("QLinearGlobalAveragePool");
  byoc_test_no_line(" (Conv|Clip|Relu|MatMul|GlobalAveragePool|Flatten) .* f32");
}

static void test_the_same_samples_give_the_same_bytes(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc quantise old.onnx --calibrate samples -o one.onnx --no-table && byoc quantise old.onnx "
                     "--calibrate samples -o two.onnx --threads 1 --json && cmp one.onnx two.onnx");
  byoc_test_printed("\"alone_db\": 4");
}

// y = x * w + b, with a bias that needs steps wider than all weights: the weights become zeros, an error of 0 dB.
static void write_large_bias(const char *path) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "bias", 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,16");
  add_weights(graph, "w", 2, (const int64_t[]){16, 4}, 1);
  float *bias = byoc_onnx_graph_initialiser(graph, "b", BYOC_DTYPE_F32, 1, (const int64_t[]){4});
  for (int i = 0; i < 4; ++i) bias[i] = 1e8f;
  byoc_onnx_graph_node(graph, "Gemm", "product", "x,w,b", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "2,4");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static void test_the_error_of_weights_is_that_of_those_written(void **state) {
  (void)state;
  write_large_bias("bias.onnx");
  byoc_test_shell(0, "byoc quantise bias.onnx -o q.onnx --json");
  byoc_test_printed("\"weights_db\": 0.0,");
}

// y is finite, and z, the logarithm of a negative number, is not.
static void write_logarithm(const char *path) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "log", 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,16");
  add_weights(graph, "w", 2, (const int64_t[]){16, 4}, 1);
  byoc_onnx_graph_node(graph, "MatMul", "product", "x,w", "y");
  byoc_onnx_graph_node(graph, "Exp", "", "y", "e");
  byoc_onnx_graph_node(graph, "Neg", "", "e", "n");
  byoc_onnx_graph_node(graph, "Log", "", "n", "z");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "2,4");
  byoc_onnx_graph_output(graph, "z", BYOC_DTYPE_F32, "2,4");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static void test_outputs_that_are_not_finite_have_no_error(void **state) {
  (void)state;
  write_logarithm("log.onnx");
  byoc_test_shell(0, "byoc quantise log.onnx -o q.onnx --json=log.json && tr -d ' \\n' < log.json");
  byoc_test_printed("output z: it has NaN or infinite values in some sample, and its error is not known");
  byoc_test_printed("{\"name\":\"z\",\"whole_db\":null,\"relative_error\":null}");
}

static void test_layers_can_be_left_out_by_name_and_by_threshold(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc quantise old.onnx --calibrate samples -o q.onnx --exclude second --no-table");
  byoc_test_printed("2 products quantised, 1 in floats");
  byoc_test_shell(0, "byoc quantise old.onnx --calibrate samples -o q.onnx --least-snr 44.7");
  byoc_test_printed("left out");
  byoc_test_shell(2, "byoc quantise old.onnx --calibrate samples -o none.onnx --exclude secnd; code=$?; "
                     "test ! -e none.onnx && exit $code");
  byoc_test_printed("no layer 'secnd' that could be left out");
  byoc_test_printed("there is 'second'");
  byoc_test_shell(2, "byoc quantise old.onnx --calibrate samples -o none.onnx --least-snr 200");
  byoc_test_printed("nothing to quantise");
}

static void test_ranges_types_and_smoothing_stay_close_to_floats(void **state) {
  (void)state;
  static const char *const words[] = {"--ranges percentile --activations i8", "--ranges entropy --symmetric",
                                      "--activations u16", "--smooth --per-tensor"};
  byoc_test_shell(0, "byoc run products.onnx --evaluate --random --output-dir want");
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
    if (i > 0 && !byoc_test_is_long()) continue;
    byoc_test_shell(0,
                    "byoc quantise products.onnx --calibrate ids -o q.onnx %s --no-table && "
                    "byoc run q.onnx --evaluate --random --expect y=want/y.npy --expect u=want/u.npy --atol %s",
                    words[i], strstr(words[i], "tensor") != NULL ? "0.9" : "0.6");
  }
  byoc_test_shell(0, "byoc quantise products.onnx --calibrate ids -o q.onnx --smooth");
  byoc_test_printed("2 inputs smoothed");
}

// A matrix that two products read is stored once, and a table that Gather reads stays as it is.
static void test_weights_in_groups_are_matmulnbits_or_dequantizelinear(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "byoc quantise products.onnx -o w4.onnx --scheme int4-weights --block-size 16 && byoc quantise "
                  "products.onnx -o w8.onnx -s int8-weights --dequantise && for f in w4 w8; do grep -aq "
                  "shared_quantized $f.onnx && ! grep -aq shared_quantized_1 $f.onnx || exit 1; done && byoc inspect "
                  "--coverage w4.onnx");
  byoc_test_printed("MatMulNBits");
  byoc_test_shell(0, "byoc quantise products.onnx -o w4.onnx -s int4-weights --gptq --calibrate ids && byoc inspect "
                     "--coverage w8.onnx");
  byoc_test_printed("DequantizeLinear");
  byoc_test_shell(0, "byoc run products.onnx --evaluate --random --output-dir want && byoc run w8.onnx --evaluate "
                     "--random --expect y=want/y.npy --expect u=want/u.npy --atol 0.1 && byoc run w4.onnx --evaluate "
                     "--random --expect u=want/u.npy --atol 3");
}

static void test_constants_can_be_stored_in_sixteen_bits(void **state) {
  (void)state;
  byoc_test_shell(
      0, "byoc quantise products.onnx -o half.onnx -s f16-weights && byoc quantise products.onnx -o "
         "brain.onnx -s bf16-weights && test $(stat -c %%s half.onnx) -lt $(($(stat -c %%s products.onnx) * 6 / "
         "10)) && byoc run products.onnx --evaluate --random --output-dir want && byoc run half.onnx "
         "--evaluate --random --expect y=want/y.npy --expect u=want/u.npy --atol 0.02");
}

static void test_wrong_samples_are_named(void **state) {
  (void)state;
  byoc_test_shell(1, "byoc quantise old.onnx --calibrate nothing -o none.onnx");
  byoc_test_printed("'nothing' holds no sample of the model's inputs");
  byoc_test_shell(1, "byoc quantise old.onnx --calibrate bad -o none.onnx");
  byoc_test_printed("the value 'x' of the model is NaN in sample 1");
  byoc_test_shell(1, "byoc quantise old.onnx --calibrate wrong -o none.onnx");
  byoc_test_printed("'x' is f32[N,3,8,8], wrong holds f32[1,3]");
  byoc_test_shell(1, "byoc quantise old.onnx --calibrate stacked -o none.onnx");
  byoc_test_printed("stacked has no values for the input 'c'");
  byoc_test_shell(2, "byoc quantise old.onnx --calibrate x.npy -o none.onnx");
  byoc_test_printed("holds one array, and the model has 2 inputs");
  byoc_test_shell(1,
                  "test ! -e none.onnx && cp samples/a/c.npy stacked && byoc quantise old.onnx --calibrate stacked -o "
                  "none.onnx");
  byoc_test_printed("stacked holds 3 samples of the input 'x', and 1 of 'c'");
}

// Another file of that name in the folder of the result is not read.
static void test_a_model_with_external_data_can_be_written_elsewhere(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p apart elsewhere && printf '%%16s' '' > elsewhere/data.bin");
  write_apart("apart/model.onnx");
  for (int yes = 0; yes < 2; ++yes) {
    const uint8_t condition = (uint8_t)yes;
    write_npy_of("apart/c.npy", "|b1", 0, NULL, &condition, 1);
    byoc_test_shell(0, "byoc quantise apart/model.onnx -o elsewhere/q.onnx -s int8-weights && "
                       "byoc run apart/model.onnx --evaluate --random --input c=apart/c.npy --output-dir want && byoc "
                       "run elsewhere/q.onnx --evaluate --random --input c=apart/c.npy --expect y=want/y.npy --atol "
                       "0.1");
  }
}

// A product whose result is resized in operator set 11, by a mode that 13 does not have.
static void write_resize(const char *path, const char *mode, const char *nearest_mode) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "resize", 11);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "5,16");
  add_weights(graph, "w", 2, (const int64_t[]){16, 6}, 1);
  byoc_onnx_graph_initialiser(graph, "roi", BYOC_DTYPE_F32, 1, (const int64_t[]){0});
  float *scales = byoc_onnx_graph_initialiser(graph, "scales", BYOC_DTYPE_F32, 1, (const int64_t[]){2});
  scales[0] = 3;
  scales[1] = 0.4f;
  byoc_onnx_graph_node(graph, "MatMul", "product", "x,w", "p");
  byoc_onnx_node_t *resize = byoc_onnx_graph_node(graph, "Resize", "grow", "p,roi,scales", "y");
  byoc_onnx_node_string(resize, "mode", mode);
  byoc_onnx_node_string(resize, "coordinate_transformation_mode", "tf_half_pixel_for_nn");
  if (nearest_mode != NULL) byoc_onnx_node_string(resize, "nearest_mode", nearest_mode);
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, NULL);
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

static void test_a_resize_mode_that_newer_operator_sets_lack_gets_an_equal_form(void **state) {
  (void)state;
  static const char *const nearest[] = {NULL, "floor", "round_prefer_floor"};
  for (size_t i = 0; i < sizeof(nearest) / sizeof(nearest[0]); ++i) {
    write_resize("resize.onnx", "nearest", nearest[i]);
    byoc_test_shell(0, "byoc quantise resize.onnx -o q.onnx --no-table && ! grep -aq tf_half_pixel_for_nn q.onnx && "
                       "byoc run resize.onnx --evaluate --random --output-dir want && byoc run q.onnx --evaluate "
                       "--random --expect y=want/y.npy --atol 0.05");
  }
  static const char *const others[][2] = {{"nearest", "ceil"}, {"nearest", "round_prefer_ceil"}, {"linear", NULL}};
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
    write_resize("resize.onnx", others[i][0], others[i][1]);
    byoc_test_shell(1, "byoc quantise resize.onnx -o none.onnx --no-table; code=$?; test ! -e none.onnx && exit $code");
    byoc_test_printed("Resize 'grow' has the mode tf_half_pixel_for_nn, which is not in 13");
  }
}

static void test_made_up_samples_are_told(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc quantise old.onnx -o q.onnx --no-table");
  byoc_test_printed("there is no --calibrate: scales come from made up inputs");
}

static void test_wrong_models_and_places_are_refused(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc quantise old.onnx --calibrate samples -o old.onnx");
  byoc_test_shell(2, "byoc quantise old.onnx --calibrate samples");
  byoc_test_printed("-o FILE.onnx is missing");
  byoc_test_shell(2,
                  "byoc quantise old.onnx --calibrate samples -o q.onnx --no-table; byoc quantise q.onnx --calibrate "
                  "samples -o none.onnx");
  byoc_test_printed("the model is quantised already: it has QuantizeLinear");
  write_identity("nothing.onnx", BYOC_DTYPE_F32, "3");
  byoc_test_shell(2, "byoc quantise nothing.onnx -o none.onnx");
  byoc_test_printed("nothing to quantise: no Conv, Gemm or MatMul of f32");
  write_unsorted("unsorted.onnx");
  byoc_test_shell(1, "byoc quantise unsorted.onnx -o none.onnx");
  byoc_test_printed("Relu 'second' stands in front of the node that makes its input 'a'");
  byoc_test_shell(2, "byoc quantise old.onnx --calibrate samples -o none.onnx -s int4-weights --smooth");
  byoc_test_printed("--smooth is not for --scheme int4-weights");
  byoc_test_shell(2, "byoc quantise old.onnx -o none.onnx --ranges all");
  byoc_test_printed("--ranges takes one of minmax, percentile, entropy, not 'all'");
  byoc_test_shell(1,
                  "byoc quantise old.onnx --calibrate samples --no-table -o /dev/full; test ! -e none.onnx && exit 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layers_of_a_quantised_model_are_units),
      cmocka_unit_test(test_the_same_samples_give_the_same_bytes),
      cmocka_unit_test(test_the_error_of_weights_is_that_of_those_written),
      cmocka_unit_test(test_outputs_that_are_not_finite_have_no_error),
      cmocka_unit_test(test_layers_can_be_left_out_by_name_and_by_threshold),
      cmocka_unit_test(test_ranges_types_and_smoothing_stay_close_to_floats),
      cmocka_unit_test(test_weights_in_groups_are_matmulnbits_or_dequantizelinear),
      cmocka_unit_test(test_constants_can_be_stored_in_sixteen_bits),
      cmocka_unit_test(test_wrong_samples_are_named),
      cmocka_unit_test(test_a_model_with_external_data_can_be_written_elsewhere),
      cmocka_unit_test(test_a_resize_mode_that_newer_operator_sets_lack_gets_an_equal_form),
      cmocka_unit_test(test_made_up_samples_are_told),
      cmocka_unit_test(test_wrong_models_and_places_are_refused),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
