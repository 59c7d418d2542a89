// SPDX-License-Identifier: Apache-2.0
// Type inference by table: an operator, its attributes and operand types, and the result types or the error.
#include <time.h>

#include "tests/unit/ops/infer_support.h"

static const infer_case_t cases[] = {
    // Elementwise
    {"", "%a : f32[N,4]", "Relu@14(%a)", 1, "f32[N,4]"},
    {"", "%a : f32[*]", "Relu@14(%a)", 1, "f32[*]"},
    {"", "%a : bool[2]", "Relu@14(%a)", 1,
     "! Relu (ai.onnx 14): operand 0: expected a tensor of signed numbers, got bool[2]"},
    {"", "%a : f32[2], %b : f32[2]", "Relu@14(%a, %b)", 1, "! Relu (ai.onnx 14): expected 1 operand, got 2"},
    {"", "%a : f32[2]", "Add@14(%a, _)", 1, "! operand 1 is required, but left out"},
    {"", "%a : f32[2]", "Relu@14(%a)", 2, "! expected 1 result, got 2"},
    {"", "%a : f32[2]", "Relo@14(%a)", 1, "! operator 'Relo' is not known in domain 'ai.onnx'"},
    {"", "%a : f16[3]", "Cast@13(%a) {to = 7}", 1, "i64[3]"},
    {"", "%a : f16[3]", "Cast@13(%a) {to = 99}", 1, "! attribute 'to': 99 is not a known element type"},
    {"", "%a : f16[3]", "Cast@13(%a) {to = 14}", 1, "! attribute 'to': 14 is not a known element type"},
    {"", "%a : f32[1,5,5], %b : i64[2], %c : i64[2]", "Col2Im@18(%a, %b, %c) {strides = [0, 1]}", 1,
     "! attribute 'strides': expected 1 to 2147483647, got 0"},
    {"", "%a : f32[1,5,5], %b : i64[2], %c : i64[2]", "Col2Im@18(%a, %b, %c) {pads = [9223372036854775807, 1, 1, 0]}",
     1, "! attribute 'pads': expected 0 to 2147483647, got 9223372036854775807"},
    {"", "%a : c64[3]", "Cast@13(%a) {to = 1}", 1, "! operand 0: expected a tensor of real numbers"},
    {"", "%a : f32[N,3]", "BitCast@26(%a) {to = 6}", 1, "i32[N,3]"},
    {"", "%a : f16[3]", "BitCast@26(%a) {to = 6}", 1, "! attribute 'to': i32 has 32 bits, and f16 has 16"},
    {"", "%a : f32[3]", "BitCast@26(%a) {to = 8}", 1, "! attribute 'to': 8 is not a known element type with bits"},
    // Decoding
    {"", "%a : f32[B,2,S,4], %b : f32[B,2,1,4], %c : i64[B]", "TensorScatter@24(%a, %b, %c)", 1, "f32[B,2,S,4]"},
    {"", "%a : f32[2,3,4], %b : f32[2,4,4]", "TensorScatter@24(%a, %b)", 1,
     "! 4 places do not fit into the 3 of operand 0"},
    {"", "%a : f32[2,3], %b : f32[2,3]", "TensorScatter@24(%a, %b) {axis = 0}", 1,
     "! dimension 0 is that of the sequences"},
    {"", "%a : f32[2,3], %b : f32[3]", "SwiGLU@28(%a, %b)", 1, "! operand 1"},
    {"", "%x : f32[B,3,L], %w : f32[3,1,4]", "CausalConvWithState@27(%x, %w)", 2, "f32[B,3,L], f32[B,3,3]"},
    {"", "%x : f32[2,3,5], %w : f32[3,1,0]", "CausalConvWithState@27(%x, %w)", 2, "! the kernel has no elements"},
    {"", "%q : f16[B,T,8], %k : f16[B,T,4], %s : f32[B,2,2,2]",
     "LinearAttention@27(%q, %k, %k, %s) {q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"}", 2,
     "f16[B,T,8], f32[B,2,2,2]"},
    {"", "%q : f32[2,3,4]", "LinearAttention@27(%q, %q, %q) {q_num_heads = 2, kv_num_heads = 2}", 2,
     "! operand 4: update_rule \"gated_delta\" needs it"},
    {"", "%q : f32[2,3,4], %d : f32[2,3,3]",
     "LinearAttention@27(%q, %q, %q, _, %d) {q_num_heads = 2, kv_num_heads = 2, update_rule = \"gated\"}", 2,
     "! operand 4: its last dimension is 3, expected 2 or 4"},
    {"", "%q : f32[2,3,600]",
     "LinearAttention@27(%q, %q, %q) {q_num_heads = 1, kv_num_heads = 1, update_rule = \"linear\"}", 2,
     "! a state of 600 by 600 numbers for each head; at most 65536 are supported"},
    {"", "%q : f32[0,1,281474976710656], %k : f32[0,1,1], %v : f32[0,1,65536]",
     "LinearAttention@27(%q, %k, %v) {q_num_heads = 281474976710656, kv_num_heads = 1, update_rule = \"linear\"}", 2,
     "! 281474976710656 heads of queries are not supported"},
    {"", "%q : f32[0,0,4611686018427387904], %b : f32[K]",
     "com.microsoft::MultiHeadAttention@1(%q, %q, %q, %b) {num_heads = 2}", 1,
     "! the hidden size 4611686018427387904 of queries is too large"},
    {"", "%a : f32[1,16], %b : u8[8], %s : f32[1]",
     "com.microsoft::MatMulNBits@1(%a, %b, %s) {K = 9223372036854775807, N = 1, bits = 4, block_size = 16}", 1,
     "! attribute 'K': expected 1 to 2147483647"},
    {"", "%a : f32[1,16], %b : u8[8], %s : f32[1]",
     "com.microsoft::MatMulNBits@1(%a, %b, %s) {K = 16, N = 1, bits = 4, block_size = 4611686018427387904}", 1,
     "! attribute 'block_size': expected 16 to 1048576"},
    {"", "%a : f16[3], %b : bool[]", "CastLike@15(%a, %b)", 1, "bool[3]"},
    {"", "%a : f16[3], %b : c128[]", "CastLike@15(%a, %b)", 1, "! operand 1: expected a tensor of real numbers"},
    {"", "%a : f32[3], %b : f32[4]", "Clip@13(%a, %b)", 1, "! operand 1: expected a scalar, got f32[4]"},
    {"", "%a : f32[3]", "IsNaN@13(%a)", 1, "bool[3]"},
    // Sequences and optionals: open dimensions of the element type are joined, and differ between elements
    {"", "%a : f32[2,N], %b : f32[3,N]", "SequenceConstruct@11(%a, %b)", 1, "seq<f32[?1,N]>"},
    {"", "%a : f32[2], %b : i64[2]", "SequenceConstruct@11(%a, %b)", 1,
     "! operand 1: expected the element type of the other operands"},
    {"", "%a : seq<f32[2]>, %b : i64[]", "SequenceAt@11(%a, %b)", 1, "f32[2]"},
    {"", "%a : seq<f32[2,3]>", "ConcatFromSequence@11(%a) {axis = 0}", 1, "f32[?1,3]"},
    {"", "%a : f32[6,N]", "SplitToSequence@11(%a) {keepdims = 0}", 1, "seq<f32[N]>"},
    {"", "%a : f32[2]", "SequenceLength@11(%a)", 1, "! operand 0: expected a sequence, got f32[2]"},
    {"", "%a : f32[N]", "Optional@15(%a)", 1, "opt<f32[N]>"},
    {"", "%a : opt<f32[3]>", "OptionalGetElement@18(%a)", 1, "f32[3]"},
    // A constant condition says how many elements are kept, if it is known how many there are
    {"@c : bool[5] = [false, true, false, false, true]", "%a : f32[3,2]", "Compress@11(%a, @c)", 1, "f32[2]"},
    {"@c : bool[5] = [false, true, false, false, true]", "%a : f32[3,N]", "Compress@11(%a, @c)", 1, "f32[?1]"},
    {"@c : bool[3] = [false, true, true]", "%a : f32[N,2]", "Compress@11(%a, @c) {axis = 1}", 1, "f32[N,1]"},
    {"@c : bool[2] = [false, true]", "%a : f32[N,2]", "Compress@11(%a, @c) {axis = 1}", 1, "f32[N,1]"},
    {"@c : bool[2] = [false, false]", "%a : f32[N,2]", "Compress@11(%a, @c) {axis = -1}", 1, "f32[N,0]"},
    {"", "%a : f32[N,2], %c : bool[2]", "Compress@11(%a, %c) {axis = 1}", 1, "f32[N,?1]"},
    // Texts
    {"", "%a : string[N,1], %b : string[3]", "StringConcat@20(%a, %b)", 1, "string[N,3]"},
    {"", "%a : string[N]", "RegexFullMatch@20(%a) {pattern = \"a+\"}", 1, "bool[N]"},
    {"", "%a : string[N]", "RegexFullMatch@20(%a) {pattern = \"a+?\"}", 1,
     "! attribute 'pattern', \"a+?\": lazy or possessive repetition is not supported at '+?'"},
    {"", "%a : string[3]", "NonZero@13(%a)", 1, "! operand 0: expected a tensor of numbers or bools, got string[3]"},
    // The transformed dimension: an attribute, then an operand
    {"", "%x : f32[2,6,4,1]", "DFT@17(%x) {axis = 2, onesided = 1}", 1, "f32[2,6,3,2]"},
    {"@a : i64[] = [1]", "%x : f32[2,6,4,1]", "DFT@20(%x, _, @a) {onesided = 1}", 1, "f32[2,4,4,2]"},
    {"", "%x : f32[2,6,4,1]", "DFT@20(%x) {onesided = 1}", 1, "f32[2,6,3,2]"},
    // What Unique is written out as
    {"", "%x : f32[4], %i : i64[4]", "byoc::UniqueResults@1(%x, %i, %i, %i, %i)", 4, "! expected 4 operands, got 5"},
    // Attention
    {"", "%q : f32[B,4,6], %k : f32[B,N,6], %v : f32[B,N,10]",
     "Attention@23(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2}", 1, "f32[B,4,10]"},
    {"", "%q : f32[B,4,S,8], %k : f32[B,2,N,8], %v : f32[B,2,N,5]", "Attention@23(%q, %k, %v)", 1, "f32[B,4,S,5]"},
    {"", "%q : f32[B,3,S,8], %k : f32[B,2,N,8], %v : f32[B,2,N,5]", "Attention@23(%q, %k, %v)", 1,
     "! 3 heads of queries are not a multiple of 2 heads of keys and values"},
    {"", "%q : f32[2,3,4,8], %k : f32[2,3,6,8], %v : f32[2,3,6,5], %m : f32[2,2,3,4,6]", "Attention@23(%q, %k, %v, %m)",
     1, "! operand 3: expected rank 1 to 4, got f32[2,2,3,4,6]"},
    {"", "%q : f32[2,3,4,8], %k : f32[2,3,6,8], %v : f32[2,3,6,5], %m : f32[]", "Attention@23(%q, %k, %v, %m)", 1,
     "! operand 3: expected rank 1 to 4, got f32[]"},
    {"", "%q : f32[2,3,4,8], %k : f32[2,3,6,8], %v : f32[2,3,6,5], %m : f32[3,6]", "Attention@23(%q, %k, %v, %m)", 1,
     "! operand 3: expected 4 in dimension 0, got f32[3,6]"},
    {"", "%q : f32[2,3,4,8], %k : f32[2,3,6,8], %v : f32[2,3,6,5], %m : bool[4,5]", "Attention@23(%q, %k, %v, %m)", 1,
     "f32[2,3,4,5]"}, // a mask may end before the keys do
    {"", "%q : f32[2,3,4,8], %k : f32[2,3,6,8], %v : f32[2,3,6,5], %n : i64[1]",
     "Attention@24(%q, %k, %v, _, _, _, %n)", 1, "! operand 6: expected 2 in dimension 0, got i64[1]"},
    {"", "%q : f32[2,3,4,8], %k : f32[2,3,6,7], %v : f32[2,3,6,5]", "Attention@23(%q, %k, %v)", 1,
     "! the head size of queries is 8 and the head size of keys is 7, but they must be equal"},
    {"", "%q : f32[2,3,4,8], %k : f32[2,3,6,8], %v : f32[2,3,6,5], %a : f32[2,3,1,4], %b : f32[2,3,1,5]",
     "Attention@23(%q, %k, %v, _, %a, %b)", 1, "! operand 4: expected 8 in dimension 3, got f32[2,3,1,4]"},
    {"", "%q : f32[2,4,7], %k : f32[2,6,8], %v : f32[2,6,8]",
     "Attention@23(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2}", 1,
     "! operand 0: its hidden size 7 does not divide into 2 heads"},
    // Recurrent networks
    {"", "%x : f32[5,2,4], %w : f32[1,12,4], %r : f32[1,12,3], %b : f32[2,24]", "LSTM@14(%x, %w, %r, %b)", 1,
     "! operand 3: expected 1 in dimension 0, got f32[2,24]"},
    {"", "%x : f32[5,2,4], %w : f32[1,12,4], %r : f32[1,12,3]", "LSTM@14(%x, %w, %r) {activations = [\"Sigmoid\"]}", 1,
     "! attribute 'activations' names a function that is not known, or too few"},
    {"", "%x : f32[5,2,4], %w : f32[1,3,4], %r : f32[1,3,3]", "RNN@14(%x, %w, %r) {activations = [\"Nope\"]}", 1,
     "! attribute 'activations' names a function that is not known, or too few"},
    {"", "%x : f32[5,2,4], %w : f32[1,12,4], %r : f32[1,12,3], %n : i32[1]", "LSTM@14(%x, %w, %r, _, %n)", 1,
     "! operand 4: expected 2 in dimension 0, got i32[1]"},
    {"", "%x : f32[5,2,4], %w : f32[1,12,4], %r : f32[1,12,3], %n : i64[2]", "LSTM@14(%x, %w, %r, _, %n)", 1,
     "! operand 4: expected lengths of i32, got i64[2]"},
    {"", "%x : f32[5,2,4], %w : f32[1,12,4], %r : f32[1,12,3], %h : f32[2,3]", "LSTM@14(%x, %w, %r, _, _, %h)", 1,
     "! operand 5: expected rank 3, got f32[2,3]"},
    {"", "%x : f32[2,5,4], %w : f32[1,9,4], %r : f32[1,9,3], %h : f32[1,2,3]",
     "GRU@14(%x, %w, %r, _, _, %h) {layout = 1}", 1, "! operand 5: expected 2 in dimension 0, got f32[1,2,3]"},
    {"", "%x : f32[5,2,4], %w : f32[1,12,4], %r : f32[1,12,3], %p : f32[1,8]", "LSTM@14(%x, %w, %r, _, _, _, _, %p)", 1,
     "! operand 7: expected 9 in dimension 1, got f32[1,8]"},
    // Operands read at places that others have
    {"", "%x : f32[2,2], %i : i64[3,2]", "GatherElements@13(%x, %i) {axis = 1}", 1,
     "! operand 1: dimension 0 is larger than operand 0's"},
    {"", "%x : f32[2,3,4], %i : i64[3,1]", "GatherND@13(%x, %i) {batch_dims = 1}", 1,
     "! operand 1: expected 2 in dimension 0, got i64[3,1]"},
    {"", "%x : f32[0,3], %i : i64[2]", "Gather@13(%x, %i)", 1, "! there is nothing to gather from dimension 0"},
    {"", "%x : f32[1,2,4,5], %g : f32[2,3,3,2]", "GridSample@20(%x, %g)", 1,
     "! operand 1: expected 1 in dimension 0, got f32[2,3,3,2]"},
    {"", "%x : f32[1,2,5,5], %r : f32[3,4], %i : i64[2]", "RoiAlign@16(%x, %r, %i)", 1,
     "! operand 2: expected 3 in dimension 0, got i64[2]"},
    {"", "%b : f32[1,6,4], %s : f32[1,2,5]", "NonMaxSuppression@11(%b, %s)", 1,
     "! operand 1: expected 6 in dimension 2, got f32[1,2,5]"},
    {"", "%x : f32[4,6], %s : f32[4,2], %z : u8[4,2]", "QuantizeLinear@21(%x, %s, %z) {axis = 1, block_size = 2}", 1,
     "! operand 1: expected 3 in dimension 1, got f32[4,2]"},
    {"", "%x : f32[2,3,4], %s : f32[4]", "PRelu@6(%x, %s)", 1, "! operand 1: expected 3 in dimension 0, got f32[4]"},
    {"", "%x : f32[2,3,4], %s : f32[3]", "PRelu@6(%x, %s)", 1, "f32[2,3,4]"},
    {"", "%x : f32[2,3,4], %s : f32[4]", "PRelu@7(%x, %s)", 1, "f32[2,3,4]"},
    {"", "%x : f32[2,3,4], %s : f32[3]", "PRelu@7(%x, %s)", 1, "! operand 1: "},
    {"", "%x : f32[1,2,3,3], %w : f32[2,4,3,3], %b : f32[]", "ConvTranspose@11(%x, %w, %b)", 1,
     "! operand 2: expected rank 1, got f32[]"},
    {"@s : i64[] = [4]; @l : i64[] = [8]", "%x : f32[1,16,1], %w : f32[]", "STFT@17(%x, @s, %w, @l)", 1,
     "! operand 2: expected rank 1, got f32[]"},
    {"", "%x : f32[1,2,4,4], %w : f32[1,1,2,2], %o : f32[1,8,3,3]", "DeformConv@19(%x, %w, %o) {group = 2}", 1,
     "! 1 results do not divide into 2 groups"},
    {"", "%x : f32[2,4,3,8], %c : f32[50,3], %s : f32[50,3], %p : i64[2,3]", "RotaryEmbedding@23(%x, %c, %s, %p)", 1,
     "! operand 1: expected 4 in dimension 1, got f32[50,3]"},
    // Numbers and lists
    {"@d : i64[0] = []", "%x : i64[2], %v : f32[2]", "OneHot@11(%x, @d, %v)", 1,
     "! operand 1: expected one number, got i64[0]"},
    {"@a : f32[] = [1.0]; @b : f32[0] = []", "", "Range@11(@a, @b, @a)", 1,
     "! operand 1: expected one number, got f32[0]"},
    {"@t : bool[0] = []", "%x : f32[2]", "Dropout@13(%x, _, @t)", 1, "! operand 2: expected one number, got bool[0]"},
    {"", "%x : f32[2,3], %k : i64[2]", "Trilu@14(%x, %k)", 1, "! operand 1: expected one number, got i64[2]"},
    // The mask of Dropout, of the data's type before version 10
    {"", "%x : f16[2,N]", "Dropout@7(%x)", 2, "f16[2,N], f16[2,N]"},
    {"", "%x : f16[2,N]", "Dropout@10(%x)", 2, "f16[2,N], bool[2,N]"},
    {"", "%x : f32[2,3], %p : i64[3]", "Pad@13(%x, %p)", 1, "! operand 1: expected 4 integers, got i64[3]"},
    {"@n : i64[2] = [4611686018427387904, 4]", "", "ConstantOfShape@9(@n)", 1, "! too many elements"},
    // Broadcasting
    {"", "%a : f32[N,4], %b : f32[4]", "Add@14(%a, %b)", 1, "f32[N,4]"},
    {"", "%a : f32[N,1], %b : f32[M,1,4]", "Add@14(%a, %b)", 1, "f32[M,N,4]"},
    {"", "%a : f32[N], %b : f32[M]", "Add@14(%a, %b)", 1, "f32[broadcast(M, N)]"},
    {"", "%a : f32[2,3], %b : f32[4]", "Add@14(%a, %b)", 1, "! operand 1: f32[4] does not broadcast against f32[2,3]"},
    {"", "%a : f32[2], %b : f16[2]", "Add@14(%a, %b)", 1,
     "! operand 1: expected the element type of operand 0 (f32[2]), got f16[2]"},
    {"", "%a : f32[2,3], %b : f32[2,3]", "Less@13(%a, %b)", 1, "bool[2,3]"},
    {"", "%a : f32[2,3,4,5], %b : f32[3,4]", "Add@6(%a, %b) {broadcast = 1, axis = 1}", 1, "f32[2,3,4,5]"},
    {"", "%a : f32[2,3,4], %b : f32[4,4]", "Add@6(%a, %b) {broadcast = 1, axis = 1}", 1,
     "! operand 1: expected 3 in dimension 0"},
    {"", "%c : bool[3,1], %a : i8[4], %b : i8[1]", "Where@16(%c, %a, %b)", 1, "i8[3,4]"},
    {"", "%a : f32[2,3], %b : f32[3]", "Sum@13(%a, %b, %a)", 1, "f32[2,3]"},
    // Views
    {"@s : i64[2] = [0, -1]", "%a : f32[N,3,4]", "Reshape@14(%a, @s)", 1, "f32[N,12]"},
    {"@s : i64[2] = [-1, 6]", "%a : f32[N,3,4]", "Reshape@14(%a, @s)", 1, "f32[N * 2,6]"},
    {"@s : i64[2] = [5, -1]", "%a : f32[3,4]", "Reshape@14(%a, @s)", 1, "! f32[3,4] does not reshape to [5,-1]"},
    {"@s : i64[2] = [-1, -1]", "%a : f32[3,4]", "Reshape@14(%a, @s)", 1, "! the shape has more than one -1"},
    {"@s : i64[2] = [0, 0]", "%a : f32[0,4]", "Reshape@14(%a, @s) {allowzero = 1}", 1, "f32[0,0]"},
    {"@s : i64[4] = [0, 0, 2, -1]", "%a : f32[2,0,4]", "Reshape@14(%a, @s)", 1, "f32[2,0,2,2]"},
    {"@s : i64[3] = [0, 3, -1]", "%a : f32[0,4]", "Reshape@14(%a, @s)", 1, "f32[0,3,0]"},
    {"", "%a : f32[3,4], %s : i64[2]", "Reshape@14(%a, %s)", 1, "rank 2"},
    {"", "%a : f32[N,3,4]", "Flatten@13(%a)", 1, "f32[N,12]"},
    {"", "%a : f32[N,3,4]", "Flatten@13(%a) {axis = -1}", 1, "f32[N * 3,4]"},
    {"", "%a : f32[1,3,1]", "Squeeze@11(%a)", 1, "f32[3]"},
    {"", "%a : f32[N,3]", "Squeeze@13(%a)", 1, "f32[*]"},
    {"", "%a : f32[N,3,1]", "Squeeze@13(%a) {byoc.result_rank = 2}", 1, "f32[N,3]"},
    {"", "%a : f32[N,3,1]", "Squeeze@13(%a) {byoc.result_rank = 1}", 1, "f32[3]"},
    {"", "%a : f32[N,3,M]", "Squeeze@13(%a) {byoc.result_rank = 2}", 1, "rank 2"},
    {"", "%a : f32[N,3]", "Squeeze@13(%a) {byoc.result_rank = 0}", 1, "! f32[N,3] does not become a tensor of rank 0"},
    {"", "%a : f32[3,4], %s : i64[3]", "Squeeze@13(%a, %s)", 1, "! 'axes': 3 are given for rank 2"},
    {"", "%a : f32[3,4], %s : i64[3]", "ReduceSum@13(%a, %s) {keepdims = 0}", 1, "! 'axes': 3 are given for rank 2"},
    {"", "%a : f32[3,4], %s : i64[K]", "Slice@13(%a, %s, %s)", 1, "rank 2"},
    {"", "%a : f32[N,3,4]", "Reshape@1(%a) {shape = [0, -1]}", 1, "f32[N,12]"},
    {"", "%a : f32[N,3,4]", "Reshape@1(%a)", 1, "! attribute 'shape': expected up to 16 numbers"},
    {"@x : i64[1] = [1]", "%a : f32[1,3,1]", "Squeeze@13(%a, @x)", 1,
     "! operand 0: expected 1 in dimension 1, got f32[1,3,1]"},
    {"@x : i64[2] = [0, -1]", "%a : f32[3]", "Unsqueeze@13(%a, @x)", 1, "f32[1,3,1]"},
    {"", "%a : f32[3]", "Unsqueeze@11(%a) {axes = [3]}", 1, "! 'axes': expected values in [-2, 1], got 3"},
    // Data movement
    {"", "%a : f32[N,3,4]", "Transpose@13(%a) {perm = [2, 0, 1]}", 1, "f32[4,N,3]"},
    {"", "%a : f32[N,3]", "Transpose@13(%a) {perm = [0, 0]}", 1, "! attribute 'perm' is not a permutation of 0 to 1"},
    {"", "%a : f32[N,32,5,7]", "byoc::ToBlocked@1(%a)", 1, "f32[N,2,5,7,16]"},
    {"", "%a : f32[2,8]", "byoc::ToBlocked@1(%a) {axis = -1, block = 4}", 1, "f32[2,2,4]"},
    {"", "%a : f32[1,24,5,7]", "byoc::ToBlocked@1(%a)", 1,
     "! operand 0: expected a multiple of 16 in dimension 1, got f32[1,24,5,7]"},
    {"", "%a : f32[1,C,5,7]", "byoc::ToBlocked@1(%a)", 1, "! operand 0: expected a multiple of 16 in dimension 1"},
    {"", "%a : f32[1,32]", "byoc::ToBlocked@1(%a) {block = 0}", 1, "! attribute 'block': expected 1 to 32767, got 0"},
    {"", "%a : f32[N,2,5,M,16]", "byoc::FromBlocked@1(%a)", 1, "f32[N,32,5,M]"},
    {"", "%a : f32[2,2,4]", "byoc::FromBlocked@1(%a) {axis = -1, block = 4}", 1, "f32[2,8]"},
    {"", "%a : f32[1,2,5,7,8]", "byoc::FromBlocked@1(%a)", 1, "! operand 0: expected 16 in dimension 4"},
    {"", "%a : f32[2,16]", "byoc::FromBlocked@1(%a)", 1, "! attribute 'axis'"},
    {"", "%a : f32[N,3], %b : f32[M,3]", "Concat@13(%a, %b) {axis = 0}", 1, "f32[M + N,3]"},
    {"", "%a : f32[2,3], %b : f32[2,4]", "Concat@13(%a, %b) {axis = 0}", 1,
     "! operand 1: expected 3 in dimension 1, got f32[2,4]"},
    {"", "%a : f32[2,3]", "Concat@13(%a)", 1, "! attribute 'axis' is required"},
    {"@s : i64[1] = [1]; @e : i64[1] = [9223372036854775807]", "%a : f32[N,3]", "Slice@13(%a, @s, @e)", 1,
     "f32[max(N - 1, 0),3]"},
    {"@s : i64[1] = [0]; @e : i64[1] = [9223372036854775807]", "%a : f32[N,3]", "Slice@13(%a, @s, @e)", 1, "f32[N,3]"},
    {"@s : i64[1] = [-1]; @e : i64[1] = [-9223372036854775808]; @x : i64[1] = [1]; @t : i64[1] = [-2]", "%a : f32[2,7]",
     "Slice@13(%a, @s, @e, @x, @t)", 1, "f32[2,4]"},
    {"@s : i64[1] = [0]; @t : i64[1] = [0]", "%a : f32[2,7]", "Slice@13(%a, @s, @s, @s, @t)", 1,
     "! a step must not be 0"},
    {"", "%a : f32[6,7]", "Split@11(%a) {axis = 1, split = [3, 4]}", 2, "f32[6,3], f32[6,4]"},
    {"", "%a : f32[6,7]", "Split@11(%a) {axis = 1, split = [3, 3]}", 2,
     "! the parts of 'split' add up to 6, dimension 1 has 7"},
    {"", "%a : f32[7]", "Split@18(%a) {num_outputs = 3}", 3, "f32[3], f32[3], f32[1]"},
    {"@p : i64[4] = [1, 2, 3, -1]", "%a : f32[N,3]", "Pad@13(%a, @p)", 1, "f32[N + 4,4]"},
    {"@p : i64[3] = [1, 2, 3]", "%a : f32[N,3]", "Pad@13(%a, @p)", 1, "! 'pads': expected 4 values, got 3"},
    {"", "%a : f32[5,6], %i : i64[2,N]", "Gather@13(%a, %i) {axis = 1}", 1, "f32[5,2,N]"},
    {"", "%a : f32[5,6], %i : f32[2]", "Gather@13(%a, %i)", 1,
     "! operand 1: expected indices of i32 or i64, got f32[2]"},
    {"", "%a : f32[5,6], %i : i64[2]", "Gather@13(%a, %i) {axis = 2}", 1,
     "! attribute 'axis': expected a value in [-2, 1], got 2"},
    {"", "%a : f32[4,5,6], %i : i64[3,2]", "GatherND@13(%a, %i)", 1, "f32[3,6]"},
    {"@r : i64[2] = [2, 3]", "%a : f32[N,3]", "Tile@13(%a, @r)", 1, "f32[N * 2,9]"},
    {"@s : i64[3] = [2, 1, 6]", "%a : f32[3,1]", "Expand@13(%a, @s)", 1, "f32[2,3,6]"},
    {"", "%a : f32[1,8,2,3]", "DepthToSpace@13(%a) {blocksize = 2}", 1, "f32[1,2,4,6]"},
    {"", "%a : f32[2,3], %b : i64[0], %c : i64[0]", "Slice@13(%a, %b, %c)", 1, "f32[2,3]"},
    {"", "%a : f32[1,7,2,3]", "DepthToSpace@13(%a) {blocksize = 1}", 1, "f32[1,7,2,3]"},
    {"", "%a : f32[1,7,2,3]", "DepthToSpace@13(%a) {blocksize = 0}", 1, "! expected 1 or more, got 0"},
    {"", "%a : f32[1,7,2,3]", "DepthToSpace@13(%a) {blocksize = 2}", 1,
     "! dimension 1 of operand 0 'a' is 7, but must be a multiple of 4"},
    {"", "%a : f32[N,3,4]", "Shape@15(%a) {start = 1}", 1, "i64[2]"},
    {"@s : i64[2] = [3, 4]", "", "ConstantOfShape@9(@s)", 1, "f32[3,4]"},
    {"@a : i64[] = [3]; @b : i64[] = [20]; @d : i64[] = [4]", "", "Range@11(@a, @b, @d)", 1, "i64[5]"},
    {"@d : i64[] = [5]", "%i : i64[4,3], %v : f32[2]", "OneHot@11(%i, @d, %v) {axis = 1}", 1, "f32[4,5,3]"},
    // Reductions
    {"", "%a : f32[N,3,4]", "ReduceMean@13(%a) {axes = [-1]}", 1, "f32[N,3,1]"},
    {"@x : i64[2] = [0, 2]", "%a : f32[N,3,4]", "ReduceMean@18(%a, @x) {keepdims = 0}", 1, "f32[3]"},
    {"", "%a : f32[2,3]", "ReduceSum@11(%a) {axes = [2]}", 1, "! 'axes': expected values in [-2, 1]"},
    {"", "%a : f32[N,3]", "ArgMax@13(%a) {axis = 1, keepdims = 0}", 1, "i64[N]"},
    // Normalisations
    {"", "%x : f32[N,3,8,8], %s : f32[3]", "BatchNormalization@15(%x, %s, %s, %s, %s)", 1, "f32[N,3,8,8]"},
    {"", "%x : f32[N,3,8,8], %s : f32[4]", "BatchNormalization@15(%x, %s, %s, %s, %s)", 1,
     "! operand 1: expected 3 in dimension 0, got f32[4]"},
    {"", "%x : f32[N,3], %s : f32[3]", "BatchNormalization@15(%x, %s, %s, %s, %s) {training_mode = 1}", 3,
     "f32[N,3], f32[3], f32[3]"},
    {"", "%x : f32[N,3,8], %s : f32[8]", "LayerNormalization@17(%x, %s)", 3, "f32[N,3,8], f32[N,3,1], f32[N,3,1]"},
    {"", "%x : f32[N,3,8], %s : c64[8]", "LayerNormalization@17(%x, %s)", 1,
     "! operand 1: expected floats, got c64[8]"},
    {"", "%x : f32[N,8], %s : f32[8]", "LayerNormalization@17(%x, %s) {stash_type = 7}", 1,
     "! attribute 'stash_type' is not a float type"},
    {"", "%x : f32[N,6,8,8], %s : f32[6]", "GroupNormalization@21(%x, %s, %s) {num_groups = 4}", 1,
     "! 6 channels do not divide into 4 groups"},
    {"", "%x : f32[N,6]", "Softmax@13(%x) {axis = 2}", 1, "! attribute 'axis': expected a value in [-2, 1], got 2"},
    // Products
    {"", "%a : f32[N,3,4], %b : f32[4,5]", "MatMul@13(%a, %b)", 1, "f32[N,3,5]"},
    {"", "%a : f32[2,1,3,4], %b : f32[7,4,5]", "MatMul@13(%a, %b)", 1, "f32[2,7,3,5]"},
    {"", "%a : f32[4], %b : f32[4]", "MatMul@13(%a, %b)", 1, "f32[]"},
    {"", "%a : f32[3,4], %b : f32[5,6]", "MatMul@13(%a, %b)", 1,
     "! operand 1: expected 4 in dimension 0, got f32[5,6]"},
    {"", "%a : f32[4,N], %b : f32[5,4]", "Gemm@13(%a, %b) {transA = 1, transB = 1}", 1, "f32[N,5]"},
    {"", "%a : f32[2,4], %b : f32[4,5], %c : f32[3]", "Gemm@13(%a, %b, %c)", 1,
     "! operand 2: expected 5 in dimension 0, got f32[3]"},
    // Windows
    {"", "%x : f32[], %w : f32[]", "Conv@11(%x, %w)", 1, "! operand 0: expected rank 3 to"},
    {"", "%x : f32[N,3,H,W], %w : f32[8,3,3,3]", "Conv@11(%x, %w) {pads = [1, 1, 1, 1], strides = [2, 2]}", 1,
     "f32[N,8,floordiv(H + 1, 2),floordiv(W + 1, 2)]"},
    {"", "%x : f32[1,3,9,9], %w : f32[8,3,3,3]", "Conv@11(%x, %w) {auto_pad = \"SAME_UPPER\", strides = [2, 2]}", 1,
     "f32[1,8,5,5]"},
    {"", "%x : f32[N,3,H,W], %w : f32[8,3,3,3]", "Conv@11(%x, %w) {auto_pad = \"SAME_LOWER\", strides = [2, 2]}", 1,
     "f32[N,8,floordiv(H + 1, 2),floordiv(W + 1, 2)]"},
    {"", "%x : f32[1,4,9,9], %w : f32[8,3,3,3]", "Conv@11(%x, %w)", 1,
     "! operand 1: expected 4 input channels (4 in 1 group), got 3"},
    {"", "%x : f32[1,4,9,9], %w : f32[7,2,3,3]", "Conv@11(%x, %w) {group = 2}", 1,
     "! operand 1: 7 output channels do not divide into 2 groups"},
    {"", "%x : f32[1,3,2,2], %w : f32[8,3,3,3]", "Conv@11(%x, %w)", 1,
     "! the window of 3 does not fit into dimension 2 of 2 with pads 0 and 0"},
    {"", "%x : f32[1,3,9,9], %w : f32[8,3,3,3]", "Conv@11(%x, %w) {pads = [1, 1]}", 1,
     "! attribute 'pads': expected 4 values, got 2"},
    {"", "%x : f32[1,3,9,9], %w : f32[8,3,3,3]", "Conv@11(%x, %w) {kernel_shape = [5, 5]}", 1,
     "! attribute 'kernel_shape': expected 3 at index 0 as in the weights, got 5"},
    {"", "%x : f32[1,3,9,9], %w : f32[8,3,3,3]", "Conv@11(%x, %w) {auto_pad = \"SAME\"}", 1,
     "! attribute 'auto_pad' is 'SAME'; allowed are 'NOTSET'"},
    {"", "%x : f32[1,4,7,6], %w : f32[4,8,3,3]",
     "ConvTranspose@11(%x, %w) {strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]}", 1, "f32[1,8,14,12]"},
    {"", "%x : f32[1,3,12,13]", "MaxPool@12(%x) {kernel_shape = [3, 3], strides = [2, 2]}", 2,
     "f32[1,3,5,6], i64[1,3,5,6]"},
    {"", "%x : f32[1,3,12,13]", "MaxPool@12(%x) {kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1}", 1,
     "f32[1,3,6,6]"},
    {"", "%x : f32[1,3,12,13]", "MaxPool@12(%x)", 1, "! attribute 'kernel_shape' is required"},
    {"", "%x : f32[N,3,12,13]", "GlobalAveragePool@1(%x)", 1, "f32[N,3,1,1]"},
    {"", "%x : f32[1,4,9,9]", "byoc::Im2Col@1(%x) {kernel_shape = [3, 3], group = 2}", 1, "f32[1,2,18,49]"},
    {"", "%x : f32[1]", "byoc::CallC@1(%x) {symbol = \"f\"}", 1, "! the type of result 0 must be given"},
    // Collectives
    {"", "%x : f32[N,3]", "byoc::AllReduce@1(%x) {members = 1}", 1, "f32[N,3]"},
    {"", "%x : f32[N,3]", "byoc::AllReduce@1(%x) {members = 0}", 1, "! attribute 'members': there are no ranks"},
};

