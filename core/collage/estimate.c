// SPDX-License-Identifier: Apache-2.0
// Estimates the cost of a function by the roofline model.
#include "core/collage/estimate.h"

#include <math.h>
#include <string.h>

#include "core/collage/calibrate.h"
#include "core/collage/composite.h"
#include "core/collage/constraint.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/ops/byoc/symbolic.h"
#include "core/targets/cpu.h"

// Operations per element of exp, tanh and the like.
enum { TRANSCENDENTAL_FLOPS = 10 };
// Assumed iterations of a loop whose count is not known.
enum { LOOP_TURNS = 16 };
// Below this size, passing a value from one operator to the next costs nothing: it stays in the processor's own cache.
#define CACHED_BYTES (1 << 20)
// Threads beyond these add no bandwidth.
enum { MEMORY_THREADS = 4 };

// ---- sizes ----

static double elements_of(const byoc_type_t *type) {
  if (!byoc_is_ranked(type)) return BYOC_ESTIMATE_DIM;
  double count = 1;
  for (int32_t d = 0; d < type->rank; ++d) {
    count *= byoc_dim_is_constant(type->dims[d]) ? (double)type->dims[d].constant : BYOC_ESTIMATE_DIM;
  }
  return count;
}

static double bytes_of(const byoc_type_t *type) {
  return byoc_type_is_tensor(type) ? elements_of(type) * (double)byoc_dtype_bits(type->dtype) / 8 : 0;
}

double byoc_estimate_bytes(const byoc_type_t *type) {
  return bytes_of(type);
}

uint64_t byoc_estimate_model_bytes(const byoc_graph_module_t *module) {
  double constants = 0, widest = 0;
  for (size_t f = 0; f < module->functions.count; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    if (!byoc_function_is_in_scope(function)) continue;
    for (size_t i = 0; i < function->constants.count; ++i) {
      const byoc_value_t *value = function->constants.entries[i].value;
      if (value->uses.count > 0) constants += (double)value->constant->size_bytes;
    }
    if (function->kind != BYOC_FUNCTION_GRAPH) continue;
    BYOC_FOR_EACH_NODE(node, function->body) {
      double bytes = 0;
      if (byoc_is_guard(node)) continue;
      for (uint32_t i = 0; i < node->operand_count; ++i) {
        bool is_data = byoc_has_operand(node, i) && node->operands[i]->kind != BYOC_VALUE_CONSTANT;
        if (is_data) bytes += bytes_of(node->operands[i]->type);
      }
      for (uint32_t i = 0; i < node->result_count; ++i) bytes += bytes_of(node->results[i]->type);
      if (bytes > widest) widest = bytes;
    }
  }
  double bytes = constants + 2 * widest;
  return bytes < 1e15 ? (uint64_t)bytes : 0;
}

// Dimension `axis`, counted from the end if negative.
static double extent(const byoc_type_t *type, int32_t axis) {
  if (!byoc_is_ranked(type)) return BYOC_ESTIMATE_DIM;
  if (axis < 0) axis += type->rank;
  if (axis < 0 || axis >= type->rank) return 1;
  byoc_dim_t dim = type->dims[axis];
  return byoc_dim_is_constant(dim) ? (double)dim.constant : BYOC_ESTIMATE_DIM;
}

// ---- operations ----

typedef struct counter_t {
  byoc_work_t work;
  double times; // iterations of the block that is being counted
  int depth;
} counter_t;

static byoc_op_work_t work_of(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL ? op->work : BYOC_WORK_USUAL;
}

static bool convolves(const byoc_node_t *node) {
  return work_of(node) == BYOC_WORK_CONVOLUTION || work_of(node) == BYOC_WORK_TRANSPOSED_CONVOLUTION;
}

static bool is_product(const byoc_node_t *node) {
  return byoc_node_has_trait(node, BYOC_OP_HEAVY) || convolves(node) || work_of(node) == BYOC_WORK_PRODUCT ||
         work_of(node) == BYOC_WORK_ATTENTION;
}

// The type of the filters, the second matrix or the keys.
static const byoc_type_t *factor_type(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return byoc_operand_type(node, op != NULL && op->factor > 0 ? op->factor : 1);
}

