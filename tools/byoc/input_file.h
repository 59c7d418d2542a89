// SPDX-License-Identifier: Apache-2.0
// Files that hold the values of inputs, in the form that the end of their name says.
#ifndef BYOC_TOOLS_BYOC_INPUT_FILE_H_
#define BYOC_TOOLS_BYOC_INPUT_FILE_H_

#include "image.h"
#include "npy.h"
#include "tensors.h"

// Reads a file for `port`: .npy; .pb, a TensorProto of ONNX; .raw, the elements and nothing else, for inputs of known
// shape; a picture (image.h). Another ending is read as .npy. The caller checks the type and frees the array.
byoc_status_t byoc_input_file_read(const char *path, const byoc_port_t *port, const byoc_image_options_t *image,
                                   byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *out_array);

// Visits the arrays of a .npz file by name. A status other than BYOC_OK ends the visit and is returned.
typedef byoc_status_t (*byoc_npz_visitor_t)(void *self, const char *name, byoc_npy_t *array, byoc_diag_t *diag);
byoc_status_t byoc_npz_visit(const char *path, byoc_allocator_t allocator, byoc_npz_visitor_t visitor, void *self,
                             byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_INPUT_FILE_H_
