// SPDX-License-Identifier: Apache-2.0
// Decides which module a symbol belongs to: reads the symbols of files, and finds names under which all of them
// coexist.
#include "core/compose/cc/scopes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/module/linkage.h"

#define NONE    UINT32_MAX // no name, scope, content or provider
#define PROGRAM 0u         // the scope of the host program, its kernels, its data and the runtime

// A file's bytes, stored once even if several modules bring them.
typedef struct content_t {
  const byoc_link_file_t *file;
  BYOC_VECTOR(uint32_t) defined, referred; // names
  bool has_versions;                       // names with a version behind '@'
} content_t;

typedef struct scope_t {
  const byoc_runtime_module_t *module; // NULL: PROGRAM
  BYOC_VECTOR(uint32_t) contents;
  BYOC_VECTOR(uint64_t) marks; // parallel to contents: hash of the changed names and the new ones; 0: none
  const char **renamed;        // new name, by name; NULL: the name stays
} scope_t;

// Scope `scope` defines a name by `content`, the first of its files that defines it.
typedef struct provider_t {
  uint32_t scope, content, next; // next: next provider of the same name
} provider_t;

typedef struct name_t {
  const char *text;
  uint32_t first, last; // providers
  uint32_t keeper;      // the provider whose name stays
} name_t;

struct byoc_scopes_t {
  const byoc_link_files_t *files;
  const byoc_graph_module_t *graph;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  byoc_arena_t arena;
  byoc_map_t name_indices;    // text → index + 1
  byoc_map_t content_indices; // hash and size → index + 1
  byoc_map_t scope_indices;   // module → index + 1
  BYOC_VECTOR(name_t) names;
  BYOC_VECTOR(content_t) contents;
  BYOC_VECTOR(scope_t) scopes;
  BYOC_VECTOR(provider_t) providers;
  uint32_t *content_of, *scope_of; // by file
  bool changed;                    // in this round
  content_t *reading;
};

static byoc_status_t out_of_memory(byoc_scopes_t *s) {
  return byoc_diag_out_of_memory(s->diag);
}

// ---- reading ----

// The name of a versioned definition is bare if its version is the default one (name@@V), otherwise it gets a name of
// its own (name.V): versions are for shared objects.
static const char *bare_name(byoc_scopes_t *s, const char *name) {
  const char *at = strchr(name, '@');
  if (at == NULL) return name;
  if (at[1] == '@') return byoc_arena_format(&s->arena, "%.*s", (int)(at - name), name);
  return byoc_arena_format(&s->arena, "%.*s.%s", (int)(at - name), name, at + 1);
}

static byoc_status_t intern(byoc_scopes_t *s, const char *text, uint32_t *out_name) {
  if (text == NULL) return out_of_memory(s);
  uintptr_t index = (uintptr_t)byoc_string_map_get(&s->name_indices, text);
  if (index == 0) {
    index = s->names.count + 1;
    name_t name = {.first = NONE, .last = NONE, .keeper = NONE};
    if (!byoc_string_map_put(&s->name_indices, text, (void *)index)) return out_of_memory(s);
    name.text = s->name_indices.entries[s->name_indices.count - 1].text;
    if (!byoc_vector_push(&s->names, s->allocator, name)) return out_of_memory(s);
  }
  *out_name = (uint32_t)(index - 1);
  return BYOC_OK;
}

static byoc_status_t read_definition(byoc_scopes_t *s, const char *text) {
  uint32_t name = NONE;
  s->reading->has_versions = s->reading->has_versions || strchr(text, '@') != NULL;
  BYOC_RETURN_IF_ERROR(intern(s, bare_name(s, text), &name));
  return byoc_vector_push(&s->reading->defined, s->allocator, name) ? BYOC_OK : out_of_memory(s);
}