// Data of floats are multiplied as such, whatever their factors are stored as.
static byoc_arithmetic_t arithmetic_of(const byoc_node_t *node) {
  const byoc_type_t *data = byoc_operand_type(node, 0), *factor = factor_type(node);
  if (!byoc_type_is_tensor(data)) return BYOC_ARITHMETIC_F32;
  switch (data->dtype) {
  case BYOC_DTYPE_F32:
    return BYOC_ARITHMETIC_F32;
  case BYOC_DTYPE_F64:
    return BYOC_ARITHMETIC_F64;
  case BYOC_DTYPE_F16:
    return BYOC_ARITHMETIC_F16;
  case BYOC_DTYPE_BF16:
    return BYOC_ARITHMETIC_BF16;
  default: {
    const uint32_t bits = byoc_dtype_bits(data->dtype);
    const bool is_wide = byoc_type_is_tensor(factor) && byoc_dtype_bits(factor->dtype) > 8;
    return bits > 8 || is_wide ? BYOC_ARITHMETIC_INT16 : BYOC_ARITHMETIC_INT8;
  }
  }
}

// Multiply-adds that make one element of the result.
static double reduction_length(const byoc_node_t *node) {
  const byoc_type_t *a = byoc_operand_type(node, 0), *b = factor_type(node);
  if (byoc_node_takes(node, "transA") && byoc_node_flag(node, "transA")) return extent(a, 0);
  if (byoc_is_ranked(b) && b->rank >= 3 && work_of(node) == BYOC_WORK_CONVOLUTION) {
    return elements_of(b) / (extent(b, 0) > 0 ? extent(b, 0) : 1); // channels of the group times the window
  }
  return extent(a, -1); // MatMul and its relatives
}

// Every query meets every key, half of them where only earlier ones count; so does every row of the result. A matrix
// in the place of the keys makes queries, keys and values from the data first.
static double attention_flops(const byoc_node_t *node, double results) {
  const byoc_type_t *data = byoc_operand_type(node, 0), *other = factor_type(node);
  const byoc_type_t *past = byoc_has_operand(node, 4) ? byoc_operand_type(node, 4) : NULL;
  const bool is_causal = byoc_node_takes(node, "is_causal") && byoc_node_flag(node, "is_causal");
  const double share = is_causal ? 0.5 : 1;
  if (byoc_is_ranked(other) && other->rank == 2) {
    return 2 * elements_of(data) * extent(other, -1) + 4 * share * extent(data, -2) * results;
  }
  const double keys = extent(other, -2) + (byoc_is_ranked(past) && past->rank > 2 ? extent(past, -2) : 0);
  return 2 * share * keys * (elements_of(data) + results);
}

static double product_flops(const byoc_node_t *node) {
  double results = node->result_count > 0 ? elements_of(node->results[0]->type) : 0;
  if (work_of(node) == BYOC_WORK_TRANSPOSED_CONVOLUTION) {
    // Every input element meets a filter of every output channel of its group.
    const byoc_type_t *x = byoc_operand_type(node, 0), *w = factor_type(node);
    return 2 * elements_of(x) * elements_of(w) / (extent(w, 0) > 0 ? extent(w, 0) : 1);
  }
  if (work_of(node) == BYOC_WORK_ATTENTION) return attention_flops(node, results);
  return 2 * results * reduction_length(node);
}

// Winograd's transforms with tiles of 4 by 4 need 36 products instead of 144; no other transform of practical precision
// needs fewer.
static double least_flops(const byoc_node_t *node, double flops) {
  size_t rank = 0;
  const int64_t *kernel = byoc_node_takes(node, "kernel_shape") ? byoc_node_ints(node, "kernel_shape", &rank) : NULL;
  const byoc_type_t *w = factor_type(node);
  bool is_pointwise = rank > 0;
  for (size_t i = 0; i < rank; ++i) is_pointwise = is_pointwise && kernel[i] == 1;
  if (!convolves(node) || is_pointwise) return flops;
  if (rank == 0 && byoc_is_ranked(w) && w->rank > 2 && extent(w, -1) == 1 && extent(w, -2) == 1) return flops;
  return flops / 4;
}

// One operation per element read or per element written, whichever are more: reductions and pools read more than they
// write. Operators that only move elements read those that they write: of a table, a few rows.
static double other_flops(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  if (op != NULL && op->is_view) return 0;
  const bool moves = byoc_node_has_trait(node, BYOC_OP_MOVES);
  double read = 0, written = 0;
  for (uint32_t i = 0; i < node->operand_count && !moves; ++i) {
    if (byoc_has_operand(node, i)) read += elements_of(byoc_operand_type(node, i));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) written += elements_of(node->results[i]->type);
  int64_t window = 1;
  size_t rank = 0;
  const int64_t *kernel = byoc_node_takes(node, "kernel_shape") ? byoc_node_ints(node, "kernel_shape", &rank) : NULL;
  for (size_t i = 0; i < rank; ++i) window *= kernel[i];
  if (rank > 0) return written * (double)window;
  return (read > written ? read : written) * (work_of(node) == BYOC_WORK_TRANSCENDENTAL ? TRANSCENDENTAL_FLOPS : 1);
}

