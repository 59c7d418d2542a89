// SPDX-License-Identifier: Apache-2.0
// Target strings: "kind -key=value -flag", several separated by ';'. A backend declares a kind and its options (the
// host declares the native target "c"). Values are checked here, before the backend sees them.
#ifndef BYOC_CORE_TARGETS_TARGET_H_
#define BYOC_CORE_TARGETS_TARGET_H_

#include "byoc/plugin.h"
#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/machine.h"
#include "core/base/string.h"
#include "core/base/vector.h"
#include "core/targets/isa_level.h"

// One option of a kind, copied out of the plugin's table (strings in the registry's arena).
typedef byoc_option_t byoc_option_schema_t;

// A kind of target, as target strings name it.
typedef struct byoc_target_kind_t {
  const char *name;
  const char *description;
  const char *plugin_name;    // "" for the host's own kind
  const char *plugin_version; // the host's version for its own kind
  const char *plugin_content; // hash of the plugin's file, as a string; NULL for the host's own kind
  const byoc_option_schema_t *options;
  size_t option_count;
  const byoc_backend_t *backend;         // a full-size copy, with its rules and missing tails zeroed; NULL for "c"
  struct byoc_plugin_library_t *library; // core/plugin/library.h: keeps its code loaded; NULL for "c"
} byoc_target_kind_t;

typedef struct byoc_target_value_t {
  int64_t i;     // INT, BOOL
  double f;      // FLOAT
  const char *s; // STRING, CHOICE
  bool given;    // by the user, not the default
} byoc_target_value_t;

// Parsed; immutable.
struct byoc_target_t {
  const byoc_target_kind_t *kind;
  byoc_target_value_t *values; // parallel to kind->options
  const char *text;            // canonical: kind and every option in schema order
  byoc_machine_t machine;      // the machine of its code
  uint32_t index;              // position in its list
};

typedef struct byoc_target_list_t {
  byoc_arena_t arena;
  BYOC_VECTOR(byoc_target_t *) targets; // in order of preference; the last is "c" (added when the user named none)
  // For another machine: its triple, and the compiler for it, which the caller sets. NULL: for this machine.
  const char *triple, *compiler;
  byoc_isa_levels_t levels; // of a -mcpu with several processors; count 0: there is none
  size_t level;             // the level of these targets, among those
} byoc_target_list_t;

// Looks up a kind; returns NULL if there is none.
typedef const byoc_target_kind_t *(*byoc_target_lookup_t)(const void *self, const char *name);
typedef struct byoc_target_registry_t {
  const void *self;
  byoc_target_lookup_t lookup;
  // All kind names, for messages.
  const char *const *names;
  size_t name_count;
  // The reason why an announced kind cannot be used; NULL if there is none. May be NULL.
  const char *(*refusal)(const void *self, const char *name);
  const char *triple; // of the machine the machine of the targets; NULL: this one
  // The value of options of type CPU that are not given; NULL: their own default.
  const char *cpu;
  // The processor of the targets, of several: 1 is the best one; 0 is the best one that this machine can run, and for
  // another machine the best one.
  size_t level;
} byoc_target_registry_t;

// Parses `texts` (each may hold several targets). Errors have the target, the key, the bad value, the allowed values
// and the nearest match. A value may be quoted: -flags="-O3 -g". If the native target is not named, it gets the last
// -mcpu that was given to another target. For another machine, -mcpu defaults to every such machine, and targets that
// make code for this machine only are left out with a warning. A value of type CPU may name several processors, which
// must be the same for all targets: each target gets the registry's choice.
byoc_status_t byoc_target_list_parse(const char *const *texts, size_t text_count,
                                     const byoc_target_registry_t *registry, byoc_allocator_t allocator,
                                     byoc_diag_t *diag, byoc_target_list_t *out_list);
// The native target "c", the last of a list; NULL if there is none (a list of some targets only, or no list).
const byoc_target_t *byoc_target_list_native(const byoc_target_list_t *list);
// The machine or processor of the targets, if this machine cannot run their code: another machine's triple, or the ISA
// level or -mcpu of a better processor. NULL: it can run it.
const char *byoc_target_list_foreign(const byoc_target_list_t *list);
void byoc_target_list_deinit(byoc_target_list_t *list);
// Checks an option table of a plugin: names, types, ranges, and defaults by their own schema.
byoc_status_t byoc_option_schema_verify(const byoc_option_schema_t *options, size_t count, byoc_diag_t *diag);

// Does a partition rule, one of the target's backend, or one of any target of a list, name the operator ("Conv",
// "domain::Op")? `operand_count` 0 stands for any number of operands.
bool byoc_rule_names(const byoc_rule_t *rule, const char *op, uint32_t operand_count);
bool byoc_target_has_rule(const byoc_target_t *target, const char *op);
bool byoc_target_list_has_rule(const byoc_target_list_t *list, const char *op, uint32_t operand_count);

int64_t byoc_target_option_int(const byoc_target_t *target, const char *name);
double byoc_target_option_float(const byoc_target_t *target, const char *name);
const char *byoc_target_option_string(const byoc_target_t *target, const char *name);
// The value of an option of type CPU, for byoc_cpu_parse; and its features (core/targets/cpu.h), none if there is no
// such option.
const char *byoc_target_option_cpu(const byoc_target_t *target, const char *name);
uint64_t byoc_target_cpu_features(const byoc_target_t *target, const char *name);

// byoc_backend_t.relative_error of the target's backend; 0 if it gives none.
double byoc_target_relative_error(const byoc_target_t *target);
// Do the target's functions run on its backend's device, with the target's options? Otherwise they run on the
// processor.
bool byoc_target_runs_on_device(const byoc_target_t *target);

// Identifies the generator of a target's code, as a string for keys: "cutlass 0.1.0 <hash of the plugin's file>", "byoc
// 0.1.0". A rebuilt plugin is a different one, even with the same version.
void byoc_target_kind_print_maker(const byoc_target_kind_t *kind, byoc_string_t *out);

// The native target's kind: -O=0..3 (default 3), -mcpu=native|x86-64|x86-64-v3|…, -cc=program.
const byoc_target_kind_t *byoc_target_kind_native(void);

#endif // BYOC_CORE_TARGETS_TARGET_H_
