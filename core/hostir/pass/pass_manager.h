// SPDX-License-Identifier: Apache-2.0
// Passes over modules and host programs: the row of a pass, tables of rows, and the manager that runs lists of passes.
//
// Each layer with passes has a table of them, which links to the table of the layer below: host programs (pass.h
// beside this file), modules (core/pass/pass.h), and the steps of a partitioning (core/collage/partition.h).
//
// A row of a pass over host programs lists the analysis results (byoc_host_property_t) that must hold before it
// (needs), that hold after it (gives), and that its changes keep (keeps). The manager refuses a pass whose needs do not
// hold. It removes results that a pass did not keep, so that a later pass makes them again.
#ifndef BYOC_CORE_HOSTIR_PASS_PASS_MANAGER_H_
#define BYOC_CORE_HOSTIR_PASS_PASS_MANAGER_H_

#include "core/base/string.h"
#include "core/base/switches.h"
#include "core/hostir/program/properties.h"
#include "core/targets/target.h"

typedef struct byoc_pass_options_t {
  const char *print_after;           // name of a pass, or "all"; NULL: none
  byoc_string_t *print_out;          // where to print; NULL: standard output
  size_t print_elide_bytes;          // larger constants are elided in prints of modules
  const byoc_target_list_t *targets; // for passes that ask targets; NULL: none
  const byoc_switches_t *switches;   // passes that are off do nothing; NULL: all are on
  const char *stream_axis;           // for the pass stream-axis where it has no argument; NULL: none
} byoc_pass_options_t;

// The arguments of a pass: those in braces behind its name, as in "stream-axis{axis=batch:4}", and the options.
typedef struct byoc_pass_arguments_t {
  const char *compiler;               // looks at functions with this Compiler attribute; NULL: with any
  const char *axis;                   // NAME or NAME:parts; NULL: that of the options, or none
  const char *without;                // a pass that is off while this one runs; NULL: none
  const byoc_target_list_t *targets;  // of the options; NULL: none
  const byoc_pass_options_t *options; // for the passes that this one runs; NULL: none
} byoc_pass_arguments_t;

typedef enum byoc_pass_stage_t {
  BYOC_PASS_FUNCTIONS, // it works on the functions of a module that are in scope (BYOC_FOR_EACH_FUNCTION)
  BYOC_PASS_MODULE,    // on a module as a whole, or removes what marks functions as a backend's
  BYOC_PASS_HOST,      // on a host program
} byoc_pass_stage_t;

// A pass changes its subject and counts its changes. One of the three functions is set.
typedef struct byoc_pass_t {
  const char *name;
  const char *summary; // one line for byoc opt --help
  byoc_pass_stage_t stage;
  byoc_status_t (*run)(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes);
  byoc_status_t (*run_with)(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments, byoc_diag_t *diag,
                            size_t *changes);
  byoc_status_t (*run_host)(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes);
  const char *argument;         // "compiler": {compiler=...} may stand behind its name; NULL: it takes none
  uint32_t needs, gives, keeps; // HOST: byoc_host_property_t
} byoc_pass_t;

typedef struct byoc_passes_t {
  const byoc_pass_t *rows;
  size_t count;
  const struct byoc_passes_t *below; // the table of the layer below; NULL: none
} byoc_passes_t;

// Visits the rows of a table and of those below it.
#define BYOC_FOR_EACH_PASS(name, passes)                                                                               \
  for (const byoc_passes_t *name##_table = (passes); name##_table != NULL; name##_table = name##_table->below)         \
    for (const byoc_pass_t *name = name##_table->rows; name < name##_table->rows + name##_table->count; ++name)

const byoc_pass_t *byoc_passes_find(const byoc_passes_t *passes, const char *name);
// BYOC_INVALID_ARGUMENT, with the nearest name.
byoc_status_t byoc_passes_unknown(const byoc_passes_t *passes, const char *name, byoc_diag_t *diag);

// The subject of a pass: one of the two.
typedef struct byoc_pass_subject_t {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
} byoc_pass_subject_t;

// Runs one pass over a module: logs its name and changes, verifies the module (debug builds, and whenever it changed
// something), and prints it if asked to. `options` may be NULL. A failure names the pass.
byoc_status_t byoc_pass_run(const byoc_pass_t *pass, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                            byoc_diag_t *diag, size_t *out_changes);
// Runs a comma-separated list, each name with its argument in braces where it has one. An unknown name is
// BYOC_INVALID_ARGUMENT with the nearest match, as are a pass over something else, and one that works on whole modules
// where functions are in scope. A host program is verified where it has lifetimes (debug builds, whenever it was
// changed, and after the pass that plans the memory), and its order where memory is planned. The number of all changes
// is added to *changes, which may be NULL.
byoc_status_t byoc_passes_run(const byoc_passes_t *passes, const char *names, byoc_pass_subject_t subject,
                              const byoc_pass_options_t *options, byoc_diag_t *diag, size_t *changes);
// Prints the subject under a heading where options ask for it after `name`. For steps that are not passes.
byoc_status_t byoc_pass_print_after(const char *name, byoc_pass_subject_t subject, const byoc_pass_options_t *options,
                                    byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_PASS_PASS_MANAGER_H_