// ---- bytes ----

static bool leaves_function(const byoc_value_t *value) {
  return byoc_value_is_block_result(value) && value->node->block->owner == NULL;
}

// The bytes that an operator writes and its consumers read, if they are not fused.
static double handed_on_bytes(const byoc_node_t *node) {
  if (!byoc_node_has_trait(node, BYOC_OP_HEAVY | BYOC_OP_REDUCES | BYOC_OP_OPAQUE)) return 0;
  double bytes = 0;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    double size = bytes_of(node->results[i]->type);
    if (size > CACHED_BYTES && !leaves_function(node->results[i])) bytes += 2 * size;
  }
  return bytes;
}

static double constants_bytes(const byoc_function_t *function) {
  double bytes = 0;
  for (size_t i = 0; i < function->constants.count; ++i) {
    const byoc_value_t *value = function->constants.entries[i].value;
    if (value->uses.count > 0) bytes += (double)value->constant->size_bytes;
  }
  return bytes;
}

// ---- walking ----

static void count_block(counter_t *counter, const byoc_block_t *block);

static void count_node(counter_t *counter, const byoc_node_t *node) {
  if (byoc_is_guard(node)) return; // its results hold dimensions, and no memory
  if (node->callee != NULL) {
    if (counter->depth >= BYOC_COMPOSITE_MAX_DEPTH) return;
    counter->depth += 1;
    counter->work.bytes += constants_bytes(node->callee) * counter->times;
    count_block(counter, node->callee->body);
    counter->depth -= 1;
    return;
  }
  bool is_loop = byoc_node_find_block(node, "body") != NULL;
  double times = counter->times;
  if (is_loop) counter->times *= LOOP_TURNS;
  for (uint32_t b = 0; b < node->block_count; ++b) count_block(counter, node->blocks[b]);
  counter->times = times;
  if (is_product(node)) {
    const byoc_arithmetic_t type = arithmetic_of(node);
    double flops = product_flops(node) * times;
    counter->work.product_flops += flops;
    counter->work.products[type] += flops;
    counter->work.least[type] += least_flops(node, flops);
  } else {
    counter->work.other_flops += other_flops(node) * times;
  }
  counter->work.bytes += handed_on_bytes(node) * times;
}

static void count_block(counter_t *counter, const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) count_node(counter, node);
}

byoc_work_t byoc_function_work(const byoc_function_t *function) {
  counter_t counter = {.times = 1};
  const byoc_block_t *body = function->body;
  for (size_t i = 0; i < body->parameters.count; ++i) counter.work.bytes += bytes_of(body->parameters.data[i]->type);
  for (size_t i = 0; i < body->results.count; ++i) counter.work.bytes += bytes_of(body->results.data[i]->type);
  counter.work.bytes += constants_bytes(function);
  count_block(&counter, body);
  return counter.work;
}

byoc_arithmetic_t byoc_work_arithmetic(const byoc_work_t *work) {
  byoc_arithmetic_t most = BYOC_ARITHMETIC_F32;
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    if (work->products[t] > work->products[most]) most = (byoc_arithmetic_t)t;
  }
  return most;
}

void byoc_function_precision(const byoc_function_t *function, byoc_string_t *out) {
  const byoc_work_t work = byoc_function_work(function);
  const byoc_block_t *body = function->body;
  const byoc_type_t *result = body->results.count > 0 ? body->results.data[0]->type : NULL;
  bool is_first = true;
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    if (work.products[t] <= 0) continue;
    byoc_string_appendf(out, "%s%s", is_first ? "" : " and ", byoc_arithmetic_name((byoc_arithmetic_t)t));
    is_first = false;
  }
  if (is_first && byoc_type_is_tensor(result)) byoc_string_append(out, byoc_dtype_name(result->dtype));
}

// ---- the model ----

byoc_status_t byoc_estimator_init(byoc_estimator_t *estimator, int32_t thread_count, byoc_cost_database_t *database,
                                  byoc_allocator_t allocator, byoc_diag_t *diag) {
  *estimator = (byoc_estimator_t){.thread_count = thread_count > 0 ? thread_count : 1};
  byoc_string_t machine;
  byoc_string_init(&machine, allocator);
  byoc_machine_identity(&machine);
  byoc_status_t status = machine.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  bool known = status == BYOC_OK && database != NULL &&
               byoc_cost_database_get_calibration(database, machine.data, &estimator->calibration);
  if (status == BYOC_OK && !known) {
    status = byoc_calibrate(allocator, diag, &estimator->calibration);
    if (status == BYOC_OK && database != NULL) {
      byoc_cost_database_put_calibration(database, machine.data, &estimator->calibration);
    }
  }
  byoc_string_deinit(&machine);
  return status;
}

