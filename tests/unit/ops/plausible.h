// SPDX-License-Identifier: Apache-2.0
// The operands of plausible.def, which can be changed, and the module of one node that has them.
#ifndef BYOC_TESTS_UNIT_OPS_PLAUSIBLE_H_
#define BYOC_TESTS_UNIT_OPS_PLAUSIBLE_H_

#include <stdio.h>
#include <stdlib.h>

#include "core/op/op.h"
#include "tests/support/support.h"

enum { MOST_OPERANDS = 20, TEXT_SIZE = 8192, PART_SIZE = 512 };

typedef struct {
  const char *op, *operands, *attributes;
  int results;
  const char *result_types; // for operators whose result types must be given; else ""
} plausible_t;

#define PLAUSIBLE(op, operands, attributes, results)    {op, operands, attributes, results, ""},
#define GIVEN(op, operands, attributes, results, types) {op, operands, attributes, results, types},
static const plausible_t plausible[] = {
#include "plausible.def"
};

// "f32[2,3]", "i64[2] = [0, -1]" (a constant), "seq<f32[2]>", "_"
typedef struct {
  char text[PART_SIZE];
  bool is_tensor, is_constant;
  char dtype[16], values[PART_SIZE];
  int rank;
  long dims[BYOC_MAX_RANK + 1];
} operand_t;

static inline void read_operand(const char *text, size_t length, operand_t *out) {
  *out = (operand_t){0};
  snprintf(out->text, sizeof out->text, "%.*s", (int)length, text);
  const char *open = strchr(out->text, '['), *equals = strstr(out->text, " = ");
  if (!open || strchr(out->text, '<')) return;
  out->is_tensor = true;
  snprintf(out->dtype, sizeof out->dtype, "%.*s", (int)(open - out->text), out->text);
  for (const char *at = open + 1; *at != ']' && out->rank < BYOC_MAX_RANK;) {
    char *end = NULL;
    out->dims[out->rank++] = strtol(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  if (!equals) return;
  out->is_constant = true;
  snprintf(out->values, sizeof out->values, "%s", equals + 3);
  out->text[equals - out->text] = '\0';
}

static inline int read_operands(const char *text, operand_t *out) {
  int count = 0;
  while (*text) {
    size_t length = strcspn(text, ";");
    assert_true(count < MOST_OPERANDS);
    read_operand(text, length, &out[count++]);
    text += length;
    text += strspn(text, "; ");
  }
  return count;
}

static inline void write_operand(operand_t *operand) {
  char text[PART_SIZE], dims[PART_SIZE] = "";
  size_t used = 0;
  for (int d = 0; d < operand->rank; ++d) {
    used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%ld", d ? "," : "", operand->dims[d]);
  }
  snprintf(text, sizeof text, "%s[%s]", operand->dtype, dims);
  memcpy(operand->text, text, sizeof text);
}

static inline void write_module(const byoc_op_t *op, const plausible_t *p, const operand_t *operands, int count,
                                char *text) {
  char constants[TEXT_SIZE / 4] = "", parameters[TEXT_SIZE / 4] = "", arguments[256] = "", names[64] = "",
                             types[TEXT_SIZE / 4] = "", values[TEXT_SIZE / 4] = "";
  for (int i = 0; i < count; ++i) {
    char *at = arguments + strlen(arguments);
    const operand_t *o = &operands[i];
    const char *comma = i ? ", " : "";
    if (strcmp(o->text, "_") == 0) {
      snprintf(at, 16, "%s_", comma);
      continue;
    }
    snprintf(at, 16, "%s%s%c", comma, o->is_constant ? "@" : "%", 'a' + i);
    char *list = o->is_constant ? constants + strlen(constants) : parameters + strlen(parameters);
    if (o->is_constant) {
      snprintf(list, sizeof constants - (size_t)(list - constants), "  constant @%c : %s = %s\n", 'a' + i, o->text,
               o->values);
    } else {
      snprintf(list, sizeof parameters - (size_t)(list - parameters), "%s%%%c : %s", parameters[0] ? ", " : "", 'a' + i,
               o->text);
    }
  }
  for (int i = 0; i < p->results; ++i) {
    snprintf(names + strlen(names), 16, "%s%%r%d", i ? ", " : "", i);
    if (!p->result_types[0]) snprintf(types + strlen(types), 16, "%s?", i ? ", " : "");
    snprintf(values + strlen(values), PART_SIZE, "%s%%r%d : %s", i ? ", " : "", i,
             p->result_types[0] ? p->result_types : "?");
  }
  snprintf(text, TEXT_SIZE,
           "module {\n  constant @tensor : f32[2] = [1.0, 2.0]\n  constant @bytes : u8[2] = [0, 4]\n%s  func @main(%s) "
           "-> (%s) {\n    %s%s%s%s%s@%d(%s) "
           "%s%s%s\n    return %s\n  }\n}\n",
           constants, parameters, values, names, p->results ? " = " : "", op->domain, op->domain[0] ? "::" : "",
           op->name, op->since_version, arguments, p->attributes, p->results ? " : " : "",
           p->result_types[0] ? p->result_types : types, names);
}

static inline bool is_of(const plausible_t *p, const byoc_op_t *op) {
  char name[128];
  snprintf(name, sizeof name, "%s%s%s", op->domain, op->domain[0] ? "::" : "", op->name);
  return strcmp(p->op, name) == 0;
}

#endif // BYOC_TESTS_UNIT_OPS_PLAUSIBLE_H_
