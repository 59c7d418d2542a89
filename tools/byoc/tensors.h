// SPDX-License-Identifier: Apache-2.0
// The inputs and outputs of one run: read from files, drawn at random, compared, saved.
#ifndef BYOC_TOOLS_BYOC_TENSORS_H_
#define BYOC_TOOLS_BYOC_TENSORS_H_

#include "byoc/artifact.h"
#include "core/base/diag.h"
#include "core/hostir/evaluate/evaluate.h"
#include "core/ir/type.h"
#include "npy.h"
#include "tools/common/options.h"

// One input or output of an artifact or a model.
typedef struct byoc_port_t {
  const char *name;
  byoc_dtype_t dtype;
  int32_t rank;
  int64_t dims[BYOC_MAX_RANK];
  const char *kinds;            // NULL or "t": a tensor; else as byoc_artifact_t.input_kinds
  const char *const *dim_names; // names of dimensions that are -1; NULL if none is
  uint64_t size_bytes;
  void *data;  // of port_memory.h; NULL until the dimensions are known
  void *texts; // what the pointers in `data` point to, if they were read from a file
  bool filled;
  const char **owned_dim_names;
  char owned_kinds[BYOC_HOST_MAX_KINDS];
  byoc_argument_t read;     // inputs that are no tensors: what was read (containers.h)
  byoc_argument_t argument; // outputs of run_arguments: as the artifact gave it
} byoc_port_t;

typedef struct byoc_ports_t {
  byoc_port_t *items;
  size_t count;
  void **pointers; // data of each, as run wants them
} byoc_ports_t;

// Room for `count` ports; set name, dtype, rank and dims of each, then byoc_ports_allocate.
byoc_status_t byoc_ports_init(byoc_ports_t *ports, size_t count, byoc_diag_t *diag);
byoc_status_t byoc_ports_allocate(byoc_ports_t *ports, byoc_diag_t *diag);
// True if a dimension of the tensors, or their number, is still unknown.
bool byoc_port_is_open(const byoc_port_t *port);
// Gives symbolic dimensions the values of NAME=VALUE items, or else of the inputs that were read. BYOC_INVALID_ARGUMENT
// for a name that no port has or that is given twice, and for values that contradict each other.
byoc_status_t byoc_ports_set_dims(byoc_ports_t *ports, const byoc_string_items_t *items, byoc_diag_t *diag);
// Arguments that point to the ports' data, in their order; owned by the caller (byoc_free of the system's allocator).
byoc_status_t byoc_ports_arguments(const byoc_ports_t *ports, byoc_diag_t *diag, byoc_argument_t **out_arguments);
// Copies results of run_arguments into the ports.
byoc_status_t byoc_ports_take(byoc_ports_t *ports, const byoc_argument_t *arguments, byoc_diag_t *diag);
// Does both for the inputs or outputs of a host program, whose names the ports share.
byoc_status_t byoc_ports_for_buffers(byoc_ports_t *ports, byoc_host_buffer_t *const *buffers, size_t count,
                                     byoc_diag_t *diag);
// The same for the inputs of a function of a graph, which must outlive the ports.
struct byoc_function_t;
byoc_status_t byoc_ports_for_function(byoc_ports_t *ports, const struct byoc_function_t *function, byoc_diag_t *diag);
void byoc_ports_deinit(byoc_ports_t *ports);

// Fills inputs from NAME=FILE items (input_file.h has the forms), or NAME=FOLDER for those that are no tensors
// (containers.h); a single input needs no NAME, and a .npz file without one has an array for each input. `image`: how
// pictures become numbers; NULL: the default. An unknown name is an error, and so is another shape or type, which the
// message gives beside the expected one.
struct byoc_image_options_t;
byoc_status_t byoc_ports_read(byoc_ports_t *inputs, const byoc_string_items_t *items,
                              const struct byoc_image_options_t *image, byoc_diag_t *diag);
// Fills what is not filled yet with seeded random numbers: floats in [0, 1), bytes from 0 to 127, wider integers 0
// or 1, which are valid as indices, kinds and masks of any model. An error asks for the value of a dimension that is
// not known.
byoc_status_t byoc_ports_randomise(byoc_ports_t *inputs, uint64_t seed, byoc_diag_t *diag);
// BYOC_INVALID_ARGUMENT, naming the first input that is not filled.
byoc_status_t byoc_ports_check_filled(const byoc_ports_t *inputs, byoc_diag_t *diag);
// Compares outputs with [NAME=]FILE.npy items: |a - b| <= atol + rtol * |b|. Prints one line per comparison;
// BYOC_MISMATCH with the first and the worst element if they differ.
byoc_status_t byoc_ports_compare(const byoc_ports_t *outputs, const byoc_string_items_t *items, double rtol,
                                 double atol, byoc_diag_t *diag);
// Writes NAME.npy of each into a folder, made when missing, and those that are no tensors as containers.h says; '/' and
// ':' in names become '_'.
byoc_status_t byoc_ports_save(const byoc_ports_t *ports, const char *directory, byoc_diag_t *diag);
// One line each: name, type, first values, smallest, largest, mean.
void byoc_ports_print(const byoc_ports_t *ports);

// ---- what the parts of this room share ----
// Fills an input with an array that was read from `path`; takes the data of texts over, and copies others.
// BYOC_INVALID_DATA if it does not fit; then the array was freed.
byoc_status_t byoc_ports_fill(byoc_ports_t *inputs, byoc_port_t *port, byoc_npy_t *array, const char *path,
                              byoc_diag_t *diag);
// The port that an item NAME=FILE of --option names, and the file. A FILE alone is that of the only port there is.
byoc_status_t byoc_ports_find(const byoc_ports_t *ports, const char *item, const char *option, const char *kind,
                              byoc_diag_t *diag, byoc_port_t **out_port, const char **out_path);
// A hint with the names of all.
void byoc_ports_hint(const byoc_ports_t *ports, byoc_diag_t *diag);
// "f32[N,4]"
void byoc_port_format(const byoc_port_t *port, char *buffer, size_t size);
// Reads a tensor of the port's type, or of the items that it holds: BYOC_INVALID_DATA if the file has another type or
// shape. byoc_npy_deinit (of the system's allocator) frees it.
byoc_status_t byoc_port_read(const byoc_port_t *port, const char *path, byoc_diag_t *diag, byoc_npy_t *out_array);
// The same for an array that was read from `path` already. It is freed if it does not fit.
byoc_status_t byoc_port_settle(const byoc_port_t *port, const char *path, byoc_diag_t *diag, byoc_npy_t *array);

#endif // BYOC_TOOLS_BYOC_TENSORS_H_
