// SPDX-License-Identifier: Apache-2.0
// The plugins of a run: finds their files, refuses or loads them, and finds targets by name.
#include "core/plugin/registry.h"
#include "core/plugin/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/plugin/identity.h"
#include "core/plugin/installation.h"
#include "core/plugin/library.h"
#include "core/plugin/lint.h"
#include "core/plugin/rivals.h"
#include "core/plugin/table.h"
#include "core/plugin/trust.h"

enum { LOAD_TIMEOUT_MS = 20000 };

typedef struct slot_t {
  byoc_plugin_entry_t entry;
  const char *real_path;      // links followed; NULL if the file was not trusted
  const char *refusal;        // REFUSED: the reason with the plugin's path
  const struct slot_t *rival; // the other plugin in `rivalry`
  const char *rivalry; // names another plugin that announces the same, if the user chose neither or both; NULL: none
  bool is_preferred;   // the user prefers it to plugins that announce the same
  bool is_unread;      // REFUSED: the system did not allow to read all of it
} slot_t;

struct byoc_plugin_registry_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  int64_t load_timeout_ms;
  const char *table_reader; // NULL: none is installed
  BYOC_VECTOR(slot_t *) slots;
  BYOC_VECTOR(const char *) folders;   // real paths of the folders that were searched
  BYOC_VECTOR(const char *) preferred; // real paths of files and folders, in the order of the options
};

// ---- entries ----

static slot_t *add_slot(byoc_plugin_registry_t *registry, const char *path, byoc_plugin_source_t source) {
  slot_t *slot = BYOC_ARENA_NEW(&registry->arena, slot_t);
  if (slot == NULL) return NULL;
  slot->entry.path = byoc_arena_copy_string(&registry->arena, path);
  slot->entry.source = source;
  slot->entry.is_table = byoc_plugin_is_table(path);
  slot->entry.reason = "";
  if (slot->entry.path == NULL || !byoc_vector_push(&registry->slots, registry->allocator, slot)) return NULL;
  return slot;
}