static byoc_status_t read_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  byoc_scopes_t *s = self;
  if (!symbol->global) return BYOC_OK;
  if (symbol->defined) return read_definition(s, symbol->name);
  uint32_t name = NONE;
  BYOC_RETURN_IF_ERROR(intern(s, symbol->name, &name));
  return byoc_vector_push(&s->reading->referred, s->allocator, name) ? BYOC_OK : out_of_memory(s);
}

// A C++ group whose signature another module has too would be dropped in favour of that one.
static byoc_status_t read_signature(void *self, const byoc_elf_symbol_t *symbol) {
  return read_definition(self, symbol->name);
}

static byoc_status_t read_object(void *self, const char *member, const uint8_t *data, size_t size_bytes) {
  byoc_scopes_t *s = self;
  if (!byoc_is_elf(data, size_bytes)) return BYOC_OK;
  byoc_elf_t elf;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(data, size_bytes, member, s->diag, &elf));
  BYOC_RETURN_IF_ERROR(byoc_elf_visit_symbols(&elf, false, read_symbol, s, s->diag));
  return byoc_elf_visit_signatures(&elf, read_signature, s, s->diag);
}

static byoc_status_t find_content(byoc_scopes_t *s, const byoc_link_file_t *file, uint32_t *out_content) {
  char digits[33], key[64];
  byoc_content_hash_format(file->hash, digits);
  snprintf(key, sizeof(key), "%s-%zu", digits, file->size_bytes);
  uintptr_t index = (uintptr_t)byoc_string_map_get(&s->content_indices, key);
  if (index == 0) {
    index = s->contents.count + 1;
    content_t content = {.file = file};
    if (!byoc_string_map_put(&s->content_indices, key, (void *)index) ||
        !byoc_vector_push(&s->contents, s->allocator, content)) {
      return out_of_memory(s);
    }
    s->reading = &s->contents.data[index - 1];
    bool is_archive = byoc_is_ar(file->data, file->size_bytes);
    if (is_archive) {
      BYOC_RETURN_IF_ERROR(byoc_ar_visit(file->data, file->size_bytes, file->name, read_object, s, s->diag));
    } else {
      BYOC_RETURN_IF_ERROR(read_object(s, file->name, file->data, file->size_bytes));
    }
  }
  *out_content = (uint32_t)(index - 1);
  return BYOC_OK;
}

static byoc_status_t find_scope(byoc_scopes_t *s, const byoc_runtime_module_t *module, uint32_t *out_scope) {
  uintptr_t index = module == NULL ? PROGRAM + 1 : (uintptr_t)byoc_pointer_map_get(&s->scope_indices, module);
  if (index == 0) {
    scope_t scope = {.module = module};
    index = s->scopes.count + 1;
    if (!byoc_pointer_map_put(&s->scope_indices, module, (void *)index) ||
        !byoc_vector_push(&s->scopes, s->allocator, scope)) {
      return out_of_memory(s);
    }
  }
  *out_scope = (uint32_t)(index - 1);
  return BYOC_OK;
}

static byoc_status_t add_provider(byoc_scopes_t *s, uint32_t name, uint32_t scope, uint32_t content) {
  name_t *n = &s->names.data[name];
  if (n->last != NONE && s->providers.data[n->last].scope == scope) return BYOC_OK;
  uint32_t index = (uint32_t)s->providers.count;
  provider_t provider = {.scope = scope, .content = content, .next = NONE};
  if (!byoc_vector_push(&s->providers, s->allocator, provider)) return out_of_memory(s);
  if (n->last != NONE) s->providers.data[n->last].next = index;
  if (n->first == NONE) n->first = index;
  n->last = index;
  return BYOC_OK;
}