static void test_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) infer_run_case(&cases[i]);
}

static void parse_and_infer(const char *text, byoc_status_t expected, const char *part, byoc_graph_module_t **out) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_graph_parse(text, "text", byoc_allocator_system(), &diag, out), &diag);
  byoc_status_t status = byoc_infer_module(*out, &diag);
  if (expected == BYOC_OK) {
    byoc_test_ok(status, &diag);
  } else {
    byoc_test_error(status, expected, &diag, part);
  }
}

// The target of Reshape is computed from a symbolic shape, as exporters write it.
static void test_shape_arithmetic(void **state) {
  (void)state;
  byoc_graph_module_t *module = NULL;
  parse_and_infer("module {\n"
                  "  constant @zero : i64[] = [0]\n"
                  "  constant @axes : i64[1] = [0]\n"
                  "  constant @rest : i64[1] = [-1]\n"
                  "  func @main(%x : f32[N,3,4,5]) -> (%y : ?, %z : ?) {\n"
                  "    %s = Shape@15(%x) : ?\n"
                  "    %n = Gather@13(%s, @zero) : ?\n"
                  "    %u = Unsqueeze@13(%n, @axes) : ?\n"
                  "    %t = Concat@13(%u, @rest) {axis = 0} : ?\n"
                  "    %y = Reshape@14(%x, %t) : ?\n"
                  "    %z = ConstantOfShape@9(%t) : ?\n"
                  "    return %y, %y\n"
                  "  }\n"
                  "}\n",
                  BYOC_INVALID_DATA, "negative dimension -1", &module);
  const byoc_value_t *y = byoc_graph_module_main(module)->body->results.data[0];
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_type_print(y->type, &text);
  assert_string_equal(text.data, "f32[N,60]");
  byoc_string_deinit(&text);
  byoc_graph_module_destroy(module);
}