// Makes the error the reason of the entry's refusal. Out of memory stays an error.
static byoc_status_t refuse(byoc_plugin_registry_t *registry, slot_t *slot, const byoc_diag_t *reason,
                            byoc_diag_t *diag) {
  if (reason->status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  char text[sizeof(reason->message) + sizeof(reason->context) + sizeof(reason->hint)];
  byoc_diag_format(reason, text, sizeof(text));
  slot->entry.state = BYOC_PLUGIN_REFUSED;
  slot->is_unread = reason->status == BYOC_IO;
  slot->entry.reason = byoc_arena_copy_string(&registry->arena, text);
  slot->refusal = slot->rivalry;
  if (slot->rivalry == NULL) {
    slot->refusal = byoc_arena_format(&registry->arena, "the plugin '%s' is refused: %s", slot->entry.path, text);
  }
  byoc_log(BYOC_LOG_INFO, "plugin '%s' is refused: %s", slot->entry.path, text);
  if (slot->entry.reason != NULL && slot->refusal != NULL) return BYOC_OK;
  slot->entry.reason = slot->refusal = "out of memory";
  return byoc_diag_out_of_memory(diag);
}

// ---- plugins that announce the same ----

// Is `place` the file, or a folder that holds it?
static bool is_at(const char *real_path, const char *place) {
  const size_t size = strlen(place);
  return strncmp(real_path, place, size) == 0 && (real_path[size] == '\0' || real_path[size] == '/');
}

static bool is_preferred(const byoc_plugin_registry_t *registry, const char *real_path) {
  for (size_t i = 0; i < registry->preferred.count; ++i) {
    if (is_at(real_path, registry->preferred.data[i])) return true;
  }
  return false;
}

static byoc_rival_t as_rival(const slot_t *slot) {
  byoc_rival_t rival = {.real_path = slot->real_path, .note = &slot->entry.note, .names_files = slot->entry.is_table};
  if (slot->entry.source == BYOC_PLUGIN_FROM_OPTION) rival.choice = BYOC_PLUGIN_NAMED;
  if (slot->is_preferred) rival.choice = BYOC_PLUGIN_PREFERRED;
  return rival;
}

// Makes the reason of a plugin that is refused because `chosen` was chosen. That is no fault of the plugin.
static byoc_status_t pass_over(slot_t *slot, const slot_t *chosen, const char *why, byoc_diag_t *reason) {
  slot->entry.is_passed_over = true;
  slot->rivalry = NULL;
  return byoc_diag_error(reason, BYOC_ALREADY_EXISTS, "%s '%s'", why, chosen->entry.path);
}

// Makes the reason of one of two plugins between which the user did not decide. It has the paths of both, for messages
// about their target.
static byoc_status_t give_rival(byoc_plugin_registry_t *registry, slot_t *slot, const slot_t *other, const char *what,
                                byoc_diag_t *reason) {
  static const char hint[] = "choose one of them: --prefer FILE";
  slot->rivalry = byoc_arena_format(&registry->arena, "two plugins announce the %s, '%s' and '%s' (%s)", what,
                                    slot->entry.path, other->entry.path, hint);
  if (slot->rivalry == NULL) return byoc_diag_out_of_memory(reason);
  slot->rival = other;
  byoc_status_t status =
      byoc_diag_error(reason, BYOC_ALREADY_EXISTS, "its %s is announced by '%s', too", what, other->entry.path);
  byoc_diag_hint(reason, "%s", hint);
  return status;
}

// Compares a plugin with an earlier one. *reason is the reason to refuse the new one, if there is one.
static byoc_status_t check_rival(byoc_plugin_registry_t *registry, slot_t *slot, slot_t *earlier, byoc_diag_t *reason) {
  const byoc_rival_t a = as_rival(earlier), b = as_rival(slot);
  byoc_rivalry_t rivalry;
  char what[160], why[192];
  BYOC_RETURN_IF_ERROR(byoc_plugin_compare(&a, &b, reason, &rivalry, what));
  if (rivalry == BYOC_RIVALRY_SAME_FILE) return pass_over(slot, earlier, "it is the same file as", reason);
  if (earlier->entry.state == BYOC_PLUGIN_REFUSED && earlier->rivalry == NULL) return BYOC_OK;
  snprintf(why, sizeof(why), "its %s is taken by", what);
  byoc_diag_t earlier_reason = {0};
  switch (rivalry) {
  case BYOC_RIVALRY_NONE:
  case BYOC_RIVALRY_SAME_FILE:
    return BYOC_OK;
  case BYOC_RIVALRY_SAME_BYTES:
    return pass_over(slot, earlier, "it is a copy of", reason);
  case BYOC_RIVALRY_EARLIER:
    return pass_over(slot, earlier, why, reason);
  case BYOC_RIVALRY_LATER:
    (void)pass_over(earlier, slot, why, &earlier_reason);
    return refuse(registry, earlier, &earlier_reason, reason);
  case BYOC_RIVALRY_UNDECIDED:
    break;
  }
  if (earlier->rivalry == NULL) {
    BYOC_RETURN_IF_ERROR(give_rival(registry, earlier, slot, what, &earlier_reason) == BYOC_OUT_OF_MEMORY
                             ? byoc_diag_out_of_memory(reason)
                             : refuse(registry, earlier, &earlier_reason, reason));
  }
  return give_rival(registry, slot, earlier, what, reason);
}

static byoc_status_t check_rivals(byoc_plugin_registry_t *registry, slot_t *slot, byoc_diag_t *reason) {
  for (size_t i = 0; i < registry->slots.count && registry->slots.data[i] != slot; ++i) {
    if (registry->slots.data[i]->real_path == NULL) continue;
    BYOC_RETURN_IF_ERROR(check_rival(registry, slot, registry->slots.data[i], reason));
  }
  return BYOC_OK;
}

// ---- candidates ----

static byoc_status_t read_identity(byoc_plugin_entry_t *entry, const char *path, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_plugin_any_identity(path, diag, &entry->note, &entry->has_note));
  return entry->is_table ? BYOC_OK : byoc_plugin_domains_read(path, diag, entry->domains);
}