static byoc_status_t read_files(byoc_scopes_t *s) {
  const size_t count = s->files->files.count;
  s->content_of = BYOC_ARENA_ARRAY(&s->arena, uint32_t, count + 1);
  s->scope_of = BYOC_ARENA_ARRAY(&s->arena, uint32_t, count + 1);
  scope_t program = {0};
  if (s->content_of == NULL || s->scope_of == NULL || !byoc_vector_push(&s->scopes, s->allocator, program)) {
    return out_of_memory(s);
  }
  for (size_t i = 0; i < count; i++) {
    const byoc_link_file_t *file = &s->files->files.data[i];
    s->content_of[i] = NONE;
    if (file->data == NULL) continue;
    BYOC_RETURN_IF_ERROR(find_content(s, file, &s->content_of[i]));
    BYOC_RETURN_IF_ERROR(find_scope(s, file->module, &s->scope_of[i]));
    scope_t *scope = &s->scopes.data[s->scope_of[i]];
    if (!byoc_vector_push(&scope->contents, s->allocator, s->content_of[i]) ||
        !byoc_vector_push(&scope->marks, s->allocator, 0)) {
      return out_of_memory(s);
    }
  }
  for (size_t i = 0; i < s->files->reserved.count; i++) {
    uint32_t name = NONE;
    BYOC_RETURN_IF_ERROR(intern(s, s->files->reserved.data[i], &name));
    BYOC_RETURN_IF_ERROR(add_provider(s, name, PROGRAM, NONE));
  }
  for (uint32_t k = 0; k < s->scopes.count; k++) {
    const scope_t *scope = &s->scopes.data[k];
    for (size_t c = 0; c < scope->contents.count; c++) {
      const content_t *content = &s->contents.data[scope->contents.data[c]];
      for (size_t i = 0; i < content->defined.count; i++) {
        BYOC_RETURN_IF_ERROR(add_provider(s, content->defined.data[i], k, scope->contents.data[c]));
      }
    }
  }
  return BYOC_OK;
}

// ---- deciding ----

static const char *setup_of(const scope_t *scope) {
  return scope->module != NULL && scope->module->setup_symbol != NULL ? scope->module->setup_symbol : "";
}

// Modules that are set up in different ways do not share state.
static bool same_source(const byoc_scopes_t *s, const provider_t *a, const provider_t *b) {
  return a->content == b->content &&
         strcmp(setup_of(&s->scopes.data[a->scope]), setup_of(&s->scopes.data[b->scope])) == 0;
}

static uint64_t mark_of(const byoc_scopes_t *s, const provider_t *provider) {
  const scope_t *scope = &s->scopes.data[provider->scope];
  for (size_t i = 0; i < scope->contents.count; i++) {
    if (scope->contents.data[i] == provider->content) return scope->marks.data[i];
  }
  return 0;
}