// Parts of a symbolic shape, cut out by attributes (before version 10) and by operands.
static void test_shape_slices(void **state) {
  (void)state;
  static const char *const slices[] = {"Slice@1(%s) {starts = [1], ends = [3]}",
                                       "Slice@1(%s) {starts = [-3], ends = [-1]}", "Slice@10(%s, @one, @three)",
                                       "Slice@13(%s, @one, @three, @zero, @one)"};
  for (size_t i = 0; i < sizeof slices / sizeof *slices; ++i) {
    char text[512];
    snprintf(text, sizeof text,
             "module {\n  constant @zero : i64[1] = [0]\n  constant @one : i64[1] = [1]\n"
             "  constant @three : i64[1] = [3]\n  func @main(%%x : f32[A,B,C,D]) -> (%%y : ?) {\n"
             "    %%s = Shape@15(%%x) : ?\n    %%t = %s : ?\n    %%y = ConstantOfShape@9(%%t) : ?\n"
             "    return %%y\n  }\n}\n",
             slices[i]);
    byoc_graph_module_t *module = NULL;
    parse_and_infer(text, BYOC_OK, NULL, &module);
    byoc_string_t type;
    byoc_string_init(&type, byoc_allocator_system());
    byoc_type_print(byoc_graph_module_main(module)->body->results.data[0]->type, &type);
    assert_string_equal(type.data, "f32[B,C]");
    byoc_string_deinit(&type);
    byoc_graph_module_destroy(module);
  }
}

