// The case tables: small graphs written down in tests/conformance/cases/*.cases, one per line:
//
//   name | who must take it | operands | nodes
//   conv_pads | cutlass dnnl cblas:some | x[1,3,8,9] w[4,3,3,3]= b[4]= | y = Conv(x,w,b) pads=1,1,1,1; z = Relu(y)
//
// Who: target kinds; the kind takes every node of the case, or with ":some" at least one. Others may take it or not;
// what they take must be right. "-": nobody has to. Operands: x[dims] is an input of values in [-1, 1) (from 0.25 where
// its name starts with "positive", with NaN and infinities among them where it starts with "wild"); w[dims]= is a
// constant of such values, w[dims]=+ of positive ones, w[dims]=1,2 of these values, repeated; w[dims]:i64=... of
// another type. f32 where no type is given. Attributes: key=1 is an integer, key=1.0 a float, key=1,1 (or "1,") a list
// of integers, all else a text. What no node of the case reads is an output. A line that starts with '#' is a comment.
#ifndef BYOC_TESTS_CONFORMANCE_CASES_H_
#define BYOC_TESTS_CONFORMANCE_CASES_H_

#include "core/frontend/onnx_write.h"

enum { ALL_CASES = -1 };

typedef struct case_t {
  char *line, *name, *demands, *operands, *nodes; // `line` owns the others
  int line_number;
} case_t;

typedef struct case_file_t {
  char *path;
  const char *name; // in `path`, without the folder
  case_t *cases;
  size_t count;
} case_file_t;

typedef struct case_table_t {
  case_file_t *files; // sorted by name
  size_t file_count;
} case_table_t;

// Reads every *.cases file of `folder`, with the cases whose "file/name" contains `filter` (NULL: all). Fails the
// running test if a file cannot be read or a line is malformed.
void case_table_read(const char *folder, const char *filter, case_table_t *out_table);
void case_table_deinit(case_table_t *table);

typedef enum demand_t { DEMAND_NONE, DEMAND_SOME, DEMAND_ALL } demand_t;
demand_t case_demand(const case_t *entry, const char *kind);

// One model of all cases of the file (ALL_CASES) or of one; the n-th case's values and nodes are named "k<n>_...". Free
// with byoc_free of the system's allocator.
void case_file_model(const case_file_t *file, int which, uint8_t **out_data, size_t *out_size);
// The index of the case that a node or value belongs to; -1 if its name is of another form.
int case_of_name(const char *name);

#endif // BYOC_TESTS_CONFORMANCE_CASES_H_
