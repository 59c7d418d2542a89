// SPDX-License-Identifier: Apache-2.0
// Answers of generate hooks in the plugin's cache (BYOC_BACKEND_CACHED): the modules that one function's session made,
// or why it was declined. Internal to core/plugin.
#ifndef BYOC_CORE_PLUGIN_KEPT_ANSWER_H_
#define BYOC_CORE_PLUGIN_KEPT_ANSWER_H_

#include "core/base/hash.h"
#include "core/plugin/cache.h"
#include "core/plugin/session.h"

// Larger entries are not stored. If the folder of a plugin's answers grows beyond its limit, those that were not used
// for longest are removed.
#define BYOC_KEPT_ENTRY_LIMIT_BYTES  ((uint64_t)256 << 20)
#define BYOC_KEPT_FOLDER_LIMIT_BYTES ((uint64_t)1 << 30)

typedef struct byoc_kept_answers_t {
  bool is_open; // false: nothing is looked up or stored
  byoc_plugin_cache_t cache;
  byoc_content_hash_t build; // of what all answers of this run depend on
  const char *image;         // where the plugin's file begins in memory
} byoc_kept_answers_t;

// Of one function: by its content alone, and by its content and all names in it.
typedef struct byoc_kept_key_t {
  char content[64], named[64];
} byoc_kept_key_t;

// From now on no answer is looked up or stored: each hook is called.
void byoc_kept_answers_switch_off(void);

// Asks depends_on of the backend. It stays closed, without an error, if the backend's answers are not cached. It lives
// as long as the session.
byoc_status_t byoc_kept_answers_open(byoc_codegen_t *session, byoc_diag_t *diag, byoc_kept_answers_t *out_kept);
// Keeps the size of the cache within its limit.
void byoc_kept_answers_close(const byoc_kept_answers_t *kept);
// The part of all keys that is not of a function.
byoc_status_t byoc_kept_build_hash(const byoc_codegen_t *session, const char *depends_on, byoc_diag_t *diag,
                                   byoc_content_hash_t *out_hash);
// The keys of the session's only function, as its hook would get it.
byoc_status_t byoc_kept_key_make(const byoc_kept_answers_t *kept, const byoc_function_t *function, byoc_diag_t *diag,
                                 byoc_kept_key_t *out_key);
// Fills the session of one function, as its hook generate would. An entry that is missing, damaged, or no longer valid
// here leaves it as it was. `read`: BYOC_READ_*, by prepare. Nothing is looked up if prepare did more than edit.
byoc_status_t byoc_kept_answer_get(const byoc_kept_answers_t *kept, byoc_codegen_t *session, unsigned read,
                                   byoc_diag_t *diag, byoc_kept_key_t *out_key, bool *out_found);
// Stores what the hook did. `read`: BYOC_READ_*, by both hooks. What cannot be stored is only logged.
byoc_status_t byoc_kept_answer_put(const byoc_kept_answers_t *kept, byoc_codegen_t *session, const byoc_kept_key_t *key,
                                   unsigned read, byoc_diag_t *diag);

#endif // BYOC_CORE_PLUGIN_KEPT_ANSWER_H_
