// SPDX-License-Identifier: Apache-2.0
// Command lines of compilers and linkers, and their messages. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_CC_TOOL_H_
#define BYOC_CORE_COMPOSE_CC_TOOL_H_

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/file.h"
#include "core/base/string.h"
#include "core/base/vector.h"
#include "core/compose/cc/compiler.h"

typedef struct byoc_command_place_t {
  const char *path, *name;
} byoc_command_place_t;

// A command line under construction; `failed` is sticky.
typedef struct byoc_command_t {
  byoc_arena_t arena;
  BYOC_VECTOR(byoc_command_place_t) places; // names of paths in messages
  BYOC_VECTOR(const char *) arguments;
  const char *folder; // for its temporary files; NULL: that of the caller
  bool failed;
} byoc_command_t;

// Starts with the compiler, which may carry arguments of its own: "ccache gcc".
void byoc_command_init(byoc_command_t *command, const char *compiler, byoc_allocator_t allocator);
void byoc_command_deinit(byoc_command_t *command);
void byoc_command_add(byoc_command_t *command, const char *argument); // copied
void byoc_command_addf(byoc_command_t *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Messages of the tool get `name` instead of the path; if two paths fit, the one that was added first.
void byoc_command_name(byoc_command_t *command, const char *path, const char *name);
// The command works in this temporary folder: the tools' own temporary files go there, so that they are removed with it
// if a tool is killed, and messages leave out the folder in paths.
void byoc_command_work_in(byoc_command_t *command, const char *folder);

// Runs it in `directory` (NULL: the caller's), with messages in English. A non-zero exit is BYOC_TOOL, or BYOC_IO if
// the disk is full, with "<what> failed: <first messages>".
byoc_status_t byoc_command_run(byoc_command_t *command, const char *what, const char *directory, byoc_diag_t *diag);

// The flags of every compilation, in lists that end in NULL: those before the job's own, which may overrule them, and
// those after them. If $BYOC_CHECK_C is set, as it is in the tests, warnings are errors: of names that hide others, of
// comparisons that have one outcome, and those that compilers give unasked.
const char *const *byoc_flags_before(void);
extern const char *const byoc_flags_after[];
// All flags of a job's compilation, except for the names of files.
void byoc_command_add_compilation(byoc_command_t *command, const byoc_compile_job_t *job);

// `compiler`, or the default one if it is NULL (see byoc_compile_job_t). BYOC_NOT_FOUND, with a hint how to get one, if
// the one named here or in $CC is missing.
byoc_status_t byoc_c_compiler_find(const char *compiler, byoc_diag_t *diag, const char **out_compiler);

// The headers that generated code includes, as they travel inside this program.
typedef struct byoc_embedded_header_t {
  const char *path; // "byoc/call.h"
  const unsigned char *data;
  size_t size_bytes;
} byoc_embedded_header_t;
extern const size_t byoc_embedded_header_count;
byoc_embedded_header_t byoc_embedded_header(size_t index);
// Finds a header by its path; data is NULL if there is none.
byoc_embedded_header_t byoc_embedded_header_find(const char *path);
// Writes one or all of them below `folder`.
byoc_status_t byoc_embedded_header_write(const char *folder, const byoc_embedded_header_t *header, byoc_diag_t *diag);
byoc_status_t byoc_embedded_headers_write(const char *folder, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_CC_TOOL_H_
