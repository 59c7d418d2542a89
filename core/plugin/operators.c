// SPDX-License-Identifier: Apache-2.0
// Reads the operators that a plugin declares, and adds them to the operator table.
#include "core/plugin/operators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/abi.h"
#include "core/plugin/identity.h"

// Far more than any plugin declares; a larger count means that the struct was not filled.
enum { MAX_OPERATORS = 4096, MAX_ATTRIBUTES = 256, MAX_CHOICES = 64, MAX_NAME_BYTES = 127, MAX_LINE_BYTES = 4096 };

typedef struct reader_t {
  const byoc_operator_t *of; // the operator being read, with its names
  byoc_arena_t *arena;
  byoc_diag_t *diag;
} reader_t;

static byoc_status_t refuse(const reader_t *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static byoc_status_t refuse(const reader_t *r, const char *format, ...) {
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "operator '%s::%s': %s", r->of->domain, r->of->name, what);
}

// ---- attributes ----

static byoc_status_t read_choices(const reader_t *r, const char *name, const char *text, byoc_op_attribute_t *out) {
  char *copy = byoc_arena_copy_string(r->arena, text);
  const char **choices = BYOC_ARENA_ARRAY(r->arena, const char *, MAX_CHOICES + 1);
  if (copy == NULL || choices == NULL) return byoc_diag_out_of_memory(r->diag);
  size_t count = 0;
  for (char *at = copy; at != NULL;) {
    char *bar = strchr(at, '|');
    if (bar != NULL) *bar = '\0';
    if (*at == '\0' || count == MAX_CHOICES) {
      return refuse(r, "the choices of attribute '%s' are %s", name, *at == '\0' ? "not all texts" : "too many");
    }
    choices[count++] = at;
    at = bar != NULL ? bar + 1 : NULL;
  }
  out->allowed = choices;
  return BYOC_OK;
}

static byoc_status_t read_default(const reader_t *r, const char *text, byoc_op_attribute_t *out) {
  char *end = NULL;
  byoc_attribute_t *value = &out->value;
  out->has_default = true;
  errno = 0;
  switch (value->kind) {
  case BYOC_ATTRIBUTE_INT:
    value->i = strtoll(text, &end, 10);
    break;
  case BYOC_ATTRIBUTE_FLOAT:
    value->f = (double)strtof(text, &end); // as a model's attributes: f32
    break;
  case BYOC_ATTRIBUTE_STRING:
    value->s = byoc_arena_copy_string(r->arena, text);
    if (value->s == NULL) return byoc_diag_out_of_memory(r->diag);
    value->count = strlen(text);
    return BYOC_OK;
  default:
    return refuse(r, "attribute '%s' is a list, and lists have no default", value->name);
  }
  if (end != text && *end == '\0' && errno == 0) return BYOC_OK;
  return refuse(r, "the default of attribute '%s' is '%s', which is not %s", value->name, text,
                byoc_attribute_kind_name(value->kind));
}

