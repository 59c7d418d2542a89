// SPDX-License-Identifier: Apache-2.0
// Loop-level IR: the body of a kernel. Expressions over scalars, statements over buffers; immutable once built, owned
// by one arena. The native target emits it as C, and the evaluator interprets it.
//
//   kernel = parameters (buffers with memory scopes) + one statement
//   parallel i0 in 0..64 { vector i1 in 0..56 { Y[i0 * 56 + i1] = max(X[i0 * 56 + i1], 0.0) } }
//
// Buffers are addressed by one linear index, in elements; byoc_loop_linear_index makes it from per-dimension indices.
// Expressions fold constants and neutral elements when they are made. Integer division is floor division. Index
// arithmetic is i64. Functions that make something return NULL and set builder->failed if an argument is NULL or memory
// runs out, so that a long construction is checked once at its end.
#ifndef BYOC_CORE_IR_LOOP_H_
#define BYOC_CORE_IR_LOOP_H_

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/vector.h"
#include "core/ir/type.h"

// Operators on values: core/ir/loop_op.def.
typedef enum byoc_loop_op_t {
#define BYOC_LOOP_OP_ROW(NAME, ...) BYOC_LOOP_OP_##NAME,
#include "core/ir/loop_op.def"
  BYOC_LOOP_OP_COUNT
} byoc_loop_op_t;

typedef enum byoc_loop_category_t {
  BYOC_LOOP_ARITHMETIC,
  BYOC_LOOP_BITS,
  BYOC_LOOP_COMPARISON,
  BYOC_LOOP_POWER,
  BYOC_LOOP_ROUNDING,
  BYOC_LOOP_TRANSCENDENTAL,
  BYOC_LOOP_TEST,
} byoc_loop_category_t;
byoc_loop_category_t byoc_loop_op_category(byoc_loop_op_t op);

const char *byoc_loop_op_name(byoc_loop_op_t op);
// May a variable or buffer of a kernel have this name? Excluded are words of C, functions that kernels call in C, and
// names of the emitter's own values: t_0, dim_0, args_0, x_end, x_nan, x_term.
bool byoc_loop_name_is_free(const char *name);
uint32_t byoc_loop_op_operand_count(byoc_loop_op_t op);

typedef struct byoc_loop_buffer_t byoc_loop_buffer_t;
typedef struct byoc_loop_variable_t byoc_loop_variable_t;
typedef struct byoc_loop_expr_t byoc_loop_expr_t;
typedef struct byoc_loop_stmt_t byoc_loop_stmt_t;

typedef enum byoc_loop_buffer_kind_t {
  BYOC_LOOP_BUFFER_INPUT,  // read only
  BYOC_LOOP_BUFFER_OUTPUT, // may be read once it is written
  BYOC_LOOP_BUFFER_LOCAL,  // lives inside an ALLOCATE statement: registers or stack, one per thread
} byoc_loop_buffer_kind_t;

struct byoc_loop_buffer_t {
  const char *name; // unique in its kernel, a C identifier that is free (byoc_loop_name_is_free)
  byoc_loop_buffer_kind_t kind;
  byoc_dtype_t dtype;
  int32_t rank;
  const byoc_dim_t *dims; // symbols get their values from the call
  const char *scope;      // memory scope; NULL: free
  uint32_t index;         // position among the parameters (inputs, then outputs)
  uint64_t alignment;     // bytes that may be assumed
};

struct byoc_loop_variable_t {
  const char *name; // unique in its kernel, a C identifier that is free (byoc_loop_name_is_free)
  byoc_dtype_t dtype;
  bool is_mutable; // ASSIGN may change it
};

typedef enum byoc_loop_expr_kind_t {
  BYOC_LOOP_CONST,    // number
  BYOC_LOOP_VARIABLE, // loop index, LET or local scalar
  BYOC_LOOP_DIM,      // the run-time value of a symbol (i64)
  BYOC_LOOP_LOAD,     // buffer[index]
  BYOC_LOOP_OP,       // op(operands)
  BYOC_LOOP_SELECT,   // condition ? a : b ; only the chosen side is evaluated (a guard for loads)
  BYOC_LOOP_CAST,     // numeric conversion, C rules; float → integer saturates, NaN gives 0
} byoc_loop_expr_kind_t;

struct byoc_loop_expr_t {
  byoc_loop_expr_kind_t kind;
  byoc_dtype_t dtype;
  union {
    struct {
      int64_t i;
      double f;
    } number; // i for integers and bool, f for floats
    const byoc_loop_variable_t *variable;
    const char *symbol;
    struct {
      const byoc_loop_buffer_t *buffer;
      const byoc_loop_expr_t *index;
    } load;
    struct {
      byoc_loop_op_t op;
      const byoc_loop_expr_t *operands[2];
    } op;
    struct {
      const byoc_loop_expr_t *condition, *yes, *no;
    } select;
    const byoc_loop_expr_t *cast;
  };
};

