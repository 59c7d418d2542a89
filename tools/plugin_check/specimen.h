// SPDX-License-Identifier: Apache-2.0
// Specimens: small graphs that the rules of a plugin should match. They are made of the rules alone (their patterns and
// lists of operators) and of examples of operators (recipes.def), so that a plugin which nobody here has seen can be
// tried on everything that it says it takes.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_SPECIMEN_H_
#define BYOC_TOOLS_PLUGIN_CHECK_SPECIMEN_H_

#include "byoc/plugin.h"
#include "core/op/op.h"

struct check_t;

enum { SPECIMEN_RANK = 8, SPECIMEN_VALUES = 12, SPECIMEN_OPERANDS = 16, SPECIMEN_ATTRIBUTES = 8 };
#define SPECIMEN_NONE UINT32_MAX

typedef enum specimen_source_t { SPECIMEN_INPUT, SPECIMEN_CONSTANT, SPECIMEN_RESULT } specimen_source_t;
typedef enum specimen_fill_t {
  SPECIMEN_NUMBERS,  // of ordinary size, of both signs
  SPECIMEN_POSITIVE, // from 0.75 up
  SPECIMEN_LISTED,   // `values`, repeated
} specimen_fill_t;

typedef struct specimen_value_t {
  specimen_source_t source;
  byoc_dtype_t dtype;
  int32_t rank;
  int64_t dims[SPECIMEN_RANK];
  specimen_fill_t fill;
  double values[SPECIMEN_VALUES];
  size_t value_count;
  const void *data; // of a constant whose elements are given; NULL: `fill` says what they are
  const char *name; // of a case's value, "k0_y"; NULL in specimens of rules
  bool is_read;     // by a node of the specimen
} specimen_value_t;

typedef struct specimen_node_t {
  const char *domain, *op;
  uint32_t operands[SPECIMEN_OPERANDS]; // values; SPECIMEN_NONE: left out
  uint32_t operand_count, first_result, result_count;
  const byoc_attribute_t *attributes;
  size_t attribute_count;
} specimen_node_t;

typedef struct specimen_t {
  const char *rule;  // its name; of a case: "conv.cases/conv_pads"
  const char *label; // "demo.relu: Relu(f32[2,3,5])"
  BYOC_VECTOR(specimen_value_t) values;
  BYOC_VECTOR(specimen_node_t) nodes;
} specimen_t;

typedef struct specimens_t {
  byoc_arena_t arena;
  byoc_allocator_t allocator;
  BYOC_VECTOR(specimen_t *) items;
  BYOC_VECTOR(const char *) unmade; // rules of which no specimen could be made, with the operator that is to blame
} specimens_t;

// The kind of specimens to make.
typedef struct specimen_wish_t {
  byoc_dtype_t dtype; // of what is under test
  int64_t lead;       // the first dimension: 2, 1 or 0
  bool only_first;    // one variant of shapes and attributes instead of all
  bool as_inputs;     // weights are inputs instead of constants; only specimens with weights are made
} specimen_wish_t;

void specimens_init(specimens_t *set, byoc_allocator_t allocator);
void specimens_deinit(specimens_t *set);
// Adds the specimens of all rules of the backend. Two equal ones are one.
byoc_status_t specimens_add(specimens_t *set, const byoc_backend_t *backend, const specimen_wish_t *wish,
                            byoc_diag_t *diag);
// Keeps those before `first`, and at most `limit` of the others, spread over all of them.
void specimens_thin(specimens_t *set, size_t first, size_t limit);
// Keeps specimen `from` at the place of `to`, which is not behind it; ends the set at `count`, and frees what is
// behind.
void specimens_move(specimens_t *set, size_t to, size_t from);
void specimens_end(specimens_t *set, size_t count);
// Adds the cases of the tables that --cases and --case leave (cases.h), as specimens of a rule called after the case.
void specimens_add_cases(specimens_t *set, struct check_t *check);
// specimen_step of the output called `name` of a file's case.
struct check_case_file_t;
double specimen_step_of_case(struct check_t *check, const struct check_case_file_t *file, const char *name);

// A module whose function "main" holds the specimens from `first` on, `count` of them. The n-th specimen's values and
// nodes are named "k<n>_...", from `first` on.
byoc_status_t specimens_module(const specimens_t *set, size_t first, size_t count, byoc_allocator_t allocator,
                               byoc_diag_t *diag, byoc_graph_module_t **out_module);
// The number of the specimen that a value or node belongs to; -1 if its name is of another form.
int64_t specimen_of_name(const char *name);
// The floats of an input: numbers only, some NaN, or infinities and negative zero, too.
typedef enum specimen_data_t { SPECIMEN_FINITE, SPECIMEN_NAN, SPECIMEN_WILD } specimen_data_t;
// Fills memory for an input, named as in the module, with its values.
void specimens_fill(const specimens_t *set, const char *name, byoc_dtype_t dtype, void *data, size_t element_count,
                    specimen_data_t kind);

// ---- comparing (specimen_step.c) ----

// How far an element of a result may be from the expected one because floats were added in another order: 0 if no
// float is rounded to an integer on the way to it, else one step of each integer that is rounded on the way; behind a
// DequantizeLinear, times its scale.
double specimen_step(const specimen_t *specimen, uint32_t value);
// Only few elements lie so close to the middle between two integers that the order decides: at most a quarter, or two.
bool specimen_steps_are_few(size_t stepped, size_t count);

// ---- recipes: examples of operators (recipe.c) ----

typedef struct recipe_operand_t {
  bool is_known;    // its type is that of a value that is there
  bool is_left_out; // the recipe's row does so
  bool is_weight;
  specimen_value_t value;
} recipe_operand_t;

typedef struct recipe_t {
  recipe_operand_t operands[SPECIMEN_OPERANDS];
  uint32_t operand_count;
  byoc_attribute_t attributes[SPECIMEN_ATTRIBUTES];
  size_t attribute_count;
  uint32_t result_count;
} recipe_t;

// Completes the operands (of which some may be known) and gives the attributes, by the `variant`-th row that suits.
// `operand_count` of the recipe: the operands that are wanted, 0 for as many as a row has. Texts and lists go into
// `arena`. False if no row suits.
bool recipe_complete(const byoc_op_t *op, const specimen_wish_t *wish, uint32_t variant, const specimen_value_t *hint,
                     byoc_arena_t *arena, recipe_t *recipe);
// The number of the operator's rows.
uint32_t recipe_count(const byoc_op_t *op);

#endif // BYOC_TOOLS_PLUGIN_CHECK_SPECIMEN_H_