static byoc_status_t check_candidate(byoc_plugin_registry_t *registry, slot_t *slot, byoc_diag_t *diag) {
  byoc_plugin_entry_t *entry = &slot->entry;
  char *real = NULL;
  bool is_file = false;
  byoc_status_t status = byoc_plugin_check_trust(entry->path, registry->allocator, diag, &real, &is_file);
  if (status == BYOC_OK) {
    slot->real_path = byoc_arena_copy_string(&registry->arena, real);
    if (slot->real_path == NULL) status = byoc_diag_out_of_memory(diag);
    slot->is_preferred = is_preferred(registry, real);
  }
  byoc_free(registry->allocator, real);
  // The note of an untrusted file is shown, too: it explains which targets are missing.
  if (status != BYOC_OK && is_file) (void)read_identity(entry, entry->path, NULL);
  BYOC_RETURN_IF_ERROR(status);
  BYOC_RETURN_IF_ERROR(read_identity(entry, slot->real_path, diag));
  return check_rivals(registry, slot, diag);
}

static byoc_status_t add_candidate(byoc_plugin_registry_t *registry, const char *path, byoc_plugin_source_t source,
                                   byoc_diag_t *diag) {
  slot_t *slot = add_slot(registry, path, source);
  if (slot == NULL) return byoc_diag_out_of_memory(diag);
  byoc_diag_t reason = {0};
  byoc_status_t status = check_candidate(registry, slot, &reason);
  if (status == BYOC_OK) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(refuse(registry, slot, &reason, diag));
  if (source != BYOC_PLUGIN_FROM_OPTION || slot->entry.is_passed_over) return BYOC_OK;
  // A plugin that the user named must not be skipped silently.
  return byoc_diag_error(diag, status, "%s", slot->refusal);
}

// ---- discovery ----

// A folder that cannot be searched becomes an entry of its own.
static byoc_status_t refuse_folder(byoc_plugin_registry_t *registry, const char *path, byoc_plugin_source_t source,
                                   const byoc_diag_t *reason, byoc_diag_t *diag) {
  slot_t *slot = add_slot(registry, path, source);
  if (slot == NULL) return byoc_diag_out_of_memory(diag);
  return refuse(registry, slot, reason, diag);
}

