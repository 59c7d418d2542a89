// SPDX-License-Identifier: Apache-2.0
// image.h - reads the ELF image of a shared library that lies in memory, to find what need not be copied to load it.
//
// libdnnl.so.2 has 39 MB, of which the dynamic loader itself touches one. Copying the rest into a memfd costs 30 to
// 130 ms; mapping it from the artifact's own file costs nothing. So the memfd receives only what the loader reads and
// relocates, with holes for the large read-only segments; once dlopen has laid the library out, the holes are covered
// by mappings of the artifact. Constructors live in those segments, and allocate: they are hidden from dlopen, and run
// afterwards.
#ifndef BYOC_DNNL_IMAGE_H_
#define BYOC_DNNL_IMAGE_H_

#include <stddef.h>
#include <stdint.h>

#include "engine/library/error.h"

#define BYOC_DNNL_IMAGE_HOLE_COUNT 4

// A read-only segment left out of the copy; offsets are in the file, all rounded to whole pages.
typedef struct byoc_dnnl_image_hole_t {
  uint64_t offset;
  uint64_t address; // relative to the load address
  uint64_t size_bytes;
  int protection; // PROT_*
} byoc_dnnl_image_hole_t;

typedef struct byoc_dnnl_image_t {
  const uint8_t *data;
  uint64_t size_bytes;
  byoc_dnnl_image_hole_t holes[BYOC_DNNL_IMAGE_HOLE_COUNT]; // by ascending offset
  uint32_t hole_count;                                      // 0: the image has to be copied whole
  // The dynamic section's table; the entries of constructors are hidden from dlopen.
  uint64_t dynamic_offset;
  uint64_t dynamic_size_bytes;
  // Constructors, relative to the load address; 0 where there are none.
  uint64_t init_address;
  uint64_t init_array_address;
  uint64_t init_array_size_bytes;
} byoc_dnnl_image_t;

// Checks that `data` is a shared library of this machine and fills *out_image, which points into `data`. Holes are
// found only where leaving them out is known to be safe (no relocation, resolver or loader table lies in them).
int32_t byoc_dnnl_image_parse(const char *name, const void *data, uint64_t size_bytes, byoc_dnnl_image_t *out_image,
                              byoc_dnnl_error_t *error);

// Writes the image, without its holes and with its constructors hidden, to the memory file `fd`.
int32_t byoc_dnnl_image_write(const char *name, const byoc_dnnl_image_t *image, int fd, byoc_dnnl_error_t *error);

// Writes one hole's contents after all, if mapping it failed.
int32_t byoc_dnnl_image_write_hole(const char *name, const byoc_dnnl_image_t *image, const byoc_dnnl_image_hole_t *hole,
                                   int fd, byoc_dnnl_error_t *error);

// Runs the hidden constructors of an image that was loaded at `base`.
void byoc_dnnl_image_run_constructors(const byoc_dnnl_image_t *image, uintptr_t base);

#endif // BYOC_DNNL_IMAGE_H_
