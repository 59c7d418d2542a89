// SPDX-License-Identifier: Apache-2.0
// Backends on open shapes: products and convolutions whose number of rows, images or pixels each run brings are
// cutlass's, and so is attention whose batch and lengths are open; they give what c gives at every size; a summand that
// may be broadcast is not taken for one of the same shape. cblas takes products all of whose sizes are the run's. dnnl
// makes primitives for each shape that it is called with.
#include "tests/support/command.h"

#include <stdio.h>

#include "core/base/file.h"

static const char products[] =
    "module {\n"
    "  constant @w : f32[40,96] = splat 0.125\n"
    "  constant @v : f32[40,96] = splat -0.25\n"
    "  func @main(%x : f32[B,S,40], %r : f32[R,S,96], %q : f32[B,S,96]) -> (%y : f32[broadcast(B, R),S,96], "
    "%z : f32[B,S,96]) {\n"
    "    %0 = MatMul@13(%x, @w) : f32[B,S,96]\n"
    "    %y = Add@14(%0, %r) : f32[broadcast(B, R),S,96]\n"
    "    %1 = MatMul@13(%x, @v) : f32[B,S,96]\n"
    "    %2 = Add@14(%1, %q) : f32[B,S,96]\n"
    "    %z = Relu@14(%2) : f32[B,S,96]\n"
    "    return %y, %z\n"
    "  }\n"
    "}\n";

static const char convolution[] = "module {\n"
                                  "  constant @w : f32[24,16,3,3] = splat 0.0625\n"
                                  "  func @main(%x : f32[N,16,9,9]) -> (%y : f32[N,24,9,9]) {\n"
                                  "    %0 = Conv@11(%x, @w) {pads = [1, 1, 1, 1]} : f32[N,24,9,9]\n"
                                  "    %y = Relu@14(%0) : f32[N,24,9,9]\n"
                                  "    return %y\n"
                                  "  }\n"
                                  "}\n";

// A bottleneck of an open picture, beside padding that follows from its size, and a signal of open length.
static const char images[] =
    "module {\n"
    "  constant @w : f32[24,3,3,3] = splat 0.0625\n"
    "  constant @b : f32[24] = splat 0.5\n"
    "  constant @d : f32[24,1,3,3] = splat -0.125\n"
    "  constant @p : f32[24,24,1,1] = splat 0.25\n"
    "  constant @q : f32[24,24,3,3] = splat 0.03125\n"
    "  constant @t : f32[8,4,5] = splat 0.5\n"
    "  func @main(%x : f32[N,3,H,W], %s : f32[N,4,L]) -> (%y : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)], %z : f32[N,8,L]) "
    "{\n"
    "    %0 = Conv@11(%x, @w, @b) {strides = [2, 2], auto_pad = \"SAME_UPPER\"} : f32[N,24,ceildiv(H, 2),ceildiv(W, "
    "2)]\n"
    "    %1 = Relu@14(%0) : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %2 = Conv@11(%1, @d) {pads = [1, 1, 1, 1], group = 24} : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %3 = Conv@11(%2, @p) : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %4 = Conv@11(%3, @q) {pads = [1, 1, 1, 1]} : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %5 = Add@14(%4, %1) : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %y = Relu@14(%5) : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %z = Conv@11(%s, @t) {pads = [2, 2]} : f32[N,8,L]\n"
    "    return %y, %z\n"
    "  }\n"
    "}\n";

// The same weights with data of f32 and with data that are rounded to bytes; a bias and an activation follow.
static const char few_bits[] =
    "module {\n"
    "  constant @w : u8[96,2,16] = splat 57\n"
    "  constant @s : f32[96,2] = splat 0.03125\n"
    "  constant @b : f32[96] = splat 0.5\n"
    "  func @main(%x : f32[B,S,40]) -> (%y : f32[B,S,96], %z : f32[B,S,96]) {\n"
    "    %0 = com.microsoft::MatMulNBits@1(%x, @w, @s, _, _, @b) {K = 40, N = 96, block_size = 32} : f32[B,S,96]\n"
    "    %y = Relu@14(%0) : f32[B,S,96]\n"
    "    %z = com.microsoft::MatMulNBits@1(%x, @w, @s) {K = 40, N = 96, block_size = 32, accuracy_level = 4} : "
    "f32[B,S,96]\n"
    "    return %y, %z\n"
    "  }\n"
    "}\n";

