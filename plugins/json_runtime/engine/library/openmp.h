// SPDX-License-Identifier: Apache-2.0
// openmp.h - how OpenMP's idle workers wait.
//
// GNU's runtime has a worker spin for some milliseconds before it sleeps. If other work needs the processors (the
// artifact's own thread pool, other processes), ResNet-50 on two threads then takes 180 to 900 ms instead of 100. The
// runtime reads its settings only from the environment, while it is loaded; so a library that is loaded for the
// artifact sees an environment with a short spin, unless the user has chosen one.
#ifndef BYOC_DNNL_OPENMP_H_
#define BYOC_DNNL_OPENMP_H_

// Sets the environment with that setting; does nothing if the user has chosen one or the runtime is loaded already.
void byoc_dnnl_openmp_enter(void);
// Restores the former environment. Nobody else's change is lost: a concurrent setenv stays in effect.
void byoc_dnnl_openmp_leave(void);

#endif // BYOC_DNNL_OPENMP_H_
