// SPDX-License-Identifier: Apache-2.0
// Plans of a model for several numbers of threads: each follows from costs that were measured with as many threads, and
// a context takes the one for its threads. Internal to core/compile.
//
//   main(%x):  %y = model(%x)    →   main(%x):  %y = If (threads >= 4) { model(%x), placed for 4 }
//                                                 else { If (threads >= 2) { ... for 2 } else { ... for 1 } }
//
// Example:
//   byoc_thread_cases_t cases;
//   status = byoc_thread_cases_begin(&cases, module, &threads, diag);
//   for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
//     status = byoc_thread_cases_open(&cases, i, diag); // now the module's functions in scope are placed
//   }
//   if (status == BYOC_OK) status = byoc_thread_cases_join(&cases, diag);
//   byoc_thread_cases_deinit(&cases);
#ifndef BYOC_CORE_COMPILE_THREAD_CASES_H_
#define BYOC_CORE_COMPILE_THREAD_CASES_H_

#include "core/compile/placing.h"
#include "core/ir/graph.h"

// The name of the nodes that choose a case: they are the build's, not the model's.
#define BYOC_THREAD_NODES "byoc.threads"

typedef struct byoc_thread_cases_t {
  byoc_graph_module_t *module;
  const byoc_thread_list_t *threads;
  byoc_function_t *functions[BYOC_THREAD_LIST_MAX]; // "main.threads2", parallel to the numbers of threads
  byoc_map_t scope;                                 // the module's, while one of them is placed
} byoc_thread_cases_t;

// Makes a copy of the main function for each number of threads. They share constants.
byoc_status_t byoc_thread_cases_begin(byoc_thread_cases_t *cases, byoc_graph_module_t *module,
                                      const byoc_thread_list_t *threads, byoc_diag_t *diag);
// From here on, the module's scope is the i-th copy and the functions that are outlined from it.
byoc_status_t byoc_thread_cases_open(byoc_thread_cases_t *cases, size_t i, byoc_diag_t *diag);
// The scope is all of the module again.
void byoc_thread_cases_close(byoc_thread_cases_t *cases);
// Makes the main function a choice between the copies, and erases them. Of neighbours with equal plans, one is left.
byoc_status_t byoc_thread_cases_join(byoc_thread_cases_t *cases, byoc_diag_t *diag);
void byoc_thread_cases_deinit(byoc_thread_cases_t *cases);

// For a build of a copy of the module while one case is open: it becomes the main function, and all functions go that
// are not in scope. Nothing happens if no case is open.
byoc_status_t byoc_thread_cases_keep_open(byoc_graph_module_t *module, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_THREAD_CASES_H_
