// Causal attention with grouped queries over packed sequences, and its gradient, on tensor cores, after
// FlashAttention-2 (arXiv 2307.08691): bf16 factors, float32 sums, softmax and statistics.
//
// A block of four warps owns a tile of 64 rows, 16 a warp; the rows it needs of the others come by in tiles of 64
// through two buffers, of which one is filled while the other is used. The gradient takes two kernels, one that owns
// queries and one that owns keys, each computing the scores again: every sum has one owner, so that nothing is added
// atomically.
//
// Shared memory and registers leave room for two blocks on a multiprocessor at least. Not measured.
#pragma once
#include "tensor.cuh"

constexpr u32 ROWS = Tile<bf16>::ROWS;
constexpr u32 WARP_ROWS = 16;
constexpr u32 GROUPS = ROWS / 16; // of 16 rows in a tile that comes by

// Keys and values that pass by, two tiles of each: while one is multiplied the next is copied.
template <int WIDTH> struct Passing {
    bf16* memory;
    const bf16* rows;
    const Heads& heads;
    u32 kv_head, last; // the sequence's rows that are needed end before `last`

    DEVICE Sheet<WIDTH> keys(u32 stage) const { return {memory + stage * ROWS * WIDTH}; }
    DEVICE Sheet<WIDTH> values(u32 stage) const { return {memory + (2 + stage) * ROWS * WIDTH}; }
    DEVICE void begin_copy(u32 stage, u32 at) const {
        keys(stage).template copy<ROWS, 128>(rows + heads.key(at, kv_head), heads.row_width(), last - at);
        values(stage).template copy<ROWS, 128>(rows + heads.value(at, kv_head), heads.row_width(), last - at);
        copy_async_commit();
    }
};

