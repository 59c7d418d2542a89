// SPDX-License-Identifier: Apache-2.0
// Reads pictures: decodes them to bytes, then lays these out as an input wants them.
#include "image.h"

#include <setjmp.h>
#include <stdio.h> // jpeglib.h needs FILE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jpeglib.h>

#include <jerror.h>
#include <png.h>

#include "core/base/file.h"

// Decoded: rows of pixels, one or three bytes each.
typedef struct image_t {
  uint8_t *bytes; // from the allocator
  size_t width, height, channels;
} image_t;

static bool ends_in(const char *path, const char *ending) {
  const size_t size = strlen(path), length = strlen(ending);
  return size > length && strcasecmp(path + size - length, ending) == 0;
}

bool byoc_image_is_meant(const char *path) {
  return ends_in(path, ".png") || ends_in(path, ".jpg") || ends_in(path, ".jpeg");
}

byoc_status_t byoc_image_channels(const char *text, const char *option, byoc_diag_t *diag, double *out_channels) {
  size_t count = 0;
  const char *at = text;
  for (bool more = true; more && count < 3; ++count) {
    char *end = NULL;
    out_channels[count] = strtod(at, &end);
    if (end == at) break;
    more = *end == ',';
    at = end + more;
    if (!more && *end == '\0' && (count == 0 || count == 2)) {
      if (count == 0) out_channels[1] = out_channels[2] = out_channels[0];
      return BYOC_OK;
    }
  }
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s takes a number, or three (red,green,blue), not '%s'",
                         option, text);
}

// ---- decoding ----

static byoc_status_t make_room(image_t *image, byoc_allocator_t allocator, byoc_diag_t *diag) {
  size_t size = image->channels;
  if (!byoc_size_mul(size, image->width, &size) || !byoc_size_mul(size, image->height, &size)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "the image is larger than any memory");
  }
  image->bytes = byoc_allocate(allocator, size, 1);
  return image->bytes != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- PNG ----

// libpng jumps to `back` on an error; `back` is set before any call that can fail.
typedef struct png_source_t {
  jmp_buf back;
  const uint8_t *at;
  size_t left;
  char message[128];
} png_source_t;

static void fail_png(png_structp decoder, png_const_charp message) {
  png_source_t *source = png_get_error_ptr(decoder);
  snprintf(source->message, sizeof(source->message), "%s", message);
  longjmp(source->back, 1);
}

static void ignore_png(png_structp decoder, png_const_charp message) {
  (void)decoder, (void)message;
}

static void read_png(png_structp decoder, png_bytep out, size_t size) {
  png_source_t *source = png_get_io_ptr(decoder);
  if (size > source->left) png_error(decoder, "the file is cut short");
  memcpy(out, source->at, size);
  source->at += size;
  source->left -= size;
}

// Numbers as they stand in the file, whatever its gamma: of 16 bits the upper 8, of less than 8 bits as many levels
// from 0 to 255; without transparency.
static void set_transformations(png_structp decoder, png_infop info, image_t *image) {
  const int type = png_get_color_type(decoder, info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(decoder);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(decoder);
  png_set_strip_16(decoder);
  png_set_strip_alpha(decoder);
  image->channels = type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_GRAY_ALPHA ? 1 : 3;
  image->width = png_get_image_width(decoder, info);
  image->height = png_get_image_height(decoder, info);
}

// Everything that a jump leaves behind belongs to the caller: `decoder`, `info` and `picture`.
static byoc_status_t read_rows(png_structp decoder, png_infop info, byoc_allocator_t allocator, byoc_diag_t *diag,
                               image_t *image) {
  png_read_info(decoder, info);
  set_transformations(decoder, info, image);
  const int passes = png_set_interlace_handling(decoder);
  png_read_update_info(decoder, info);
  BYOC_RETURN_IF_ERROR(make_room(image, allocator, diag));
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t y = 0; y < image->height; ++y)
      png_read_row(decoder, image->bytes + y * image->width * image->channels, NULL);
  }
  png_read_end(decoder, NULL);
  return BYOC_OK;
}

static byoc_status_t decode_png(const byoc_file_view_t *file, byoc_allocator_t allocator, byoc_diag_t *diag,
                                image_t *image) {
  png_source_t source = {.at = file->data, .left = file->size_bytes};
  png_structp decoder = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, NULL, ignore_png);
  png_infop info = decoder != NULL ? png_create_info_struct(decoder) : NULL;
  if (info == NULL) {
    png_destroy_read_struct(&decoder, NULL, NULL);
    return byoc_diag_out_of_memory(diag);
  }
  byoc_status_t status = BYOC_OK;
  if (setjmp(source.back) == 0) {
    png_set_error_fn(decoder, &source, fail_png, ignore_png);
    png_set_read_fn(decoder, &source, read_png);
    status = read_rows(decoder, info, allocator, diag, image);
  } else {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "not a PNG file that can be read: %s", source.message);
  }
  png_destroy_read_struct(&decoder, &info, NULL);
  return status;
}

// ---- JPEG ----

typedef struct jpeg_failure_t {
  struct jpeg_error_mgr manager; // first, because libjpeg hands back a pointer to it
  jmp_buf back;
  char message[JMSG_LENGTH_MAX];
} jpeg_failure_t;

static void fail_jpeg(j_common_ptr decoder) {
  jpeg_failure_t *failure = (jpeg_failure_t *)decoder->err;
  decoder->err->format_message(decoder, failure->message);
  longjmp(failure->back, 1);
}

