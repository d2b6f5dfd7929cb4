// Attention of new tokens to the cached ones on tensor cores: the work and its division are those of
// cached_attention.cuh.
//
// A block of four warps has a part of 256 tokens, 16 blocks of the cache; warp w takes blocks w, w + 4, ... of them,
// the 16 query vectors as the left factor. A block of the cache holds keys and values of a head side by side, so that
// it is one stretch of memory, read once, 16 bytes a copy; each warp keeps as many copies under way as its shared
// memory holds. Decoding is bound by that reading. Not measured.
#pragma once
#include "cached_attention.cuh"
#include "tensor.cuh"

template <int WIDTH>
DEVICE void tensor_cached_attention(float* partial_out, float* partial_max, float* partial_sum, const bf16* rows,
                                    const bf16* cache, const u32* tables, u32 table_stride, const u32* seen,
                                    const u32* tiles, const Heads& heads, float scale, u32 parts) {
    constexpr u32 STEPS = WIDTH / 16, STAGES = WIDTH <= 64 ? 4 : 2, WARPS = 4;
    constexpr u32 BLOCK = 2 * PLACES * WIDTH; // values of a block of the cache
    constexpr u32 STRIDE = WIDTH + 8;         // of a row of floats; pairs of eight rows meet different banks
    CachedWork work(tables, table_stride, seen, tiles, heads);
    if (work.none()) return;
    u32 lane = lane_id(), warp = threadIdx.x / 32;
    bf16* buffers = shared_memory<bf16>() + warp * STAGES * BLOCK;
    auto begin_copy = [&](u32 turn) { // the warp's block of this turn, or nothing
        u32 token = work.begin + (turn * WARPS + warp) * PLACES;
        if (token < work.end) {
            const bf16* from = cache + work.block(token, heads);
            Sheet<WIDTH> keys{buffers + turn % STAGES * BLOCK}, values{keys.values + PLACES * WIDTH};
            keys.template copy<PLACES, 32>(from, WIDTH, work.end - token);
            values.template copy<PLACES, 32>(from + PLACES * WIDTH, WIDTH, work.end - token);
        }
        copy_async_commit();
    };
    u32 turns = ceil_div(work.end - work.begin, PLACES * WARPS);
    float to_base2 = scale * LOG2_E;

    for (u32 first_vector = 0; first_vector < work.vectors(); first_vector += VECTORS) {
        UNROLL for (u32 turn = 0; turn < STAGES; turn++) begin_copy(turn);
        // A lane's two vectors, their pairs of columns as the left factor, and how many tokens they see.
        u32 query[STEPS][4], limit[2];
        UNROLL for (u32 half = 0; half < 2; half++) {
            u32 vector = first_vector + lane / 4 + 8 * half;
            bool valid = vector < work.vectors();
            limit[half] = valid ? least(seen[work.row(vector)], work.end) : 0;
            const bf16* from = rows + (valid ? heads.query(work.row(vector), work.head(vector)) : 0) + lane % 4 * 2;
            UNROLL for (u32 step = 0; step < STEPS; step++) {
                query[step][half] = valid ? *reinterpret_cast<const u32*>(from + 16 * step) : 0;
                query[step][half + 2] = valid ? *reinterpret_cast<const u32*>(from + 16 * step + 8) : 0;
            }
        }

        float most[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, weighted[2 * STEPS][4];
        UNROLL for (u32 tile = 0; tile < 2 * STEPS; tile++) {
            UNROLL for (u32 i = 0; i < 4; i++) weighted[tile][i] = 0;
        }
        for (u32 turn = 0; turn < turns; turn++) {
            copy_async_wait<STAGES - 1>();
            __syncwarp();
            u32 token = work.begin + (turn * WARPS + warp) * PLACES;
            Sheet<WIDTH> keys{buffers + turn % STAGES * BLOCK}, values{keys.values + PLACES * WIDTH};
            if (token < work.end) {
                float score[2][4] = {};
                UNROLL for (u32 step = 0; step < STEPS; step++) {
                    u32 b[4];
                    keys.right_transpose(b, 0, step);
                    multiply_add_pair(score[0], score[1], query[step], b);
                }
                UNROLL for (u32 half = 0; half < 2; half++) {
                    float now = most[half];
                    UNROLL for (u32 tile = 0; tile < 2; tile++) {
                        UNROLL for (u32 i = 2 * half; i < 2 * half + 2; i++) {
                            bool sees = token + 8 * tile + lane % 4 * 2 + i % 2 < limit[half];
                            score[tile][i] = sees ? score[tile][i] * to_base2 : -INFINITY;
                            now = greatest(now, score[tile][i]);
                        }
                    }
                    now = reduce_quad<Max>(now);
                    float base = now == -INFINITY ? 0.0f : now; // a vector that has seen no key yet
                    float keep = exp2_fast(most[half] - base), mass = 0;
                    UNROLL for (u32 tile = 0; tile < 2; tile++) {
                        UNROLL for (u32 i = 2 * half; i < 2 * half + 2; i++) {
                            score[tile][i] = exp2_fast(score[tile][i] - base);
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
                u32 a[4];
                as_left(a, score[0], score[1]);
                UNROLL for (u32 step = 0; step < STEPS; step++) {
                    u32 b[4];
                    values.right(b, 0, step);
                    multiply_add_pair(weighted[2 * step], weighted[2 * step + 1], a, b);
                }
            }
            __syncwarp(); // the buffer is no longer read
            if (turn + STAGES < turns) begin_copy(turn + STAGES);
            else copy_async_commit(); // so that the count of groups stays right
        }
        copy_async_wait<0>();

        // The four warps' sums, in order: of each a maximum and a sum for 16 vectors, and their weighted values.
        __syncthreads();
        float* maxima = shared_memory<float>();
        float* sums = maxima + WARPS * VECTORS;
        float* values = sums + WARPS * VECTORS;
        UNROLL for (u32 half = 0; half < 2; half++) {
            u32 vector = lane / 4 + 8 * half;
            float whole = reduce_quad<Sum>(sum[half]);
            if (lane % 4 == 0) {
                maxima[warp * VECTORS + vector] = most[half];
                sums[warp * VECTORS + vector] = whole;
            }
            float* to = values + (warp * VECTORS + vector) * STRIDE + lane % 4 * 2;
            UNROLL for (u32 tile = 0; tile < 2 * STEPS; tile++) {
                to[8 * tile] = weighted[tile][2 * half];
                to[8 * tile + 1] = weighted[tile][2 * half + 1];
            }
        }
        __syncthreads();
        for (u32 item = threadIdx.x; item < VECTORS * (WIDTH / 4); item += 32 * WARPS) {
            u32 at = item / (WIDTH / 4), column = 4 * (item % (WIDTH / 4)), vector = first_vector + at;
            if (vector >= work.vectors() || seen[work.row(vector)] <= work.begin) continue;
            float max = maxima[at];
            for (u32 w = 1; w < WARPS; w++) max = greatest(max, maxima[w * VECTORS + at]);
            float whole = 0;
            Four total = {{0, 0, 0, 0}};
            for (u32 w = 0; w < WARPS; w++) {
                float keep = exp2_fast(maxima[w * VECTORS + at] - max);
                Four x = load4(values + (w * VECTORS + at) * STRIDE + column);
                whole += keep * sums[w * VECTORS + at];
                UNROLL for (int i = 0; i < 4; i++) total[i] += keep * x[i];
            }
            u64 to = (u64(work.row(vector)) * heads.query_heads + work.head(vector)) * parts + blockIdx.z;
            store4(partial_out + to * WIDTH + column, total);
            if (column == 0) {
                partial_max[to] = max / LOG2_E; // as the merge has it, in base e
                partial_sum[to] = whole;
            }
        }
        __syncthreads(); // the sums of the warps are no longer read
    }
}

// ---- Exports ----------------------------------------------------------------------------------------------------
// For widths 32, 64, 96 and 128, in W; `width` is W. The merge is cached_attention_merge_bf16.

#define TENSOR_CACHED_ATTENTION(W, blocks)                                                                             \
    KERNEL_RESIDENT(cached_attention_bf16_w##W, 128, blocks,                                                           \
                    (float* partial_out, float* partial_max, float* partial_sum, const bf16* rows, const bf16* cache,  \
                     const u32* tables, u32 table_stride, const u32* seen, const u32* tiles, u32 tile_count,           \
                     u32 query_heads, u32 kv_heads, u32 width, float scale, u32 parts)) {                              \
        tensor_cached_attention<W>(partial_out, partial_max, partial_sum, rows, cache, tables, table_stride, seen,     \
                                   tiles, {query_heads, kv_heads, W}, scale, parts);                                   \
    }

// launch: grid (tile_count, kv_heads, parts), 128 threads, shared 256 * W * (W <= 64 ? 4 : 2)
TENSOR_CACHED_ATTENTION(32, 3)
TENSOR_CACHED_ATTENTION(64, 3)
TENSOR_CACHED_ATTENTION(96, 3)
TENSOR_CACHED_ATTENTION(128, 3)
