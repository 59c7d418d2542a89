// SPDX-License-Identifier: Apache-2.0
// Makes rows of the operator table from declarations.
#include "core/op/declared.h"

#include <ctype.h>
#include <string.h>

#include "core/ir/loop.h"
#include "core/op/definition.h"
#include "core/op/util.h"

typedef struct declared_t {
  byoc_op_t row; // first, so that a pointer to the row is a pointer to the struct
  byoc_op_declaration_t declaration;
  const byoc_signature_t *signature;
} declared_t;

// ---- the functions of the rows ----

static byoc_status_t infer_declared(byoc_infer_t *infer) {
  return byoc_signature_infer(byoc_op_signature(byoc_op_of(infer->node)), infer);
}

static const byoc_loop_expr_t *point_declared(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              const byoc_loop_expr_t *const *indices) {
  const declared_t *declared = (const declared_t *)byoc_op_of(node);
  return byoc_definition_point(declared->signature, declared->declaration.element, lower, node, result, indices);
}

static byoc_status_t loops_declared(byoc_lower_t *lower, const byoc_node_t *node) {
  const declared_t *declared = (const declared_t *)byoc_op_of(node);
  byoc_definition_loops(declared->signature, declared->declaration.loops, lower, node);
  return BYOC_OK; // the builder has the failure
}

const byoc_op_declaration_t *byoc_op_declaration(const byoc_op_t *op) {
  return op && op->infer == infer_declared ? &((const declared_t *)op)->declaration : NULL;
}

const byoc_signature_t *byoc_op_signature(const byoc_op_t *op) {
  return op && op->infer == infer_declared ? ((const declared_t *)op)->signature : NULL;
}

// ---- checks ----

static byoc_status_t refuse(const byoc_op_declaration_t *d, byoc_diag_t *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static byoc_status_t refuse(const byoc_op_declaration_t *d, byoc_diag_t *diag, const char *format, ...) {
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "operator '%s::%s': %s", d->domain, d->name, what);
}

// The reason is on one line, because reasons of refusals are listed.
byoc_status_t byoc_op_text_error(const byoc_op_declaration_t *d, const char *what, const byoc_diag_t *inner,
                                 byoc_diag_t *diag) {
  if (inner->status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  char where[64] = "";
  if (inner->line > 1) {
    snprintf(where, sizeof where, " at line %d, column %d", inner->line, inner->column);
  } else if (inner->column > 1) {
    snprintf(where, sizeof where, " at column %d", inner->column);
  }
  return refuse(d, diag, "its %s%s: %s", what, where, inner->message);
}

static bool is_name(const char *text, bool is_domain) {
  for (const char *c = text; *c != '\0'; ++c) {
    if (!isalnum((unsigned char)*c) && *c != '_' && (!is_domain || (*c != '.' && *c != '-'))) return false;
  }
  return isalpha((unsigned char)text[0]) != 0 && strlen(text) < 128;
}

static byoc_status_t check_attributes(const byoc_op_declaration_t *d, const byoc_signature_t *signature,
                                      byoc_diag_t *diag) {
  for (const byoc_op_attribute_t *a = d->attributes; a && a->value.name; ++a) {
    const char *name = a->value.name;
    if (!is_name(name, false)) return refuse(d, diag, "'%s' cannot be the name of an attribute", name);
    if (byoc_attribute_is_reserved(name)) return refuse(d, diag, "the attribute's name '%s' is byoc's own", name);
    for (const byoc_op_attribute_t *b = d->attributes; b != a; ++b) {
      if (strcmp(b->value.name, name) == 0) return refuse(d, diag, "it has two attributes '%s'", name);
    }
    for (uint32_t i = 0; i < signature->operand_count + signature->result_count; ++i) {
      const byoc_signature_value_t *value =
          i < signature->operand_count ? &signature->operands[i] : &signature->results[i - signature->operand_count];
      if (strcmp(value->name, name) == 0) return refuse(d, diag, "'%s' is a value and an attribute, too", name);
    }
    bool is_allowed = !a->has_default || !a->allowed;
    for (size_t i = 0; !is_allowed && a->allowed[i]; ++i) is_allowed = strcmp(a->allowed[i], a->value.s) == 0;
    if (!is_allowed) return refuse(d, diag, "the default '%s' of attribute '%s' is not allowed", a->value.s, name);
  }
  return BYOC_OK;
}

// All values must have the same dimensions in the same order: passes may move an elementwise operator over a
// transposition.
static byoc_status_t check_element(const byoc_op_declaration_t *d, const byoc_signature_t *signature,
                                   byoc_diag_t *diag) {
  const byoc_signature_value_t *first = &signature->results[0];
  for (uint32_t i = 0; i < signature->operand_count + signature->result_count; ++i) {
    const byoc_signature_value_t *value =
        i < signature->operand_count ? &signature->operands[i] : &signature->results[i - signature->operand_count];
    const bool fits = value->dim_count == 1 && value->rest == 0;
    if (fits && first->rest == 0 && strcmp(value->dims[0].rest, first->dims[0].rest) == 0) continue;
    return refuse(d, diag, "it computes element by element, so that all values have the form T[S...], but '%s' has not",
                  value->name);
  }
  if (d->broadcasts && signature->required_count != signature->operand_count) {
    return refuse(d, diag, "an operator that broadcasts has no optional operands");
  }
  return signature->operand_count > 0 ? BYOC_OK : refuse(d, diag, "it computes element by element from no operand");
}

static byoc_status_t check(const byoc_op_declaration_t *d, byoc_diag_t *diag) {
  if (!is_name(d->domain, true)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it declares an operator of '%s', which cannot be a domain",
                           d->domain);
  }
  if (!is_name(d->name, false)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it declares '%s::%s', which cannot be an operator's name",
                           d->domain, d->name);
  }
  if (byoc_op_domain_is_reserved(d->domain)) return refuse(d, diag, "the domain '%s' is byoc's own", d->domain);
  if (d->since_version < 1) return refuse(d, diag, "its version is %d, and versions start at 1", d->since_version);
  if (d->element && d->loops) return refuse(d, diag, "it has two definitions, by elements and by loops");
  if (d->broadcasts && !d->element) return refuse(d, diag, "only an operator that is defined by elements broadcasts");
  const char *texts[] = {d->signature, d->element, d->loops};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    if (texts[i] && strnlen(texts[i], BYOC_DECLARED_TEXT) == BYOC_DECLARED_TEXT) {
      return refuse(d, diag, "one of its strings has %d bytes or more", BYOC_DECLARED_TEXT);
    }
  }
  return BYOC_OK;
}