// Remembers the folder by its real path; *out_known is true if it was searched before.
static byoc_status_t remember_folder(byoc_plugin_registry_t *registry, const char *folder, bool *out_known,
                                     byoc_diag_t *diag) {
  *out_known = false;
  char *real = realpath(folder, NULL);
  if (real == NULL && errno == ENOMEM) return byoc_diag_out_of_memory(diag);
  if (real == NULL) return BYOC_OK; // listing the folder reports the reason
  for (size_t i = 0; i < registry->folders.count && !*out_known; ++i) {
    *out_known = strcmp(registry->folders.data[i], real) == 0;
  }
  const char *copy = byoc_arena_copy_string(&registry->arena, real);
  free(real);
  if (copy == NULL || !byoc_vector_push(&registry->folders, registry->allocator, copy)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static byoc_status_t search_folder(byoc_plugin_registry_t *registry, const char *folder, byoc_plugin_source_t source,
                                   byoc_diag_t *diag) {
  byoc_diag_t reason = {0};
  if (folder[0] != '/') {
    byoc_diag_error(&reason, BYOC_PERMISSION, "%s in BYOC_PLUGIN_PATH is passed over",
                    folder[0] == '\0' ? "an empty entry" : "a relative folder");
    byoc_diag_hint(&reason, "name folders by their whole path: the working folder is never searched");
    return refuse_folder(registry, folder, source, &reason, diag);
  }
  bool known = false;
  BYOC_RETURN_IF_ERROR(remember_folder(registry, folder, &known, diag));
  if (known) {
    byoc_diag_error(&reason, BYOC_ALREADY_EXISTS, "the folder has been searched already");
    BYOC_RETURN_IF_ERROR(refuse_folder(registry, folder, source, &reason, diag));
    registry->slots.data[registry->slots.count - 1]->entry.is_passed_over = true;
    return BYOC_OK;
  }
  char **names = NULL;
  size_t count = 0;
  byoc_status_t status = byoc_list_directory(folder, registry->allocator, &reason, &names, &count);
  if (status == BYOC_NOT_FOUND && source == BYOC_PLUGIN_FROM_INSTALLATION) return BYOC_OK;
  if (status != BYOC_OK) return refuse_folder(registry, folder, source, &reason, diag);
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    const bool is_plugin = byoc_ends_with(names[i], ".so") || byoc_plugin_is_table(names[i]);
    if (!is_plugin || names[i][0] == '.') continue;
    char *path = byoc_path_join(registry->allocator, folder, names[i]);
    status = path != NULL ? add_candidate(registry, path, source, diag) : byoc_diag_out_of_memory(diag);
    byoc_free(registry->allocator, path);
  }
  byoc_free_names(registry->allocator, names, count);
  return status;
}

static byoc_status_t search_environment(byoc_plugin_registry_t *registry, const char *list, byoc_diag_t *diag) {
  if (list[0] == '\0') return BYOC_OK; // set but empty: no folders
  for (const char *at = list;; ++at) {
    const size_t size = strcspn(at, ":");
    char *folder = byoc_allocate(registry->allocator, size + 1, 1);
    if (folder == NULL) return byoc_diag_out_of_memory(diag);
    memcpy(folder, at, size);
    folder[size] = '\0';
    byoc_status_t status = search_folder(registry, folder, BYOC_PLUGIN_FROM_ENVIRONMENT, diag);
    byoc_free(registry->allocator, folder);
    BYOC_RETURN_IF_ERROR(status);
    at += size;
    if (*at == '\0') return BYOC_OK;
  }
}

// Records the paths of --prefer, as real paths.
static byoc_status_t add_preferred(byoc_plugin_registry_t *registry, const char *path, byoc_diag_t *diag) {
  char *real = realpath(path, NULL);
  if (real == NULL && errno == ENOMEM) return byoc_diag_out_of_memory(diag);
  if (real == NULL) return byoc_diag_error(diag, BYOC_NOT_FOUND, "--prefer '%s': %s", path, strerror(errno));
  const char *copy = byoc_arena_copy_string(&registry->arena, real);
  free(real);
  if (copy != NULL && byoc_vector_push(&registry->preferred, registry->allocator, copy)) return BYOC_OK;
  return byoc_diag_out_of_memory(diag);
}

// A preference without a plugin at its path is an error of the user.
static byoc_status_t check_preferred(const byoc_plugin_registry_t *registry, const byoc_plugin_options_t *options,
                                     byoc_diag_t *diag) {
  for (size_t i = 0; i < registry->preferred.count; ++i) {
    bool found = false;
    for (size_t s = 0; s < registry->slots.count && !found; ++s) {
      const slot_t *slot = registry->slots.data[s];
      found = slot->is_preferred && is_at(slot->real_path, registry->preferred.data[i]);
    }
    if (found) continue;
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_NOT_FOUND, "--prefer '%s': no plugin was found there", options->preferred[i]);
    byoc_diag_hint(diag, "it chooses among the plugins that byoc plugins lists; --plugin FILE adds one");
    return status;
  }
  return BYOC_OK;
}