// Bytes: a convolution of an open batch, a product that is dequantised and one whose rows fill no words.
static const char bytes[] =
    "module {\n"
    "  constant @w : i8[24,8,3,3] = splat 3\n"
    "  constant @v : i8[40,50] = splat -5\n"
    "  constant @u : i8[42,24] = splat 7\n"
    "  constant @scale : f32[] = splat 0.0625\n"
    "  constant @small : f32[] = splat 0.015625\n"
    "  constant @zero : i8[] = splat 0\n"
    "  constant @middle : u8[] = splat 128\n"
    "  func @main(%x : u8[N,8,9,7], %r : u8[B,S,40], %q : i8[B,S,42]) -> (%y : u8[N,24,9,7], %z : f32[B,S,50], "
    "%t : i32[B,S,24]) {\n"
    "    %y = QLinearConv@10(%x, @scale, @middle, @w, @small, @zero, @scale, @middle) {pads = [1, 1, 1, 1]} : "
    "u8[N,24,9,7]\n"
    "    %0 = MatMulInteger@10(%r, @v, @middle) : i32[B,S,50]\n"
    "    %1 = Cast@13(%0) {to = 1} : f32[B,S,50]\n"
    "    %z = Mul@14(%1, @small) : f32[B,S,50]\n"
    "    %t = MatMulInteger@10(%q, @u) : i32[B,S,24]\n"
    "    return %y, %z, %t\n"
    "  }\n"
    "}\n";

// A position bias of limited length does not hide that lengths are the same.
static const char attention[] =
    "module {\n"
    "  constant @heads : i64[4] = [0, 0, 2, 8]\n"
    "  constant @joined : i64[3] = [0, 0, 16]\n"
    "  constant @bias : f32[1,40,16] = splat 0.125\n"
    "  constant @zero : i64[1] = [0]\n"
    "  constant @one : i64[1] = [1]\n"
    "  func @main(%a : f32[B,S,16], %m : f32[B,1,1,S], %pk : f32[B,2,P,8], %pv : f32[B,2,P,8]) -> (%y : f32[B,S,16], "
    "%z : f32[B,2,S,8], %nk : f32[B,2,P + S,8], %nv : f32[B,2,P + S,8]) {\n"
    "    %s = Shape@15(%a) {start = 1, end = 2} : i64[1]\n"
    "    %p = Slice@13(@bias, @zero, %s, @one) : f32[1,min(S, 40),16]\n"
    "    %q = Add@14(%a, %p) : f32[B,S,16]\n"
    "    %0 = Reshape@14(%q, @heads) : f32[B,S,2,8]\n"
    "    %1 = Transpose@13(%0) {perm = [0, 2, 1, 3]} : f32[B,2,S,8]\n"
    "    %2 = Transpose@13(%0) {perm = [0, 2, 3, 1]} : f32[B,2,8,S]\n"
    "    %3 = MatMul@13(%1, %2) : f32[B,2,S,S]\n"
    "    %4 = Add@14(%3, %m) : f32[B,2,S,S]\n"
    "    %5 = Softmax@13(%4) {axis = -1} : f32[B,2,S,S]\n"
    "    %6 = MatMul@13(%5, %1) : f32[B,2,S,8]\n"
    "    %7 = Transpose@13(%6) {perm = [0, 2, 1, 3]} : f32[B,S,2,8]\n"
    "    %y = Reshape@14(%7, @joined) : f32[B,S,16]\n"
    "    %nk = Concat@13(%pk, %1) {axis = 2} : f32[B,2,P + S,8]\n"
    "    %nv = Concat@13(%pv, %1) {axis = 2} : f32[B,2,P + S,8]\n"
    "    %8 = Transpose@13(%nk) {perm = [0, 1, 3, 2]} : f32[B,2,8,P + S]\n"
    "    %9 = MatMul@13(%1, %8) : f32[B,2,S,P + S]\n"
    "    %10 = Softmax@13(%9) {axis = -1} : f32[B,2,S,P + S]\n"
    "    %z = MatMul@13(%10, %nv) : f32[B,2,S,8]\n"
    "    return %y, %z, %nk, %nv\n"
    "  }\n"
    "}\n";