typedef enum byoc_loop_stmt_kind_t {
  BYOC_LOOP_BLOCK, // statements in order
  BYOC_LOOP_FOR,   // variable from begin (included) to end (excluded), step 1
  BYOC_LOOP_WHILE, // the condition is read before each iteration
  BYOC_LOOP_IF,
  BYOC_LOOP_LET,      // variable = value, visible in the statements that follow in its block
  BYOC_LOOP_ASSIGN,   // mutable variable = value
  BYOC_LOOP_STORE,    // buffer[index] = value
  BYOC_LOOP_ALLOCATE, // a local buffer for the statements that follow in its block
  BYOC_LOOP_COMMENT,  // a comment in the generated code
} byoc_loop_stmt_kind_t;

typedef enum byoc_loop_for_kind_t {
  BYOC_LOOP_SERIAL,
  BYOC_LOOP_PARALLEL, // iterations are independent; outermost only
  BYOC_LOOP_VECTOR,   // iterations are independent; the compiler is asked to vectorise
  BYOC_LOOP_UNROLL,   // constant bounds
  BYOC_LOOP_REDUCE,   // as VECTOR, but iterations fold terms into scalars, in any order (v = op(v, term))
} byoc_loop_for_kind_t;

struct byoc_loop_stmt_t {
  byoc_loop_stmt_kind_t kind;
  union {
    struct {
      BYOC_VECTOR(byoc_loop_stmt_t *) statements;
    } block;
    struct {
      byoc_loop_for_kind_t kind;
      const byoc_loop_variable_t *variable;
      const byoc_loop_expr_t *begin, *end;
      byoc_loop_stmt_t *body; // always a block
    } loop;
    struct {
      const byoc_loop_expr_t *condition;
      byoc_loop_stmt_t *body;
    } loop_while;
    struct {
      const byoc_loop_expr_t *condition;
      byoc_loop_stmt_t *yes, *no;
    } branch; // no may be NULL
    struct {
      const byoc_loop_variable_t *variable;
      const byoc_loop_expr_t *value;
    } assign; // LET and ASSIGN
    struct {
      const byoc_loop_buffer_t *buffer;
      const byoc_loop_expr_t *index, *value;
    } store;
    const byoc_loop_buffer_t *allocate;
    const char *comment;
  };
};

// The number of results of a kernel, the first ones, that may be written over operands.
#define BYOC_LOOP_OVERWRITING 8

typedef struct byoc_loop_kernel_t {
  const char *name;                             // global symbol, a C identifier
  const char *description;                      // its operators, without node names: "Conv+Relu"
  BYOC_VECTOR(byoc_loop_buffer_t *) parameters; // inputs, then outputs
  uint32_t input_count, output_count;
  // Symbolic dimensions that the kernel needs. If there are any, a call has one more input after the kernel's own: an
  // i64 tensor with their values in this order.
  BYOC_VECTOR(const char *) symbols;
  byoc_loop_stmt_t *body; // a block
  // By result, bit i: calls may write it over operand i (core/ir/loop_in_place.h, loop_keep.h).
  uint64_t overwritten[BYOC_LOOP_OVERWRITING];
} byoc_loop_kernel_t;

// The index of a parameter among the tensors of a call.
static inline uint32_t byoc_loop_tensor_index(const byoc_loop_kernel_t *kernel, uint32_t parameter) {
  return parameter + (parameter >= kernel->input_count && kernel->symbols.count > 0);
}

static inline bool byoc_loop_overwrites(const byoc_loop_kernel_t *kernel, size_t input, size_t output) {
  return output < BYOC_LOOP_OVERWRITING && input < 64 && (kernel->overwritten[output] >> input & 1) != 0;
}

// Builds one kernel. The statement cursor is a stack of open blocks.
typedef struct byoc_loop_builder_t {
  byoc_arena_t *arena; // owns everything that is made
  byoc_loop_kernel_t *kernel;
  BYOC_VECTOR(byoc_loop_stmt_t *) open;
  uint32_t next_name;
  bool failed;
} byoc_loop_builder_t;

void byoc_loop_builder_init(byoc_loop_builder_t *builder, byoc_arena_t *arena, const char *name);
void byoc_loop_builder_deinit(byoc_loop_builder_t *builder);

byoc_loop_buffer_t *byoc_loop_parameter(byoc_loop_builder_t *builder, byoc_loop_buffer_kind_t kind, const char *name,
                                        const byoc_type_t *type);
byoc_loop_buffer_t *byoc_loop_allocate(byoc_loop_builder_t *builder, const char *name, byoc_dtype_t dtype,
                                       int64_t count);