template <int WIDTH>
DEVICE void tensor_attention(bf16* out, float* log_sums, const bf16* rows, const u32* tiles, const Heads& heads,
                             float scale) {
    constexpr u32 STEPS = WIDTH / 16;
    u32 begin = tiles[3 * blockIdx.x], end = tiles[3 * blockIdx.x + 1], first = tiles[3 * blockIdx.x + 2];
    u32 head = blockIdx.y, kv_head = head / heads.group(), lane = lane_id(), warp = threadIdx.x / 32;
    u32 last = least(end, first + ROWS);
    bf16* memory = shared_memory<bf16>();
    Passing<WIDTH> passing{memory, rows, heads, kv_head, last};
    auto keys = [&](u32 stage) { return passing.keys(stage); };
    auto values = [&](u32 stage) { return passing.values(stage); };
    auto begin_copy = [&](u32 stage, u32 at) { passing.begin_copy(stage, at); };

    // The queries stay in registers; they come through the buffer of the second tile of keys.
    keys(1).template copy<ROWS, 128>(rows + heads.query(first, head), heads.row_width(), last - first);
    copy_async_commit();
    begin_copy(0, begin);
    copy_async_wait<1>();
    __syncthreads();
    u32 query[STEPS][4];
    UNROLL for (u32 step = 0; step < STEPS; step++) keys(1).left(query[step], WARP_ROWS * warp, step);

    float sum[2] = {0, 0}, most[2] = {-INFINITY, -INFINITY}, weighted[2 * STEPS][4];
    UNROLL for (u32 tile = 0; tile < 2 * STEPS; tile++) {
        UNROLL for (u32 i = 0; i < 4; i++) weighted[tile][i] = 0;
    }
    float to_base2 = scale * LOG2_E;
    u32 top = first + WARP_ROWS * warp; // the warp's first row
    u32 stage = 0;
    for (u32 at = begin; at < last; at += ROWS, stage ^= 1) {
        copy_async_wait<0>();
        __syncthreads(); // the tile is there, and the other buffer is no longer read
        if (at + ROWS < last) begin_copy(stage ^ 1, at + ROWS);
        // All groups of 16 keys are multiplied, also those of the last tile that no row of the warp sees: a condition
        // would keep the loads of one group from being under way beside the products of another.

        float score[2 * GROUPS][4];
        UNROLL for (u32 tile = 0; tile < 2 * GROUPS; tile++) {
            UNROLL for (u32 i = 0; i < 4; i++) score[tile][i] = 0;
        }
        UNROLL for (u32 step = 0; step < STEPS; step++) {
            UNROLL for (u32 group = 0; group < GROUPS; group++) {
                u32 b[4];
                keys(stage).right_transpose(b, 16 * group, step);
                multiply_add_pair(score[2 * group], score[2 * group + 1], query[step], b);
            }
        }
        if (at + ROWS - 1 > top) { // some keys come after some rows
            UNROLL for (u32 tile = 0; tile < 2 * GROUPS; tile++) {
                UNROLL for (u32 i = 0; i < 4; i++) {
                    u32 key = at + 8 * tile + lane % 4 * 2 + i % 2, row = top + lane / 4 + i / 2 * 8;
                    if (key > row) score[tile][i] = -INFINITY;
                }
            }
        }
        UNROLL for (u32 half = 0; half < 2; half++) { // rows lane / 4 and lane / 4 + 8
            float now = most[half];
            UNROLL for (u32 tile = 0; tile < 2 * GROUPS; tile++) {
                now = greatest(now, greatest(score[tile][2 * half], score[tile][2 * half + 1]));
            }
            now = reduce_quad<Max>(now); // finite: every row sees the first key of the first tile
            float keep = exp2_fast((most[half] - now) * to_base2), base = now * to_base2, mass = 0;
            UNROLL for (u32 tile = 0; tile < 2 * GROUPS; tile++) {
                UNROLL for (u32 i = 2 * half; i < 2 * half + 2; i++) {
                    score[tile][i] = exp2_fast(score[tile][i] * to_base2 - base);
                    mass += score[tile][i];
                }
            }
            most[half] = now;
            sum[half] = sum[half] * keep + mass;
            UNROLL for (u32 tile = 0; tile < 2 * STEPS; tile++) {
                weighted[tile][2 * half] *= keep;
                weighted[tile][2 * half + 1] *= keep;
            }
        }
        UNROLL for (u32 group = 0; group < GROUPS; group++) {
            u32 a[4];
            as_left(a, score[2 * group], score[2 * group + 1]);
            UNROLL for (u32 step = 0; step < STEPS; step++) {
                u32 b[4];
                values(stage).right(b, 16 * group, step);
                multiply_add_pair(weighted[2 * step], weighted[2 * step + 1], a, b);
            }
        }
    }

    __syncthreads(); // the buffers are no longer read
    UNROLL for (u32 half = 0; half < 2; half++) {
        sum[half] = reduce_quad<Sum>(sum[half]);
        u32 row = top + lane / 4 + 8 * half;
        if (lane % 4 == 0 && row < last) {
            log_sums[u64(row) * heads.query_heads + head] = most[half] * scale + logf(sum[half]);
        }
    }
    store_rows<WIDTH>(out + heads.out(top, head), u64(heads.query_heads) * WIDTH, last > top ? last - top : 0,
                      Sheet<WIDTH>{memory + warp * WARP_ROWS * WIDTH}, weighted, 1.0f / sum[0], 1.0f / sum[1]);
}