// Batches that are equal, that broadcast on either side, and that one matrix serves; rows, columns, summands.
static const char batches[] =
    "module {\n"
    "  constant @w : f32[8,16] = splat 0.125\n"
    "  constant @turned : f32[16,8] = splat -0.5\n"
    "  constant @bias : f32[16] = splat 0.75\n"
    "  constant @r : f32[8] = splat 0.25\n"
    "  func @main(%a : f32[B,H,S,8], %b : f32[B,H,8,T], %c : f32[H,8,T], %d : f32[B,1,8,T], %p : f32[S,8], "
    "%q : f32[8,T], %s : f32[S,1], %e : f64[H,S,T], %f : f64[T,S]) -> (%o0 : f32[B,H,S,T], %o1 : f32[B,H,S,T], "
    "%o2 : f32[B,H,S,T], %o3 : f32[B,H,S,16], %o4 : f32[B,H,T], %o5 : f32[B,H,S], %o6 : f32[S,16], "
    "%o7 : f32[S,T], %o8 : f64[H,S,S]) {\n"
    "    %o0 = MatMul@13(%a, %b) : f32[B,H,S,T]\n"
    "    %o1 = MatMul@13(%a, %c) : f32[B,H,S,T]\n"
    "    %o2 = MatMul@13(%a, %d) : f32[B,H,S,T]\n"
    "    %o3 = MatMul@13(%a, @w) : f32[B,H,S,16]\n"
    "    %o4 = MatMul@13(@r, %b) : f32[B,H,T]\n"
    "    %o5 = MatMul@13(%a, @r) : f32[B,H,S]\n"
    "    %o6 = Gemm@13(%p, @turned, @bias) {transB = 1} : f32[S,16]\n"
    "    %o7 = Gemm@13(%p, %q, %s) : f32[S,T]\n"
    "    %o8 = MatMul@13(%e, %f) : f64[H,S,S]\n"
    "    return %o0, %o1, %o2, %o3, %o4, %o5, %o6, %o7, %o8\n"
    "  }\n"
    "}\n";

// What changes sizes inside of one function: pools, concatenations along an open axis, parts, views, a mean.
static const char network[] =
    "module {\n"
    "  constant @w : f32[24,3,3,3] = splat 0.0625\n"
    "  constant @v : f32[8,24,1,1] = splat -0.125\n"
    "  constant @m : f32[8,10] = splat 0.25\n"
    "  constant @r : f32[10] = splat 0.5\n"
    "  constant @s : f32[8] = splat 0.75\n"
    "  constant @flat : i64[3] = [0, 8, -1]\n"
    "  constant @parts : i64[2] = [16, 8]\n"
    "  func @main(%x : f32[N,3,H,W], %h : f32[N,8,L], %g : f32[N,8,G]) -> (%y : f32[N,10], %z : f32[N,L + G,8], "
    "%t : f32[N,8,ceildiv(H, 4)*ceildiv(W, 4)]) {\n"
    "    %0 = Conv@11(%x, @w) {strides = [2, 2], pads = [1, 1, 1, 1]} : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %1 = LeakyRelu@6(%0) {alpha = 0.25} : f32[N,24,ceildiv(H, 2),ceildiv(W, 2)]\n"
    "    %2 = MaxPool@12(%1) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]} : "
    "f32[N,24,ceildiv(H, 4),ceildiv(W, 4)]\n"
    "    %3, %4 = Split@13(%2, @parts) {axis = 1} : f32[N,16,ceildiv(H, 4),ceildiv(W, 4)], "
    "f32[N,8,ceildiv(H, 4),ceildiv(W, 4)]\n"
    "    %5 = AveragePool@11(%3) {kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\"} : "
    "f32[N,16,ceildiv(H, 4),ceildiv(W, 4)]\n"
    "    %6 = Concat@13(%5, %4) {axis = 1} : f32[N,24,ceildiv(H, 4),ceildiv(W, 4)]\n"
    "    %7 = Conv@11(%6, @v) : f32[N,8,ceildiv(H, 4),ceildiv(W, 4)]\n"
    "    %t = Reshape@14(%7, @flat) : f32[N,8,ceildiv(H, 4)*ceildiv(W, 4)]\n"
    "    %8 = GlobalAveragePool@1(%7) : f32[N,8,1,1]\n"
    "    %9 = Flatten@13(%8) : f32[N,8]\n"
    "    %10 = Gemm@13(%9, @m, @r) : f32[N,10]\n"
    "    %y = Softmax@13(%10) : f32[N,10]\n"
    "    %11 = Concat@13(%h, %g) {axis = 2} : f32[N,8,L + G]\n"
    "    %12 = Transpose@13(%11) {perm = [0, 2, 1]} : f32[N,L + G,8]\n"
    "    %z = LayerNormalization@17(%12, @s) : f32[N,L + G,8]\n"
    "    return %y, %z, %t\n"
    "  }\n"
    "}\n";

