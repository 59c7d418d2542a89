// SPDX-License-Identifier: Apache-2.0
// Makes the variables that the C++ library has per thread a part of each thread.
//
// The dynamic linker allocates the variables of a library that was loaded late when a thread first uses them, and ends
// the process if it gets no memory (std::call_once uses them, and oneDNN it). Where a library refers to them as this
// one does, it gives them a place that each thread has from its beginning, if there is one left.
extern _Thread_local void *once_callable __asm__("_ZSt15__once_callable") __attribute__((tls_model("initial-exec")));

void **byoc_thread_variables(void);
void **byoc_thread_variables(void) {
  return &once_callable;
}