// Each Add of a value to itself doubles the ways to the shape: they are not all followed.
static void test_shape_arithmetic_is_bounded(void **state) {
  (void)state;
  enum { ADDITIONS = 22, READERS = 64 };
  byoc_graph_module_t *module = NULL;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "module {\n  func @main(%x : f32[N,M]) -> (%y0 : ?) {\n    %s0 = Shape@15(%x) : ?\n");
  for (int i = 0; i < ADDITIONS; ++i) {
    byoc_string_appendf(&text, "    %%s%d = Add@14(%%s%d, %%s%d) : ?\n", i + 1, i, i);
  }
  for (int i = 0; i < READERS; ++i) {
    byoc_string_appendf(&text, "    %%y%d = Reshape@14(%%x, %%s%d) : ?\n", i, ADDITIONS);
  }
  byoc_string_append(&text, "    return %y0\n  }\n}\n");
  clock_t begin = clock();
  parse_and_infer(text.data, BYOC_OK, NULL, &module);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  if (seconds > 2) fail_msg("inference took %.1f s", seconds);
  byoc_string_deinit(&text);
  byoc_graph_module_destroy(module);
}

// What a model declares must agree; where it says less, inference fills in, and its names survive.
static void test_declared_types(void **state) {
  (void)state;
  byoc_graph_module_t *module = NULL;
  parse_and_infer("module {\n  func @main(%x : f32[2,3]) -> (%y : f32[2,4]) {\n"
                  "    %y = Relu@14(%x) : f32[2,4]\n    return %y\n  }\n}\n",
                  BYOC_INVALID_DATA, "result 0 is declared f32[2,4], but is f32[2,3]", &module);
  byoc_graph_module_destroy(module);
  parse_and_infer("module {\n  func @main(%x : f32[2,M]) -> (%y : f32[N,Q]) {\n"
                  "    %y = Relu@14(%x) : f32[N,Q]\n    return %y\n  }\n}\n",
                  BYOC_OK, NULL, &module);
  const byoc_type_t *type = byoc_graph_module_main(module)->body->results.data[0]->type;
  assert_int_equal(type->dims[0].constant, 2);
  byoc_graph_module_destroy(module);
}

