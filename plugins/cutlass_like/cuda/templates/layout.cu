// SPDX-License-Identifier: Apache-2.0
// Two small kernels beside CUTLASS'. cuda_turn: y[z][column][row] = x[z][row][column] * factor + bias[row], which makes
// NHWC of NCHW and back; cuda_join: y[i] = x[i] * factor + bias[i % columns]. Without has_bias the bias is not read.
extern "C" __global__ void cuda_turn(const float *x, float *y, const float *bias, int rows, int columns, float factor,
                                     int has_bias) {
  __shared__ float tile[32][33];
  long long matrix = (long long)blockIdx.z * rows * columns;
  for (int i = threadIdx.y; i < 32; i += 8) {
    int row = blockIdx.y * 32 + i, column = blockIdx.x * 32 + threadIdx.x;
    if (row < rows && column < columns) {
      tile[i][threadIdx.x] = x[matrix + (long long)row * columns + column] * factor + (has_bias ? bias[row] : 0.0f);
    }
  }
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8) {
    int column = blockIdx.x * 32 + i, row = blockIdx.y * 32 + threadIdx.x;
    if (row < rows && column < columns) y[matrix + (long long)column * rows + row] = tile[threadIdx.x][i];
  }
}

extern "C" __global__ void cuda_join(const float *x, float *y, const float *bias, int columns, long long count,
                                     float factor) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] * factor + bias[i % columns];
}
