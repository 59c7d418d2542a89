// SPDX-License-Identifier: Apache-2.0
// The kernels that byoc-plugin-check launches (byoc/driver_check.h). suite_kernels.ptx is made of them by NVRTC with
// --gpu-architecture=compute_70, and says the version of PTX that sm_70 came with, so that every driver since takes it.
extern "C" __global__ void suite_scale(const float *x, float *y, float factor, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * factor;
}

extern "C" __global__ void suite_count(int *y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 1;
}

extern "C" __global__ void suite_sum_groups(const float *x, float *y, long long n) {
  extern __shared__ float scratch[];
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  scratch[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (unsigned k = 0; k < blockDim.x; ++k) sum += scratch[k];
  y[blockIdx.x] = sum;
}

extern "C" __global__ void suite_places(int *y) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned plane = blockIdx.z * blockDim.z + threadIdx.z;
  unsigned place = (plane * gridDim.y * blockDim.y + row) * gridDim.x * blockDim.x + x;
  y[place] = (int)place;
}

extern "C" __global__ void suite_arguments(double *y, int a, long long b, float c, double d) {
  y[0] = a;
  y[1] = (double)b;
  y[2] = c;
  y[3] = d;
}

extern "C" __global__ void suite_work(unsigned *y, long long rounds) {
  unsigned value = 1;
  for (long long i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u + (value >> 7);
  y[0] = value;
}
