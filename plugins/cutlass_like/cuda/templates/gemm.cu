// SPDX-License-Identifier: Apache-2.0
// D = activation(alpha * A * B + beta * C) by CUTLASS, one matrix for each blockIdx.z. In front of this text stand the
// names in capitals that are not CUTLASS': they are what a kernel is made for (kernels.c). C is a row that repeats
// where its step is 0: a bias. Parameters are made on the device, so that a launch passes plain numbers.
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/thread/activation.h>
#include <cutlass/epilogue/thread/linear_combination_generic.h>
#include <cutlass/gemm/kernel/default_gemm.h>

// Tiles along the first two axes of the grid; the third one counts matrices.
struct Swizzle {
  CUTLASS_HOST_DEVICE static int get_log_tile(cutlass::gemm::GemmCoord) { return 0; }
  CUTLASS_DEVICE static cutlass::gemm::GemmCoord get_tile_offset(int) {
    return {int(blockIdx.x), int(blockIdx.y), 0};
  }
};

template <typename T> struct Activation {
  CUTLASS_HOST_DEVICE T operator()(T const &x) const { return ACTIVATION; }
};
template <typename T, int N> struct Activation<cutlass::Array<T, N>> {
  CUTLASS_HOST_DEVICE cutlass::Array<T, N> operator()(cutlass::Array<T, N> const &x) const {
    cutlass::Array<T, N> y;
    Activation<T> one;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) y[i] = one(x[i]);
    return y;
  }
};

using Output = cutlass::epilogue::thread::LinearCombinationGeneric<Activation, float, ALIGN_C, float, float>;
using Kernel = cutlass::gemm::kernel::DefaultGemm<
    float, LAYOUT_A, ALIGN_A, float, LAYOUT_B, ALIGN_B, float, cutlass::layout::RowMajor, float,
    cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, cutlass::gemm::GemmShape<TILE_M, TILE_N, TILE_K>,
    cutlass::gemm::GemmShape<WARP_M, WARP_N, TILE_K>, cutlass::gemm::GemmShape<16, 8, 8>, Output, Swizzle, STAGES,
    false, OPERATOR>::GemmKernel;

static_assert(sizeof(typename Kernel::SharedStorage) <= SHARED_BYTES,
              "more shared memory than the launch asks for");

extern "C" __global__ void __launch_bounds__(Kernel::kThreadCount)
    ENTRY(float *a, float *b, float *c, float *d, int m, int n, int k, int step_a, int step_b, int step_c,
          long long batch_a, long long batch_b, long long batch_c, float alpha, float beta) {
  extern __shared__ __align__(16) char shared[];
  long long z = blockIdx.z;
  cutlass::gemm::GemmCoord tiles((m + TILE_M - 1) / TILE_M, (n + TILE_N - 1) / TILE_N, 1);
  typename Kernel::Params params({m, n, k}, tiles, {a + z * batch_a, step_a}, {b + z * batch_b, step_b},
                                 {c + z * batch_c, step_c}, {d + z * m * n, n}, {alpha, beta});
  Kernel()(params, *reinterpret_cast<typename Kernel::SharedStorage *>(shared));
}