static const provider_t *provider_in(const byoc_scopes_t *s, uint32_t name, uint32_t scope) {
  for (uint32_t p = s->names.data[name].first; p != NONE; p = s->providers.data[p].next) {
    if (s->providers.data[p].scope == scope) return &s->providers.data[p];
  }
  return NULL;
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

// True if two modules come from one target, so that one may refer to the other's symbols.
static bool are_related(const scope_t *a, const scope_t *b) {
  if (a->module == NULL || b->module == NULL) return a->module == b->module;
  return byoc_runtime_module_serves(a->module, b->module->target) ||
         byoc_runtime_module_serves(b->module, a->module->target);
}

static byoc_status_t give_name(byoc_scopes_t *s, uint32_t scope, uint32_t name, uint32_t leader) {
  const char *text = byoc_arena_format(&s->arena, "%s__in_scope%u", s->names.data[name].text, (unsigned)leader);
  while (text != NULL && byoc_string_map_find(&s->name_indices, text) != NULL) {
    text = byoc_arena_format(&s->arena, "%s_", text);
  }
  if (text == NULL) return out_of_memory(s);
  s->scopes.data[scope].renamed[name] = text;
  s->changed = true;
  return BYOC_OK;
}

// Symbols that the host program calls by another name than their own.
static byoc_status_t name_listed(byoc_scopes_t *s) {
  for (size_t k = 0; k < s->scopes.count; k++) {
    scope_t *scope = &s->scopes.data[k];
    scope->renamed = byoc_allocate(s->allocator, s->names.count + 1, sizeof(*scope->renamed));
    if (scope->renamed == NULL) return out_of_memory(s);
    const byoc_runtime_module_t *module = scope->module;
    for (size_t i = 0; module != NULL && i < module->symbols.count + 2; i++) {
      const char *const further[] = {module->setup_symbol, module->engine_symbol};
      const char *symbol = i < module->symbols.count ? module->symbols.data[i] : further[i - module->symbols.count];
      if (symbol == NULL) continue;
      const char *linkage = byoc_linkage_name(s->graph, module, symbol, &s->arena);
      if (linkage == NULL) return out_of_memory(s);
      uintptr_t name = (uintptr_t)byoc_string_map_get(&s->name_indices, symbol);
      if (linkage != symbol && name != 0) scope->renamed[name - 1] = linkage;
    }
  }
  return BYOC_OK;
}

// The program's own names stay first; then those that the program calls; then those of the first provider.
static byoc_status_t choose_keeper(byoc_scopes_t *s, uint32_t index) {
  name_t *name = &s->names.data[index];
  for (uint32_t p = name->first; p != NONE; p = s->providers.data[p].next) {
    const scope_t *scope = &s->scopes.data[s->providers.data[p].scope];
    if (scope->renamed[index] != NULL) continue;
    bool lists = scope->module != NULL && byoc_runtime_module_lists(scope->module, name->text);
    if (lists && name->keeper != NONE && s->providers.data[name->keeper].scope == PROGRAM) {
      byoc_status_t status =
          byoc_diag_error(s->diag, BYOC_ALREADY_EXISTS,
                          "the symbol '%s' that runtime module '%s' of target '%s' lists is the program's own",
                          name->text, scope->module->name, scope->module->target);
      byoc_diag_hint(s->diag, "the target's plugin must give its function another name");
      return status;
    }
    if (name->keeper == NONE || lists) name->keeper = p; // one module at most lists it under its own name
  }
  return BYOC_OK;
}

// Gives a new name to a provider that has another one's name and is not the same code under the same names.
static byoc_status_t separate(byoc_scopes_t *s, uint32_t index, uint32_t p) {
  const name_t *name = &s->names.data[index];
  const provider_t *provider = &s->providers.data[p];
  const char *own = s->scopes.data[provider->scope].renamed[index];
  uint32_t leader = NONE;
  bool clashes = false;
  for (uint32_t q = name->first; q != NONE; q = s->providers.data[q].next) {
    const provider_t *other = &s->providers.data[q];
    if (q != name->keeper && leader == NONE && same_source(s, provider, other)) leader = other->scope;
    if (q == p || (q > p && q != name->keeper)) continue; // the later one gives way
    if (!same_text(own, s->scopes.data[other->scope].renamed[index])) continue;
    clashes = clashes || !same_source(s, provider, other) || mark_of(s, provider) != mark_of(s, other);
  }
  if (!clashes) return BYOC_OK;
  return give_name(s, provider->scope, index, own == NULL ? leader : provider->scope);
}

static bool is_of_system(const char *name) {
  static const char *const libraries[] = {"libc.so.6", "libm.so.6"};
  for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
    void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    bool found = handle != NULL && dlsym(handle, name) != NULL;
    if (handle != NULL) (void)dlclose(handle);
    if (found) return true;
  }
  return false;
}

// A scope refers to a name that it does not define. A related module's definition comes first; if only an unrelated
// module has a function of that name, the system's is meant.
static byoc_status_t follow(byoc_scopes_t *s, uint32_t k, uint32_t index) {
  const name_t *name = &s->names.data[index];
  const provider_t *stranger = NULL;
  if (name->first == NONE || s->scopes.data[k].renamed[index] != NULL || provider_in(s, index, k) != NULL)
    return BYOC_OK;
  for (uint32_t p = name->first; p != NONE; p = s->providers.data[p].next) {
    const provider_t *provider = &s->providers.data[p];
    const scope_t *scope = &s->scopes.data[provider->scope];
    if (provider->scope == PROGRAM) return BYOC_OK;
    if (are_related(&s->scopes.data[k], scope)) {
      s->scopes.data[k].renamed[index] = scope->renamed[index];
      s->changed = s->changed || scope->renamed[index] != NULL;
      return BYOC_OK;
    }
    if (scope->renamed[index] == NULL) stranger = provider;
  }
  if (stranger == NULL || byoc_runtime_module_lists(s->scopes.data[stranger->scope].module, name->text)) return BYOC_OK;
  return is_of_system(name->text) ? give_name(s, stranger->scope, index, stranger->scope) : BYOC_OK;
}

