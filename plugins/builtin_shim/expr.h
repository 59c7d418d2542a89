// SPDX-License-Identifier: Apache-2.0
// Expressions of a table: sizes, conditions and attributes of a match.
//
//   dim(a, -1) == dim(b, -2) && (dtype(a) == 'f32' || dtype(a) == 'f64')
//
// Numbers (double: exact for integers up to 2^53), 'strings', names of `let`, + - * / % == != < <= > >= && || ! ?: and
// the functions listed in expr.c. A name of the pattern stands for its value; a node's name for the node and, where a
// value is asked for, for its first result.
#ifndef BYOC_SHIM_EXPR_H_
#define BYOC_SHIM_EXPR_H_

#include <jansson.h>
#include <stdbool.h>

#include "byoc/plugin.h"

enum { BYOC_SHIM_MAX_VARIABLES = 48, BYOC_SHIM_MAX_DIMS = 16 };

// A number, or a string if `text` is not NULL (not NUL-terminated).
typedef struct byoc_shim_value_t {
  const char *text;
  size_t length;
  double number;
} byoc_shim_value_t;

// The meaning of names. Without a region expressions are only checked: every branch is read, functions return 1 or ''.
typedef struct byoc_shim_scope_t {
  const byoc_host_t *host;
  const char *pattern; // declares the names of values and nodes
  byoc_region_t *region;
  struct {
    const char *name;
    byoc_shim_value_t value;
  } variables[BYOC_SHIM_MAX_VARIABLES];
  size_t variable_count;
  char error[320]; // why the last call returned false
} byoc_shim_scope_t;

// Records the reason and returns false.
bool byoc_shim_fail(byoc_shim_scope_t *scope, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Puts "<where>: " in front of the reason and returns false.
bool byoc_shim_fail_in(byoc_shim_scope_t *scope, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Adds a variable, or changes it. `name` must outlive the scope.
bool byoc_shim_set(byoc_shim_scope_t *scope, const char *name, byoc_shim_value_t value);

// True if the pattern binds this name.
bool byoc_shim_in_pattern(const char *pattern, const char *name);
// The value that a name of the pattern stands for; NULL if its part did not match.
byoc_value_t *byoc_shim_bound(const byoc_shim_scope_t *scope, const char *name);

// `expression` is a JSON string with an expression, or a JSON number.
bool byoc_shim_evaluate(byoc_shim_scope_t *scope, const json_t *expression, byoc_shim_value_t *out_value);
bool byoc_shim_evaluate_number(byoc_shim_scope_t *scope, const json_t *expression, double *out_number);
bool byoc_shim_evaluate_int(byoc_shim_scope_t *scope, const json_t *expression, int64_t *out_int);
// A JSON array of integer expressions. Two more forms stand for several items: dims(v[, from[, to]]) and ones(count).
bool byoc_shim_evaluate_ints(byoc_shim_scope_t *scope, const json_t *list, int64_t out_ints[BYOC_SHIM_MAX_DIMS],
                             uint32_t *out_count);

#endif // BYOC_SHIM_EXPR_H_