// The reader that the options name, or that of this installation.
static byoc_status_t find_reader(byoc_plugin_registry_t *registry, const char *named, byoc_diag_t *diag) {
  char *found = NULL;
  if (named == NULL) {
    BYOC_RETURN_IF_ERROR(byoc_installation_find(BYOC_TABLE_READER, registry->allocator, diag, &found));
    if (found == NULL) return BYOC_OK;
  }
  registry->table_reader = byoc_arena_copy_string(&registry->arena, named != NULL ? named : found);
  byoc_free(registry->allocator, found);
  return registry->table_reader != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_plugin_registry_create(const byoc_plugin_options_t *options, byoc_allocator_t allocator,
                                          byoc_diag_t *diag, byoc_plugin_registry_t **out_registry) {
  *out_registry = NULL;
  byoc_plugin_registry_t *registry = byoc_allocate(allocator, 1, sizeof(*registry));
  if (registry == NULL) return byoc_diag_out_of_memory(diag);
  registry->allocator = allocator;
  registry->load_timeout_ms = options->load_timeout_ms > 0 ? options->load_timeout_ms : LOAD_TIMEOUT_MS;
  byoc_arena_init(&registry->arena, allocator);
  // Empty if the process has more rights than its user: the environment is under the user's control.
  const char *environment = options->environment != NULL ? options->environment : secure_getenv("BYOC_PLUGIN_PATH");
  byoc_status_t status = find_reader(registry, options->table_reader, diag);
  for (size_t i = 0; i < options->preferred_count && status == BYOC_OK; ++i) {
    status = add_preferred(registry, options->preferred[i], diag);
  }
  for (size_t i = 0; i < options->path_count && status == BYOC_OK; ++i) {
    status = add_candidate(registry, options->paths[i], BYOC_PLUGIN_FROM_OPTION, diag);
  }
  if (status == BYOC_OK && environment != NULL) status = search_environment(registry, environment, diag);
  if (status == BYOC_OK && options->installation != NULL) {
    status = search_folder(registry, options->installation, BYOC_PLUGIN_FROM_INSTALLATION, diag);
  }
  if (status == BYOC_OK) status = check_preferred(registry, options, diag);
  if (status != BYOC_OK) {
    byoc_plugin_registry_destroy(registry);
    return status;
  }
  *out_registry = registry;
  return BYOC_OK;
}

void byoc_plugin_registry_destroy(byoc_plugin_registry_t *registry) {
  if (registry == NULL) return;
  for (size_t i = registry->slots.count; i-- > 0;) byoc_plugin_library_release(registry->slots.data[i]->entry.library);
  byoc_vector_deinit(&registry->slots, registry->allocator);
  byoc_vector_deinit(&registry->folders, registry->allocator);
  byoc_vector_deinit(&registry->preferred, registry->allocator);
  byoc_arena_deinit(&registry->arena);
  byoc_free(registry->allocator, registry);
}

size_t byoc_plugin_registry_count(const byoc_plugin_registry_t *registry) {
  return registry->slots.count;
}

const byoc_plugin_entry_t *byoc_plugin_registry_at(const byoc_plugin_registry_t *registry, size_t index) {
  return index < registry->slots.count ? &registry->slots.data[index]->entry : NULL;
}

// ---- loading ----

static byoc_status_t load_object(byoc_plugin_registry_t *registry, slot_t *slot, byoc_diag_t *diag) {
  byoc_plugin_entry_t *entry = &slot->entry;
  BYOC_RETURN_IF_ERROR(byoc_plugin_try(slot->real_path, &entry->note, registry->load_timeout_ms, diag));
  return byoc_plugin_library_load(slot->real_path, &entry->note, byoc_host_fill_tables, registry->allocator, diag,
                                  &entry->library);
}

// The reader is the host's own and is not tried in a child process.
static byoc_status_t load_table(byoc_plugin_registry_t *registry, slot_t *slot, byoc_diag_t *diag) {
  byoc_plugin_entry_t *entry = &slot->entry;
  if (registry->table_reader == NULL) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_NOT_FOUND, "this byoc has no " BYOC_TABLE_READER ", which reads tables");
    byoc_diag_hint(diag, "it belongs into lib/byoc of the installation");
    return status;
  }
  byoc_plugin_note_t reader;
  bool has_note = false, is_file = false;
  char *real = NULL;
  byoc_status_t status = byoc_plugin_check_trust(registry->table_reader, registry->allocator, diag, &real, &is_file);
  if (status == BYOC_OK) status = byoc_plugin_identity_read(real, diag, &reader, &has_note);
  if (status == BYOC_OK) {
    byoc_plugin_note_t note = entry->note;
    note.abi_minor_built = reader.abi_minor_built; // the minor of the ABI that the reader uses
    status = byoc_plugin_library_load_table(real, slot->real_path, &note, byoc_host_fill_tables, registry->allocator,
                                            diag, &entry->library);
  } else {
    byoc_diag_context(diag, status, "the reader of tables, '%s'", registry->table_reader);
  }
  byoc_free(registry->allocator, real);
  return status;
}

static void log_oddity(void *self, const char *message) {
  byoc_log(BYOC_LOG_INFO, "rule '%s': %s", (const char *)self, message);
}

// With --verbose, reports rules that are well-formed but can match nothing.
static void lint(const byoc_plugin_entry_t *entry, byoc_allocator_t allocator) {
  for (size_t i = 0; i < entry->kind_count && byoc_log_level() >= BYOC_LOG_INFO; ++i) {
    const byoc_backend_t *backend = entry->kinds[i].backend;
    for (uint32_t r = 0; r < backend->rule_count; ++r) {
      byoc_plugin_lint_rule(&backend->rules[r], allocator, log_oddity, (void *)(uintptr_t)backend->rules[r].name);
    }
  }
}

