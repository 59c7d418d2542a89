// SPDX-License-Identifier: Apache-2.0
// Sizes that are known, and arithmetic on the extents of those that are not.
#include "size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The host reads extents of up to 4096 bytes, 64 parentheses and 512 nodes.
enum { MOST_EXTENT_BYTES = 3072, MOST_EXTENT_DEPTH = 60, MOST_EXTENT_OPERATIONS = 250 };

typedef enum operation_t { ADD, SUBTRACT, MULTIPLY, DIVIDE, DIVIDE_UP, SMALLER, LARGER } operation_t;

void byoc_opencl_sizes_deinit(byoc_opencl_sizes_t *sizes) {
  for (uint32_t i = 0; i < sizes->count; ++i) free(sizes->extents[i]);
  free(sizes->extents);
}

byoc_opencl_size_t byoc_opencl_size(int64_t known) {
  return (byoc_opencl_size_t){.known = known};
}

bool byoc_opencl_size_is(byoc_opencl_size_t size, int64_t known) {
  return !size.is_open && size.known == known;
}

bool byoc_opencl_size_same(byoc_opencl_size_t left, byoc_opencl_size_t right) {
  if (left.is_open != right.is_open) return false;
  return left.is_open ? left.extent != NULL && left.extent == right.extent : left.known == right.known;
}

// The dynamic size that has this extent.
static byoc_opencl_size_t open_size(byoc_opencl_sizes_t *sizes, const char *extent) {
  byoc_opencl_size_t size = {.is_open = true};
  for (uint32_t i = 0; i < sizes->count && size.extent == NULL; ++i)
    if (strcmp(sizes->extents[i], extent) == 0) size.extent = sizes->extents[i];
  if (size.extent != NULL) return size;
  if (sizes->count == sizes->capacity) {
    uint32_t capacity = sizes->capacity == 0 ? 32 : sizes->capacity * 2;
    char **extents = realloc(sizes->extents, capacity * sizeof(*extents));
    sizes->failed = sizes->failed || extents == NULL;
    if (extents == NULL) return size;
    sizes->extents = extents;
    sizes->capacity = capacity;
  }
  char *copy = malloc(strlen(extent) + 1);
  sizes->failed = sizes->failed || copy == NULL;
  if (copy == NULL) return size;
  size.extent = strcpy(copy, extent);
  sizes->extents[sizes->count++] = copy;
  return size;
}

// A dynamic size without an extent: the function is declined. The first reason stays.
static byoc_opencl_size_t without_extent(byoc_opencl_sizes_t *sizes, const char *reason) {
  if (sizes->reason == NULL) sizes->reason = reason;
  return (byoc_opencl_size_t){.is_open = true};
}

byoc_opencl_size_t byoc_opencl_size_of(byoc_opencl_sizes_t *sizes, const byoc_value_t *value, int32_t axis) {
  int64_t known = sizes->graph->value_dim(value, axis);
  if (known >= 0) return byoc_opencl_size(known);
  if (sizes->function == NULL) return (byoc_opencl_size_t){.is_open = true};
  const char *extent = NULL;
  int32_t status = sizes->device->value_extent(sizes->codegen, sizes->function, value, axis, &extent);
  if (status == BYOC_OK) return open_size(sizes, extent);
  sizes->failed = sizes->failed || status == BYOC_OUT_OF_MEMORY;
  return without_extent(sizes, "a size that the sizes of its operands and results do not tell");
}

// ---- arithmetic ----

static int64_t compute(operation_t operation, int64_t left, int64_t right) {
  switch (operation) {
  case ADD:
    return left + right;
  case SUBTRACT:
    return left - right;
  case MULTIPLY:
    return left * right;
  case DIVIDE:
    return left / right;
  case DIVIDE_UP:
    return (left + right - 1) / right;
  case SMALLER:
    return left < right ? left : right;
  default:
    return left > right ? left : right;
  }
}

// A size inside of an extent; a negative number is a difference.
static const char *text_of(byoc_opencl_size_t size, char number[32]) {
  if (size.is_open) return size.extent;
  (void)snprintf(number, 32, size.known < 0 ? "(0 - %lld)" : "%lld", llabs((long long)size.known));
  return number;
}

