// SPDX-License-Identifier: Apache-2.0
// D = activation(convolution(X, W) + beta * C) by CUTLASS, as an implicit product over NHWC. In front of this text
// stand the names in capitals that are not CUTLASS': they are what a kernel is made for (kernels.c). C is a tensor like
// the result if has_rows is set, else one row of channels that repeats: a bias. Parameters are made on the device, so
// that a launch passes plain numbers.
#include <cutlass/cutlass.h>
#include <cutlass/conv/kernel/default_conv2d_fprop.h>
#include <cutlass/epilogue/thread/activation.h>
#include <cutlass/epilogue/thread/linear_combination_generic.h>

struct Swizzle {
  CUTLASS_HOST_DEVICE static int get_log_tile(cutlass::gemm::GemmCoord) { return 0; }
  CUTLASS_HOST_DEVICE static cutlass::gemm::GemmCoord get_tiled_shape(cutlass::gemm::GemmCoord size,
                                                                      cutlass::gemm::GemmCoord tile, int) {
    return {(size.m() + tile.m() - 1) / tile.m(), (size.n() + tile.n() - 1) / tile.n(), 1};
  }
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

using Layout = cutlass::layout::TensorNHWC;
using Output = cutlass::epilogue::thread::LinearCombinationGeneric<Activation, float, ALIGN_C, float, float>;
using Kernel = cutlass::conv::kernel::DefaultConv2dFprop<
    float, Layout, float, Layout, float, Layout, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<TILE_M, TILE_N, TILE_K>, cutlass::gemm::GemmShape<WARP_M, WARP_N, TILE_K>,
    cutlass::gemm::GemmShape<16, 8, 8>, Output, Swizzle, STAGES, OPERATOR, cutlass::conv::IteratorAlgorithm::kAnalytic,
    cutlass::conv::StrideSupport::kStrided, ALIGN_A, ALIGN_A>::Kernel;
static_assert(sizeof(typename Kernel::SharedStorage) <= SHARED_BYTES,
              "more shared memory than the launch asks for");

extern "C" __global__ void __launch_bounds__(32 * Kernel::WarpCount::kCount)
    ENTRY(float *x, float *w, float *c, float *d, int n, int h, int width, int channels, int k, int r, int s, int p,
          int q, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int has_rows,
          float beta) {
  extern __shared__ __align__(16) char shared[];
  cutlass::conv::Conv2dProblemSize problem(n, h, width, channels, k, r, s, p, q, pad_h, pad_w, stride_h, stride_w,
                                           dilation_h, dilation_w, cutlass::conv::Mode::kCrossCorrelation);
  Layout layout_c = has_rows ? Layout::packed({n, p, q, k}) : Layout(Layout::Stride(0));
  typename Kernel::Arguments arguments(problem, {x, Layout::packed({n, h, width, channels})},
                                       {w, Layout::packed({k, r, s, channels})}, {c, layout_c},
                                       {d, Layout::packed({n, p, q, k})}, {1.0f, beta});
  typename Kernel::Params params(arguments, nullptr);
  Kernel()(params, *reinterpret_cast<typename Kernel::SharedStorage *>(shared));
}
