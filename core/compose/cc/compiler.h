// SPDX-License-Identifier: Apache-2.0
// The C compiler as a service: it compiles, with a cache on disk keyed by content, and links. A missing compiler is
// reported with a hint.
#ifndef BYOC_CORE_COMPOSE_CC_COMPILER_H_
#define BYOC_CORE_COMPOSE_CC_COMPILER_H_

#include "core/base/diag.h"
#include "core/base/file.h"
#include "core/base/string.h"

typedef struct byoc_compile_job_t {
  const char *name;     // for messages
  const char *source;   // NUL-terminated; may include "byoc/call.h" and the other artifact headers
  const char *preamble; // goes before the source, precompiled: "#include <immintrin.h>\n"; NULL: none
  const char *compiler; // NULL: $CC, else cc, gcc or clang, whichever is there first
  const char *const *flags;
  size_t flag_count;
  const struct byoc_embedded_header_t *files; // core/compose/cc/tool.h: more files that the source may include
  size_t file_count;
} byoc_compile_job_t;

// The first line of `compiler --version`, or the identity of its file if it prints none; cached per process, and part
// of every cache key.
byoc_status_t byoc_c_compiler_version(const char *compiler, byoc_diag_t *diag, const char **out_version);
// Compiles with -fPIC, hidden visibility, C11 (as gnu11), no debug paths; the bytes are deterministic. The object comes
// from the cache if source, headers, flags and compiler version are the same. A failure carries the compiler's first
// messages. Thread-safe.
byoc_status_t byoc_compile(const byoc_compile_job_t *job, byoc_allocator_t allocator, byoc_diag_t *diag,
                           void **out_object, size_t *out_size_bytes);
// Compiles several jobs, at most `parallel` at a time (0: one for each processor that may be used); objects are in
// order.
byoc_status_t byoc_compile_all(const byoc_compile_job_t *jobs, size_t job_count, int32_t parallel,
                               byoc_allocator_t allocator, byoc_diag_t *diag, byoc_bytes_t *out_objects);

// The bytes of a build ID, zeros at first, for which byoc_link_shared leaves room if a job asks for one.
#define BYOC_BUILD_ID_BYTES 16
#define BYOC_BUILD_ID_ROOM  "0x00000000000000000000000000000000"

typedef struct byoc_link_job_t {
  const char *output;       // path in a folder of ours
  const char *compiler;     // link driver; NULL: default
  const char *const *files; // objects and archives by path, in order
  size_t file_count;
  const char *const *names;  // names of the files in messages; NULL, as a whole or one by one: their paths
  const char *const *needed; // "libfoo.so.1"
  size_t needed_count;
  const char *const *search; // folders that hold them, for the linker and for the loader
  size_t search_count;
  const char *const *exports; // the only symbols left global
  size_t export_count;
  bool needs_parts_of_libc; // libpthread.so.0 and libdl.so.2 too: older systems have parts of libc there
  bool has_build_id;        // leaves room for one, which byoc_compose_seal fills in; without it there is none
  bool allow_undefined;     // for the evaluator only; artifacts refuse undefined symbols
} byoc_link_job_t;
byoc_status_t byoc_link_shared(const byoc_link_job_t *job, byoc_diag_t *diag);
// Links the same files into one object, without sections that the exports do not need. Undefined symbols stay.
byoc_status_t byoc_link_relocatable(const byoc_link_job_t *job, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_CC_COMPILER_H_
