// SPDX-License-Identifier: Apache-2.0
// The options of compose: the form of the artifact, the location of its weights, its entries and ISA levels.
#ifndef BYOC_CORE_COMPOSE_OPTIONS_H_
#define BYOC_CORE_COMPOSE_OPTIONS_H_

#include "core/base/file_set.h"
#include "core/hostir/program/program.h"
#include "core/targets/target.h"

// How a tensor that no instruction makes is related to one that an instruction makes.
typedef enum byoc_fused_kind_t {
  BYOC_FUSED_INSIDE, // computed on the way to it; or folded, or dropped
  BYOC_FUSED_VIEW,   // has the same bytes, in another shape or as a part
  BYOC_FUSED_WHOLE,  // consists of parts that are made one by one, of which it is the first
} byoc_fused_kind_t;

// A tensor of the model that no instruction of the host program makes.
typedef struct byoc_fused_t {
  const char *name;
  const char
      *into; // the nearest one computed from it that some instruction makes; NULL: none, it was folded or dropped
  byoc_fused_kind_t kind;
} byoc_fused_t;

typedef enum byoc_compose_form_t {
  BYOC_COMPOSE_SHARED,
  BYOC_COMPOSE_OBJECT,
  BYOC_COMPOSE_ARCHIVE,
  BYOC_COMPOSE_SOURCE,
} byoc_compose_form_t;
// By the end of its name: .o is an object, .a a static library, .c a folder of C source, any other name a shared
// object.
byoc_compose_form_t byoc_compose_form(const char *output);
// Is it a folder of C source? NULL is not.
static inline bool byoc_compose_is_source(const char *output) {
  return output != NULL && byoc_compose_form(output) == BYOC_COMPOSE_SOURCE;
}

// Where the constants of an artifact lie.
typedef enum byoc_compose_weights_t {
  BYOC_COMPOSE_WEIGHTS_AUTO,     // in the artifact if they have less than BYOC_COMPOSE_WEIGHTS_MOST_BYTES, else outside
  BYOC_COMPOSE_WEIGHTS_INTERNAL, // in the artifact: in its data below that number, else as the next one
  BYOC_COMPOSE_WEIGHTS_APPENDED, // in the artifact, behind its code, as a weights file: a shared object only
  BYOC_COMPOSE_WEIGHTS_EXTERNAL, // in a weights file beside it (docs/weights.md)
} byoc_compose_weights_t;
#define BYOC_COMPOSE_WEIGHTS_MOST_BYTES ((uint64_t)1536 << 20)

// One of several processors that an artifact has code for.
typedef struct byoc_compose_isa_level_t {
  const char *name;         // as in -mcpu
  const char *cpu_features; // that all entries require there, separated by spaces
} byoc_compose_isa_level_t;

// The position of a model among those of one artifact, and its processor.
typedef struct byoc_compose_place_t {
  const char *const *names;               // of all entries, in order
  size_t count, index;                    // count 0: it is the only one
  const byoc_compose_isa_level_t *levels; // of all processors, the best first
  size_t level_count, level;              // level_count 0: there is one processor
} byoc_compose_place_t;
// The most programs in an artifact: one for each entry and level.
#define BYOC_COMPOSE_MOST_ENTRIES 32
// The position of the program among those of the artifact: all entries of the best ISA level, then those of the next
// one.
static inline size_t byoc_compose_position(const byoc_compose_place_t *place) {
  return place->level * (place->count > 0 ? place->count : 1) + place->index;
}
// The number of programs.
static inline size_t byoc_compose_position_count(const byoc_compose_place_t *place) {
  return (place->level_count > 0 ? place->level_count : 1) * (place->count > 0 ? place->count : 1);
}
// The name that its parts have among those of the others: "decode", "level_1", "decode_level_1", or "" of the only one.
#define BYOC_COMPOSE_PART_BYTES 72
void byoc_compose_part_name(const byoc_compose_place_t *place, char *buffer);
// Bytes of an entry's name, with the NUL.
#define BYOC_COMPOSE_ENTRY_BYTES 48

// Loop kernels that were compiled into one object.
typedef struct byoc_compose_kernels_t {
  const byoc_loop_kernel_t *const *kernels; // named as in the object
  size_t count;
  byoc_bytes_t object;
  const char *compiler; // NULL: the default
  const char *const *flags;
  size_t flag_count;
} byoc_compose_kernels_t;
// Checks compiled kernels before they are linked, and may refuse them. `programs` call the kernels.
typedef struct byoc_compose_checker_t {
  void *self;
  byoc_status_t (*check)(void *self, const byoc_host_program_t *const *programs, size_t program_count,
                         const byoc_compose_kernels_t *units, size_t unit_count, byoc_diag_t *diag); // NULL: none
} byoc_compose_checker_t;

typedef struct byoc_compose_options_t {
  const char *output; // path of the artifact; the header goes beside it (model.so → model.h)
  const char *model_name;
  const char *header_name;           // prefix of the header's functions; NULL: model_name
  const byoc_target_list_t *targets; // "c" among them gives -O, -mcpu, -cc of host and kernels
  int32_t thread_count;              // default of contexts; 0: decided when running
  const char *cpu_features;          // that the artifact requires, separated by spaces
  bool profile;                      // include the profile entry
  bool trace;                        // include the trace entry, and in the metadata the results of each step
  const byoc_fused_t *fused;         // with `trace`: for the metadata
  size_t fused_count;
  bool steps_only;  // the profile reports instructions, but no engine's nodes below them
  bool in_haste;    // compile kernels quickly, even if they run more slowly
  bool keep_header; // write the header too
  bool huge_pages;  // contexts move the constants to huge pages
  byoc_compose_weights_t weights;
  // The weights file: at run time it lies in the folder of the artifact. Weights of other artifacts in it stay. NULL:
  // one of its own beside the artifact, model.so → model.weights.
  const char *weights_path;
  byoc_file_set_t *files;               // appear together with the artifact and its header, or not at all; may be NULL
  byoc_constant_t *const *initializers; // the constants of the model as it was read, for the metadata
  size_t initializer_count;
  const char *const *words; // the options that the code depends on, as on a command line, for the metadata
  size_t word_count;
  // An artifact whose code is taken as it is, with the data of this program: nothing is compiled. It is refused if the
  // program would have other code (core/compose/artifact/replace.c). NULL: none.
  const char *replaces;
  byoc_compose_place_t place;
  byoc_compose_checker_t checker; // of the kernels that are for this processor
} byoc_compose_options_t;

// A model that goes into an artifact.
typedef struct byoc_compose_entry_t {
  const byoc_host_program_t *program;
  byoc_compose_options_t options;
} byoc_compose_entry_t;

// The prefix of the header's functions; in those of an entry, its name follows. `buffer` holds
// BYOC_COMPOSE_PREFIX_BYTES.
#define BYOC_COMPOSE_PREFIX_BYTES 112
void byoc_compose_prefix(const byoc_compose_options_t *options, char *buffer);

#endif // BYOC_CORE_COMPOSE_OPTIONS_H_