// The operations with factors of a type, in the time of one of f32, on processors with these features.
static double rate_of(byoc_arithmetic_t type, uint64_t features) {
  static const struct {
    byoc_arithmetic_t type;
    byoc_cpu_feature_t feature;
    double rate;
  } rows[] = {
#define BYOC_ISA_RATE(TYPE, FEATURE, vendor, rate) {BYOC_ARITHMETIC_##TYPE, BYOC_CPU_##FEATURE, vendor[0] ? 0 : rate},
#include "byoc/isa.def"
  };
  double best = 0;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (rows[i].type == type && (features >> rows[i].feature & 1u)) best = fmax(best, rows[i].rate);
  }
  return best;
}

void byoc_estimator_limit(byoc_estimator_t *estimator, uint64_t features, bool is_foreign) {
  byoc_calibration_t *machine = &estimator->calibration;
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    const double rate = rate_of((byoc_arithmetic_t)t, features);
    if (is_foreign || rate == 0 || machine->peaks[t] == 0) machine->peaks[t] = rate * machine->flops_per_ns;
  }
}

double byoc_estimate_ns(const byoc_estimator_t *estimator, const byoc_function_t *function,
                        const byoc_target_t *target) {
  byoc_work_t work = byoc_function_work(function);
  const byoc_calibration_t *machine = &estimator->calibration;
  double threads = estimator->thread_count;
  double memory_threads = threads < MEMORY_THREADS ? threads : MEMORY_THREADS;
  double efficiency =
      target->kind->backend != NULL ? BYOC_ESTIMATE_BACKEND_EFFICIENCY : BYOC_ESTIMATE_NATIVE_EFFICIENCY;
  double peak = machine->flops_per_ns * threads;
  double computing_ns = work.other_flops / (peak * BYOC_ESTIMATE_OTHER_EFFICIENCY);
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    const double own = byoc_calibration_peak(machine, (byoc_arithmetic_t)t) * threads;
    computing_ns += work.products[t] / (own * efficiency);
  }
  double moving_ns = work.bytes / (machine->bytes_per_ns * memory_threads);
  return (computing_ns > moving_ns ? computing_ns : moving_ns) + BYOC_ESTIMATE_CALL_NS;
}

// Beside other work, calibration measures less than the machine's peak.
#define BOUND_MARGIN 1.2
// Two loads go with two multiply-adds: 4 bytes per lane for 2 operations per lane.
#define BOUND_BYTES_A_FLOP 2.0

const byoc_device_costs_t *byoc_estimator_device(const byoc_estimator_t *estimator, uint32_t target) {
  static const byoc_device_costs_t typical = BYOC_DEVICE_COSTS_TYPICAL;
  return estimator->devices != NULL ? &estimator->devices[target] : &typical;
}

static double fastest_peak(const byoc_calibration_t *machine) {
  double fastest = 0;
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    fastest = fmax(fastest, byoc_calibration_peak(machine, (byoc_arithmetic_t)t));
  }
  return fastest;
}

double byoc_bound_ns(const byoc_estimator_t *estimator, const byoc_function_t *function, const byoc_target_t *target) {
  if (byoc_target_device(target) != kDLCPU) return 0;
  byoc_work_t work = byoc_function_work(function);
  const byoc_calibration_t *machine = &estimator->calibration;
  const double share = estimator->thread_count * BOUND_MARGIN, peak = machine->flops_per_ns * share;
  // With its options, the target may multiply other types than those of the operators.
  const double fastest = byoc_target_relative_error(target) > 0 ? fastest_peak(machine) : 0;
  const byoc_block_t *body = function->body;
  double bytes = 0;
  for (size_t i = 0; i < body->results.count; ++i) bytes += bytes_of(body->results.data[i]->type);
  double computing_ns = 0, moving_ns = bytes / (peak * BOUND_BYTES_A_FLOP);
  for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) {
    const double own = byoc_calibration_peak(machine, (byoc_arithmetic_t)t);
    computing_ns += work.least[t] / (fmax(own, fastest) * share);
  }
  return computing_ns > moving_ns ? computing_ns : moving_ns;
}

static byoc_status_t price(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                           double *out_ns, const char **out_reason) {
  (void)diag;
  *out_ns = byoc_estimate_ns(self, function, target);
  *out_reason = NULL;
  return BYOC_OK;
}

byoc_function_pricer_t byoc_estimator_pricer(byoc_estimator_t *estimator) {
  return (byoc_function_pricer_t){.self = estimator, .price = price};
}