static void build(const char *text, const char *target, const char *taken) {
  FILE *file = fopen("model.byoc", "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
  byoc_test_shell(0, "byoc build model.byoc --plan greedy -t '%s; c' -o model.so", target);
  byoc_test_printed(taken);
  byoc_test_shell(0, "byoc build model.byoc -t c -o reference.so");
}

// `dims`: what sizes the inputs; `expected`: the outputs that are compared.
static void compare(const char *dims, const char *expected) {
  byoc_test_shell(0, "rm -rf reference && byoc run reference.so --random --seed 5 %s --output-dir reference", dims);
  byoc_test_shell(0, "byoc run model.so --random --seed 5 %s %s", dims, expected);
}

static void test_products_of_open_rows(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim B=1 --dim S=1 --dim R=1", "--dim B=3 --dim S=7 --dim R=3",
                                     "--dim B=1 --dim S=13 --dim R=4", "--dim B=5 --dim S=11 --dim R=1",
                                     "--dim B=2 --dim S=0 --dim R=2"};
  build(products, "cutlass", "cutlass 4 operators in 2 regions");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i)
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy");
}

static void test_products_by_few_bits(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim B=1 --dim S=1", "--dim B=3 --dim S=7", "--dim B=1 --dim S=12",
                                     "--dim B=2 --dim S=0"};
  build(few_bits, "cutlass", "cutlass 4 operators in 2 regions");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i)
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy");
}

static void test_convolutions_of_open_batch(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim N=1", "--dim N=6", "--dim N=0"};
  build(convolution, "cutlass", "cutlass 2 operators in 1 region");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i) compare(dims[i], "--expect y=reference/y.npy");
}

static void test_convolutions_of_open_pictures(void **state) {
  (void)state;
  static const char *const dims[] = {
      "--dim N=1 --dim H=1 --dim W=1 --dim L=1", "--dim N=2 --dim H=33 --dim W=18 --dim L=70",
      "--dim N=1 --dim H=8 --dim W=301 --dim L=16", "--dim N=0 --dim H=5 --dim W=5 --dim L=5"};
  build(images, "cutlass", "cutlass 8 operators in 5 regions");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i)
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy");
}

static void test_products_of_bytes(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim N=1 --dim B=1 --dim S=1", "--dim N=3 --dim B=2 --dim S=8",
                                     "--dim N=0 --dim B=5 --dim S=60", "--dim N=2 --dim B=0 --dim S=4",
                                     "--dim N=1 --dim B=1 --dim S=13"};
  build(bytes, "cutlass", "cutlass 5 operators in 3 regions");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i)
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy --expect t=reference/t.npy");
}

static void test_cblas_takes_sizes_from_each_run(void **state) {
  (void)state;
  static const char *const dims[] = {
      "--dim B=2 --dim H=3 --dim S=4 --dim T=5", "--dim B=1 --dim H=1 --dim S=1 --dim T=1",
      "--dim B=1 --dim H=4 --dim S=1 --dim T=9", "--dim B=3 --dim H=1 --dim S=7 --dim T=1",
      "--dim B=0 --dim H=2 --dim S=3 --dim T=2", "--dim B=2 --dim H=2 --dim S=3 --dim T=0"};
  build(batches, "cblas", "cblas 9 operators in 9 regions");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i) {
    compare(dims[i], "--expect o0=reference/o0.npy --expect o1=reference/o1.npy --expect o2=reference/o2.npy "
                     "--expect o3=reference/o3.npy --expect o4=reference/o4.npy --expect o5=reference/o5.npy "
                     "--expect o6=reference/o6.npy --expect o7=reference/o7.npy --expect o8=reference/o8.npy");
  }
}

