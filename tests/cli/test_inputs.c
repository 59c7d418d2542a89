// SPDX-License-Identifier: Apache-2.0
// Inputs of byoc run in files of all forms, pictures, and the largest elements of outputs.
#include <math.h>
#include <stdio.h> // jpeglib.h needs FILE

#include <jpeglib.h>
#include <png.h>

#include "core/base/file.h"
#include "models.h"
#include "tests/support/command.h"

enum { HEIGHT = 2, WIDTH = 3 };

// The red, green and blue of pixel p are 10p, 10p + 1 and 10p + 2.
static void fill_image(uint8_t *bytes) {
  for (size_t p = 0; p < HEIGHT * WIDTH; ++p) {
    for (size_t c = 0; c < 3; ++c) bytes[p * 3 + c] = (uint8_t)(10 * p + c);
  }
}

static void write_png(const char *path, uint32_t height) {
  uint8_t bytes[HEIGHT * WIDTH * 3];
  fill_image(bytes);
  png_image image = {.version = PNG_IMAGE_VERSION, .width = WIDTH, .height = height, .format = PNG_FORMAT_RGB};
  assert_true(png_image_write_to_file(&image, path, 0, bytes, 0, NULL));
}

// A row of pixels with a gamma, which changes no byte: of 16 bits, grey or red, green, blue and alpha.
static void write_deep_png(const char *path, bool is_grey) {
  static const uint8_t grey[] = {0, 255, 1, 0, 2, 128},
                       colours[] = {3, 0, 4, 0, 5, 0, 0, 0, 6, 255, 7, 0, 8, 1, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0};
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  png_structp encoder = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(encoder);
  png_init_io(encoder, file);
  png_set_IHDR(encoder, info, WIDTH, 1, 16, is_grey ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB_ALPHA,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_gAMA(encoder, info, 1.0);
  png_write_info(encoder, info);
  png_write_row(encoder, is_grey ? grey : colours);
  png_write_end(encoder, NULL);
  png_destroy_write_struct(&encoder, &info);
  assert_int_equal(fclose(file), 0);
}

// All pixels have the same grey, which survives the compression.
static void write_jpeg(const char *path) {
  uint8_t bytes[WIDTH * 3];
  memset(bytes, 51, sizeof(bytes));
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  struct jpeg_compress_struct encoder;
  struct jpeg_error_mgr errors;
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  jpeg_stdio_dest(&encoder, file);
  encoder.image_width = WIDTH;
  encoder.image_height = HEIGHT;
  encoder.input_components = 3;
  encoder.in_color_space = JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, 100, TRUE);
  jpeg_start_compress(&encoder, TRUE);
  for (int row = 0; row < HEIGHT; ++row) {
    JSAMPROW line = bytes;
    jpeg_write_scanlines(&encoder, &line, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  assert_int_equal(fclose(file), 0);
}

static const char two_text[] = "module {opset_import. = 17} {\n"
                               "  func @main(%a : f32[N,2], %b : f32[N,2]) -> (%sum : f32[N,2]) {\n"
                               "    %sum = Add@14(%a, %b) : f32[N,2]\n    return %sum\n  }\n}\n";

static void write_identity_text(const char *path, const char *type) {
  char text[256];
  snprintf(text, sizeof(text),
           "module {opset_import. = 17} {\n  func @main(%%x : %s) -> (%%y : %s) {\n"
           "    %%y = Identity@16(%%x) : %s\n    return %%y\n  }\n}\n",
           type, type, type);
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(path, text, strlen(text), &diag), &diag);
}

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_png("p.png", HEIGHT);
  write_png("low.png", 1);
  write_jpeg("p.jpg");
  write_identity_text("planes.byoc", "f32[1,3,2,3]");
  write_identity_text("pixels.byoc", "u8[H,W,3]");
  write_identity_text("grey.byoc", "f32[2,3]");
  write_identity_text("vector.byoc", "f32[2,4]");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("two.byoc", two_text, strlen(two_text), &diag), &diag);
  const float values[] = {1, 5, -2, 5, 0.5f, 3, 4, 8};
  write_npy("x.npy", 2, (const int64_t[]){2, 4}, values);
  return byoc_test_try_shell("printf 'first\\nsecond\\r\\nthird\\nfourth' > labels.txt");
}

#define RUN "byoc run --evaluate "

static void test_pictures_become_tensors(void **state) {
  (void)state;
  // Planes of red, green and blue, as parts of 255.
  byoc_test_shell(0, RUN "planes.byoc -i p.png --mean 0 --scale 1");
  byoc_test_printed("f32[1,3,2,3] = 0 10 20 30 40 50 ...   (from 0 to 52");
  byoc_test_shell(0, RUN "planes.byoc -i x=p.png --mean 10,1,2 --scale 0.5,1,1");
  byoc_test_printed("= -5 0 5 10 15 20 ...   (from -5 to 50");
  byoc_test_shell(0, RUN "planes.byoc -i p.jpg");
  byoc_test_printed("= 0.2 0.2 0.2 0.2 0.2 0.2 ...   (from 0.2 to 0.2");
  // Bytes as they are; sizes that are open become those of the picture.
  byoc_test_shell(0, RUN "pixels.byoc -i p.png");
  byoc_test_printed("u8[2,3,3] = 0 1 2 10 11 12 ...   (from 0 to 52");
  byoc_test_shell(0, RUN "grey.byoc -i p.png --scale 1");
  byoc_test_printed("f32[2,3] = ");
}

