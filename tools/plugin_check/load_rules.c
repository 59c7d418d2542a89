// Rules about loading the plugin, one step after the other; they do so themselves.
#include <dlfcn.h>

#include "core/plugin/host.h"
#include "core/plugin/identity.h"
#include "core/plugin/library.h"
#include "tools/plugin_check/check.h"

static void read_note(check_t *check, byoc_plugin_note_t *out_note) {
  byoc_diag_t diag = {0};
  bool has_note = false;
  check_ok(check, byoc_plugin_identity_read(check->plugin, &diag, out_note, &has_note), &diag,
           "it is refused before it is loaded");
}

void check_load_resolves(check_t *check) {
  check_doing(check, "the loader opens it and runs its constructors");
  void *handle = dlopen(check->plugin, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) check_stop(check, NULL, "%s", dlerror());
  check_doing(check, "the loader closes it and runs its destructors");
  (void)dlclose(handle);
}

void check_load_accepted(check_t *check) {
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  byoc_plugin_library_t *library = NULL;
  read_note(check, &note);
  check_doing(check, "the host calls byoc_plugin_query");
  check_ok(
      check,
      byoc_plugin_library_load(check->plugin, &note, byoc_host_fill_tables, byoc_allocator_system(), &diag, &library),
      &diag, "it is refused");
  check_doing(check, "the host calls destroy and unloads it");
  byoc_plugin_library_release(library);
}

void check_load_clean(check_t *check) {
  enum { TIMEOUT_MS = 20000 };
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  read_note(check, &note);
  check_doing(check, "the host tries it in a process of its own");
  check_ok(check, byoc_plugin_try(check->plugin, &note, TIMEOUT_MS, &diag), &diag, "it is refused");
}
