// SPDX-License-Identifier: Apache-2.0
// table.h - a table: the target, its library, its options and its rules, read once and checked whole.
#ifndef BYOC_SHIM_TABLE_H_
#define BYOC_SHIM_TABLE_H_

#include <jansson.h>
#include <stdbool.h>

#include "byoc/table.h"

enum {
  BYOC_SHIM_MAX_RULES = 32,
  BYOC_SHIM_MAX_OPTIONS = 16,
  BYOC_SHIM_MAX_SYMBOLS = 64,
  BYOC_SHIM_MAX_FILES = 16,
  BYOC_SHIM_MAX_HEADERS = 16,
};

typedef struct byoc_shim_table_t {
  json_t *json; // owns every string below
  const char *target, *description;
  byoc_option_t options[BYOC_SHIM_MAX_OPTIONS];
  uint32_t option_count;
  const json_t *rules;
  uint32_t rule_count;
  // The library: its parts and how the evaluator opens it. "embedded" stands for the archive in the plugin.
  const char *library_name;
  const char *shared;                     // NULL: the evaluator links the parts
  const char *setup;                      // NULL: none; {option} in it stands for an option's value
  const char *files[BYOC_SHIM_MAX_FILES]; // archives and objects
  uint32_t file_count;
  const char *sources[BYOC_SHIM_MAX_FILES]; // in C, by whole paths
  uint32_t source_count;
  const char *flags[BYOC_SHIM_MAX_FILES]; // of the compiler for the sources
  uint32_t flag_count;
  const char *headers[BYOC_SHIM_MAX_HEADERS]; // files and folders that the sources include, for other machines
  uint32_t header_count;
  // The library for other machines: archives, and the triples that each is for.
  const char *archives[BYOC_SHIM_MAX_FILES], *archive_machines[BYOC_SHIM_MAX_FILES];
  uint32_t archive_count;
  const char *needed[BYOC_SHIM_MAX_FILES]; // shared libraries that stay outside
  uint32_t needed_count;
  const char *search[BYOC_SHIM_MAX_FILES]; // folders that hold them
  uint32_t search_count;
  const char
      *symbols[BYOC_SHIM_MAX_SYMBOLS + 1]; // functions that the rules call; one place is kept for the setup symbol
  uint32_t symbol_count;
} byoc_shim_table_t;

// The host's calls for tables, if it is loading one; otherwise NULL.
const byoc_table_api_t *byoc_shim_table_api(const byoc_host_t *host);
// Reads `text`. False with the reason (which line, or which rule, step and column) in out_error. If that is empty, the
// host has recorded one.
bool byoc_shim_table_read(const byoc_host_t *host, const char *text, size_t size_bytes, byoc_shim_table_t *out_table,
                          char *out_error, size_t error_size);
void byoc_shim_table_deinit(byoc_shim_table_t *table);

#endif // BYOC_SHIM_TABLE_H_
