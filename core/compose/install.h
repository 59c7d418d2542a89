// The last steps: is the linked file what it must be, and putting it under its name. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_INSTALL_H_
#define BYOC_CORE_COMPOSE_INSTALL_H_

#include "core/base/diag.h"
#include "core/base/string.h"

// Exports the entry and nothing else; needs libc, libm, the loader and `needed`, and nothing else.
byoc_status_t byoc_compose_verify_linked(const char *path, const char *const *needed, size_t needed_count,
                                         byoc_diag_t *diag);
// Moves `linked` to `output` and writes the header (may be NULL) beside it: both or neither. Older files stay as they
// were where that fails.
byoc_status_t byoc_compose_install(const char *linked, const char *output, const byoc_string_t *header,
                                   byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_INSTALL_H_