static void test_bytes_of_pictures_are_those_of_the_file(void **state) {
  (void)state;
  write_deep_png("grey16.png", true);
  write_deep_png("alpha16.png", false);
  write_identity_text("row.byoc", "u8[1,3,1,3]");
  byoc_test_shell(0, RUN "row.byoc -i grey16.png"); // the upper 8 bits, for each channel
  byoc_test_printed("= 0 1 2 0 1 2 ...   (from 0 to 2");
  byoc_test_shell(0, RUN "row.byoc -i alpha16.png");
  byoc_test_printed("= 3 6 10 4 7 11 ...   (from 3 to 12");
  byoc_test_shell(0, RUN "grey.byoc -i p.png --mean 0 --scale 1"); // 0.299 R + 0.587 G + 0.114 B
  byoc_test_printed("= 1 11 21 31 41 51");
}

// Each length but the whole one is refused, the last bytes of the end marker included.
static void test_pictures_that_are_cut_short_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {"p.png", "p.jpg"};
  for (size_t i = 0; i < 2; ++i) {
    byoc_test_shell(
        0, "for n in 1 2 3 9 14 40; do head -c -$n %s > cut.%s; " RUN "planes.byoc -i cut.%s && exit 3; done; exit 0",
        names[i], names[i] + 2, names[i] + 2);
  }
}

static void test_pictures_that_do_not_fit_are_refused(void **state) {
  (void)state;
  byoc_test_shell(1, RUN "planes.byoc -i low.png");
  byoc_test_printed("'x' is f32[1,3,2,3], low.png holds f32[1,3,1,3]");
  byoc_test_shell(1, "head -c 60 p.png > cut.png && " RUN "planes.byoc -i cut.png");
  byoc_test_printed("cut.png: not a PNG file that can be read");
  byoc_test_shell(1, "head -c 60 p.jpg > cut.jpg && " RUN "planes.byoc -i cut.jpg");
  byoc_test_printed("cut.jpg: not a JPEG file that can be read");
  byoc_test_shell(2, RUN "planes.byoc -i p.png --mean 1,2");
  byoc_test_printed("--mean takes a number, or three (red,green,blue), not '1,2'");
  write_identity_text("wide.byoc", "f32[5,2,4]");
  byoc_test_shell(2, RUN "wide.byoc -i p.png");
  byoc_test_printed("an image does not fit 'x', which is f32[5,2,4]");
}

