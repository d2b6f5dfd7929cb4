// Causal attention with grouped queries over packed sequences, and its gradient, for any width: the plain version, in
// float32. tensor_attention.cuh has the one for tensor cores.
//
// Rows [n, (query_heads + 2 * kv_heads) * width] hold queries, keys and values side by side. A block takes 32 rows of
// one head and comes by 16 keys at a time (8 queries where it owns keys), with the online softmax of FlashAttention-2
// (arXiv 2307.08691). Eight neighbouring lanes share a row: each has the scores of every eighth key, and four columns
// of every 32.
#pragma once
#include "simt.cuh"

// Rows of a tile of the contract: {begin, end, first} stands for rows first .. min(first + TILE, end) of the sequence
// begin .. end. Queries and keys are cut alike.
template <class T> struct Tile;
template <> struct Tile<float> {
    static constexpr u32 ROWS = 32;
};
template <> struct Tile<bf16> {
    static constexpr u32 ROWS = 64;
};

constexpr u32 OWNED = 32;  // rows a block owns
constexpr u32 PASSING = 16; // keys that pass by at a time
constexpr u32 FOURS = 8;   // of four columns each of eight lanes has, for the greatest width, 256

// Where a head of a row begins.
struct Heads {
    u32 query_heads, kv_heads, width;
    DEVICE u64 row_width() const { return u64(query_heads + 2 * kv_heads) * width; }
    DEVICE u32 group() const { return query_heads / kv_heads; }
    DEVICE u64 query(u64 row, u32 head) const { return row * row_width() + u64(head) * width; }
    DEVICE u64 key(u64 row, u32 kv_head) const { return query(row, query_heads + kv_head); }
    DEVICE u64 value(u64 row, u32 kv_head) const { return query(row, query_heads + kv_heads + kv_head); }
    DEVICE u64 out(u64 row, u32 head) const { return (row * query_heads + head) * width; }
};

// Copies rows to shared memory as floats, zeros where a row is not valid. A row takes width + 4 floats there, so that
// eight lanes at the same column of eight rows meet eight different banks of 16 bytes.
template <class T>
DEVICE void load_tile(float* tile, const T* from, u64 from_stride, u32 rows, u32 valid, u32 width) {
    u32 fours = width / 4;
    for (u32 item = threadIdx.x; item < rows * fours; item += blockDim.x) {
        u32 row = item / fours, column = 4 * (item % fours);
        Four x = {{0, 0, 0, 0}};
        if (row < valid) x = load4(from + row * from_stride + column);
        store4(tile + row * (width + 4) + column, x);
    }
}

// The first of the rows that a row sees, which are the last `window` up to itself.
DEVICE u32 first_seen(u32 begin, u32 row, u32 window) { return row - begin < window ? begin : row + 1 - window; }

