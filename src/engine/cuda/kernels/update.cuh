// The norm of the gradient and the step of AdamW.
#pragma once
#include "simt.cuh"

// sums[b] = sum of squares, in double, of the values that block b comes by: a stride of the whole grid
// launch: grid (parts), 256 threads, shared 0
KERNEL(squares, 256, (double* sums, const float* x, u64 n, u32 parts)) {
    double sum = 0;
    u64 whole = n / 4;
    UNROLL_BY(4) for (u64 i = u64(blockIdx.x) * 256 + threadIdx.x; i < whole; i += u64(parts) * 256) {
        Four v = load4(x + 4 * i);
        UNROLL for (int k = 0; k < 4; k++) sum += double(v[k]) * double(v[k]);
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4) {
        double last = x[4 * whole + threadIdx.x];
        sum += last * last;
    }
    sum = reduce_block<Sum>(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// AdamW (arXiv 1711.05101) with the corrections of the moments folded by the caller into step_size = rate / (1 -
// beta1^t) and root_correction = sqrt(1 - beta2^t); keep = 1 - rate * decay. A copy in T follows the weights where one
// is given.
struct AdamW {
    float scale, beta1, beta2, step_size, root_correction, eps, keep;
    DEVICE void step(float& w, float& m, float& v, float g) const {
        g *= scale;
        m = beta1 * m + (1.0f - beta1) * g;
        v = beta2 * v + (1.0f - beta2) * g * g;
        w = keep * w - step_size * m / (sqrtf(v) / root_correction + eps);
    }
};

template <class T>
DEVICE void adamw(float* w, T* copy, float* m, float* v, const float* g, u64 n, const AdamW& update) {
    u64 i = 4 * (u64(blockIdx.x) * 256 + threadIdx.x);
    if (i + 4 <= n) {
        Four weights = load4(w + i), first = load4(m + i), second = load4(v + i), gradient = load4(g + i);
        UNROLL for (int k = 0; k < 4; k++) update.step(weights[k], first[k], second[k], gradient[k]);
        store4(w + i, weights);
        store4(m + i, first);
        store4(v + i, second);
        if (copy) store4(copy + i, weights);
    } else {
        for (; i < n; i++) {
            update.step(w[i], m[i], v[i], g[i]);
            if (copy) copy[i] = from_float<T>(w[i]);
        }
    }
}

// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNELS(adamw, 256,
        (float* w, T* copy, float* m, float* v, const float* g, u64 n, float scale, float beta1, float beta2,
         float step_size, float root_correction, float eps, float keep),
        (w, copy, m, v, g, n, {scale, beta1, beta2, step_size, root_correction, eps, keep}))
