// SPDX-License-Identifier: Apache-2.0
// Traces: what each instruction of a run made. byoc run --trace and --dump write them, byoc debug diff reads them.
//
// A trace is a text with a line for each result of each instruction, in the order in which they ran:
//
//   byoc trace 1
//   input "Input3" f32[1,1,28,28] 5d1f0c9f0b2a7c11 min 0 max 255 mean 12.5
//   1 "ReLU32" f32[1,8,28,28] 9b0e... min 0 max 3.5 mean 0.25 by kernel "byoc_k0" "Conv+Relu 'c28'" from "Input3" "W"
//   7@2.0 "h" f32[4] 09ac... min -1 max 1 mean 0 nan 3 by packed "cutlass_1" "MatMul 'm'" from "x" "w" in "h@2.0.npy"
//   end
//
// The number is the instruction's position in the host program (byoc build --emit=host), from 0; behind the @ stands
// the turn of each loop around it, or the index of one that counts, the outermost first. Type, "seq(3)" and "opt(0)"
// for what is no tensor. The hash is XXH64, seed 0, of the bytes of the tensor, of its texts each with its NUL, or of
// its items' types and hashes. Numbers have min, max and mean of those that are no NaN, and how many are. Names are
// quoted as in JSON. A tensor inside a backend's function is made `by inner`, and stands before the function's results.
// `in` names the file that has the values, in the folder of the trace. A trace without `end` was cut off, or its run
// failed.
#ifndef BYOC_TOOLS_BYOC_TRACE_H_
#define BYOC_TOOLS_BYOC_TRACE_H_

#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/string.h"
#include "core/base/vector.h"
#include "core/compose/artifact/compose.h"
#include "tensors.h"

// ---- what a program makes ----

// The tensors that a run can report, and where the model's others went.
typedef struct byoc_trace_map_t {
  byoc_arena_t arena;
  byoc_map_t makers; // text map: tensor → name of the instruction that makes it (const char *)
  byoc_map_t fused;  // text map: tensor → byoc_fused_t *
  byoc_map_t inside; // text map: tensors that functions of backends make, which may hand over what is inside
} byoc_trace_map_t;
// From a program and what byoc_build_t.fused says of it.
byoc_status_t byoc_trace_map_of_program(const byoc_host_program_t *program, const byoc_fused_t *fused, size_t count,
                                        byoc_diag_t *diag, byoc_trace_map_t *out_map);
// From the metadata of an artifact. BYOC_UNSUPPORTED if it was built without --trace.
byoc_status_t byoc_trace_map_of_artifact(const byoc_artifact_t *artifact, byoc_diag_t *diag, byoc_trace_map_t *out_map);
void byoc_trace_map_deinit(byoc_trace_map_t *map); // accepts one that is all zeros

// ---- writing ----

// A tensor whose values are wanted.
typedef struct byoc_trace_dump_t {
  const char *name;
  const char *path; // owned by the arena of the writer
  size_t count;     // files written
  bool is_inner;    // only a backend can have it, which may hand it over while it runs
} byoc_trace_dump_t;

typedef struct byoc_trace_writer_t {
  byoc_arena_t arena;
  const byoc_trace_map_t *map;
  FILE *file;         // of the trace; NULL: not wanted
  FILE *folder_trace; // of --dump all
  const char *folder; // NULL: not given
  BYOC_VECTOR(byoc_trace_dump_t) dumps;
  byoc_map_t taken;     // text map: tensor and turn → how often it was reported
  byoc_map_t files;     // text map: names of files in the folder
  byoc_status_t status; // the first failure
  byoc_diag_t diag;
} byoc_trace_writer_t;

typedef struct byoc_trace_files_t {
  const char *run;                  // the artifact or model, which is not written over
  const char *trace;                // "-": standard output; NULL: none
  const byoc_string_items_t *dumps; // NAME, NAME=FILE.npy or all=FOLDER each
} byoc_trace_files_t;
// BYOC_INVALID_ARGUMENT for a name that no instruction makes, with the nearest one or where it went, and for a file
// that would be written twice. The map must outlive the writer.
byoc_status_t byoc_trace_open(byoc_trace_writer_t *writer, const byoc_trace_files_t *files, const byoc_trace_map_t *map,
                              byoc_diag_t *diag);
void byoc_trace_inputs(byoc_trace_writer_t *writer, const byoc_ports_t *inputs);
// A byoc_trace_sink_t; `self` is the writer.
void byoc_trace_write(void *self, const byoc_trace_event_t *event);
// Ends the trace if the run was whole. Reports the first failure, or a dump of something that the run did not compute.
byoc_status_t byoc_trace_close(byoc_trace_writer_t *writer, bool is_whole, byoc_diag_t *diag);

// ---- reading ----

typedef struct byoc_trace_record_t {
  const char *key;    // name, and "@2.0" for a turn, and "#2" if it is made again
  const char *name;   // of the tensor
  const char *type;   // as in the text
  const char *hash;   // 16 digits; NULL: only the file is known
  const char *range;  // "min 0 max 1 mean 0.5"; may be ""
  const char *origin; // what the instruction came from: "Conv+Relu 'conv1'"; NULL: not known
  const char *step;   // "made by instruction 12, kernel byoc_k4, Conv+Relu 'conv1'"; "an input"; NULL: not known
  const char *file;   // path of its values; NULL: there are none
  const char *const *operands;
  size_t operand_count;
} byoc_trace_record_t;

typedef struct byoc_trace_t {
  byoc_arena_t arena;
  const char *path;
  bool has_order; // of the run; otherwise by name
  bool is_whole;
  bool by_file; // keys are names of files: see byoc_npy_name
  BYOC_VECTOR(byoc_trace_record_t) records;
  byoc_map_t keys; // text map: key → index + 1
} byoc_trace_t;

// Reads a trace, a folder of --dump all, or a folder of .npy files from elsewhere, each named by its tensor.
// BYOC_INVALID_DATA, with the line, if it is none.
byoc_status_t byoc_trace_read(const char *path, byoc_diag_t *diag, byoc_trace_t *out_trace);
void byoc_trace_deinit(byoc_trace_t *trace); // accepts one that is all zeros
// NULL if it has no such tensor.
const byoc_trace_record_t *byoc_trace_find(const byoc_trace_t *trace, const byoc_trace_t *of,
                                           const byoc_trace_record_t *record);

// ---- both ----

#define BYOC_TRACE_NAME "trace.txt" // in a folder of --dump all
// XXH64 of a dense tensor's data, as text.
#define BYOC_TRACE_HASH_SIZE 17
void byoc_trace_hash(byoc_dtype_t dtype, uint64_t count, const void *data, char out[BYOC_TRACE_HASH_SIZE]);

#endif // BYOC_TOOLS_BYOC_TRACE_H_