static byoc_status_t read_attribute(const reader_t *r, uint32_t index, byoc_op_attribute_t *out) {
  static const byoc_attribute_kind_t kinds[] = {[BYOC_OPERATOR_INT] = BYOC_ATTRIBUTE_INT,
                                                [BYOC_OPERATOR_FLOAT] = BYOC_ATTRIBUTE_FLOAT,
                                                [BYOC_OPERATOR_TEXT] = BYOC_ATTRIBUTE_STRING,
                                                [BYOC_OPERATOR_INTS] = BYOC_ATTRIBUTE_INTS,
                                                [BYOC_OPERATOR_FLOATS] = BYOC_ATTRIBUTE_FLOATS};
  char what[64];
  byoc_operator_attribute_t attribute;
  snprintf(what, sizeof(what), "attribute %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(byoc_abi_read_at(r->of->attributes, r->of->attribute_stride, index,
                                        byoc_abi_of(byoc_operator_attribute_t), what, &attribute, r->diag));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(attribute.name, "the name of an attribute", MAX_NAME_BYTES, false, r->arena,
                                            r->diag, &attribute.name));
  if (attribute.kind < BYOC_OPERATOR_INT || attribute.kind > BYOC_OPERATOR_FLOATS) {
    return refuse(r, "attribute '%s' is of kind %u, which there is not", attribute.name, (unsigned)attribute.kind);
  }
  if ((attribute.flags & ~(uint32_t)BYOC_OPERATOR_REQUIRED) != 0) {
    return refuse(r, "attribute '%s' has flags that this host does not know: %u", attribute.name,
                  (unsigned)attribute.flags);
  }
  out->value.name = attribute.name;
  out->value.kind = kinds[attribute.kind];
  out->required = (attribute.flags & BYOC_OPERATOR_REQUIRED) != 0;
  if (attribute.choices != NULL) {
    if (attribute.kind != BYOC_OPERATOR_TEXT)
      return refuse(r, "attribute '%s' is no string and has choices", attribute.name);
    const char *choices = NULL;
    BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(attribute.choices, "the choices of an attribute", MAX_LINE_BYTES, false,
                                              r->arena, r->diag, &choices));
    BYOC_RETURN_IF_ERROR(read_choices(r, attribute.name, choices, out));
  }
  if (attribute.default_value == NULL) return BYOC_OK;
  if (out->required) return refuse(r, "attribute '%s' is required and has a default", attribute.name);
  const char *text = NULL;
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(attribute.default_value, "the default of an attribute", MAX_LINE_BYTES,
                                            false, r->arena, r->diag, &text));
  return read_default(r, text, out);
}

static byoc_status_t read_attributes(const reader_t *r, const byoc_op_attribute_t **out_attributes) {
  const uint32_t count = r->of->attribute_count;
  if (count > MAX_ATTRIBUTES) return refuse(r, "it has %u attributes, more than %d", (unsigned)count, MAX_ATTRIBUTES);
  byoc_op_attribute_t *attributes = BYOC_ARENA_ARRAY(r->arena, byoc_op_attribute_t, (size_t)count + 1);
  if (attributes == NULL) return byoc_diag_out_of_memory(r->diag);
  for (uint32_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR_IN(r->diag, read_attribute(r, i, &attributes[i]), "operator '%s::%s'", r->of->domain,
                            r->of->name);
  }
  *out_attributes = attributes;
  return BYOC_OK;
}

// ---- operators ----

// Signatures and definitions may have several lines.
static byoc_status_t copy_lines(const reader_t *r, const char *text, const char *what, const char **out_text) {
  *out_text = NULL;
  if (text == NULL) return BYOC_OK;
  if (strnlen(text, BYOC_DECLARED_TEXT) == BYOC_DECLARED_TEXT) {
    return refuse(r, "its %s has %d bytes or more", what, BYOC_DECLARED_TEXT);
  }
  *out_text = byoc_arena_copy_string(r->arena, text);
  return *out_text != NULL ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

static byoc_status_t read_operator(byoc_plugin_operators_t *operators, const byoc_operator_t *declared, uint32_t stride,
                                   uint32_t index, byoc_arena_t *arena, byoc_diag_t *diag) {
  char what[64];
  byoc_operator_t operator;
  reader_t r = {.of = &operator, .arena = arena, .diag = diag};
  snprintf(what, sizeof(what), "operator %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(byoc_abi_read_at(declared, stride, index, byoc_abi_of(byoc_operator_t), what, &operator, diag));
  snprintf(what, sizeof(what), "the domain of operator %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(operator.domain, what, MAX_NAME_BYTES, false, arena, diag, &operator.domain));
  snprintf(what, sizeof(what), "the name of operator %u", (unsigned)index);
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(operator.name, what, MAX_NAME_BYTES, false, arena, diag, &operator.name));
  byoc_op_declaration_t declaration = {.domain = operator.domain,
                                       .name = operator.name,
                                       .since_version = operator.since_version,
                                       .broadcasts = (operator.flags & BYOC_OPERATOR_BROADCASTS) != 0,
                                       .commutes = (operator.flags & BYOC_OPERATOR_COMMUTES) != 0};
  if ((operator.flags & ~(uint32_t)(BYOC_OPERATOR_BROADCASTS | BYOC_OPERATOR_COMMUTES)) != 0) {
    return refuse(&r, "it has flags that this host does not know: %u", (unsigned)operator.flags);
  }
  BYOC_RETURN_IF_ERROR(copy_lines(&r, operator.signature, "signature", &declaration.signature));
  BYOC_RETURN_IF_ERROR(copy_lines(&r, operator.element, "element", &declaration.element));
  BYOC_RETURN_IF_ERROR(copy_lines(&r, operator.loops, "loops", &declaration.loops));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(operator.description, "the description of an operator", MAX_LINE_BYTES,
                                            true, arena, diag, &declaration.description));
  BYOC_RETURN_IF_ERROR(read_attributes(&r, &declaration.attributes));
  const byoc_op_t *row = NULL;
  BYOC_RETURN_IF_ERROR(byoc_op_declare(&declaration, &operators->extension, arena, diag, &row));
  for (size_t i = 0; i < operators->rows.count; ++i) {
    const byoc_op_t *other = operators->rows.data[i];
    if (other->since_version != row->since_version || strcmp(other->name, row->name) != 0) continue;
    if (strcmp(other->domain, row->domain) != 0) continue;
    return refuse(&r, "version %d of it is declared twice", (int)row->since_version);
  }
  return byoc_vector_push(&operators->rows, byoc_arena_allocator(arena), row) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_plugin_operators_add(byoc_plugin_operators_t *operators, const byoc_operator_t *declared,
                                        uint32_t count, uint32_t stride, byoc_arena_t *arena, byoc_diag_t *diag) {
  if (count > MAX_OPERATORS) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it declares %u operators at once, more than %d", (unsigned)count,
                           MAX_OPERATORS);
  }
  for (uint32_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(read_operator(operators, declared, stride, i, arena, diag));
  }
  return BYOC_OK;
}

