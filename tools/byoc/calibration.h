// SPDX-License-Identifier: Apache-2.0
// Samples of a model's inputs, from files or generated: what quantising and error budgets measure a model with.
//
// Example:
//   byoc_ports_t inputs;
//   byoc_calibration_t samples;
//   BYOC_RETURN_IF_ERROR(byoc_ports_for_function(&inputs, byoc_graph_module_main(module), diag));
//   BYOC_RETURN_IF_ERROR(byoc_calibration_read(&inputs, "samples/", NULL, 0, diag, &samples));
//   for (size_t i = 0; i < samples.count; i++) run_sample(samples.arguments[i]);
//   byoc_calibration_deinit(&samples);
//   byoc_ports_deinit(&inputs);
#ifndef BYOC_TOOLS_BYOC_CALIBRATION_H_
#define BYOC_TOOLS_BYOC_CALIBRATION_H_

#include "image.h"
#include "tensors.h"

typedef struct byoc_calibration_t {
  byoc_ports_t *samples; // each has all inputs, filled
  // Of each sample: its inputs in the order of the model, as run_arguments takes them.
  byoc_argument_t **arguments;
  size_t count, capacity;
  bool is_generated;
} byoc_calibration_t;

// Reads samples. `inputs` are those of the model, not filled. `path` is one of these:
//   FILE.npz          an array for each input, by its name
//   FILE.npy, .pb,    for a model with one input
//   .raw, a picture
//   FOLDER            of a model with one input: each file is a sample. Files NAME.npy, NAME.pb and so on for each
//                     input: one sample (names as byoc_npy_name makes them, or input_0, input_1 ...). Folders with such
//                     files, and .npz files: each is a sample. In the order of their names.
// An array that has one axis more than its input, or several times the input's first size, holds several samples.
// At most `most` samples are kept; 0: all. BYOC_INVALID_DATA if there is none, and for wrong names, types and shapes.
byoc_status_t byoc_calibration_read(const byoc_ports_t *inputs, const char *path, const byoc_image_options_t *image,
                                    size_t most, byoc_diag_t *diag, byoc_calibration_t *out);
// Makes up samples: floats in [-1, 1), bytes of any value, wider integers 0 or 1, the same ones each time. An open
// first dimension becomes 1; the message asks for the values of others.
byoc_status_t byoc_calibration_generate(const byoc_ports_t *inputs, size_t count, byoc_diag_t *diag,
                                        byoc_calibration_t *out);
void byoc_calibration_deinit(byoc_calibration_t *samples); // accepts one that is all zeros

#endif // BYOC_TOOLS_BYOC_CALIBRATION_H_
