// The norm of the gradient, the step of AdamW, and what is number by number in that of Muon.
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

// bf16, up or down with the probability with which the mean stays what it is; key and place decide.
DEVICE u16 round_at_random(float x, u32 place, u32 key) {
    u32 bits = float_bits(x);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits += mixed(place ^ key) & 0xffffu;
    return u16(bits >> 16);
}

// The same with moments in bf16.
template <class T>
DEVICE void adamw_of_bf16(float* w, T* copy, u16* m, u16* v, const float* g, u64 n, u32 key_m, u32 key_v,
                          const AdamW& update) {
    for (u32 k = 0; k < 4; k++) {
        u64 i = u64(blockIdx.x) * 1024 + k * 256 + threadIdx.x;
        if (i >= n) return;
        float first = bits_float(u32(m[i]) << 16), second = bits_float(u32(v[i]) << 16);
        update.step(w[i], first, second, g[i]);
        m[i] = round_at_random(first, u32(i), key_m);
        v[i] = round_at_random(second, u32(i), key_v);
        if (copy) copy[i] = from_float<T>(w[i]);
    }
}

// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNELS(adamw_of_bf16, 256,
        (float* w, T* copy, u16* m, u16* v, const float* g, u64 n, u32 key_m, u32 key_v, float scale, float beta1,
         float beta2, float step_size, float root_correction, float eps, float keep),
        (w, copy, m, v, g, n, key_m, key_v, {scale, beta1, beta2, step_size, root_correction, eps, keep}))

// The code of the cell that holds a part of a block's largest number: seven decades, of which the first has `cells` equal
// cells and each other twice as many as the one below it; 128 more for negative parts.
DEVICE u8 code_of(float part, u32 cells, float nearly, bool negative) {
    float magnitude = fabsf(part), low = 1e-7f;
    u32 code = 0, first = 1;
    for (int decade = 0; decade < 7; decade++) {
        if (magnitude >= low) {
            float place = (magnitude / low - 1.0f) * (float(cells) / 9.0f);
            code = first + (place < float(cells) ? u32(place) : cells - 1);
        }
        first += cells, cells *= 2, low *= 10.0f;
    }
    if (magnitude > nearly) code = first;
    if (negative && code > 0) return u8((code < first ? code : first - 1) + 128);
    return u8(code);
}

// The same with moments in codes of 8 bits (arXiv 2110.02861), of which a block shares a scale; `values` are what the codes
// of first and of second moments stand for.
template <class T>
DEVICE void adamw_of_int8(float* w, T* copy, u8* m, float* m_scales, u8* v, float* v_scales, const float* values,
                          const float* g, u64 n, const AdamW& update) {
    u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    float first = 0, second = 0;
    if (i < n) {
        first = values[m[i]] * m_scales[blockIdx.x];
        second = values[256 + v[i]] * v_scales[blockIdx.x];
        update.step(w[i], first, second, g[i]);
        if (copy) copy[i] = from_float<T>(w[i]);
    }
    // With the sign of the largest number, which so is 1 and comes back as it was. All threads read the scales before.
    float up = reduce_block<Max>(first), down = reduce_block<Max>(-first), most = reduce_block<Max>(second);
    float scale = up >= down ? up : -down;
    if (i < n) {
        float part = scale == 0 ? 0 : first * (1.0f / scale);
        m[i] = code_of(part, 1, 0.5f * (values[127] + 1.0f), part < 0);
        v[i] = code_of(most == 0 ? 0 : second * (1.0f / most), 2, 0.5f * (values[256 + 254] + 1.0f), false);
    }
    if (threadIdx.x == 0) {
        m_scales[blockIdx.x] = scale;
        v_scales[blockIdx.x] = most;
    }
}

// launch: grid (ceil(n / 256)), 256 threads, shared 0
KERNELS(adamw_of_int8, 256,
        (float* w, T* copy, u8* m, float* m_scales, u8* v, float* v_scales, const float* values, const float* g, u64 n,
         float scale, float beta1, float beta2, float step_size, float root_correction, float eps, float keep),
        (w, copy, m, m_scales, v, v_scales, values, g, n,
         {scale, beta1, beta2, step_size, root_correction, eps, keep}))

// The first part of a step of Muon (Keller Jordan 2024): a moment takes in the gradient, in whose place comes what the moment
// would be if the gradient came once more.
struct LookAhead {
    float scale, momentum;
    DEVICE void step(float& m, float& g) const {
        float own = (1.0f - momentum) * (g * scale);
        m = momentum * m + own;
        g = momentum * m + own;
    }
};

// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNEL(look_ahead, 256, (float* m, float* g, u64 n, float scale, float momentum)) {
    LookAhead update{scale, momentum};
    for (u32 k = 0; k < 4; k++) {
        u64 i = u64(blockIdx.x) * 1024 + k * 256 + threadIdx.x;
        if (i < n) update.step(m[i], g[i]);
    }
}

// The same with a moment in bf16.
// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNEL(look_ahead_of_bf16, 256, (u16* m, float* g, u64 n, u32 key, float scale, float momentum)) {
    LookAhead update{scale, momentum};
    for (u32 k = 0; k < 4; k++) {
        u64 i = u64(blockIdx.x) * 1024 + k * 256 + threadIdx.x;
        if (i >= n) return;
        float moment = bits_float(u32(m[i]) << 16);
        update.step(moment, g[i]);
        m[i] = round_at_random(moment, u32(i), key);
    }
}

// The same with a moment in codes of 8 bits.
// launch: grid (ceil(n / 256)), 256 threads, shared 0
KERNEL(look_ahead_of_int8, 256,
       (u8* m, float* scales, const float* values, float* g, u64 n, float scale, float momentum)) {
    LookAhead update{scale, momentum};
    u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    float moment = 0;
    if (i < n) {
        moment = values[m[i]] * scales[blockIdx.x];
        update.step(moment, g[i]);
    }
    float up = reduce_block<Max>(moment), down = reduce_block<Max>(-moment);
    float most = up >= down ? up : -down;
    if (i < n) {
        float part = most == 0 ? 0 : moment * (1.0f / most);
        m[i] = code_of(part, 1, 0.5f * (values[127] + 1.0f), part < 0);
    }
    if (threadIdx.x == 0) scales[blockIdx.x] = most;
}

// out = by_x x + by_y y, of which any may be the same
// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNEL(blend, 256, (float* out, const float* x, float by_x, const float* y, float by_y, u64 n)) {
    for (u32 k = 0; k < 4; k++) {
        u64 i = u64(blockIdx.x) * 1024 + k * 256 + threadIdx.x;
        if (i < n) out[i] = by_x * x[i] + by_y * y[i];
    }
}

// The last part of a step of Muon: w = keep w - update. A copy in T follows the weights where one is given.
template <class T>
DEVICE void subtract(float* w, T* copy, const float* update, u64 n, float keep) {
    for (u32 k = 0; k < 4; k++) {
        u64 i = u64(blockIdx.x) * 1024 + k * 256 + threadIdx.x;
        if (i >= n) return;
        w[i] = keep * w[i] - update[i];
        if (copy) copy[i] = from_float<T>(w[i]);
    }
}

// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNELS(subtract, 256, (float* w, T* copy, const float* update, u64 n, float keep), (w, copy, update, n, keep))
