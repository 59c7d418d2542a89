// The analytic estimate: what a function costs by the roofline model, where measuring is off (--cost=estimate) or a
// shape is not known when compiling.
//
//   time = max(operations / (peak * efficiency), bytes / bandwidth) + a call's overhead
//
// Operations and bytes come from the operators' rows: their traits and the types that flow through. The machine's
// figures are measured once (core/collage/calibrate.h) and kept in the cost database. How much of the peak a backend
// reaches cannot be known without measuring; products and convolutions are taken at the fractions below for any backend
// and for the native target, everything else alike for all. Estimates order plans; they do not predict times.
#ifndef BYOC_CORE_COLLAGE_ESTIMATE_H_
#define BYOC_CORE_COLLAGE_ESTIMATE_H_

#include "core/collage/cost.h"
#include "core/collage/cost_database.h"

// What a symbolic dimension counts as.
#define BYOC_ESTIMATE_DIM 32
// Of the peak, in products and convolutions (measured on ResNet-50: libraries 0.6 to 1.1, loop kernels 0.03 to 0.15).
#define BYOC_ESTIMATE_BACKEND_EFFICIENCY 0.6
#define BYOC_ESTIMATE_NATIVE_EFFICIENCY  0.08
// Operations that are not multiply-adds reach about this much, in any code.
#define BYOC_ESTIMATE_OTHER_EFFICIENCY 0.1
// Of one call of a function.
#define BYOC_ESTIMATE_CALL_NS 200.0

// What a function does, by its operators' rows.
typedef struct byoc_work_t {
  double product_flops; // in products and convolutions, two a multiply-add
  double least_flops;   // of those, what cannot be saved by transforming (Winograd: windows need a quarter at best)
  double other_flops;   // everything else
  double bytes;         // read and written: parameters, constants, results, and what operators hand to each other
                        // through memory
} byoc_work_t;
byoc_work_t byoc_function_work(const byoc_function_t *function);
// Of a value; symbolic dimensions as above, 0 where it is no tensor.
double byoc_estimate_bytes(const byoc_type_t *type);

// Measures nothing where the database (may be NULL) knows the machine.
typedef struct byoc_estimator_t {
  byoc_calibration_t calibration;
  int32_t thread_count;
} byoc_estimator_t;
byoc_status_t byoc_estimator_init(byoc_estimator_t *estimator, int32_t thread_count, byoc_cost_database_t *database,
                                  byoc_allocator_t allocator, byoc_diag_t *diag);
double byoc_estimate_ns(const byoc_estimator_t *estimator, const byoc_function_t *function,
                        const byoc_target_t *target);
// What no code on this machine undercuts: the operations that cannot be saved at the processor's peak, and writing the
// results by its widest stores into the first cache. (Parameters may be read in part only: Gather, Slice.)
double byoc_bound_ns(const byoc_estimator_t *estimator, const byoc_function_t *function);
// The estimator outlives the pricer.
byoc_function_pricer_t byoc_estimator_pricer(byoc_estimator_t *estimator);

#endif // BYOC_CORE_COLLAGE_ESTIMATE_H_