// dQ = scale * sum over keys of P * (dO.V - delta) * K, with P = exp(scale * Q.K - log_sum)
template <int WIDTH>
DEVICE void tensor_attention_backward_queries(bf16* drows, const bf16* rows, const bf16* grad, const float* log_sums,
                                              const float* delta, const u32* tiles, const Heads& heads, float scale) {
    constexpr u32 STEPS = WIDTH / 16;
    u32 begin = tiles[3 * blockIdx.x], end = tiles[3 * blockIdx.x + 1], first = tiles[3 * blockIdx.x + 2];
    u32 head = blockIdx.y, kv_head = head / heads.group(), lane = lane_id(), warp = threadIdx.x / 32;
    u32 last = least(end, first + ROWS);
    bf16* memory = shared_memory<bf16>();
    Passing<WIDTH> passing{memory, rows, heads, kv_head, last};
    auto keys = [&](u32 stage) { return passing.keys(stage); };
    auto values = [&](u32 stage) { return passing.values(stage); };
    auto begin_copy = [&](u32 stage, u32 at) { passing.begin_copy(stage, at); };

    // Queries and the gradient of the output stay in registers; they come through the second buffer.
    keys(1).template copy<ROWS, 128>(rows + heads.query(first, head), heads.row_width(), last - first);
    values(1).template copy<ROWS, 128>(grad + heads.out(first, head), u64(heads.query_heads) * WIDTH, last - first);
    copy_async_commit();
    begin_copy(0, begin);
    u32 top = first + WARP_ROWS * warp;
    float to_base2 = scale * LOG2_E, log_sum[2], taken[2];
    UNROLL for (u32 half = 0; half < 2; half++) {
        u32 row = top + lane / 4 + 8 * half;
        u64 at = u64(row) * heads.query_heads + head;
        log_sum[half] = row < last ? log_sums[at] * LOG2_E : INFINITY; // no weight to rows that are not there
        taken[half] = row < last ? delta[at] : 0.0f;
    }
    copy_async_wait<1>();
    __syncthreads();
    u32 query[STEPS][4], of_out[STEPS][4];
    UNROLL for (u32 step = 0; step < STEPS; step++) {
        keys(1).left(query[step], WARP_ROWS * warp, step);
        values(1).left(of_out[step], WARP_ROWS * warp, step);
    }

    float sum[2 * STEPS][4];
    UNROLL for (u32 tile = 0; tile < 2 * STEPS; tile++) {
        UNROLL for (u32 i = 0; i < 4; i++) sum[tile][i] = 0;
    }
    u32 stage = 0;
    for (u32 at = begin; at < last; at += ROWS, stage ^= 1) {
        copy_async_wait<0>();
        __syncthreads();
        if (at + ROWS < last) begin_copy(stage ^ 1, at + ROWS);
        UNROLL_BY(1) for (u32 key = at; key < at + ROWS && key <= top + 15; key += 16) {
            u32 row = key - at;
            float score[2][4] = {}, of_weight[2][4] = {};
            UNROLL for (u32 step = 0; step < STEPS; step++) {
                u32 b[4];
                keys(stage).right_transpose(b, row, step);
                multiply_add_pair(score[0], score[1], query[step], b);
                values(stage).right_transpose(b, row, step);
                multiply_add_pair(of_weight[0], of_weight[1], of_out[step], b);
            }
            UNROLL for (u32 tile = 0; tile < 2; tile++) {
                UNROLL for (u32 i = 0; i < 4; i++) {
                    bool sees = key + 8 * tile + lane % 4 * 2 + i % 2 <= top + lane / 4 + i / 2 * 8;
                    float weight = sees ? exp2_fast(score[tile][i] * to_base2 - log_sum[i / 2]) : 0.0f;
                    score[tile][i] = weight * (of_weight[tile][i] - taken[i / 2]);
                }
            }
            u32 a[4];
            as_left(a, score[0], score[1]);
            UNROLL for (u32 step = 0; step < STEPS; step++) {
                u32 b[4];
                keys(stage).right(b, row, step);
                multiply_add_pair(sum[2 * step], sum[2 * step + 1], a, b);
            }
        }
    }
    __syncthreads();
    store_rows<WIDTH>(drows + heads.query(top, head), heads.row_width(), last > top ? last - top : 0,
                      Sheet<WIDTH>{memory + warp * WARP_ROWS * WIDTH}, sum, scale, scale);
}