// ---- the table ----

static byoc_status_t check_domains(const byoc_plugin_operators_t *operators, const char *domains, byoc_diag_t *diag) {
  for (size_t i = 0; i < operators->rows.count; ++i) {
    const byoc_op_t *row = operators->rows.data[i];
    if (byoc_plugin_list_has(domains, row->domain)) continue;
    byoc_status_t status = byoc_diag_error(
        diag, BYOC_INVALID_DATA, "it declares '%s::%s', and its note announces %s%s%s", row->domain, row->name,
        domains[0] != '\0' ? "the domains '" : "no domains", domains, domains[0] != '\0' ? "' only" : "");
    byoc_diag_hint(diag, "announce it by BYOC_PLUGIN_DOMAINS");
    return status;
  }
  const char *cursor = byoc_plugin_list_start(domains);
  size_t size = 0;
  for (const char *name; (name = byoc_plugin_list_next(&cursor, &size)) != NULL;) {
    bool has = false;
    for (size_t i = 0; i < operators->rows.count && !has; ++i) {
      const char *domain = operators->rows.data[i]->domain;
      has = strlen(domain) == size && memcmp(domain, name, size) == 0;
    }
    if (has) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA,
                           "its note announces the domain '%.*s', of which it declares no "
                           "operator",
                           (int)size, name);
  }
  return BYOC_OK;
}

byoc_status_t byoc_plugin_operators_commit(byoc_plugin_operators_t *operators, const char *domains, const char *name,
                                           const char *version, const char *path, const char *content,
                                           byoc_arena_t *arena, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_domains(operators, domains, diag));
  if (operators->rows.count == 0) return BYOC_OK;
  byoc_op_extension_t *extension = &operators->extension;
  extension->name = byoc_arena_copy_string(arena, name);
  extension->version = byoc_arena_copy_string(arena, version);
  extension->path = byoc_arena_copy_string(arena, path);
  extension->content = content;
  extension->rows = operators->rows.data;
  extension->row_count = operators->rows.count;
  if (!extension->name || !extension->version || !extension->path) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(byoc_op_extend(extension, diag));
  operators->is_extended = true;
  for (size_t i = 0; i < operators->rows.count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_op_try(operators->rows.data[i], diag));
  }
  return BYOC_OK;
}

void byoc_plugin_operators_withdraw(byoc_plugin_operators_t *operators) {
  if (operators->is_extended) byoc_op_retract(&operators->extension);
  operators->is_extended = false;
}
