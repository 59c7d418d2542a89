// SPDX-License-Identifier: Apache-2.0
// The analytic estimate: the cost of a function by the roofline model. It is used if measuring is off (--cost=estimate)
// or a shape is not known when compiling.
//
//   time = max(operations / (peak * efficiency), bytes / bandwidth) + a call's overhead
//
// Operations and bytes come from the operators' rows: their traits and the types that flow through them. Each type of
// arithmetic has a peak of its own. The machine's figures are measured once (core/collage/calibrate.h) and kept in the
// cost database. How much of the peak a backend reaches cannot be known without measuring: one fraction (below) stands
// for products and convolutions of any backend, one for those of the native target, and one for all other operators.
// Estimates order plans; they do not predict times.
#ifndef BYOC_CORE_COLLAGE_ESTIMATE_H_
#define BYOC_CORE_COLLAGE_ESTIMATE_H_

#include "core/collage/cost.h"
#include "core/collage/cost_database.h"
#include "core/device/cost.h"

// The size that a symbolic dimension is taken to have.
#define BYOC_ESTIMATE_DIM 32
// The share of the peak that products and convolutions reach (measured on ResNet-50: libraries 0.6 to 1.1, loop kernels
// 0.03 to 0.15).
#define BYOC_ESTIMATE_BACKEND_EFFICIENCY 0.6
#define BYOC_ESTIMATE_NATIVE_EFFICIENCY  0.08
// Operations that are not multiply-adds reach about this share, in any code.
#define BYOC_ESTIMATE_OTHER_EFFICIENCY 0.1
// The cost of one call of a function.
#define BYOC_ESTIMATE_CALL_NS 200.0

// The work of a function, according to its operators' rows.
typedef struct byoc_work_t {
  double product_flops;                   // in products and convolutions, two per multiply-add: the sum of `products`
  double products[BYOC_ARITHMETIC_COUNT]; // by the type of the factors
  double least[BYOC_ARITHMETIC_COUNT];    // those that no transform saves (Winograd: windows need a quarter at best)
  double other_flops;                     // all other operators
  double bytes; // read and written: parameters, constants, results, and values between operators that go
                // through memory
} byoc_work_t;
byoc_work_t byoc_function_work(const byoc_function_t *function);
// The type of the products that take the most operations; f32 if there are none.
byoc_arithmetic_t byoc_work_arithmetic(const byoc_work_t *work);
// The precision of a region's operators as they stand: "int8", or "f32 and int8" if they differ. Without products it is
// the type of the first result. In `out`.
void byoc_function_precision(const byoc_function_t *function, byoc_string_t *out);
// Bytes of a value; symbolic dimensions as above, 0 if it is not a tensor.
double byoc_estimate_bytes(const byoc_type_t *type);
// How many bytes go through the caches in a run of the module: the weights, plus twice the widest place of the graph,
// which a good memory plan exceeds only a little. 0 if there are too many to count.
uint64_t byoc_estimate_model_bytes(const byoc_graph_module_t *module);

// Does not measure if the database (which may be NULL) knows the machine.
typedef struct byoc_estimator_t {
  byoc_calibration_t calibration;
  int32_t thread_count;
  const byoc_device_costs_t *devices; // by the target's index; NULL: no device was measured
  // By the target's index: entering and leaving cost what its row of `devices` says. NULL: only devices have such
  // costs.
  const bool *boundaries;
} byoc_estimator_t;
// Restricts the peaks to processors with these features. If they are not this machine's (is_foreign), the peaks of
// other types than f32 come from byoc/isa.def.
void byoc_estimator_limit(byoc_estimator_t *estimator, uint64_t features, bool is_foreign);
// The costs of a target's device.
const byoc_device_costs_t *byoc_estimator_device(const byoc_estimator_t *estimator, uint32_t target);
byoc_status_t byoc_estimator_init(byoc_estimator_t *estimator, int32_t thread_count, byoc_cost_database_t *database,
                                  byoc_allocator_t allocator, byoc_diag_t *diag);
double byoc_estimate_ns(const byoc_estimator_t *estimator, const byoc_function_t *function,
                        const byoc_target_t *target);
// A lower bound of the time of any code on the processor, 0 for targets on devices: the least operations at the
// processor's peak, and writing the results by its widest stores into the first cache. (Reading is not counted: Gather
// and Slice read their parameters only in part.)
double byoc_bound_ns(const byoc_estimator_t *estimator, const byoc_function_t *function, const byoc_target_t *target);
// The estimator must outlive the pricer.
byoc_function_pricer_t byoc_estimator_pricer(byoc_estimator_t *estimator);

#endif // BYOC_CORE_COLLAGE_ESTIMATE_H_