// dV = sum of P * dO and dK = scale * sum of P * (dO.V - delta) * Q, over the later queries and the heads of the group.
// Scores are computed transposed, rows being keys: P and dP of 16 keys are left factors at once.
template <int WIDTH>
DEVICE void tensor_attention_backward_keys(bf16* drows, const bf16* rows, const bf16* grad, const float* log_sums,
                                           const float* delta, const u32* tiles, const Heads& heads, float scale) {
    constexpr u32 STEPS = WIDTH / 16;
    constexpr bool RESIDENT = WIDTH <= 64;     // keys and values of the warp stay in registers
    constexpr u32 JOINED = RESIDENT ? 1 : 2;   // groups of 16 queries that share a load of them
    u32 end = tiles[3 * blockIdx.x + 1], first = tiles[3 * blockIdx.x + 2];
    u32 kv_head = blockIdx.y, lane = lane_id(), warp = threadIdx.x / 32, last = least(end, first + ROWS);
    bf16* memory = shared_memory<bf16>();
    Sheet<WIDTH> keys{memory}, values{memory + ROWS * WIDTH};
    auto queries = [&](u32 stage) { return Sheet<WIDTH>{memory + (2 + stage) * ROWS * WIDTH}; };
    auto grads = [&](u32 stage) { return Sheet<WIDTH>{memory + (4 + stage) * ROWS * WIDTH}; };
    // of each stage: log_sum (in base 2) of 64 queries, then delta
    float* statistics = reinterpret_cast<float*>(memory + 6 * ROWS * WIDTH);
    auto begin_copy = [&](u32 stage, u32 head, u32 at) {
        queries(stage).template copy<ROWS, 128>(rows + heads.query(at, head), heads.row_width(), end - at);
        grads(stage).template copy<ROWS, 128>(grad + heads.out(at, head), u64(heads.query_heads) * WIDTH, end - at);
        copy_async_commit();
    };
    auto statistic = [&](u32 head, u32 at) { // thread t has log_sum of query t, or delta of query t - 64
        u32 row = at + threadIdx.x % ROWS;
        bool is_sum = threadIdx.x < ROWS;
        if (row >= end) return is_sum ? INFINITY : 0.0f; // no weight to rows that are not there
        u64 of = u64(row) * heads.query_heads + head;
        return is_sum ? log_sums[of] * LOG2_E : delta[of];
    };

    u32 head = kv_head * heads.group(), heads_end = head + heads.group(), at = first, stage = 0;
    keys.template copy<ROWS, 128>(rows + heads.key(first, kv_head), heads.row_width(), last - first);
    values.template copy<ROWS, 128>(rows + heads.value(first, kv_head), heads.row_width(), last - first);
    begin_copy(0, head, at);
    statistics[threadIdx.x] = statistic(head, at);

    float to_base2 = scale * LOG2_E, of_key[2 * STEPS][4], of_value[2 * STEPS][4];
    UNROLL for (u32 tile = 0; tile < 2 * STEPS; tile++) {
        UNROLL for (u32 i = 0; i < 4; i++) of_key[tile][i] = of_value[tile][i] = 0;
    }
    u32 key[RESIDENT ? STEPS : 1][4], value[RESIDENT ? STEPS : 1][4];
    u32 top = first + WARP_ROWS * warp; // the warp's first key
    bool begun = false;
    while (head < heads_end) {
        u32 next_at = at + ROWS, next_head = head;
        if (next_at >= end) {
            next_at = first;
            next_head++;
        }
        copy_async_wait<0>();
        __syncthreads(); // the tile and its statistics are there, and the other buffers are no longer read
        float next_statistic = 0;
        if (next_head < heads_end) {
            begin_copy(stage ^ 1, next_head, next_at);
            next_statistic = statistic(next_head, next_at);
        }
        if (RESIDENT && !begun) {
            UNROLL for (u32 step = 0; step < (RESIDENT ? STEPS : 1); step++) {
                keys.left(key[step], WARP_ROWS * warp, step);
                values.left(value[step], WARP_ROWS * warp, step);
            }
            begun = true;
        }
        const float* log_sum = statistics + 2 * ROWS * stage;
        const float* taken = log_sum + ROWS;
        UNROLL_BY(1) for (u32 row = 0; row < ROWS && at + row < end; row += 16 * JOINED) {
            if (at + row + 16 * JOINED <= top) continue; // queries before all of the warp's keys
            float score[2 * JOINED][4] = {}, of_weight[2 * JOINED][4] = {};
            UNROLL for (u32 step = 0; step < STEPS; step++) {
                if (!RESIDENT) {
                    keys.left(key[0], WARP_ROWS * warp, step);
                    values.left(value[0], WARP_ROWS * warp, step);
                }
                UNROLL for (u32 group = 0; group < JOINED; group++) {
                    u32 b[4];
                    queries(stage).right_transpose(b, row + 16 * group, step);
                    multiply_add_pair(score[2 * group], score[2 * group + 1], key[RESIDENT ? step : 0], b);
                    grads(stage).right_transpose(b, row + 16 * group, step);
                    multiply_add_pair(of_weight[2 * group], of_weight[2 * group + 1], value[RESIDENT ? step : 0], b);
                }
            }
            UNROLL for (u32 tile = 0; tile < 2 * JOINED; tile++) {
                UNROLL for (u32 i = 0; i < 4; i++) {
                    u32 column = row + 8 * tile + lane % 4 * 2 + i % 2;
                    bool sees = top + lane / 4 + i / 2 * 8 <= at + column;
                    float weight = sees ? exp2_fast(score[tile][i] * to_base2 - log_sum[column]) : 0.0f;
                    score[tile][i] = weight;
                    of_weight[tile][i] = weight * (of_weight[tile][i] - taken[column]);
                }
            }
            UNROLL for (u32 group = 0; group < JOINED; group++) {
                u32 weights[4], of_scores[4];
                as_left(weights, score[2 * group], score[2 * group + 1]);
                as_left(of_scores, of_weight[2 * group], of_weight[2 * group + 1]);
                UNROLL for (u32 step = 0; step < STEPS; step++) {
                    u32 b[4];
                    grads(stage).right(b, row + 16 * group, step);
                    multiply_add_pair(of_value[2 * step], of_value[2 * step + 1], weights, b);
                    queries(stage).right(b, row + 16 * group, step);
                    multiply_add_pair(of_key[2 * step], of_key[2 * step + 1], of_scores, b);
                }
            }
        }
        statistics[2 * ROWS * (stage ^ 1) + threadIdx.x] = next_statistic;
        head = next_head;
        at = next_at;
        stage ^= 1;
    }
    __syncwarp(); // a warp's rows of keys and values are read by itself alone
    u32 valid = last > top ? last - top : 0;
    Sheet<WIDTH> own_keys{memory + warp * WARP_ROWS * WIDTH}, own_values{own_keys.values + ROWS * WIDTH};
    store_rows<WIDTH>(drows + heads.key(top, kv_head), heads.row_width(), valid, own_keys, of_key, scale, scale);
    store_rows<WIDTH>(drows + heads.value(top, kv_head), heads.row_width(), valid, own_values, of_value, 1.0f, 1.0f);
}