// Which names of each file are changed, as a number: equal numbers mean equal changes.
static void mark_files(byoc_scopes_t *s) {
  for (size_t k = 0; k < s->scopes.count; k++) {
    scope_t *scope = &s->scopes.data[k];
    for (size_t c = 0; c < scope->contents.count; c++) {
      const content_t *content = &s->contents.data[scope->contents.data[c]];
      uint64_t mark = 0; // a sum: the order does not matter
      for (size_t i = 0; i < content->defined.count + content->referred.count; i++) {
        bool defines = i < content->defined.count;
        uint32_t name = defines ? content->defined.data[i] : content->referred.data[i - content->defined.count];
        if (scope->renamed[name] == NULL) continue;
        mark += byoc_hash_combine(name, byoc_hash_string(scope->renamed[name])) | 1;
      }
      scope->marks.data[c] = mark;
    }
  }
}

// Repeats until nothing changes. A file with one changed name differs from its copies in other modules, so the other
// names that it defines are changed too. A name is changed three times at most.
static byoc_status_t decide(byoc_scopes_t *s) {
  BYOC_RETURN_IF_ERROR(name_listed(s));
  for (uint32_t i = 0; i < s->names.count; i++) BYOC_RETURN_IF_ERROR(choose_keeper(s, i));
  do {
    s->changed = false;
    mark_files(s);
    for (uint32_t i = 0; i < s->names.count; i++) {
      const name_t *name = &s->names.data[i];
      for (uint32_t p = name->first; p != NONE && name->first != name->last; p = s->providers.data[p].next) {
        if (p != name->keeper) BYOC_RETURN_IF_ERROR(separate(s, i, p));
      }
    }
    for (uint32_t k = 0; k < s->scopes.count; k++) {
      const scope_t *scope = &s->scopes.data[k];
      for (size_t c = 0; c < scope->contents.count; c++) {
        const content_t *content = &s->contents.data[scope->contents.data[c]];
        for (size_t i = 0; i < content->referred.count; i++) {
          BYOC_RETURN_IF_ERROR(follow(s, k, content->referred.data[i]));
        }
      }
    }
  } while (s->changed);
  return BYOC_OK;
}

byoc_status_t byoc_scopes_create(const byoc_link_files_t *files, const byoc_graph_module_t *graph,
                                 byoc_allocator_t allocator, byoc_diag_t *diag, byoc_scopes_t **out_scopes) {
  *out_scopes = NULL;
  byoc_scopes_t *s = byoc_allocate(allocator, 1, sizeof(*s));
  if (s == NULL) return byoc_diag_out_of_memory(diag);
  s->files = files;
  s->graph = graph;
  s->allocator = allocator;
  s->diag = diag;
  byoc_arena_init(&s->arena, allocator);
  byoc_string_map_init(&s->name_indices, allocator);
  byoc_string_map_init(&s->content_indices, allocator);
  byoc_pointer_map_init(&s->scope_indices, allocator);
  byoc_status_t status = read_files(s);
  if (status == BYOC_OK) status = decide(s);
  if (status == BYOC_OK) {
    *out_scopes = s;
    s = NULL; // now the caller's
  }
  byoc_scopes_destroy(s);
  return status;
}