static void test_attention_of_open_lengths(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim B=1 --dim S=1 --dim P=0",    "--dim B=2 --dim S=7 --dim P=3",
                                     "--dim B=1 --dim S=40 --dim P=600", "--dim B=3 --dim S=1 --dim P=33",
                                     "--dim B=0 --dim S=2 --dim P=2",    "--dim B=2 --dim S=0 --dim P=5"};
  build(attention, "cutlass", "cutlass 2 operators in 2 regions");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i)
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy --expect nk=reference/nk.npy "
                     "--expect nv=reference/nv.npy");
}

static void test_dnnl_makes_primitives_for_each_shape(void **state) {
  (void)state;
  static const char *const dims[] = {
      "--dim N=1 --dim H=9 --dim W=12 --dim L=1 --dim G=0", "--dim N=3 --dim H=33 --dim W=18 --dim L=0 --dim G=7",
      "--dim N=2 --dim H=1 --dim W=1 --dim L=5 --dim G=3", "--dim N=0 --dim H=5 --dim W=5 --dim L=5 --dim G=5"};
  build(network, "dnnl", "dnnl 15 operators in 2 regions");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i)
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy --expect t=reference/t.npy");
}

// The engine reads from its JSON how many shapes a context keeps (plugin.dnnl_open shows that it keeps no more).
static void test_option_shapes_reaches_the_engine(void **state) {
  (void)state;
  build(network, "dnnl -shapes=3", "dnnl 15 operators in 2 regions");
  byoc_test_shell(0, "grep -aq '\"shapes\":3[,}]' model.so");
  compare("--dim N=1 --dim H=9 --dim W=12 --dim L=1 --dim G=0", "--expect y=reference/y.npy");
}

static void test_dnnl_on_pictures_and_products(void **state) {
  (void)state;
  build(images, "dnnl", "dnnl 7 operators in 2 regions");
  compare("--dim N=2 --dim H=33 --dim W=18 --dim L=70", "--expect y=reference/y.npy --expect z=reference/z.npy");
  compare("--dim N=1 --dim H=1 --dim W=1 --dim L=1", "--expect y=reference/y.npy --expect z=reference/z.npy");
  compare("--dim N=0 --dim H=5 --dim W=5 --dim L=5", "--expect y=reference/y.npy --expect z=reference/z.npy");
  build(batches, "dnnl", "dnnl 4 operators in 4 regions");
  compare("--dim B=2 --dim H=3 --dim S=4 --dim T=5",
          "--expect o0=reference/o0.npy --expect o3=reference/o3.npy --expect o6=reference/o6.npy "
          "--expect o7=reference/o7.npy");
  build(attention, "dnnl", "dnnl 14 operators in 2 regions");
  static const char *const dims[] = {"--dim B=1 --dim S=1 --dim P=0", "--dim B=2 --dim S=7 --dim P=3",
                                     "--dim B=1 --dim S=40 --dim P=600", "--dim B=0 --dim S=2 --dim P=2",
                                     "--dim B=2 --dim S=0 --dim P=5"};
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i)
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy --expect nk=reference/nk.npy "
                     "--expect nv=reference/nv.npy");
}

// Less than f32 holds on open rows and images: the weights are stored smaller, results stay near those of f32, and each
// region says its precision. Operators that keep f32 are named with the reason.
static void test_precision_on_open_sizes(void **state) {
  (void)state;
  build(products, "cutlass -mcpu=native -precision=int8", "cutlass 4 operators in 2 regions");
  compare("--dim B=3 --dim S=7 --dim R=3", "--expect y=reference/y.npy --expect z=reference/z.npy --rtol 0 --atol 0.2");
  byoc_test_shell(1, "byoc run model.so --random --seed 5 --dim B=3 --dim S=7 --dim R=3 --expect y=reference/y.npy "
                     "--rtol 0 --atol 1e-6");
  byoc_test_shell(0, "byoc explain model.byoc --plan greedy -t 'cutlass -precision=int8; c' --json > plan.json");
  byoc_test_shell(0, "test $(grep -c '\"precision\": \"int8\"' plan.json) = 2");
  build(products, "cutlass -precision=bf16", "cutlass 4 operators in 2 regions");
  compare("--dim B=1 --dim S=1 --dim R=1",
          "--expect y=reference/y.npy --expect z=reference/z.npy --rtol 0 --atol 0.05");
  byoc_test_shell(0, "byoc explain model.byoc --plan greedy -t 'cutlass -precision=bf16; c'");
  byoc_test_printed("bf16");
  build(convolution, "cutlass -precision=int8 -winograd=0", "cutlass 2 operators in 1 region");
  compare("--dim N=6", "--expect y=reference/y.npy --rtol 0 --atol 0.2");
  byoc_test_shell(0, "byoc explain model.byoc --plan greedy -t 'cutlass -precision=int8 -winograd=0; c'");
  byoc_test_printed("int8");
}