// ---- Exports ----------------------------------------------------------------------------------------------------
// For widths 32, 64, 96 and 128, in W; `width` is W. TILE is 64 rows.

#define TENSOR_ATTENTION(W, blocks)                                                                                    \
    KERNEL_RESIDENT(attention_bf16_w##W, 128, blocks,                                                                  \
                    (bf16 * out, float* log_sums, const bf16* rows, const u32* tiles, u32 tile_count, u32 query_heads, \
                     u32 kv_heads, u32 width, float scale)) {                                                          \
        tensor_attention<W>(out, log_sums, rows, tiles, {query_heads, kv_heads, W}, scale);                            \
    }
#define TENSOR_ATTENTION_BACKWARD(side, W, blocks)                                                                     \
    KERNEL_RESIDENT(attention_backward_##side##_bf16_w##W, 128, blocks,                                                \
                    (bf16 * drows, const bf16* rows, const bf16* grad, const float* log_sums, const float* delta,      \
                     const u32* tiles, u32 tile_count, u32 query_heads, u32 kv_heads, u32 width, float scale)) {       \
        tensor_attention_backward_##side<W>(drows, rows, grad, log_sums, delta, tiles, {query_heads, kv_heads, W},     \
                                            scale);                                                                    \
    }

// launch: grid (tile_count, query_heads), 128 threads, shared 512 * W
TENSOR_ATTENTION(32, 4)
TENSOR_ATTENTION(64, 4)
TENSOR_ATTENTION(96, 3)
TENSOR_ATTENTION(128, 2)

// launch: grid (tile_count, query_heads), 128 threads, shared 512 * W
TENSOR_ATTENTION_BACKWARD(queries, 32, 4)
TENSOR_ATTENTION_BACKWARD(queries, 64, 4)
TENSOR_ATTENTION_BACKWARD(queries, 96, 3)
TENSOR_ATTENTION_BACKWARD(queries, 128, 2)

// launch: grid (tile_count, kv_heads), 128 threads, shared 768 * W + 1024
TENSOR_ATTENTION_BACKWARD(keys, 32, 4)
TENSOR_ATTENTION_BACKWARD(keys, 64, 3)
TENSOR_ATTENTION_BACKWARD(keys, 96, 2)
TENSOR_ATTENTION_BACKWARD(keys, 128, 2)
