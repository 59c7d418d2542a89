// SPDX-License-Identifier: Apache-2.0
// Reads the tree of runtime modules from an artifact's metadata, and prints it.
#include "core/compose/artifact/module_tree.h"

#include <string.h>

#include "core/base/json.h"

static byoc_runtime_module_t *find(const byoc_module_tree_t *tree, const char *name) {
  for (size_t i = 0; i < tree->modules.count; i++) {
    if (strcmp(tree->modules.data[i]->name, name) == 0) return tree->modules.data[i];
  }
  return NULL;
}

static byoc_status_t find_kind(const char *text, byoc_diag_t *diag, byoc_runtime_module_kind_t *out_kind) {
  for (int kind = 0; kind < BYOC_RUNTIME_MODULE_KIND_COUNT; kind++) {
    *out_kind = (byoc_runtime_module_kind_t)kind;
    if (strcmp(byoc_runtime_module_kind_name(*out_kind), text) == 0) return BYOC_OK;
  }
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "there is no kind of runtime module '%s'", text);
}

static const char *member(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

// Describes what engines and drivers get.
static void print_content(const json_t *object, byoc_string_t *out) {
  const long long size = (long long)json_integer_value(json_object_get(object, "size_bytes"));
  const long long workspace = (long long)json_integer_value(json_object_get(object, "workspace_size_bytes"));
  const char *code = member(object, "code");
  if (code[0] != '\0') byoc_string_appendf(out, ", of %s", code);
  if (size > 0) byoc_string_appendf(out, ", %lld bytes", size);
  if (workspace > 0) byoc_string_appendf(out, ", workspace %lld bytes", workspace);
  size_t index = 0;
  const json_t *blob = NULL;
  json_array_foreach(json_object_get(object, "blobs"), index, blob) {
    const char *architecture = member(blob, "architecture");
    byoc_string_appendf(out, ", %s%s%s%s %lld bytes", member(blob, "name"), member(blob, "format"),
                        architecture[0] != '\0' ? " for " : "", architecture,
                        (long long)json_integer_value(json_object_get(blob, "size_bytes")));
  }
  const char *fits = member(object, "fits");
  if (fits[0] != '\0') byoc_string_appendf(out, ", for '%s'", fits);
}

static byoc_status_t add_content(byoc_module_tree_t *tree, byoc_runtime_module_t *module, const json_t *object,
                                 byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, tree->allocator);
  print_content(object, &text);
  const char *copy = text.failed ? NULL : byoc_arena_copy_string(&module->arena, text.size > 0 ? text.data : "");
  byoc_string_deinit(&text);
  return copy != NULL && byoc_vector_push(&tree->contents, tree->allocator, copy) ? BYOC_OK
                                                                                  : byoc_diag_out_of_memory(diag);
}

static byoc_status_t read_module(byoc_module_tree_t *tree, const json_t *object, byoc_diag_t *diag) {
  byoc_runtime_module_kind_t kind;
  const char *name = member(object, "name");
  if (name[0] == '\0' || find(tree, name) != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "a runtime module has %s", name[0] ? "a name twice" : "no name");
  }
  BYOC_RETURN_IF_ERROR(find_kind(member(object, "kind"), diag, &kind));
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_runtime_module_create(kind, name, member(object, "target"), tree->allocator, diag, &module));
  if (!byoc_vector_push(&tree->modules, tree->allocator, module)) {
    byoc_runtime_module_release(module);
    return byoc_diag_out_of_memory(diag);
  }
  BYOC_RETURN_IF_ERROR(add_content(tree, module, object, diag));
  size_t index = 0;
  const json_t *symbol = NULL;
  json_array_foreach(json_object_get(object, "symbols"), index, symbol) {
    if (!json_is_string(symbol)) return byoc_diag_error(diag, BYOC_INVALID_DATA, "a symbol of '%s' is no string", name);
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_symbol(module, json_string_value(symbol), diag));
  }
  return BYOC_OK;
}

static byoc_status_t read_imports(const byoc_module_tree_t *tree, byoc_runtime_module_t *module, const json_t *object,
                                  byoc_diag_t *diag) {
  size_t index = 0;
  const json_t *import = NULL;
  json_array_foreach(json_object_get(object, "imports"), index, import) {
    const char *name = json_string_value(import);
    byoc_runtime_module_t *other = name != NULL ? find(tree, name) : NULL;
    if (other == NULL) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "runtime module '%s' imports '%s', which is not there",
                             module->name, name != NULL ? name : "");
    }
    byoc_diag_t why = {0};
    byoc_status_t status = byoc_runtime_module_import(module, other, &why);
    if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
    if (status != BYOC_OK) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s", why.message);
  }
  return BYOC_OK;
}

byoc_status_t byoc_module_tree_read(const char *metadata, byoc_allocator_t allocator, byoc_diag_t *diag,
                                    byoc_module_tree_t *out_tree) {
  *out_tree = (byoc_module_tree_t){.allocator = allocator};
  json_error_t error;
  json_t *root = byoc_json_load(metadata, strlen(metadata), 0, &error);
  if (root == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  if (root == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "the metadata are no JSON: line %d: %s", error.line, error.text);
  }
  const json_t *array = json_object_get(root, "modules"), *object = NULL;
  size_t index = 0;
  byoc_status_t status = BYOC_OK;
  json_array_foreach(array, index, object) {
    if (status == BYOC_OK) status = read_module(out_tree, object, diag);
  }
  json_array_foreach(array, index, object) { // a module may import a later one
    if (status == BYOC_OK) status = read_imports(out_tree, out_tree->modules.data[index], object, diag);
  }
  json_decref(root);
  if (status != BYOC_OK) byoc_module_tree_deinit(out_tree);
  return status;
}

void byoc_module_tree_deinit(byoc_module_tree_t *tree) {
  for (size_t i = tree->modules.count; i-- > 0;) byoc_runtime_module_release(tree->modules.data[i]);
  byoc_vector_deinit(&tree->modules, tree->allocator);
  byoc_vector_deinit(&tree->contents, tree->allocator);
}

void byoc_module_tree_print(const byoc_module_tree_t *tree, byoc_string_t *out) {
  for (size_t i = 0; i < tree->modules.count; i++) {
    const byoc_runtime_module_t *module = tree->modules.data[i];
    byoc_string_appendf(out, "%s: %s by '%s'", module->name, byoc_runtime_module_kind_name(module->kind),
                        module->target);
    for (size_t k = 0; k < module->imports.count; k++) {
      byoc_string_appendf(out, "%s%s", k > 0 ? ", " : ", imports ", module->imports.data[k]->name);
    }
    byoc_string_appendf(out, "%s\n", tree->contents.data[i]);
  }
}