// libjpeg only warns of data that end too early or make no sense, and fills up the picture by itself.
static void judge_message(j_common_ptr decoder, int level) {
  if (level >= 0) return;
  switch (decoder->err->msg_code) {
  case JWRN_JPEG_EOF:
  case JWRN_HIT_MARKER:
  case JWRN_HUFF_BAD_CODE:
  case JWRN_ARITH_BAD_CODE:
  case JWRN_MUST_RESYNC:
    fail_jpeg(decoder);
    return;
  default:
    return;
  }
}

// Everything that a jump leaves behind belongs to the decoder or to `picture`.
static byoc_status_t decode_jpeg(const byoc_file_view_t *file, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 image_t *image) {
  struct jpeg_decompress_struct decoder;
  jpeg_failure_t failure;
  decoder.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = fail_jpeg;
  failure.manager.emit_message = judge_message;
  if (setjmp(failure.back) != 0) {
    jpeg_destroy_decompress(&decoder);
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "not a JPEG file that can be read: %s", failure.message);
  }
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, file->data, (unsigned long)file->size_bytes);
  (void)jpeg_read_header(&decoder, TRUE);
  image->channels = decoder.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
  decoder.out_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  (void)jpeg_start_decompress(&decoder);
  image->width = decoder.output_width;
  image->height = decoder.output_height;
  byoc_status_t status = make_room(image, allocator, diag);
  while (status == BYOC_OK && decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = image->bytes + (size_t)decoder.output_scanline * image->width * image->channels;
    (void)jpeg_read_scanlines(&decoder, &row, 1);
  }
  if (status == BYOC_OK) (void)jpeg_finish_decompress(&decoder); // a file that has no end is cut short
  jpeg_destroy_decompress(&decoder);
  return status;
}

// ---- layout ----

typedef struct image_layout_t {
  int32_t rank, channel_axis; // -1: there is none
  size_t channels;
} image_layout_t;

static bool is_count_of_channels(int64_t dim) {
  return dim == 1 || dim == 3;
}

static byoc_status_t find_layout(const byoc_port_t *port, byoc_diag_t *diag, image_layout_t *out) {
  const int32_t rank = port->rank;
  *out = (image_layout_t){.rank = rank, .channel_axis = -1, .channels = 1};
  if ((port->dtype == BYOC_DTYPE_F32 || port->dtype == BYOC_DTYPE_U8) && rank >= 2 && rank <= 4) {
    if (rank == 2) return BYOC_OK;
    if (is_count_of_channels(port->dims[rank - 3])) {
      out->channel_axis = rank - 3;
    } else if (is_count_of_channels(port->dims[rank - 1])) {
      out->channel_axis = rank - 1;
    }
    if (out->channel_axis >= 0) {
      out->channels = (size_t)port->dims[out->channel_axis];
      return BYOC_OK;
    }
  }
  char type[192];
  byoc_port_format(port, type, sizeof(type));
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "an image does not fit '%s', which is %s", port->name, type);
  byoc_diag_hint(diag,
                 "pictures are for f32 and u8 of [N,C,H,W], [N,H,W,C], the same without N, or [H,W], with C 1 or 3");
  return status;
}

// Channel c of `channels` of a pixel. Grey is ITU-R 601's sum of the colours, as Pillow has it.
static uint8_t channel_of(const image_t *image, size_t pixel, size_t c, size_t channels) {
  const uint8_t *at = image->bytes + pixel * image->channels;
  if (image->channels == 1) return *at;
  if (channels == 3) return at[c];
  return (uint8_t)((at[0] * 19595u + at[1] * 38470u + at[2] * 7471u + 0x8000u) >> 16);
}

static byoc_status_t lay_out(const image_t *image, const image_layout_t *layout, const byoc_port_t *port,
                             const byoc_image_options_t *options, byoc_allocator_t allocator, byoc_diag_t *diag,
                             byoc_npy_t *out) {
  const size_t pixels = image->width * image->height, channels = layout->channels;
  const bool is_float = port->dtype == BYOC_DTYPE_F32, is_planar = layout->channel_axis == layout->rank - 3;
  const int32_t height_axis = layout->rank - (layout->channel_axis == layout->rank - 1 ? 3 : 2);
  *out = (byoc_npy_t){.dtype = port->dtype, .rank = layout->rank, .dims = {1, 1, 1, 1}};
  if (layout->channel_axis >= 0) out->dims[layout->channel_axis] = (int64_t)channels;
  out->dims[height_axis] = (int64_t)image->height;
  out->dims[height_axis + 1] = (int64_t)image->width;
  out->size_bytes = pixels * channels * (is_float ? sizeof(float) : 1);
  out->data = byoc_allocate(allocator, pixels * channels, is_float ? sizeof(float) : 1);
  if (out->data == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t c = 0; c < channels; ++c) {
      const uint8_t byte = channel_of(image, p, c, channels);
      const size_t at = is_planar ? c * pixels + p : p * channels + c;
      if (is_float) ((float *)out->data)[at] = (float)((byte - options->mean[c]) * options->scale[c]);
      if (!is_float) ((uint8_t *)out->data)[at] = byte;
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_image_read(const char *path, const byoc_port_t *port, const byoc_image_options_t *options,
                              byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *out_array) {
  image_layout_t layout;
  byoc_file_view_t file;
  *out_array = (byoc_npy_t){0};
  BYOC_RETURN_IF_ERROR(find_layout(port, diag, &layout));
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &file));
  image_t image = {0};
  byoc_status_t status =
      ends_in(path, ".png") ? decode_png(&file, allocator, diag, &image) : decode_jpeg(&file, allocator, diag, &image);
  byoc_file_view_close(&file);
  if (status == BYOC_OK) status = lay_out(&image, &layout, port, options, allocator, diag, out_array);
  byoc_free(allocator, image.bytes);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "%s", path);
}
