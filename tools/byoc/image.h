// SPDX-License-Identifier: Apache-2.0
// Pictures as tensors: PNG and JPEG files, decoded by libpng and libjpeg.
#ifndef BYOC_TOOLS_BYOC_IMAGE_H_
#define BYOC_TOOLS_BYOC_IMAGE_H_

#include "npy.h"
#include "tensors.h"

// How a picture's bytes become an input's floats: (byte - mean) * scale, for each channel. Inputs of bytes take them as
// they are.
typedef struct byoc_image_options_t {
  double mean[3], scale[3];
} byoc_image_options_t;
#define BYOC_IMAGE_DEFAULTS                                                                                            \
  {                                                                                                                    \
    .mean = {0, 0, 0}, .scale = { 1 / 255.0, 1 / 255.0, 1 / 255.0 }                                                    \
  }

// "0.5" for all channels, or "123.7,116.3,103.5" in the order red, green, blue. BYOC_INVALID_ARGUMENT, naming the
// option.
byoc_status_t byoc_image_channels(const char *text, const char *option, byoc_diag_t *diag, double *out_channels);

// Does the name end in .png, .jpg or .jpeg?
bool byoc_image_is_meant(const char *path);
// Reads a picture as `port` wants it: f32 or u8, [N,C,H,W], [N,H,W,C], the same without N, or [H,W], with C 3 (red,
// green, blue) or 1 (grey). The picture is not scaled: the shape of the array is that of the picture. The bytes are
// those that Pillow gives (docs/running.md); BYOC_INVALID_DATA for a picture that is cut short or damaged.
byoc_status_t byoc_image_read(const char *path, const byoc_port_t *port, const byoc_image_options_t *options,
                              byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *out_array);

#endif // BYOC_TOOLS_BYOC_IMAGE_H_