void byoc_scopes_destroy(byoc_scopes_t *s) {
  if (s == NULL) return;
  for (size_t i = 0; i < s->contents.count; i++) {
    byoc_vector_deinit(&s->contents.data[i].defined, s->allocator);
    byoc_vector_deinit(&s->contents.data[i].referred, s->allocator);
  }
  for (size_t i = 0; i < s->scopes.count; i++) {
    byoc_vector_deinit(&s->scopes.data[i].contents, s->allocator);
    byoc_vector_deinit(&s->scopes.data[i].marks, s->allocator);
    byoc_free(s->allocator, s->scopes.data[i].renamed);
  }
  byoc_vector_deinit(&s->names, s->allocator);
  byoc_vector_deinit(&s->contents, s->allocator);
  byoc_vector_deinit(&s->scopes, s->allocator);
  byoc_vector_deinit(&s->providers, s->allocator);
  byoc_map_deinit(&s->name_indices);
  byoc_map_deinit(&s->content_indices);
  byoc_map_deinit(&s->scope_indices);
  byoc_arena_deinit(&s->arena);
  byoc_free(s->allocator, s);
}

// ---- changing ----

bool byoc_scopes_change(const byoc_scopes_t *s, size_t file) {
  if (s->content_of[file] == NONE || s->scope_of[file] == PROGRAM) return false;
  const provider_t self = {.scope = s->scope_of[file], .content = s->content_of[file]};
  return mark_of(s, &self) != 0 || s->contents.data[self.content].has_versions;
}

typedef struct renaming_t {
  byoc_scopes_t *scopes;
  uint32_t scope;
  bool failed; // out of memory
} renaming_t;

// The scope's name for `text` (NULL: memory ran out); NULL if it has none.
static const char *look_up(renaming_t *renaming, const char *text) {
  const byoc_scopes_t *s = renaming->scopes;
  if (text == NULL) renaming->failed = true;
  uintptr_t index = text != NULL ? (uintptr_t)byoc_string_map_get(&s->name_indices, text) : 0;
  if (index == 0) return NULL;
  const char *renamed = s->scopes.data[renaming->scope].renamed[index - 1];
  return renamed != NULL ? renamed : s->names.data[index - 1].text;
}

static const char *rename_symbol(void *self, const char *name, bool defined) {
  renaming_t *renaming = self;
  const char *at = strchr(name, '@');
  if (at == NULL || defined) return look_up(renaming, bare_name(renaming->scopes, name));
  // A reference to a version: either the module defines that version, or it is the system's.
  byoc_arena_t *arena = &renaming->scopes->arena;
  const char *choices[] = {bare_name(renaming->scopes, name), byoc_arena_format(arena, "%.*s", (int)(at - name), name)};
  for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
    if (choices[i] == NULL) return look_up(renaming, NULL);
    uintptr_t index = (uintptr_t)byoc_string_map_get(&renaming->scopes->name_indices, choices[i]);
    if (index != 0 && provider_in(renaming->scopes, (uint32_t)(index - 1), renaming->scope) != NULL) {
      return look_up(renaming, choices[i]);
    }
  }
  return name;
}

static byoc_status_t rename_file(const byoc_link_file_t *file, renaming_t *renaming, byoc_string_t *out,
                                 byoc_diag_t *diag) {
  if (byoc_is_ar(file->data, file->size_bytes)) {
    return byoc_ar_rename(file->data, file->size_bytes, file->name, rename_symbol, renaming, out, diag);
  }
  byoc_elf_t elf;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(file->data, file->size_bytes, file->name, diag, &elf));
  return byoc_elf_rename(&elf, rename_symbol, renaming, out, diag);
}

byoc_status_t byoc_scopes_rename(byoc_scopes_t *s, size_t file, byoc_string_t *out, byoc_diag_t *diag) {
  renaming_t renaming = {.scopes = s, .scope = s->scope_of[file]};
  byoc_status_t status = rename_file(&s->files->files.data[file], &renaming, out, diag);
  return status == BYOC_OK && renaming.failed ? byoc_diag_out_of_memory(diag) : status;
}
