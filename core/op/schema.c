// SPDX-License-Identifier: Apache-2.0
// Checks attributes of nodes against the schema of their operator, and reads them with its defaults.
#include "core/op/schema.h"

#include <assert.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/op.h"

bool byoc_attribute_is_reserved(const char *name) {
  return strncmp(name, BYOC_ATTRIBUTE_RESERVED, sizeof(BYOC_ATTRIBUTE_RESERVED) - 1) == 0;
}

// ONNX reserves these names for tools that annotate models.
static bool is_annotation(const char *name) {
  return strncmp(name, "__", 2) == 0;
}

bool byoc_op_attribute_holds(const byoc_op_attribute_t *attribute, int32_t version) {
  return version >= attribute->since && (attribute->until == 0 || version < attribute->until);
}

// The entry in force, else the entry of another version.
static const byoc_op_attribute_t *find_entry(const byoc_op_t *op, const char *name) {
  const byoc_op_attribute_t *found = NULL;
  for (const byoc_op_attribute_t *entry = op->attributes; entry && entry->value.name; ++entry) {
    if (strcmp(entry->value.name, name) != 0) continue;
    if (byoc_op_attribute_holds(entry, op->since_version)) return entry;
    if (!found) found = entry;
  }
  return found;
}

const byoc_op_attribute_t *byoc_op_attribute(const byoc_op_t *op, const char *name) {
  const byoc_op_attribute_t *entry = find_entry(op, name);
  return entry && byoc_op_attribute_holds(entry, op->since_version) ? entry : NULL;
}

bool byoc_op_knows_attribute(const byoc_op_t *op, const char *name) {
  return byoc_attribute_is_reserved(name) || is_annotation(name) || byoc_op_attribute(op, name) != NULL;
}

// ---- checking ----

static const char *kind_name(const byoc_op_attribute_t *entry) {
  return entry->is_block ? "a graph" : byoc_attribute_kind_name(entry->value.kind);
}

