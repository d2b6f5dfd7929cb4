// Kernels over the rows of matrices: embedding, norm, rotary positions, gate, and moves of rows. All of them are bound
// by memory; a block takes a row with R(width) = 32 * min(8, ceil(width / 256)) threads, so that a thread has eight
// consecutive values of a row of up to 2048, and the order of a sum depends on the width alone.
#pragma once
#include "simt.cuh"

// A number that depends on its place alone, in all bits (the constants are Chris Wellons' "lowbias32").
DEVICE u32 mixed(u32 place) {
    u32 x = (place ^ (place >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// Walks the row in steps of eight values a thread.
#define FOR_EIGHTS(column, width)                                                                                      \
    for (u32 column = 8 * threadIdx.x; column < (width); column += 8 * blockDim.x)

// out[i] = table[tokens[i]]
template <class T> DEVICE void embed(float* out, const T* table, const u32* tokens, u32 width) {
    const T* from = table + u64(tokens[blockIdx.x]) * width;
    float* to = out + u64(blockIdx.x) * width;
    FOR_EIGHTS(c, width) store8(to + c, load8(from + c));
}

// RMSNorm (arXiv 1910.07467): out = x / sqrt(mean x^2 + eps) * (weight + offset), of x += residual where one is given. A thread's
// first eight values stay in registers: for widths up to 2048, all of the row.
template <class T>
DEVICE void norm(T* out, float* inverses, float* x, const float* residual, const float* weight, float offset, float eps,
                 u32 width) {
    u64 row = u64(blockIdx.x) * width;
    float squares = 0;
    Eight first = {};
    FOR_EIGHTS(c, width) {
        Eight v = load8(x + row + c);
        if (residual) {
            Eight r = load8(residual + row + c);
            UNROLL for (int i = 0; i < 8; i++) v[i] += r[i];
            store8(x + row + c, v);
        }
        UNROLL for (int i = 0; i < 8; i++) squares += v[i] * v[i];
        if (c == 8 * threadIdx.x) first = v;
    }
    float inverse = 1.0f / sqrtf(reduce_block<Sum>(squares) / float(width) + eps);
    if (threadIdx.x == 0) inverses[blockIdx.x] = inverse;
    FOR_EIGHTS(c, width) { // a thread reads what it wrote itself
        Eight v = c == 8 * threadIdx.x ? first : load8(x + row + c), w = load8(weight + c);
        UNROLL for (int i = 0; i < 8; i++) v[i] = v[i] * inverse * (w[i] + offset);
        store8(out + row + c, v);
    }
}

// The output of the norm once more, from the inverses it left.
template <class T>
DEVICE void norm_again(T* out, const float* x, const float* inverses, const float* weight, float offset, u32 width) {
    u64 row = u64(blockIdx.x) * width;
    float inverse = inverses[blockIdx.x];
    FOR_EIGHTS(c, width) {
        Eight v = load8(x + row + c), w = load8(weight + c);
        UNROLL for (int i = 0; i < 8; i++) v[i] = v[i] * inverse * (w[i] + offset);
        store8(out + row + c, v);
    }
}

// With h = x * inverse and w = weight + offset: dx += inverse * (grad * w - h * mean(grad * w * h))
template <class T>
DEVICE void norm_backward(float* dx, const T* grad, const float* x, const float* inverses, const float* weight,
                          float offset, u32 width) {
    u64 row = u64(blockIdx.x) * width;
    float inverse = inverses[blockIdx.x], dot = 0;
    Eight first_gw = {}, first_x = {};
    FOR_EIGHTS(c, width) {
        Eight gw = load8(grad + row + c), v = load8(x + row + c), w = load8(weight + c);
        UNROLL for (int i = 0; i < 8; i++) {
            gw[i] *= w[i] + offset;
            dot += gw[i] * v[i];
        }
        if (c == 8 * threadIdx.x) {
            first_gw = gw;
            first_x = v;
        }
    }
    float pull = reduce_block<Sum>(dot) / float(width) * inverse * inverse;
    FOR_EIGHTS(c, width) {
        Eight gw = first_gw, v = first_x, d = load8(dx + row + c);
        if (c != 8 * threadIdx.x) {
            Eight w = load8(weight + c);
            gw = load8(grad + row + c);
            v = load8(x + row + c);
            UNROLL for (int i = 0; i < 8; i++) gw[i] *= w[i] + offset;
        }
        UNROLL for (int i = 0; i < 8; i++) d[i] += inverse * (gw[i] - pull * v[i]);
        store8(dx + row + c, d);
    }
}

// A tile of 128 columns is summed over rows by a block: each warp takes every WARPS-th row, a lane four columns, and
// the sums of the warps are added in order.
template <int WARPS> DEVICE Four sum_of_warps(const Four& mine) {
    SHARED(float, of_warps, WARPS * 128);
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    store4(of_warps + 128 * warp + 4 * lane, mine);
    __syncthreads();
    Four sum = load4(of_warps + 4 * lane);
    for (int other = 1; other < WARPS; other++) {
        Four more = load4(of_warps + 128 * other + 4 * lane);
        UNROLL for (int i = 0; i < 4; i++) sum[i] += more[i];
    }
    return sum;
}

// partial[p][c] = sum of grad * x * inverse over the p-th range of ceil(n / parts) rows
template <class T>
DEVICE void norm_weight_gradient(float* partial, const T* grad, const float* x, const float* inverses, u32 n, u32 width,
                                 u32 parts) {
    u32 each = ceil_div(n, parts), begin = least(n, blockIdx.y * each), end = least(n, begin + each);
    u32 column = 128 * blockIdx.x + 4 * (threadIdx.x % 32);
    Four sum = {{0, 0, 0, 0}};
    if (column < width) {
        UNROLL_BY(4) for (u32 row = begin + threadIdx.x / 32; row < end; row += 8) {
            Four g = load4(grad + u64(row) * width + column), v = load4(x + u64(row) * width + column);
            float inverse = inverses[row];
            UNROLL for (int i = 0; i < 4; i++) sum[i] += g[i] * (v[i] * inverse);
        }
    }
    sum = sum_of_warps<8>(sum);
    if (threadIdx.x < 32 && column < width) store4(partial + u64(blockIdx.y) * width + column, sum);
}

// The parts of a row of queries, keys and values that are normed: `of_queries` of `wide_query` numbers, `of_keys` of
// `wide_key`; the rest of the row is values.
struct HeadParts {
    u32 of_queries, wide_query, of_keys, wide_key, row_width;
    DEVICE u32 count() const { return of_queries + of_keys; }
    DEVICE bool is_key(u32 part) const { return part >= of_queries; }
    DEVICE u32 width(u32 part) const { return is_key(part) ? wide_key : wide_query; }
    DEVICE u32 at(u32 part) const {
        return is_key(part) ? of_queries * wide_query + (part - of_queries) * wide_key : part * wide_query;
    }
};

// A block's part of a row normed, with the inverse it finds or with the one it found before; the last part, which is
// none, copies the values.
template <class T, bool AGAIN>
DEVICE void norm_part(T* out, float* inverses, const T* rows, const float* query_weight, const float* key_weight,
                      float offset, float eps, const HeadParts& parts) {
    u32 part = blockIdx.y;
    u64 row = u64(blockIdx.x) * parts.row_width;
    if (part == parts.count()) {
        for (u32 c = parts.at(part) + 8 * threadIdx.x; c < parts.row_width; c += 8 * blockDim.x) {
            store8(out + row + c, load8(rows + row + c));
        }
        return;
    }
    const float* weight = parts.is_key(part) ? key_weight : query_weight;
    u32 width = parts.width(part);
    u64 from = row + parts.at(part), of = u64(blockIdx.x) * parts.count() + part;
    float inverse = 0;
    if (AGAIN) {
        inverse = inverses[of];
    } else {
        float squares = 0;
        FOR_EIGHTS(c, width) {
            Eight v = load8(rows + from + c);
            UNROLL for (int i = 0; i < 8; i++) squares += v[i] * v[i];
        }
        inverse = 1.0f / sqrtf(reduce_block<Sum>(squares) / float(width) + eps);
        if (threadIdx.x == 0) inverses[of] = inverse;
    }
    FOR_EIGHTS(c, width) {
        Eight v = load8(rows + from + c), w = load8(weight + c);
        UNROLL for (int i = 0; i < 8; i++) v[i] = v[i] * inverse * (w[i] + offset);
        store8(out + from + c, v);
    }
}

template <class T>
DEVICE void norm_heads(T* out, float* inverses, const T* rows, const float* query_weight, const float* key_weight,
                       float offset, float eps, const HeadParts& parts) {
    norm_part<T, false>(out, inverses, rows, query_weight, key_weight, offset, eps, parts);
}

template <class T>
DEVICE void norm_heads_again(T* out, float* inverses, const T* rows, const float* query_weight,
                             const float* key_weight, float offset, float eps, const HeadParts& parts) {
    norm_part<T, true>(out, inverses, rows, query_weight, key_weight, offset, eps, parts);
}

// The gradient of the norms of heads, in place of that of what they gave.
template <class T>
DEVICE void norm_heads_backward(T* grad, const T* rows, const float* inverses, const float* query_weight,
                                const float* key_weight, float offset, const HeadParts& parts) {
    u32 part = blockIdx.y, width = parts.width(part);
    const float* weight = parts.is_key(part) ? key_weight : query_weight;
    u64 from = u64(blockIdx.x) * parts.row_width + parts.at(part);
    float inverse = inverses[u64(blockIdx.x) * parts.count() + part], dot = 0;
    FOR_EIGHTS(c, width) {
        Eight g = load8(grad + from + c), v = load8(rows + from + c), w = load8(weight + c);
        UNROLL for (int i = 0; i < 8; i++) dot += g[i] * (w[i] + offset) * v[i];
    }
    float pull = reduce_block<Sum>(dot) / float(width) * inverse * inverse;
    FOR_EIGHTS(c, width) {
        Eight g = load8(grad + from + c), v = load8(rows + from + c), w = load8(weight + c);
        UNROLL for (int i = 0; i < 8; i++) g[i] = inverse * (g[i] * (w[i] + offset) - pull * v[i]);
        store8(grad + from + c, g);
    }
}

// partial[p][c] = sum of grad * x * inverse over the p-th range of rows and over their parts first .. first + count
template <class T>
DEVICE void norm_heads_weight_gradient(float* partial, const T* grad, const T* rows, const float* inverses, u32 n,
                                       u32 first, u32 count, u32 pieces, const HeadParts& parts) {
    u32 width = parts.width(first), all = n * count, each = ceil_div(all, pieces);
    u32 begin = least(all, blockIdx.y * each), end = least(all, begin + each);
    u32 column = 128 * blockIdx.x + 4 * (threadIdx.x % 32);
    Four sum = {{0, 0, 0, 0}};
    if (column < width) {
        for (u32 item = begin + threadIdx.x / 32; item < end; item += 8) {
            u32 row = item / count, part = first + item % count;
            u64 at = u64(row) * parts.row_width + parts.at(part) + column;
            Four g = load4(grad + at), v = load4(rows + at);
            float inverse = inverses[u64(row) * parts.count() + part];
            UNROLL for (int i = 0; i < 4; i++) sum[i] += g[i] * (v[i] * inverse);
        }
    }
    sum = sum_of_warps<8>(sum);
    if (threadIdx.x < 32 && column < width) store4(partial + u64(blockIdx.y) * width + column, sum);
}

// partial[p][c] = sum of x over the p-th range of rows
template <class T> DEVICE void column_sums(float* partial, const T* x, u32 n, u32 width, u32 parts) {
    u32 each = ceil_div(n, parts), begin = least(n, blockIdx.y * each), end = least(n, begin + each);
    u32 column = 128 * blockIdx.x + 4 * (threadIdx.x % 32);
    Four sum = {{0, 0, 0, 0}};
    if (column < width) {
        UNROLL_BY(4) for (u32 row = begin + threadIdx.x / 32; row < end; row += 8) {
            Four v = load4(x + u64(row) * width + column);
            UNROLL for (int i = 0; i < 4; i++) sum[i] += v[i];
        }
    }
    sum = sum_of_warps<8>(sum);
    if (threadIdx.x < 32 && column < width) store4(partial + u64(blockIdx.y) * width + column, sum);
}

// rows[i] += bias
template <class T> DEVICE void add_bias(T* rows, const float* bias, u32 width) {
    T* row = rows + u64(blockIdx.x) * width;
    FOR_EIGHTS(c, width) {
        Eight v = load8(row + c), b = load8(bias + c);
        UNROLL for (int i = 0; i < 8; i++) v[i] += b[i];
        store8(row + c, v);
    }
}

// rows[i] = (rows[i] - bias) * (magnitudes * inverses) + bias, in `count` columns from the given one on; bias may be missing
template <class T>
DEVICE void scale_columns(T* rows, const float* magnitudes, const float* inverses, const float* bias, u32 width,
                          u32 first, u32 count) {
    T* row = rows + u64(blockIdx.x) * width + first;
    FOR_EIGHTS(c, count) {
        Eight v = load8(row + c), m = load8(magnitudes + c), inverse = load8(inverses + c), b = {};
        if (bias) b = load8(bias + c);
        UNROLL for (int i = 0; i < 8; i++) v[i] = (v[i] - b[i]) * (m[i] * inverse[i]) + b[i];
        store8(row + c, v);
    }
}

// partial[p][c] = sum over the p-th range of rows of dy (y - bias) inverses, in `count` columns from the given one on
template <class T>
DEVICE void magnitude_sums(float* partial, const T* y, const T* dy, const float* inverses, const float* bias, u32 n,
                           u32 width, u32 first, u32 count, u32 parts) {
    u32 each = ceil_div(n, parts), begin = least(n, blockIdx.y * each), end = least(n, begin + each);
    u32 column = 128 * blockIdx.x + 4 * (threadIdx.x % 32);
    Four sum = {{0, 0, 0, 0}};
    if (column < count) {
        Four inverse = load4(inverses + column), b = {{0, 0, 0, 0}};
        if (bias) b = load4(bias + column);
        for (u32 row = begin + threadIdx.x / 32; row < end; row += 8) {
            u64 place = u64(row) * width + first + column;
            Four v = load4(y + place), grad = load4(dy + place);
            UNROLL for (int i = 0; i < 4; i++) sum[i] += grad[i] * (v[i] - b[i]) * inverse[i];
        }
    }
    sum = sum_of_warps<8>(sum);
    if (threadIdx.x < 32 && column < count) store4(partial + u64(blockIdx.y) * count + column, sum);
}

// rows[i] *= factors[i]
template <class T> DEVICE void scale_rows(T* rows, const float* factors, u32 width) {
    T* row = rows + u64(blockIdx.x) * width;
    float factor = factors[blockIdx.x];
    FOR_EIGHTS(c, width) {
        Eight v = load8(row + c);
        UNROLL for (int i = 0; i < 8; i++) v[i] *= factor;
        store8(row + c, v);
    }
}

// out[i] = x[i], or is added to it, without the numbers for which the row's key, the column and the place say so
template <class T>
DEVICE void drop_out(T* out, const T* x, const u32* keys, u32 width, u32 add, u32 place, u32 threshold, float scale) {
    u64 row = u64(blockIdx.x) * width;
    u32 key = keys[blockIdx.x];
    FOR_EIGHTS(c, width) {
        Eight v = load8(x + row + c), sum = v;
        if (add) sum = load8(out + row + c);
        UNROLL for (int i = 0; i < 8; i++) {
            bool is_dropped = mixed(key ^ mixed(place ^ mixed(c + i))) < threshold;
            float kept = is_dropped ? 0.0f : v[i] * scale;
            v[i] = add ? sum[i] + kept : kept;
        }
        store8(out + row + c, v);
    }
}

// out[i] = a[i] . b[i]
template <class T> DEVICE void row_products(float* out, const T* a, const T* b, u32 width) {
    u64 row = u64(blockIdx.x) * width;
    float dot = 0;
    FOR_EIGHTS(c, width) {
        Eight x = load8(a + row + c), y = load8(b + row + c);
        UNROLL for (int i = 0; i < 8; i++) dot += x[i] * y[i];
    }
    dot = reduce_block<Sum>(dot);
    if (threadIdx.x == 0) out[blockIdx.x] = dot;
}

// Rotary positions (RoFormer, arXiv 2104.09864) on the coordinate pairs (i, i + turned/2) of queries and keys; what
// heads have behind them stays, and so do values, the last kv_heads of a row. sign = -1 turns back.
template <class T>
DEVICE void rotate(T* rows, const u32* positions, const float* table, u32 query_heads, u32 kv_heads, u32 width,
                   u32 turned, float sign) {
    u32 half = turned / 2, fours = half / 4;
    const float* turn = table + u64(positions[blockIdx.x]) * turned;
    T* row = rows + u64(blockIdx.x) * (query_heads + 2 * kv_heads) * width;
    for (u32 item = threadIdx.x; item < (query_heads + kv_heads) * fours; item += blockDim.x) {
        u32 head = item / fours, i = 4 * (item % fours);
        T* at = row + head * width + i;
        Four a = load4(at), b = load4(at + half), cosine = load4(turn + i), sine = load4(turn + half + i);
        Four first, second;
        UNROLL for (int k = 0; k < 4; k++) {
            first[k] = a[k] * cosine[k] - b[k] * (sign * sine[k]);
            second[k] = b[k] * cosine[k] + a[k] * (sign * sine[k]);
        }
        store4(at, first);
        store4(at + half, second);
    }
}

DEVICE float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Activations are x * sigmoid(z). SiLU (0) has z = x, GELU by the hyperbolic tangent (1)
// z = 2 * sqrt(2 / pi) * (x + 0.044715 * x^3).
constexpr float GELU_SLOPE = 1.5957691216057308f, GELU_CUBE = 0.044715f * GELU_SLOPE;
DEVICE float inner(u32 activation, float x) { return activation == 0 ? x : x * (x * x * GELU_CUBE + GELU_SLOPE); }
DEVICE float inner_slope(u32 activation, float x) {
    return activation == 0 ? 1.0f : x * x * (3 * GELU_CUBE) + GELU_SLOPE;
}

// out = a(gate) * up for rows gate|up
template <class T> DEVICE void gate(T* out, const T* rows, u32 activation, u32 width) {
    const T* row = rows + u64(blockIdx.x) * 2 * width;
    FOR_EIGHTS(c, width) {
        Eight g = load8(row + c), u = load8(row + width + c);
        UNROLL for (int i = 0; i < 8; i++) g[i] = g[i] * sigmoid(inner(activation, g[i])) * u[i];
        store8(out + u64(blockIdx.x) * width + c, g);
    }
}

// The gradient of `grad` in place of the rows, and what the gate gave in place of the gradient.
template <class T> DEVICE void gate_backward(T* rows, T* grad, u32 activation, u32 width) {
    T* row = rows + u64(blockIdx.x) * 2 * width;
    T* of_out = grad + u64(blockIdx.x) * width;
    FOR_EIGHTS(c, width) {
        Eight g = load8(row + c), u = load8(row + width + c), d = load8(of_out + c), out;
        UNROLL for (int i = 0; i < 8; i++) {
            float s = sigmoid(inner(activation, g[i])), value = g[i] * s;
            out[i] = value * u[i];
            float of_gate = d[i] * u[i] * (s * (1.0f + g[i] * inner_slope(activation, g[i]) * (1.0f - s)));
            u[i] = d[i] * value;
            g[i] = of_gate;
        }
        store8(row + c, g);
        store8(row + width + c, u);
        store8(of_out + c, out);
    }
}

// out[i] = src[rows[i]]
template <class T> DEVICE void gather(T* out, const T* src, const u32* rows, u32 width) {
    u64 from = u64(rows[blockIdx.x]) * width, to = u64(blockIdx.x) * width;
    FOR_EIGHTS(c, width) store8(out + to + c, load8(src + from + c));
}

// sum[rows[i]] += src[i] for distinct rows
template <class T> DEVICE void scatter_add(float* sum, const T* src, const u32* rows, u32 width) {
    u64 from = u64(blockIdx.x) * width, to = u64(rows[blockIdx.x]) * width;
    FOR_EIGHTS(c, width) {
        Eight s = load8(sum + to + c), x = load8(src + from + c);
        UNROLL for (int i = 0; i < 8; i++) s[i] += x[i];
        store8(sum + to + c, s);
    }
}

// Keys and values of a row into the cache [blocks][kv_heads][2][16][width], whose numbers may be narrower than the rows';
// slot = block * 16 + place.
template <class T, class C>
DEVICE void cache_put(C* cache, const T* rows, const u32* slots, u32 query_heads, u32 kv_heads, u32 width) {
    u32 slot = slots[blockIdx.x], eights = width / 8;
    const T* row = rows + (u64(blockIdx.x) * (query_heads + 2 * kv_heads) + query_heads) * width;
    for (u32 item = threadIdx.x; item < 2 * kv_heads * eights; item += blockDim.x) {
        u32 head = item / eights, c = 8 * (item % eights);
        u32 value = head >= kv_heads, of = head - value * kv_heads;
        u64 at = (((u64(slot / 16) * kv_heads + of) * 2 + value) * 16 + slot % 16) * width + c;
        store8(cache + at, load8(row + head * width + c));
    }
}

// ---- Exports ----------------------------------------------------------------------------------------------------

// launch: grid (n), R(width) threads, shared 0
KERNELS(embed, 256, (float* out, const T* table, const u32* tokens, u32 n, u32 width), (out, table, tokens, width))

// launch: grid (n), R(width) threads, shared 0
KERNELS(norm, 256,
        (T* out, float* inverses, float* x, const float* residual, const float* weight, float offset, float eps, u32 n,
         u32 width),
        (out, inverses, x, residual, weight, offset, eps, width))

// launch: grid (n), R(width) threads, shared 0
KERNELS(norm_again, 256,
        (T* out, const float* x, const float* inverses, const float* weight, float offset, u32 n, u32 width),
        (out, x, inverses, weight, offset, width))

// launch: grid (n), R(width) threads, shared 0
KERNELS(norm_backward, 256,
        (float* dx, const T* grad, const float* x, const float* inverses, const float* weight, float offset, u32 n,
         u32 width),
        (dx, grad, x, inverses, weight, offset, width))

// launch: grid (ceil(width / 128), parts), 256 threads, shared 0
KERNELS(norm_weight_gradient, 256,
        (float* partial, const T* grad, const float* x, const float* inverses, u32 n, u32 width, u32 parts),
        (partial, grad, x, inverses, n, width, parts))

// sum[c] += partial[0][c] + partial[1][c] + ..., in that order
// launch: grid (ceil(width / 64)), 64 threads, shared 0
KERNEL(sum_parts, 64, (float* sum, const float* partial, u32 parts, u32 width)) {
    u32 column = 64 * blockIdx.x + threadIdx.x;
    if (column >= width) return;
    float total = sum[column];
    UNROLL_BY(16) for (u32 part = 0; part < parts; part++) total += partial[u64(part) * width + column];
    sum[column] = total;
}

// launch: grid (n, of_queries + of_keys + 1), R(greater of wide_query and wide_key) threads, shared 0
KERNELS(norm_heads, 256,
        (T* out, float* inverses, const T* rows, const float* query_weight, const float* key_weight, float offset,
         float eps, u32 of_queries, u32 wide_query, u32 of_keys, u32 wide_key, u32 row_width, u32 n),
        (out, inverses, rows, query_weight, key_weight, offset, eps,
         {of_queries, wide_query, of_keys, wide_key, row_width}))

// launch: grid (n, of_queries + of_keys + 1), R(greater of wide_query and wide_key) threads, shared 0
KERNELS(norm_heads_again, 256,
        (T* out, float* inverses, const T* rows, const float* query_weight, const float* key_weight, float offset,
         float eps, u32 of_queries, u32 wide_query, u32 of_keys, u32 wide_key, u32 row_width, u32 n),
        (out, inverses, rows, query_weight, key_weight, offset, eps,
         {of_queries, wide_query, of_keys, wide_key, row_width}))

// launch: grid (n, of_queries + of_keys), R(greater of wide_query and wide_key) threads, shared 0
KERNELS(norm_heads_backward, 256,
        (T* grad, const T* rows, const float* inverses, const float* query_weight, const float* key_weight,
         float offset, u32 of_queries, u32 wide_query, u32 of_keys, u32 wide_key, u32 row_width, u32 n),
        (grad, rows, inverses, query_weight, key_weight, offset,
         {of_queries, wide_query, of_keys, wide_key, row_width}))

// launch: grid (ceil(width of the parts / 128), pieces), 256 threads, shared 0
KERNELS(norm_heads_weight_gradient, 256,
        (float* partial, const T* grad, const T* rows, const float* inverses, u32 first, u32 count, u32 pieces,
         u32 of_queries, u32 wide_query, u32 of_keys, u32 wide_key, u32 row_width, u32 n),
        (partial, grad, rows, inverses, n, first, count, pieces,
         {of_queries, wide_query, of_keys, wide_key, row_width}))

// launch: grid (ceil(width / 128), parts), 256 threads, shared 0
KERNELS(column_sums, 256, (float* partial, const T* x, u32 n, u32 width, u32 parts), (partial, x, n, width, parts))

// launch: grid (n), R(width) threads, shared 0
KERNELS(add_bias, 256, (T* rows, const float* bias, u32 n, u32 width), (rows, bias, width))

// launch: grid (n), R(count) threads, shared 0
KERNELS(scale_columns, 256,
        (T* rows, const float* magnitudes, const float* inverses, const float* bias, u32 n, u32 width, u32 first,
         u32 count),
        (rows, magnitudes, inverses, bias, width, first, count))

// launch: grid (ceil(count / 128), parts), 256 threads, shared 0
KERNELS(magnitude_sums, 256,
        (float* partial, const T* y, const T* dy, const float* inverses, const float* bias, u32 n, u32 width, u32 first,
         u32 count, u32 parts),
        (partial, y, dy, inverses, bias, n, width, first, count, parts))

// launch: grid (n), R(width) threads, shared 0
KERNELS(scale_rows, 256, (T* rows, const float* factors, u32 n, u32 width), (rows, factors, width))

// launch: grid (n), R(width) threads, shared 0
KERNELS(drop_out, 256,
        (T* out, const T* x, const u32* keys, u32 n, u32 width, u32 add, u32 place, u32 threshold, float scale),
        (out, x, keys, width, add, place, threshold, scale))

// launch: grid (n), R(width) threads, shared 0
KERNELS(row_products, 256, (float* out, const T* a, const T* b, u32 n, u32 width), (out, a, b, width))

// launch: grid (n), R((query_heads + kv_heads) * width) threads, shared 0
KERNELS(rotate, 256,
        (T* rows, const u32* positions, const float* table, u32 query_heads, u32 kv_heads, u32 width, u32 turned,
         u32 n, float sign),
        (rows, positions, table, query_heads, kv_heads, width, turned, sign))

// launch: grid (n), R(width) threads, shared 0
KERNELS(gate, 256, (T* out, const T* rows, u32 activation, u32 n, u32 width), (out, rows, activation, width))

// launch: grid (n), R(width) threads, shared 0
KERNELS(gate_backward, 256, (T* rows, T* grad, u32 activation, u32 n, u32 width), (rows, grad, activation, width))

// launch: grid (n), R(width) threads, shared 0
KERNELS(gather, 256, (T* out, const T* src, const u32* rows, u32 n, u32 width), (out, src, rows, width))

// launch: grid (n), R(width) threads, shared 0
KERNELS(scatter_add, 256, (float* sum, const T* src, const u32* rows, u32 n, u32 width), (sum, src, rows, width))

// launch: grid (n), R(2 * kv_heads * width) threads, shared 0
KERNELS(cache_put, 256,
        (T* cache, const T* rows, const u32* slots, u32 query_heads, u32 kv_heads, u32 width, u32 n),
        (cache, rows, slots, query_heads, kv_heads, width))

// launch: grid (n), R(2 * kv_heads * width) threads, shared 0
KERNEL(cache_put_f32_over_bf16, 256,
       (bf16* cache, const float* rows, const u32* slots, u32 query_heads, u32 kv_heads, u32 width, u32 n)) {
    cache_put<float>(cache, rows, slots, query_heads, kv_heads, width);
}

// sum[tokens[s]] += the rows dx[order[starts[s]]], ..., dx[order[starts[s + 1] - 1]]. Each of four warps adds every
// fourth of them, several loads under way, and the four sums are added in order.
// launch: grid (segments, ceil(width / 128)), 128 threads, shared 0
KERNEL(embedding_gradient, 128,
       (float* sum, const float* dx, const u32* order, const u32* starts, const u32* tokens, u32 segments, u32 width)) {
    u32 segment = blockIdx.x, column = 128 * blockIdx.y + 4 * (threadIdx.x % 32);
    u32 begin = starts[segment], end = starts[segment + 1];
    Four total = {{0, 0, 0, 0}};
    if (column < width) {
        UNROLL_BY(8) for (u32 i = begin + threadIdx.x / 32; i < end; i += 4) {
            Four row = load4(dx + u64(order[i]) * width + column);
            UNROLL for (int k = 0; k < 4; k++) total[k] += row[k];
        }
    }
    if (end - begin > 1) total = sum_of_warps<4>(total);
    if (threadIdx.x >= 32 || column >= width) return;
    float* to = sum + u64(tokens[segment]) * width + column;
    Four old = load4(to);
    UNROLL for (int k = 0; k < 4; k++) total[k] += old[k];
    store4(to, total);
}

template <class T> DEVICE void add(float* sum, const T* x, u64 n) {
    u64 i = 4 * (u64(blockIdx.x) * 256 + threadIdx.x);
    if (i + 4 <= n) {
        Four a = load4(sum + i), b = load4(x + i);
        UNROLL for (int k = 0; k < 4; k++) a[k] += b[k];
        store4(sum + i, a);
    } else {
        for (; i < n; i++) sum[i] += to_float(x[i]);
    }
}
// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNELS(add, 256, (float* sum, const T* x, u64 n), (sum, x, n))

template <class T> DEVICE void scale(T* x, float factor, u64 n) {
    u64 i = 4 * (u64(blockIdx.x) * 256 + threadIdx.x);
    if (i + 4 <= n) {
        Four a = load4(x + i);
        UNROLL for (int k = 0; k < 4; k++) a[k] *= factor;
        store4(x + i, a);
    } else {
        for (; i < n; i++) x[i] = from_float<T>(to_float(x[i]) * factor);
    }
}
// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNELS(scale, 256, (T* x, float factor, u64 n), (x, factor, n))

template <class T> DEVICE void widen(float* out, const T* in, u64 n) {
    u64 i = 4 * (u64(blockIdx.x) * 256 + threadIdx.x);
    if (i + 4 <= n) {
        store4(out + i, load4(in + i));
    } else {
        for (; i < n; i++) out[i] = to_float(in[i]);
    }
}
// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNELS(widen, 256, (float* out, const T* in, u64 n), (out, in, n))

template <class T> DEVICE void convert(T* out, const float* in, u64 n) {
    u64 i = 4 * (u64(blockIdx.x) * 256 + threadIdx.x);
    if (i + 4 <= n) {
        store4(out + i, load4(in + i));
    } else {
        for (; i < n; i++) out[i] = from_float<T>(in[i]);
    }
}
// launch: grid (ceil(n / 1024)), 256 threads, shared 0
KERNELS(convert, 256, (T* out, const float* in, u64 n), (out, in, n))