// ---- expressions ----
const byoc_loop_expr_t *byoc_loop_int(byoc_loop_builder_t *builder, int64_t value); // i64
const byoc_loop_expr_t *byoc_loop_const(byoc_loop_builder_t *builder, byoc_dtype_t dtype, double value);
const byoc_loop_expr_t *byoc_loop_const_int(byoc_loop_builder_t *builder, byoc_dtype_t dtype, int64_t value);
const byoc_loop_expr_t *byoc_loop_var(byoc_loop_builder_t *builder, const byoc_loop_variable_t *variable);
const byoc_loop_expr_t *byoc_loop_dim(byoc_loop_builder_t *builder, byoc_dim_t dim); // i64
const byoc_loop_expr_t *byoc_loop_load(byoc_loop_builder_t *builder, const byoc_loop_buffer_t *buffer,
                                       const byoc_loop_expr_t *index);
const byoc_loop_expr_t *byoc_loop_unary(byoc_loop_builder_t *builder, byoc_loop_op_t op, const byoc_loop_expr_t *a);
const byoc_loop_expr_t *byoc_loop_binary(byoc_loop_builder_t *builder, byoc_loop_op_t op, const byoc_loop_expr_t *a,
                                         const byoc_loop_expr_t *b);
const byoc_loop_expr_t *byoc_loop_select(byoc_loop_builder_t *builder, const byoc_loop_expr_t *condition,
                                         const byoc_loop_expr_t *yes, const byoc_loop_expr_t *no);
const byoc_loop_expr_t *byoc_loop_cast(byoc_loop_builder_t *builder, byoc_dtype_t dtype, const byoc_loop_expr_t *value);
// Row-major linear index of `indices` in a tensor of these dimensions.
const byoc_loop_expr_t *byoc_loop_linear_index(byoc_loop_builder_t *builder, int32_t rank, const byoc_dim_t *dims,
                                               const byoc_loop_expr_t *const *indices);
// Short forms for index arithmetic.
#define BYOC_LADD(b, x, y) byoc_loop_binary((b), BYOC_LOOP_OP_ADD, (x), (y))
#define BYOC_LSUB(b, x, y) byoc_loop_binary((b), BYOC_LOOP_OP_SUB, (x), (y))
#define BYOC_LMUL(b, x, y) byoc_loop_binary((b), BYOC_LOOP_OP_MUL, (x), (y))
bool byoc_loop_is_const(const byoc_loop_expr_t *expr, double value);
bool byoc_loop_is_int(const byoc_loop_expr_t *expr, int64_t *out_value);

// ---- statements: each is appended to the innermost open block ----
// Opens a loop and returns its index expression; close with byoc_loop_end.
const byoc_loop_expr_t *byoc_loop_for(byoc_loop_builder_t *builder, byoc_loop_for_kind_t kind, const char *name,
                                      const byoc_loop_expr_t *begin, const byoc_loop_expr_t *end);
void byoc_loop_while(byoc_loop_builder_t *builder, const byoc_loop_expr_t *condition);
void byoc_loop_if(byoc_loop_builder_t *builder, const byoc_loop_expr_t *condition);
void byoc_loop_else(byoc_loop_builder_t *builder); // right before the _end of an if
void byoc_loop_end(byoc_loop_builder_t *builder);
// Has every loop and branch ended? A loop that was left open takes in all that follows.
bool byoc_loop_is_closed(const byoc_loop_builder_t *builder);
// Gives a value a name, so that it is computed once.
const byoc_loop_expr_t *byoc_loop_let(byoc_loop_builder_t *builder, const char *name, const byoc_loop_expr_t *value);
// Makes a mutable scalar with its first value; assigns a new value to it.
const byoc_loop_expr_t *byoc_loop_mutable(byoc_loop_builder_t *builder, const char *name,
                                          const byoc_loop_expr_t *value);
void byoc_loop_assign(byoc_loop_builder_t *builder, const byoc_loop_expr_t *variable, const byoc_loop_expr_t *value);
void byoc_loop_store(byoc_loop_builder_t *builder, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *index,
                     const byoc_loop_expr_t *value);
// The term of an assignment `v = op(v, term)` if op is associative and the term does not read v; NULL for others.
const byoc_loop_expr_t *byoc_loop_reduction_term(const byoc_loop_stmt_t *assign);
bool byoc_loop_expr_reads(const byoc_loop_expr_t *expr, const byoc_loop_variable_t *variable);
// Is the index the variable plus (or minus) terms that do not read it?
bool byoc_loop_steps_by_one(const byoc_loop_expr_t *index, const byoc_loop_variable_t *variable);
void byoc_loop_comment(byoc_loop_builder_t *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Checks every rule above (open blocks, types of operands, scopes of variables, parallel loops outermost).
byoc_status_t byoc_loop_verify(const byoc_loop_kernel_t *kernel, byoc_diag_t *diag);

#endif // BYOC_CORE_IR_LOOP_H_