DEVICE float dot_rows(const float* a, const float* b, u32 width) {
    Four sum = {{0, 0, 0, 0}};
    for (u32 c = 0; c < width; c += 4) {
        Four x = load4(a + c), y = load4(b + c);
        UNROLL for (int i = 0; i < 4; i++) sum[i] += x[i] * y[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The columns of a row that a lane of eight has.
struct Columns {
    Four of[FOURS];
    DEVICE void clear() {
        UNROLL for (u32 j = 0; j < FOURS; j++) of[j] = {{0, 0, 0, 0}};
    }
    DEVICE void scale(float by) {
        UNROLL for (u32 j = 0; j < FOURS; j++) {
            UNROLL for (int i = 0; i < 4; i++) of[j][i] *= by;
        }
    }
    DEVICE void add(float weight, const float* row, u32 width) {
        UNROLL for (u32 j = 0; j < FOURS; j++) {
            u32 column = 32 * j + 4 * (threadIdx.x % 8);
            if (column < width) {
                Four x = load4(row + column);
                UNROLL for (int i = 0; i < 4; i++) of[j][i] += weight * x[i];
            }
        }
    }
    template <class T> DEVICE void store(T* row, float by, u32 width) const {
        UNROLL for (u32 j = 0; j < FOURS; j++) {
            u32 column = 32 * j + 4 * (threadIdx.x % 8);
            Four x = of[j];
            UNROLL for (int i = 0; i < 4; i++) x[i] *= by;
            if (column < width) store4(row + column, x);
        }
    }
};

template <class Op> DEVICE float reduce_eight(float x) {
    UNROLL for (int mask = 4; mask > 0; mask >>= 1) x = Op::of(x, shuffle_xor(x, mask));
    return x;
}

// The online softmax of a row, eight lanes having its scores two each: weighs PASSING rows of values.
struct OnlineRow {
    float best = -INFINITY, sum = 0;
    Columns weighted;

    // `weights`: PASSING floats of shared memory of the row; `values`: rows of width + 4
    DEVICE void pass(const float (&score)[PASSING / 8], float* weights, const float* values, u32 width) {
        float most = greatest(best, reduce_eight<Max>(greatest(score[0], score[1])));
        float base = most == -INFINITY ? 0.0f : most; // a row that has seen no key yet
        float keep = expf(best - base), mass = 0;
        UNROLL for (u32 j = 0; j < PASSING / 8; j++) {
            float weight = expf(score[j] - base);
            weights[threadIdx.x % 8 + 8 * j] = weight;
            mass += weight;
        }
        __syncwarp();
        sum = sum * keep + reduce_eight<Sum>(mass);
        best = most;
        weighted.scale(keep);
        for (u32 key = 0; key < PASSING; key++) weighted.add(weights[key], values + key * (width + 4), width);
    }
};

template <class T>
DEVICE void attention(T* out, float* log_sums, const T* rows, const u32* tiles, const Heads& heads, float scale,
                      u32 window) {
    u32 begin = tiles[3 * blockIdx.x], end = tiles[3 * blockIdx.x + 1];
    u32 first = tiles[3 * blockIdx.x + 2] + OWNED * blockIdx.z, head = blockIdx.y, kv_head = head / heads.group();
    if (first >= end) return;
    u32 width = heads.width, row = threadIdx.x / 8, lane = threadIdx.x % 8, stride = width + 4;
    float* queries = shared_memory<float>();
    float* keys = queries + OWNED * stride;
    float* values = keys + PASSING * stride;
    float* weights = values + PASSING * stride + row * (PASSING + 1);
    load_tile(queries, rows + heads.query(first, head), heads.row_width(), OWNED, end - first, width);
    OnlineRow online;
    online.weighted.clear();
    u32 last = least(end, first + OWNED), from = first_seen(begin, first + row, window);
    u32 skipped = (first_seen(begin, first, window) - begin) / PASSING * PASSING;
    for (u32 at = begin + skipped; at < last; at += PASSING) {
        __syncthreads();
        load_tile(keys, rows + heads.key(at, kv_head), heads.row_width(), PASSING, last - at, width);
        load_tile(values, rows + heads.value(at, kv_head), heads.row_width(), PASSING, last - at, width);
        __syncthreads();
        float score[PASSING / 8];
        UNROLL for (u32 j = 0; j < PASSING / 8; j++) {
            u32 key = lane + 8 * j;
            float dot = dot_rows(queries + row * stride, keys + key * stride, width);
            score[j] = at + key <= first + row && at + key >= from ? dot * scale : -INFINITY;
        }
        online.pass(score, weights, values, width);
    }
    if (first + row >= end) return;
    online.weighted.store(out + heads.out(first + row, head), 1.0f / online.sum, width);
    if (lane == 0) log_sums[u64(first + row) * heads.query_heads + head] = online.best + logf(online.sum);
}

// delta[row][head] = sum of out * grad over the head: what the softmax takes from the gradient of every score
template <class T> DEVICE void attention_delta(float* delta, const T* out, const T* grad, u32 n, u32 heads, u32 width) {
    u64 item = u64(blockIdx.x) * 8 + threadIdx.x / 32;
    if (item >= u64(n) * heads) return;
    float sum = 0;
    for (u32 c = 4 * (threadIdx.x % 32); c < width; c += 128) {
        Four x = load4(out + item * width + c), g = load4(grad + item * width + c);
        UNROLL for (int i = 0; i < 4; i++) sum += x[i] * g[i];
    }
    sum = reduce_warp<Sum>(sum);
    if (threadIdx.x % 32 == 0) delta[item] = sum;
}

// dQ = scale * sum over keys of P * (dO.V - delta) * K, with P = exp(scale * Q.K - log_sum)
template <class T>
DEVICE void attention_backward_queries(T* drows, const T* rows, const T* grad, const float* log_sums,
                                       const float* delta, const u32* tiles, const Heads& heads, float scale,
                                       u32 window) {
    u32 begin = tiles[3 * blockIdx.x], end = tiles[3 * blockIdx.x + 1];
    u32 first = tiles[3 * blockIdx.x + 2] + OWNED * blockIdx.z, head = blockIdx.y, kv_head = head / heads.group();
    if (first >= end) return;
    u32 width = heads.width, row = threadIdx.x / 8, lane = threadIdx.x % 8, stride = width + 4;
    float* queries = shared_memory<float>();
    float* grads = queries + OWNED * stride;
    float* passing = grads + OWNED * stride;
    float* of_scores = passing + PASSING * stride + row * (PASSING + 1);
    load_tile(queries, rows + heads.query(first, head), heads.row_width(), OWNED, end - first, width);
    load_tile(grads, grad + heads.out(first, head), u64(heads.query_heads) * width, OWNED, end - first, width);
    u64 of_row = u64(least(first + row, end - 1)) * heads.query_heads + head;
    float log_sum = log_sums[of_row], taken = delta[of_row];
    Columns sum;
    sum.clear();
    u32 last = least(end, first + OWNED), from = first_seen(begin, first + row, window);
    u32 skipped = (first_seen(begin, first, window) - begin) / PASSING * PASSING;
    for (u32 at = begin + skipped; at < last; at += PASSING) {
        __syncthreads();
        load_tile(passing, rows + heads.value(at, kv_head), heads.row_width(), PASSING, last - at, width);
        __syncthreads();
        float of_weight[PASSING / 8];
        UNROLL for (u32 j = 0; j < PASSING / 8; j++) {
            of_weight[j] = dot_rows(grads + row * stride, passing + (lane + 8 * j) * stride, width);
        }
        __syncthreads();
        load_tile(passing, rows + heads.key(at, kv_head), heads.row_width(), PASSING, last - at, width);
        __syncthreads();
        UNROLL for (u32 j = 0; j < PASSING / 8; j++) {
            u32 key = lane + 8 * j;
            float score = scale * dot_rows(queries + row * stride, passing + key * stride, width);
            bool sees = at + key <= first + row && at + key >= from && first + row < end;
            float weight = sees ? expf(score - log_sum) : 0.0f;
            of_scores[key] = weight * (of_weight[j] - taken);
        }
        __syncwarp();
        for (u32 key = 0; key < PASSING; key++) sum.add(of_scores[key], passing + key * stride, width);
    }
    if (first + row < end) sum.store(drows + heads.query(first + row, head), scale, width);
}

// dV = sum of P * dO and dK = scale * sum of P * (dO.V - delta) * Q, over the later queries and the heads of the group
template <class T>
DEVICE void attention_backward_keys(T* drows, const T* rows, const T* grad, const float* log_sums, const float* delta,
                                    const u32* tiles, const Heads& heads, float scale, u32 window) {
    constexpr u32 QUERIES = 8;
    u32 begin = tiles[3 * blockIdx.x], end = tiles[3 * blockIdx.x + 1];
    u32 first = tiles[3 * blockIdx.x + 2] + OWNED * blockIdx.z, kv_head = blockIdx.y;
    if (first >= end) return;
    u32 width = heads.width, row = threadIdx.x / 8, lane = threadIdx.x % 8, stride = width + 4;
    float* keys = shared_memory<float>();
    float* values = keys + OWNED * stride;
    float* queries = values + OWNED * stride;
    float* grads = queries + QUERIES * stride;
    float* weights = grads + QUERIES * stride + row * (QUERIES + 1);
    float* of_scores = weights + OWNED * (QUERIES + 1);
    load_tile(keys, rows + heads.key(first, kv_head), heads.row_width(), OWNED, end - first, width);
    load_tile(values, rows + heads.value(first, kv_head), heads.row_width(), OWNED, end - first, width);
    Columns of_key, of_value;
    of_key.clear();
    of_value.clear();
    // The last row that sees the block's last key.
    u32 reach = least(end, window > end - first ? end : first + OWNED - 1 + window);
    for (u32 head = kv_head * heads.group(); head < (kv_head + 1) * heads.group(); head++) {
        for (u32 at = first; at < reach; at += QUERIES) {
            __syncthreads();
            load_tile(queries, rows + heads.query(at, head), heads.row_width(), QUERIES, end - at, width);
            load_tile(grads, grad + heads.out(at, head), u64(heads.query_heads) * width, QUERIES, end - at, width);
            __syncthreads();
            float score = scale * dot_rows(keys + row * stride, queries + lane * stride, width);
            float of_weight = dot_rows(values + row * stride, grads + lane * stride, width);
            float weight = 0, taken = 0;
            if (at + lane < end && first + row <= at + lane && first + row >= first_seen(begin, at + lane, window)) {
                u64 of_row = u64(at + lane) * heads.query_heads + head;
                weight = expf(score - log_sums[of_row]);
                taken = delta[of_row];
            }
            weights[lane] = weight;
            of_scores[lane] = weight * (of_weight - taken);
            __syncwarp();
            for (u32 query = 0; query < QUERIES; query++) {
                of_value.add(weights[query], grads + query * stride, width);
                of_key.add(of_scores[query], queries + query * stride, width);
            }
        }
    }
    if (first + row >= end) return;
    of_key.store(drows + heads.key(first + row, kv_head), scale, width);
    of_value.store(drows + heads.value(first + row, kv_head), 1.0f, width);
}

// ---- Exports ----------------------------------------------------------------------------------------------------
// TILE is 32 rows for float and 64 for bf16, of queries and of keys.

// launch: grid (tile_count, query_heads, TILE / 32), 256 threads, shared 4 * (64 * (width + 4) + 32 * 17)
KERNELS_RESIDENT(attention, 256, 2,
        (T* out, float* log_sums, const T* rows, const u32* tiles, u32 tile_count, u32 query_heads, u32 kv_heads,
         u32 width, float scale, u32 window),
        (out, log_sums, rows, tiles, {query_heads, kv_heads, width}, scale, window))

// launch: grid (ceil(n * query_heads / 8)), 256 threads, shared 0
KERNELS(attention_delta, 256, (float* delta, const T* out, const T* grad, u32 n, u32 query_heads, u32 width),
        (delta, out, grad, n, query_heads, width))

// launch: grid (tile_count, query_heads, TILE / 32), 256 threads, shared 4 * (80 * (width + 4) + 32 * 17)
KERNELS_RESIDENT(attention_backward_queries, 256, 2,
        (T* drows, const T* rows, const T* grad, const float* log_sums, const float* delta, const u32* tiles,
         u32 tile_count, u32 query_heads, u32 kv_heads, u32 width, float scale, u32 window),
        (drows, rows, grad, log_sums, delta, tiles, {query_heads, kv_heads, width}, scale, window))

// launch: grid (tile_count, kv_heads, TILE / 32), 256 threads, shared 4 * (80 * (width + 4) + 2 * 32 * 9)
KERNELS(attention_backward_keys, 256,
        (T* drows, const T* rows, const T* grad, const float* log_sums, const float* delta, const u32* tiles,
         u32 tile_count, u32 query_heads, u32 kv_heads, u32 width, float scale, u32 window),
        (drows, rows, grad, log_sums, delta, tiles, {query_heads, kv_heads, width}, scale, window))