static byoc_status_t refuse(const byoc_node_t *node, byoc_diag_t *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static byoc_status_t refuse(const byoc_node_t *node, byoc_diag_t *diag, const char *format, ...) {
  char where[256], what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  byoc_node_describe(node, where, sizeof where);
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s: attribute %s", where, what);
}

// "'axis', 'keepdims' and 'perm'" of the first `count` words.
static void list_words(const char *const *words, size_t count, char *buffer, size_t size) {
  size_t used = 0;
  buffer[0] = '\0';
  for (size_t i = 0; i < count && used < size; ++i) {
    const char *before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
    used += (size_t)snprintf(buffer + used, size - used, "%s'%s'", before, words[i]);
  }
}

static byoc_status_t refuse_unknown(const byoc_node_t *node, const byoc_op_t *op, const char *name, byoc_diag_t *diag) {
  const byoc_op_attribute_t *other = find_entry(op, name);
  if (other && other->since > op->since_version) {
    return refuse(node, diag, "'%s' is not known before version %d of the operator", name, other->since);
  }
  if (other) return refuse(node, diag, "'%s' is not known from version %d of the operator on", name, other->until);
  enum { MOST_NAMES = 32 };
  const char *names[MOST_NAMES];
  size_t count = 0;
  for (const byoc_op_attribute_t *entry = op->attributes; entry && entry->value.name && count < MOST_NAMES; ++entry) {
    if (byoc_op_attribute_holds(entry, op->since_version)) names[count++] = entry->value.name;
  }
  if (count == 0) return refuse(node, diag, "'%s' is not known: the operator takes no attributes", name);
  char known[400];
  list_words(names, count, known, sizeof known);
  refuse(node, diag, "'%s' is not known; the operator takes %s", name, known);
  const char *nearest = byoc_nearest_match(name, names, count);
  if (nearest) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  return BYOC_INVALID_DATA;
}

static byoc_status_t check_text(const byoc_node_t *node, const byoc_op_attribute_t *entry,
                                const byoc_attribute_t *attribute, byoc_diag_t *diag) {
  size_t count = 0;
  for (; entry->allowed[count]; ++count) {
    if (strcmp(entry->allowed[count], attribute->s) == 0) return BYOC_OK;
  }
  char known[400];
  list_words(entry->allowed, count, known, sizeof known);
  refuse(node, diag, "'%s' is '%s'; allowed are %s", attribute->name, attribute->s, known);
  const char *nearest = byoc_nearest_match(attribute->s, entry->allowed, count);
  if (nearest) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  return BYOC_INVALID_DATA;
}

static byoc_status_t check_attribute(const byoc_node_t *node, const byoc_op_t *op, const byoc_attribute_t *attribute,
                                     byoc_diag_t *diag) {
  if (byoc_attribute_is_reserved(attribute->name) || is_annotation(attribute->name)) return BYOC_OK;
  const byoc_op_attribute_t *entry = byoc_op_attribute(op, attribute->name);
  if (!entry) return refuse_unknown(node, op, attribute->name, diag);
  if (entry->is_block || attribute->kind != entry->value.kind) {
    return refuse(node, diag, "'%s' must be %s, but is %s", attribute->name, kind_name(entry),
                  byoc_attribute_kind_name(attribute->kind));
  }
  return entry->allowed ? check_text(node, entry, attribute, diag) : BYOC_OK;
}

static byoc_status_t check_block(const byoc_node_t *node, const byoc_op_t *op, const char *name, byoc_diag_t *diag) {
  const byoc_op_attribute_t *entry = byoc_op_attribute(op, name);
  if (!entry) return refuse_unknown(node, op, name, diag);
  if (!entry->is_block) return refuse(node, diag, "'%s' must be %s, but is a graph", name, kind_name(entry));
  return BYOC_OK;
}

byoc_status_t byoc_op_check_attributes(const byoc_node_t *node, const byoc_op_t *op, byoc_diag_t *diag) {
  for (size_t i = 0; i < node->attributes.count; ++i) {
    BYOC_RETURN_IF_ERROR(check_attribute(node, op, &node->attributes.items[i], diag));
  }
  for (uint32_t i = 0; i < node->block_count; ++i) {
    BYOC_RETURN_IF_ERROR(check_block(node, op, node->block_names[i], diag));
  }
  for (const byoc_op_attribute_t *entry = op->attributes; entry && entry->value.name; ++entry) {
    const char *name = entry->value.name;
    if (!entry->required || !byoc_op_attribute_holds(entry, op->since_version)) continue;
    bool given = entry->is_block ? byoc_node_find_block(node, name) != NULL
                                 : byoc_attributes_find(&node->attributes, name) != NULL;
    if (!given) return refuse(node, diag, "'%s' is required", name);
  }
  return BYOC_OK;
}

// ---- reading ----

// The node's own attribute, else the default; NULL if there is neither. *out_entry is the schema's entry.
static const byoc_attribute_t *read_attribute(const byoc_node_t *node, const char *name, byoc_attribute_kind_t kind,
                                              const byoc_op_attribute_t **out_entry) {
  const byoc_op_t *op = byoc_op_of(node);
  const byoc_op_attribute_t *entry = op ? find_entry(op, name) : NULL;
  assert(entry && !entry->is_block && entry->value.kind == kind && "the operator's row has no such attribute");
  *out_entry = entry;
  const byoc_attribute_t *given = byoc_attributes_find(&node->attributes, name);
  if (given && given->kind == kind) return given;
  return entry && entry->value.kind == kind && entry->has_default ? &entry->value : NULL;
}

static const byoc_attribute_t *read_kind(const byoc_node_t *node, const char *name, byoc_attribute_kind_t kind) {
  const byoc_op_attribute_t *entry;
  return read_attribute(node, name, kind, &entry);
}

int64_t byoc_node_int(const byoc_node_t *node, const char *name) {
  const byoc_attribute_t *attribute = read_kind(node, name, BYOC_ATTRIBUTE_INT);
  return attribute ? attribute->i : 0;
}

double byoc_node_float(const byoc_node_t *node, const char *name) {
  const byoc_attribute_t *attribute = read_kind(node, name, BYOC_ATTRIBUTE_FLOAT);
  return attribute ? attribute->f : 0.0;
}

const char *byoc_node_text(const byoc_node_t *node, const char *name) {
  const byoc_attribute_t *attribute = read_kind(node, name, BYOC_ATTRIBUTE_STRING);
  return attribute ? attribute->s : NULL;
}

int byoc_node_choice(const byoc_node_t *node, const char *name) {
  const byoc_op_attribute_t *entry;
  const byoc_attribute_t *attribute = read_attribute(node, name, BYOC_ATTRIBUTE_STRING, &entry);
  assert(entry && entry->allowed && "the attribute is not a choice of strings");
  for (int i = 0; attribute && entry && entry->allowed && entry->allowed[i]; ++i) {
    if (strcmp(entry->allowed[i], attribute->s) == 0) return i;
  }
  return 0;
}

const int64_t *byoc_node_ints(const byoc_node_t *node, const char *name, size_t *out_count) {
  return byoc_attribute_ints(read_kind(node, name, BYOC_ATTRIBUTE_INTS), out_count);
}

const double *byoc_node_floats(const byoc_node_t *node, const char *name, size_t *out_count) {
  return byoc_attribute_floats(read_kind(node, name, BYOC_ATTRIBUTE_FLOATS), out_count);
}

const char *const *byoc_node_texts(const byoc_node_t *node, const char *name, size_t *out_count) {
  return byoc_attribute_strings(read_kind(node, name, BYOC_ATTRIBUTE_STRINGS), out_count);
}

const byoc_attribute_t *byoc_node_value(const byoc_node_t *node, const char *name) {
  const byoc_attribute_t *given = byoc_attributes_find(&node->attributes, name);
  const byoc_op_t *op = given ? NULL : byoc_op_of(node);
  const byoc_op_attribute_t *entry = op ? find_entry(op, name) : NULL;
  return entry && entry->has_default ? &entry->value : given;
}

bool byoc_node_takes(const byoc_node_t *node, const char *name) {
  const byoc_op_t *op = byoc_op_of(node);
  return op && find_entry(op, name);
}

const byoc_attribute_t *byoc_node_given(const byoc_node_t *node, const char *name) {
  assert(byoc_node_takes(node, name) && "the operator's row has no such attribute");
  return byoc_attributes_find(&node->attributes, name);
}