// ---- the row ----

// Does the definition call a function that is as slow as exp?
static bool is_transcendental(const char *text) {
  for (byoc_loop_op_t op = 0; text && op < BYOC_LOOP_OP_COUNT; ++op) {
    byoc_loop_category_t category = byoc_loop_op_category(op);
    if (category != BYOC_LOOP_TRANSCENDENTAL && category != BYOC_LOOP_POWER) continue;
    const char *name = byoc_loop_op_name(op);
    for (const char *at = text; (at = strstr(at, name)) != NULL; ++at) {
      if (at[strlen(name)] == '(' && (at == text || !isalnum((unsigned char)at[-1]))) return true;
    }
  }
  return false;
}

byoc_status_t byoc_op_declare(const byoc_op_declaration_t *declaration, const byoc_op_extension_t *extension,
                              byoc_arena_t *arena, byoc_diag_t *diag, const byoc_op_t **out_row) {
  *out_row = NULL;
  const byoc_op_declaration_t *d = declaration;
  BYOC_RETURN_IF_ERROR(check(d, diag));
  byoc_diag_t inner = {0};
  const byoc_signature_t *read = NULL;
  if (byoc_signature_parse(d->signature, d->attributes, arena, &inner, &read) != BYOC_OK) {
    return byoc_op_text_error(d, "signature", &inner, diag);
  }
  BYOC_RETURN_IF_ERROR(check_attributes(d, read, diag));
  if (d->element) BYOC_RETURN_IF_ERROR(check_element(d, read, diag));
  if (d->commutes && (read->required_count != 2 || read->operand_count != 2)) {
    return refuse(d, diag, "it commutes, but does not have two operands");
  }
  declared_t *declared = BYOC_ARENA_NEW(arena, declared_t);
  byoc_signature_t *signature = BYOC_ARENA_NEW(arena, byoc_signature_t);
  if (!declared || !signature) return byoc_diag_out_of_memory(diag);
  *signature = *read;
  signature->broadcasts = d->broadcasts;
  declared->declaration = *d;
  declared->signature = signature;
  uint32_t traits = d->element ? BYOC_OP_ELEMENTWISE : BYOC_OP_OPAQUE;
  if (d->broadcasts) traits |= BYOC_OP_BROADCASTS;
  if (d->commutes) traits |= BYOC_OP_COMMUTES;
  declared->row = (byoc_op_t){
      .domain = d->domain,
      .name = d->name,
      .since_version = d->since_version,
      .min_inputs = (int32_t)signature->required_count,
      .max_inputs = (int32_t)signature->operand_count,
      .min_outputs = 1,
      .max_outputs = (int32_t)signature->result_count,
      .traits = traits,
      .work = is_transcendental(d->element ? d->element : d->loops) ? BYOC_WORK_TRANSCENDENTAL : BYOC_WORK_USUAL,
      .attributes = d->attributes,
      .infer = infer_declared,
      .point = d->element ? point_declared : NULL,
      .loops = d->loops ? loops_declared : NULL,
      .extension = extension,
  };
  *out_row = &declared->row;
  return BYOC_OK;
}
