// SPDX-License-Identifier: Apache-2.0
// Texts in .npy files: NumPy keeps each in as many UTF-32 characters as the longest needs ('<U5'), and byoc as
// NUL-terminated UTF-8 behind a `const char *`.
#ifndef BYOC_TOOLS_BYOC_NPY_TEXT_H_
#define BYOC_TOOLS_BYOC_NPY_TEXT_H_

#include <stddef.h>
#include <stdint.h>

#include "core/base/allocator.h"
#include "core/base/diag.h"

// Reads `count` texts of `width` characters. *out_texts is one block from the allocator: the pointers, then the texts.
// BYOC_INVALID_DATA for numbers that are no characters.
byoc_status_t byoc_npy_read_texts(const uint8_t *bytes, size_t count, size_t width, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, const char ***out_texts);
// Writes `count` texts, of which NULL is an empty one, as *out_width characters each, at least one: *out_bytes is from
// the allocator. BYOC_INVALID_DATA for a text that is not UTF-8.
byoc_status_t byoc_npy_write_texts(const char *const *texts, size_t count, byoc_allocator_t allocator,
                                   byoc_diag_t *diag, uint8_t **out_bytes, size_t *out_width);

#endif // BYOC_TOOLS_BYOC_NPY_TEXT_H_