static void explain(const char *target) {
  byoc_test_shell(0, "byoc explain model.byoc --plan greedy -t '%s; c' 2>&1", target);
}

#if defined(__x86_64__)
// An artifact for processors of any maker may run where products of bf16 are slower than those of f32.
static void test_bf16_is_multiplied_where_it_pays(void **state) {
  (void)state;
  build(products, "cutlass", "cutlass 4 operators in 2 regions");
  byoc_test_shell(0, "byoc explain model.byoc --plan greedy --json -t 'cutlass -precision=bf16; c "
                     "-mcpu=x86-64-v4+avx512_vnni+avx512_bf16' > plan.json");
  byoc_test_shell(0, "test $(grep -c '\"precision\": \"bf16 weights, f32 sums\"' plan.json) = 2");
  byoc_test_shell(1, "grep lapse plan.json");
}

// Both convolutions gain from blocks of channels in f32, and from products of bf16 in plain layouts.
static void test_layouts_do_not_keep_convolutions_from_bf16(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  static const char text[] = "module {\n"
                             "  constant @w : f32[64,64,1,1] = splat 0.0625\n"
                             "  func @main(%x : f32[1,64,14,14]) -> (%y : f32[1,64,14,14]) {\n"
                             "    %0 = Conv@11(%x, @w) : f32[1,64,14,14]\n"
                             "    %1 = Relu@14(%0) : f32[1,64,14,14]\n"
                             "    %y = Conv@11(%1, @w) : f32[1,64,14,14]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_test_ok(byoc_file_write("plain.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(0, "byoc explain plain.byoc --plan greedy --json -t 'cutlass -precision=bf16; c -mcpu=amx_bf16' > "
                     "plan.json && test $(grep -c '\"precision\": \"bf16\"' plan.json) = 2");
  byoc_test_shell(0, "byoc explain plain.byoc --plan greedy --json -t 'cutlass -precision=bf16; c -mcpu=x86-64-v4' > "
                     "plan.json && test $(grep -c 'lapse.*not faster than those of f32' plan.json) = 2");
}
#endif

static void test_precision_that_does_not_hold_is_told(void **state) {
  (void)state;
  build(images, "cutlass -precision=int8", "cutlass 8 operators in 5 regions");
  explain("cutlass -precision=int8");
  byoc_test_printed("warning: cutlass: -precision=int8 does not hold for Conv, Conv, Conv and 1 more: the height or "
                    "width of its images is dynamic");
  byoc_test_printed("does not hold for Conv: its groups have fewer than 4 input channels");
  build(attention, "cutlass -precision=bf16", "cutlass 2 operators in 2 regions");
  explain("cutlass -precision=bf16");
  byoc_test_printed("attention is computed in f32");
  build(few_bits, "cutlass -precision=bf16", "cutlass 4 operators in 2 regions");
  explain("cutlass -precision=bf16");
  byoc_test_printed("-precision=bf16 changes nothing");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products_of_open_rows),
    cmocka_unit_test(test_products_by_few_bits),
    cmocka_unit_test(test_convolutions_of_open_batch),
    cmocka_unit_test(test_convolutions_of_open_pictures),
    cmocka_unit_test(test_products_of_bytes),
    cmocka_unit_test(test_cblas_takes_sizes_from_each_run),
    cmocka_unit_test(test_attention_of_open_lengths),
    cmocka_unit_test(test_dnnl_makes_primitives_for_each_shape),
    cmocka_unit_test(test_option_shapes_reaches_the_engine),
    cmocka_unit_test(test_dnnl_on_pictures_and_products),
    cmocka_unit_test(test_precision_on_open_sizes),
#if defined(__x86_64__)
    cmocka_unit_test(test_bf16_is_multiplied_where_it_pays),
    cmocka_unit_test(test_layouts_do_not_keep_convolutions_from_bf16),
#endif
    cmocka_unit_test(test_precision_that_does_not_hold_is_told)
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