// Makes the entry LOADED or REFUSED. Returns the reason if this call refused it.
static byoc_status_t load_slot(byoc_plugin_registry_t *registry, slot_t *slot) {
  byoc_plugin_entry_t *entry = &slot->entry;
  if (entry->state != BYOC_PLUGIN_FOUND) return BYOC_OK;
  byoc_diag_t reason = {0};
  byoc_status_t status = entry->is_table ? load_table(registry, slot, &reason) : load_object(registry, slot, &reason);
  if (status != BYOC_OK) {
    if (status == BYOC_OUT_OF_MEMORY) {
      entry->state = BYOC_PLUGIN_REFUSED;
      entry->reason = slot->refusal = "out of memory";
    } else {
      (void)refuse(registry, slot, &reason, NULL);
    }
    return status;
  }
  entry->state = BYOC_PLUGIN_LOADED;
  entry->plugin = entry->library->plugin;
  entry->kinds = entry->library->kinds;
  entry->kind_count = entry->library->kind_count;
  byoc_log(BYOC_LOG_INFO, "plugin '%s' %s loaded from '%s'", entry->note.name, entry->note.version, entry->path);
  lint(entry, registry->allocator);
  return BYOC_OK;
}

// Was the same warning given for the other one of two rivals?
static bool is_reported(const byoc_plugin_registry_t *registry, size_t index) {
  const slot_t *slot = registry->slots.data[index];
  if (slot->rivalry == NULL || slot->rival->rivalry == NULL || slot->rival->rival != slot) return false;
  for (size_t i = 0; i < index; ++i) {
    if (registry->slots.data[i] == slot->rival) return true;
  }
  return false;
}

size_t byoc_plugin_registry_load_all(byoc_plugin_registry_t *registry) {
  size_t refused_count = 0;
  for (size_t i = 0; i < registry->slots.count; ++i) {
    slot_t *slot = registry->slots.data[i];
    const bool was_found = slot->entry.state == BYOC_PLUGIN_FOUND;
    (void)load_slot(registry, slot);
    if (slot->entry.state != BYOC_PLUGIN_REFUSED) continue;
    if (!was_found && !slot->is_unread && slot->rivalry == NULL) continue;
    if (!is_reported(registry, i)) byoc_log(BYOC_LOG_WARNING, "%s", slot->refusal);
    ++refused_count;
  }
  return refused_count;
}

void byoc_plugin_registry_read_tables(byoc_plugin_registry_t *registry) {
  for (size_t i = 0; i < registry->slots.count; ++i) {
    if (registry->slots.data[i]->entry.is_table) (void)load_slot(registry, registry->slots.data[i]);
  }
}

// ---- targets ----

static const byoc_target_kind_t *look_up(const void *self, const char *name) {
  byoc_plugin_registry_t *registry = (byoc_plugin_registry_t *)(uintptr_t)self;
  if (strcmp(name, byoc_target_kind_native()->name) == 0) return byoc_target_kind_native();
  for (size_t i = 0; i < registry->slots.count; ++i) {
    slot_t *slot = registry->slots.data[i];
    const byoc_plugin_entry_t *entry = &slot->entry;
    if (entry->state == BYOC_PLUGIN_REFUSED || !byoc_plugin_note_has_target(&entry->note, name)) continue;
    (void)load_slot(registry, slot);
    for (size_t k = 0; k < entry->kind_count; ++k) {
      if (strcmp(entry->kinds[k].name, name) == 0) return &entry->kinds[k];
    }
    return NULL;
  }
  return NULL;
}

static const char *refusal(const void *self, const char *name) {
  return byoc_plugin_registry_refusal(self, name);
}

const char *byoc_plugin_registry_refusal(const byoc_plugin_registry_t *registry, const char *kind) {
  for (size_t i = 0; i < registry->slots.count; ++i) {
    const slot_t *slot = registry->slots.data[i];
    if (slot->entry.state != BYOC_PLUGIN_REFUSED || !slot->entry.has_note) continue;
    if (byoc_plugin_note_has_target(&slot->entry.note, kind)) return slot->refusal;
  }
  for (size_t i = 0; i < registry->slots.count; ++i) {
    const slot_t *slot = registry->slots.data[i]; // its targets are not known
    if (slot->is_unread && !slot->entry.has_note) return slot->refusal;
  }
  return NULL;
}

