// What the files of the plugin suite share.
#ifndef BYOC_TESTS_CONFORMANCE_SUITE_H_
#define BYOC_TESTS_CONFORMANCE_SUITE_H_

#include "tests/conformance/cases.h"
#include "tests/conformance/road.h"
#include "tests/support/support.h"

enum { MAX_SUITE_TARGETS = 16, MAX_SUITE_LIBRARIES = 16 };

typedef struct suite_t {
  const char *plugin;                         // path of the shared object
  const char *libraries[MAX_SUITE_LIBRARIES]; // NEEDED entries it may have beside the C library's
  const char *targets[MAX_SUITE_TARGETS];     // target lists; the first goes through all checks
  size_t library_count, target_count;
  case_table_t table;
  byoc_plugin_registry_t *registry; // the plugin alone, loaded
  const byoc_plugin_entry_t *entry;
  port_set_t *expected; // of each case file: what the target "c" gives, evaluated
  const char *current;  // the target list under test
  int complaints;       // of the running test
} suite_t;
extern suite_t suite;

// The registry with the plugin alone, loaded; fails the running test if it is refused.
byoc_plugin_registry_t *suite_open_registry(byoc_allocator_t allocator);

// Notes a failure of the running test and goes on; suite_settle fails the test if there were any.
void suite_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void suite_complain_diag(const byoc_diag_t *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void suite_settle(void);

// The name of a file's case, from the name of one of its values or nodes; never NULL.
const char *suite_case_name(const case_file_t *file, const char *name);
// Complains about each case of the file with an output that is not as expected.
void suite_compare(const case_file_t *file, const port_set_t *outputs, const port_set_t *expected, const char *way);
// Complains about each case whose output is not the same bytes.
void suite_compare_bytes(const case_file_t *file, const port_set_t *outputs, const port_set_t *expected,
                         const char *way);

// The tests, for cmocka. Those of target_checks.c run once for each target list, suite.current.
void check_file(void **state);
void check_identity(void **state);
void check_options(void **state);
void check_option_misuse(void **state);
void check_reloading(void **state);
void check_placement(void **state);
void check_results(void **state);
void check_refused(void **state);
void check_reproducible(void **state);
void check_failing_allocations(void **state);

#endif // BYOC_TESTS_CONFORMANCE_SUITE_H_
