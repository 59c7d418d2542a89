// SPDX-License-Identifier: Apache-2.0
// Finds boxes in a picture.
#include <stdlib.h>

#include "detector.h"

// A picture as planes of red, green and blue, each 0 to 1.
typedef struct image_t {
  int width, height;
  float *planes;
} image_t;

// Reads a PPM file whose numbers are text (P3). 0 on success.
static int read_image(const char *path, image_t *image) {
  int most = 0, size = 0, value = 0;
  FILE *file = fopen(path, "r");
  image->planes = NULL;
  if (file == NULL) return -1;
  if (fscanf(file, "P3 %d %d %d", &image->width, &image->height, &most) == 3 && image->width > 0 &&
      image->width < 10000 && image->height > 0 && image->height < 10000 && most > 0) {
    size = image->width * image->height;
    image->planes = malloc((size_t)size * 3 * sizeof(float));
  }
  int left = image->planes != NULL ? size * 3 : 0;
  for (int i = 0; left > 0 && fscanf(file, "%d", &value) == 1; ++i, --left) {
    image->planes[i % 3 * size + i / 3] = (float)value / (float)most;
  }
  fclose(file);
  return image->planes == NULL || left > 0 ? -1 : 0;
}

// kept: for each box found its picture, its class and its number; boxes: two corners for each.
static void print_boxes(const image_t *image, const byoc_argument_t *kept, const byoc_argument_t *boxes) {
  const int64_t *rows = kept->data, count = kept->dims[0];
  printf("%lld boxes in %d x %d dots\n", (long long)count, image->width, image->height);
  for (int64_t i = 0; i < count && i < 5; ++i) {
    const float *box = (const float *)boxes->data + i * 4;
    printf("class %lld: %g %g to %g %g\n", (long long)rows[i * 3 + 1], (double)box[0], (double)box[1], (double)box[2],
           (double)box[3]);
  }
}

int main(int argc, char **argv) {
  detector_model_t model;
  detector_context_t context;
  image_t image;
  if (argc != 3 || read_image(argv[2], &image) != 0) {
    fprintf(stderr, "usage: %s ARTIFACT PICTURE; the picture is a PPM of text (P3)\n", argv[0]);
    return 2;
  }
  if (detector_load(argv[1], &model) != BYOC_OK || detector_create(&model, NULL, &context) != BYOC_OK) {
    fprintf(stderr, "%s\n", detector_error(NULL, &model));
    free(image.planes);
    return 1;
  }
  const int64_t dims[] = {1, 3, image.height, image.width};
  byoc_argument_t kept, boxes;
  const int32_t status = detector_run(&context, image.planes, dims, &kept, &boxes);
  if (status == BYOC_OK) print_boxes(&image, &kept, &boxes);
  if (status != BYOC_OK) fprintf(stderr, "%s\n", detector_error(&context, &model));
  detector_destroy(&context);
  detector_unload(&model);
  free(image.planes);
  return status != BYOC_OK;
}