// All names that could be asked for, in order. NULL if out of memory.
static const char **collect_names(byoc_plugin_registry_t *registry, size_t *out_count) {
  size_t limit = 1, count = 0;
  for (size_t i = 0; i < registry->slots.count; ++i) limit += sizeof(registry->slots.data[i]->entry.note.targets) / 2;
  const char **names = BYOC_ARENA_ARRAY(&registry->arena, const char *, limit);
  *out_count = 0;
  if (names == NULL) return NULL;
  names[count++] = byoc_target_kind_native()->name;
  for (size_t i = 0; i < registry->slots.count; ++i) {
    const byoc_plugin_entry_t *entry = &registry->slots.data[i]->entry;
    if (entry->state == BYOC_PLUGIN_REFUSED) continue;
    const char *cursor = byoc_plugin_list_start(entry->note.targets);
    size_t size = 0;
    for (const char *name; (name = byoc_plugin_list_next(&cursor, &size)) != NULL;) {
      names[count] = byoc_arena_format(&registry->arena, "%.*s", (int)size, name);
      if (names[count++] == NULL) return NULL;
    }
  }
  *out_count = count;
  return names;
}

byoc_target_registry_t byoc_plugin_registry_targets(byoc_plugin_registry_t *registry) {
  byoc_target_registry_t targets = {.self = registry, .lookup = look_up, .refusal = refusal};
  targets.names = collect_names(registry, &targets.name_count);
  return targets;
}

// ---- operators ----

// The highest choice of the user among the loaded plugins that announce the domain; -1 if there is none.
static int best_choice(const byoc_plugin_registry_t *registry, const char *domain) {
  int best = -1;
  for (size_t i = 0; i < registry->slots.count; ++i) {
    const slot_t *slot = registry->slots.data[i];
    if (slot->entry.state != BYOC_PLUGIN_LOADED || !byoc_plugin_list_has(slot->entry.domains, domain)) continue;
    const int choice = (int)as_rival(slot).choice;
    if (choice > best) best = choice;
  }
  return best;
}

static byoc_status_t load_for_domain(byoc_plugin_registry_t *registry, slot_t *slot, const char *domain,
                                     byoc_diag_t *diag) {
  const byoc_status_t status = load_slot(registry, slot);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  if (status != BYOC_ALREADY_EXISTS) return BYOC_OK; // other faults matter only if one of its operators is used
  slot->entry.is_passed_over = best_choice(registry, domain) > (int)as_rival(slot).choice;
  if (slot->entry.is_passed_over) return BYOC_OK;
  byoc_diag_error(diag, status, "%s", slot->refusal);
  byoc_diag_hint(diag, "choose one of them: --prefer FILE");
  return status;
}

// Plugins that the user chose come first, so that their operators are used.
static byoc_status_t load_domain(void *self, const char *domain, byoc_diag_t *diag) {
  byoc_plugin_registry_t *registry = self;
  static const int choices[] = {BYOC_PLUGIN_PREFERRED, BYOC_PLUGIN_NAMED, BYOC_PLUGIN_UNCHOSEN};
  for (size_t c = 0; c < sizeof(choices) / sizeof(choices[0]); ++c) {
    for (size_t i = 0; i < registry->slots.count; ++i) {
      slot_t *slot = registry->slots.data[i];
      if (slot->entry.state != BYOC_PLUGIN_FOUND || !byoc_plugin_list_has(slot->entry.domains, domain)) continue;
      if ((int)as_rival(slot).choice != choices[c]) continue;
      BYOC_RETURN_IF_ERROR(load_for_domain(registry, slot, domain, diag));
    }
  }
  return BYOC_OK;
}

static const char *domain_refusal(void *self, const char *domain) {
  const byoc_plugin_registry_t *registry = self;
  for (size_t i = 0; i < registry->slots.count; ++i) {
    const slot_t *slot = registry->slots.data[i];
    if (slot->entry.state == BYOC_PLUGIN_REFUSED && byoc_plugin_list_has(slot->entry.domains, domain)) {
      return slot->refusal;
    }
  }
  return NULL;
}

byoc_op_source_t byoc_plugin_registry_operators(byoc_plugin_registry_t *registry) {
  return (byoc_op_source_t){.self = registry, .load = load_domain, .refusal = domain_refusal};
}