static void test_the_range_leaves_out_what_is_no_number(void **state) {
  (void)state;
  const float some[] = {1, NAN, 3, NAN, 5, 1, 3, 5}, none[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  write_npy("some.npy", 2, (const int64_t[]){2, 4}, some);
  write_npy("none.npy", 2, (const int64_t[]){2, 4}, none);
  byoc_test_shell(0, RUN "vector.byoc -i some.npy");
  byoc_test_printed("(from 1 to 5, mean 3, 2 NaN)");
  byoc_test_shell(0, RUN "vector.byoc -i none.npy");
  byoc_test_printed("(all NaN)");
}

static void test_inputs_are_read_from_files_of_all_forms(void **state) {
  (void)state;
  const char *expected = "f32[2,4] = 1 5 -2 5 0.5 3 ...";
  byoc_test_shell(0, RUN "vector.byoc -i x.npy");
  byoc_test_printed(expected);
  byoc_test_shell(0, "tail -c 32 x.npy > x.raw && " RUN "vector.byoc -i x.raw");
  byoc_test_printed(expected);
  // A TensorProto: dims 2 and 4, FLOAT, raw_data.
  byoc_test_shell(0, "(printf '\\010\\002\\010\\004\\020\\001\\112\\040'; cat x.raw) > x.pb && " RUN
                     "vector.byoc -i x.pb");
  byoc_test_printed(expected);
  byoc_test_shell(1, RUN "vector.byoc -i x=p.raw 2>&1");
  byoc_test_printed("cannot open 'p.raw'");
  byoc_test_shell(1, "head -c 31 x.raw > short.raw && " RUN "vector.byoc -i short.raw");
  byoc_test_printed("short.raw has 31 bytes, and 'x' takes 32");
  byoc_test_shell(2, RUN "two.byoc -i a=x.raw -i b=x.raw");
  byoc_test_printed("x.raw does not say which shape it has");
}

// Arrays in Fortran order, of big-endian numbers, and both; as rows they are 1 5 -2 5 0.5 3 4 8.
static void arrays_of_every_order_are_read(void **state) {
  (void)state;
  byoc_test_shell(
      0, "python3 - <<'END'\n"
         "import struct\n"
         "rows, columns = [1, 5, -2, 5, 0.5, 3, 4, 8], [1, 0.5, 5, 3, -2, 4, 5, 8]\n"
         "def write(name, order, fortran, numbers):\n"
         "    head = f\"{{'descr': '{order}f4', 'fortran_order': {fortran}, 'shape': (2, 4), }}\\n\".encode()\n"
         "    with open(name + '.npy', 'wb') as f:\n"
         "        f.write(b'\\x93NUMPY\\x01\\0' + struct.pack('<H', len(head)) + head)\n"
         "        f.write(struct.pack(order + '8f', *numbers))\n"
         "write('fortran', '<', True, columns)\n"
         "write('big', '>', False, rows)\n"
         "write('both', '>', True, columns)\n"
         "END\n");
  static const char *const names[] = {"fortran", "big", "both"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    byoc_test_shell(0, RUN "vector.byoc -i %s.npy -e x.npy", names[i]);
  }
}

// Stored and compressed; arrays that the model does not take are left aside.
static void test_arrays_of_an_npz_are_found_by_name(void **state) {
  (void)state;
  byoc_test_shell(0, "python3 - <<'END'\n"
                     "import zipfile\n"
                     "data = open('x.npy', 'rb').read()\n"
                     "for name, how in (('stored', zipfile.ZIP_STORED), ('packed', zipfile.ZIP_DEFLATED)):\n"
                     "    with zipfile.ZipFile(name + '.npz', 'w', how) as z:\n"
                     "        z.writestr('x.npy', data)\n"
                     "        z.writestr('others.npy', data)\n"
                     "with zipfile.ZipFile('stranger.npz', 'w') as z: z.writestr('z.npy', data)\n"
                     "END\n" RUN "vector.byoc -i stored.npz && " RUN "vector.byoc -i packed.npz");
  byoc_test_printed("f32[2,4] = 1 5 -2 5 0.5 3 ...");
  byoc_test_shell(1, RUN "vector.byoc -i stranger.npz");
  byoc_test_printed("stranger.npz holds no array that is called as an input of the model");
  byoc_test_printed("hint: it has 'x'");
  byoc_test_shell(1, "cp p.png fake.npz; " RUN "vector.byoc -i fake.npz");
  byoc_test_printed("'fake.npz' is not a .npz file that can be read");
  byoc_test_shell(2, RUN "vector.byoc -i stored.npz -i x.npy");
  byoc_test_printed("--input gives 'x' twice");
}

// The only input and the only output need no name; of several, the hint lists the names.
static void test_the_only_input_needs_no_name(void **state) {
  (void)state;
  byoc_test_shell(0, RUN "vector.byoc -i x.npy -e x.npy");
  byoc_test_printed("y: as expected");
  byoc_test_shell(1, RUN "vector.byoc -i x.npy -e absent.npy");
  byoc_test_printed("cannot open 'absent.npy'");
  byoc_test_shell(2, RUN "two.byoc -i x.npy");
  byoc_test_printed("--input takes NAME=FILE, not 'x.npy': the model has several inputs");
  byoc_test_printed("hint: it has 'a', 'b'");
  byoc_test_shell(2, RUN "vector.byoc -i x.npy -e z=x.npy");
  byoc_test_printed("the model has no output 'z'");
  byoc_test_shell(0, "byoc build vector.byoc -o vector.so -t c && byoc bench vector.so --runs 1 -i x.npy");
}

static void test_the_top_elements_are_listed_with_labels(void **state) {
  (void)state;
  byoc_test_shell(0, RUN "vector.byoc -i x.npy --top 3 --labels labels.txt");
  byoc_test_printed("y, row 0:\n             5  1  second\n             5  3  fourth\n             1  0  first\n");
  byoc_test_printed("y, row 1:\n             8  3  fourth\n             4  2  third\n             3  1  second\n");
  byoc_test_shell(0, RUN "vector.byoc -i x.npy --top 9");
  byoc_test_printed("           0.5  0\n");
  byoc_test_shell(1, "head -2 labels.txt > few.txt && " RUN "vector.byoc -i x.npy --top 1 --labels few.txt");
  byoc_test_printed("few.txt has 2 lines, and a row of 'y' has 4 elements");
  byoc_test_shell(2, RUN "vector.byoc -i x.npy --labels labels.txt");
  byoc_test_printed("--labels goes with --top");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pictures_become_tensors),
      cmocka_unit_test(test_pictures_that_do_not_fit_are_refused),
      cmocka_unit_test(test_inputs_are_read_from_files_of_all_forms),
      cmocka_unit_test(arrays_of_every_order_are_read),
      cmocka_unit_test(test_bytes_of_pictures_are_those_of_the_file),
      cmocka_unit_test(test_pictures_that_are_cut_short_are_refused),
      cmocka_unit_test(test_the_range_leaves_out_what_is_no_number),
      cmocka_unit_test(test_arrays_of_an_npz_are_found_by_name),
      cmocka_unit_test(test_the_only_input_needs_no_name),
      cmocka_unit_test(test_the_top_elements_are_listed_with_labels),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