static void test_hint_for_misspelt_operator(void **state) {
  (void)state;
  byoc_graph_module_t *module = NULL;
  byoc_diag_t diag = {0};
  const char *text = "module {\n  func @main(%x : f32[2]) -> (%y : ?) {\n"
                     "    %y = Sigmiod@13 \"act\" (%x) : ?\n    return %y\n  }\n}\n";
  byoc_test_ok(byoc_graph_parse(text, "text", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_error(byoc_infer_module(module, &diag), BYOC_UNSUPPORTED, &diag, "Sigmiod 'act'");
  assert_non_null(strstr(diag.hint, "'Sigmoid'"));
  byoc_graph_module_destroy(module);
}

static void test_create(void **state) {
  (void)state;
  byoc_graph_module_t *module = NULL;
  byoc_diag_t diag = {0};
  parse_and_infer("module {\n  func @main(%x : f32[2,3]) -> (%y : ?) {\n"
                  "    %y = Relu@14(%x) : ?\n    return %y\n  }\n}\n",
                  BYOC_OK, NULL, &module);
  byoc_block_t *block = byoc_graph_module_main(module)->body;
  byoc_value_t *x = block->parameters.data[0];
  byoc_node_t *node = byoc_op_create(block, NULL, "", "Sigmoid", &x, 1, 1, &diag);
  assert_non_null(node);
  assert_int_equal(node->since_version, 13);
  assert_true(byoc_type_equal(node->results[0]->type, x->type));
  const int64_t perm[] = {1, 0};
  byoc_attribute_t attribute = {.name = "perm", .kind = BYOC_ATTRIBUTE_INTS, .ints = perm, .count = 2};
  node = byoc_op_create_with(block, NULL, "", "Transpose", &x, 1, 1, &attribute, 1, &diag);
  assert_non_null(node);
  assert_int_equal(node->results[0]->type->dims[0].constant, 3);
  size_t count = block->node_count;
  assert_null(byoc_op_create(block, NULL, "", "Conv", &x, 1, 1, NULL));
  assert_null(byoc_op_create(block, NULL, "", "Nothing", &x, 1, 1, NULL));
  // A type that does not infer is reported as such.
  assert_null(byoc_op_create(block, NULL, "", "Conv", &x, 1, 1, &diag));
  byoc_test_error(byoc_diag_failure(&diag), BYOC_INVALID_DATA, &diag, "Conv (ai.onnx 22): expected 2 to 3 operands");
  assert_int_equal(block->node_count, count);
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),          cmocka_unit_test(test_shape_arithmetic),
      cmocka_unit_test(test_shape_slices),   cmocka_unit_test(test_shape_arithmetic_is_bounded),
      cmocka_unit_test(test_declared_types), cmocka_unit_test(test_hint_for_misspelt_operator),
      cmocka_unit_test(test_create),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