// Can the host read it? Each operation has a pair of parentheses.
static bool is_readable(const char *extent) {
  int depth = 0, deepest = 0, operations = 0;
  for (const char *at = extent; *at != '\0'; ++at) {
    depth += (*at == '(') - (*at == ')');
    operations += *at == '(';
    if (depth > deepest) deepest = depth;
  }
  return deepest <= MOST_EXTENT_DEPTH && operations <= MOST_EXTENT_OPERATIONS;
}

static byoc_opencl_size_t combine(byoc_opencl_sizes_t *sizes, operation_t operation, byoc_opencl_size_t left,
                                  byoc_opencl_size_t right) {
  static const char *const forms[] = {
      [ADD] = "(%s + %s)",     [SUBTRACT] = "(%s - %s)",        [MULTIPLY] = "(%s * %s)",
      [DIVIDE] = "(%s / %s)",  [DIVIDE_UP] = "ceildiv(%s, %s)", [SMALLER] = "min(%s, %s)",
      [LARGER] = "max(%s, %s)"};
  char numbers[2][32], text[MOST_EXTENT_BYTES];
  if (!left.is_open && !right.is_open) return byoc_opencl_size(compute(operation, left.known, right.known));
  if ((left.is_open && left.extent == NULL) || (right.is_open && right.extent == NULL))
    return (byoc_opencl_size_t){.is_open = true};
  int length = snprintf(text, sizeof(text), forms[operation], text_of(left, numbers[0]), text_of(right, numbers[1]));
  if (length > 0 && (size_t)length < sizeof(text) && is_readable(text)) return open_size(sizes, text);
  return without_extent(sizes, "a size whose expression over the sizes of its operands and results is too long");
}

byoc_opencl_size_t byoc_opencl_size_add(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left, byoc_opencl_size_t right) {
  if (byoc_opencl_size_is(left, 0)) return right;
  return byoc_opencl_size_is(right, 0) ? left : combine(sizes, ADD, left, right);
}

byoc_opencl_size_t byoc_opencl_size_subtract(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                             byoc_opencl_size_t right) {
  return byoc_opencl_size_is(right, 0) ? left : combine(sizes, SUBTRACT, left, right);
}

byoc_opencl_size_t byoc_opencl_size_multiply(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                             byoc_opencl_size_t right) {
  if (byoc_opencl_size_is(left, 1)) return right;
  return byoc_opencl_size_is(right, 1) ? left : combine(sizes, MULTIPLY, left, right);
}

byoc_opencl_size_t byoc_opencl_size_divide(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t size, int64_t divisor) {
  return divisor == 1 ? size : combine(sizes, DIVIDE, size, byoc_opencl_size(divisor));
}

byoc_opencl_size_t byoc_opencl_size_divide_up(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t size, int64_t divisor) {
  return divisor == 1 ? size : combine(sizes, DIVIDE_UP, size, byoc_opencl_size(divisor));
}

byoc_opencl_size_t byoc_opencl_size_smaller(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                            byoc_opencl_size_t right) {
  return byoc_opencl_size_same(left, right) ? left : combine(sizes, SMALLER, left, right);
}

byoc_opencl_size_t byoc_opencl_size_larger(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                           byoc_opencl_size_t right) {
  return byoc_opencl_size_same(left, right) ? left : combine(sizes, LARGER, left, right);
}

byoc_opencl_size_t byoc_opencl_size_product(byoc_opencl_sizes_t *sizes, const byoc_opencl_size_t *factors,
                                            int32_t count) {
  byoc_opencl_size_t product = byoc_opencl_size(1);
  for (int32_t i = 0; i < count; ++i) product = byoc_opencl_size_multiply(sizes, product, factors[i]);
  return product;
}

void byoc_opencl_pile_add(byoc_opencl_sizes_t *sizes, byoc_opencl_join_t join, byoc_opencl_pile_t *pile,
                          byoc_opencl_size_t size) {
  int top = __builtin_popcount(pile->count);
  for (uint32_t rest = pile->count++; (rest & 1) != 0; rest >>= 1) size = join(sizes, pile->parts[--top], size);
  pile->parts[top] = size;
}

byoc_opencl_size_t byoc_opencl_pile_total(byoc_opencl_sizes_t *sizes, byoc_opencl_join_t join,
                                          const byoc_opencl_pile_t *pile) {
  int top = __builtin_popcount(pile->count);
  if (top == 0) return byoc_opencl_size(0);
  byoc_opencl_size_t total = pile->parts[--top];
  while (top > 0) total = join(sizes, pile->parts[--top], total);
  return total;
}
