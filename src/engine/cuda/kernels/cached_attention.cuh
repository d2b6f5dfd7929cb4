// Attention of new tokens to the cached ones: the plain version, in float32, for any width. tensor_attention.cuh has
// the one for tensor cores.
//
// The keys of a row are cut in parts of PART tokens, whatever the batch is, so that a row's result depends on nothing
// else; the merge adds the parts in order. A block takes one part, one head of keys, and the (at most 16) query vectors
// of a tile: the heads of the group for each of the tile's rows.
#pragma once
#include "attention.cuh"

constexpr u32 PART = 256; // tokens
constexpr u32 PLACES = 16; // tokens in a block of the cache
constexpr u32 VECTORS = 16; // query vectors a block takes at once

// A block's share of the work: tile {first, count} of rows, head of keys, part.
struct CachedWork {
    u32 first, count, kv_head, group, begin, end;
    const u32* table; // blocks of the sequence
    DEVICE CachedWork(const u32* tables, u32 table_stride, const u32* seen, const u32* tiles, const Heads& heads) {
        first = tiles[2 * blockIdx.x];
        count = tiles[2 * blockIdx.x + 1];
        kv_head = blockIdx.y;
        group = heads.group();
        begin = blockIdx.z * PART;
        end = 0;
        if (count == 0) return;
        u32 longest = first + count - 1; // the row that has seen most knows the most blocks
        table = tables + u64(longest) * table_stride;
        end = least(seen[longest], begin + PART);
    }
    DEVICE bool none() const { return end <= begin; }
    DEVICE u32 vectors() const { return count * group; }
    DEVICE u32 row(u32 vector) const { return first + vector / group; }
    DEVICE u32 head(u32 vector) const { return kv_head * group + vector % group; }
    // Where the keys of the 16 tokens from `token` lie, the values following them.
    DEVICE u64 block(u32 token, const Heads& heads) const {
        return (u64(table[token / PLACES]) * heads.kv_heads + kv_head) * 2 * PLACES * heads.width;
    }
};

// The cache may be narrower than the rows; it is widened on its way to shared memory.
template <class T, class C>
DEVICE void cached_attention(float* partial_out, float* partial_max, float* partial_sum, const T* rows, const C* cache,
                             const u32* tables, u32 table_stride, const u32* seen, const u32* tiles,
                             const Heads& heads, float scale, u32 parts, u32 window) {
    CachedWork work(tables, table_stride, seen, tiles, heads);
    if (work.none()) return;
    u32 width = heads.width, stride = width + 4, at_row = threadIdx.x / 8, lane = threadIdx.x % 8;
    float* queries = shared_memory<float>();
    float* keys = queries + VECTORS * stride;
    float* values = keys + PLACES * stride;
    float* weights = values + PLACES * stride + at_row * (PASSING + 1);
    for (u32 base = 0; base < work.vectors(); base += VECTORS) {
        u32 vector = base + at_row;
        bool valid = vector < work.vectors();
        u32 row = valid ? work.row(vector) : 0, head = valid ? work.head(vector) : 0;
        u32 limit = valid ? least(seen[row], work.end) : 0, from = valid && seen[row] > window ? seen[row] - window : 0;
        __syncthreads();
        for (u32 c = 4 * lane; c < width; c += 32) {
            Four query = {{0, 0, 0, 0}};
            if (valid) query = load4(rows + heads.query(row, head) + c);
            store4(queries + at_row * stride + c, query);
        }
        OnlineRow online;
        online.weighted.clear();
        // The first row sees the earliest key; parts of keys that nobody sees weigh nothing.
        u32 most = seen[work.first], earliest = most > window ? (most - window) / PLACES * PLACES : 0;
        for (u32 at = greatest(work.begin, earliest); at < work.end; at += PLACES) {
            __syncthreads();
            const C* block = cache + work.block(at, heads);
            load_tile(keys, block, width, PLACES, work.end - at, width);
            load_tile(values, block + PLACES * width, width, PLACES, work.end - at, width);
            __syncthreads();
            float score[PASSING / 8];
            UNROLL for (u32 j = 0; j < PASSING / 8; j++) {
                u32 key = lane + 8 * j;
                float dot = dot_rows(queries + at_row * stride, keys + key * stride, width);
                score[j] = at + key < limit && at + key >= from ? dot * scale : -INFINITY;
            }
            online.pass(score, weights, values, width);
        }
        if (limit <= work.begin) continue;
        u64 to = (u64(row) * heads.query_heads + head) * parts + blockIdx.z;
        online.weighted.store(partial_out + to * width, 1.0f, width);
        if (lane == 0) {
            partial_max[to] = online.best;
            partial_sum[to] = online.sum;
        }
    }
}

// out = sum of the parts' weighted values over the sum of their weights, each weight relative to the greatest maximum.
template <class T>
DEVICE void cached_attention_merge(T* out, const float* partial_out, const float* partial_max,
                                   const float* partial_sum, const u32* seen, u32 query_heads, u32 width, u32 parts) {
    u32 used = ceil_div(seen[blockIdx.x], PART);
    u64 item = u64(blockIdx.x) * query_heads + blockIdx.y, from = item * parts;
    float most = -INFINITY, sum = 0;
    for (u32 part = 0; part < used; part++) most = greatest(most, partial_max[from + part]);
    for (u32 part = 0; part < used; part++) sum += partial_sum[from + part] * expf(partial_max[from + part] - most);
    float share = used == 0 ? 0.0f : 1.0f / sum;
    for (u32 c = 4 * threadIdx.x; c < width; c += 128) {
        Four total = {{0, 0, 0, 0}};
        UNROLL_BY(4) for (u32 part = 0; part < used; part++) {
            Four x = load4(partial_out + (from + part) * width + c);
            float weight = expf(partial_max[from + part] - most);
            UNROLL for (int i = 0; i < 4; i++) total[i] += weight * x[i];
        }
        UNROLL for (int i = 0; i < 4; i++) total[i] *= share;
        store4(out + item * width + c, total);
    }
}

// ---- Exports ----------------------------------------------------------------------------------------------------
// PART is 256 tokens. partial_out is [n, query_heads, parts, width], partial_max and partial_sum [n, query_heads,
// parts].

// launch: grid (tile_count, kv_heads, parts), 128 threads, shared 4 * (48 * (width + 4) + 16 * 17)
KERNELS_RESIDENT(cached_attention, 128, 4,
        (float* partial_out, float* partial_max, float* partial_sum, const T* rows, const T* cache, const u32* tables,
         u32 table_stride, const u32* seen, const u32* tiles, u32 tile_count, u32 query_heads, u32 kv_heads, u32 width,
         float scale, u32 parts, u32 window),
        (partial_out, partial_max, partial_sum, rows, cache, tables, table_stride, seen, tiles,
         {query_heads, kv_heads, width}, scale, parts, window))

// launch: grid (tile_count, kv_heads, parts), 128 threads, shared 4 * (48 * (width + 4) + 16 * 17)
KERNEL_RESIDENT(cached_attention_f32_over_bf16, 128, 4,
        (float* partial_out, float* partial_max, float* partial_sum, const float* rows, const bf16* cache,
         const u32* tables, u32 table_stride, const u32* seen, const u32* tiles, u32 tile_count, u32 query_heads,
         u32 kv_heads, u32 width, float scale, u32 parts, u32 window)) {
    cached_attention<float>(partial_out, partial_max, partial_sum, rows, cache, tables, table_stride, seen, tiles,
                            {query_heads, kv_heads, width}, scale, parts, window);
}

// launch: grid (n, query_heads), 32 threads, shared 0
KERNELS(cached_attention_merge, 32,
        (T* out, const float* partial_out, const float* partial_max, const float* partial_sum, const u32* seen, u32 n,
         u32 query_heads, u32 width, u32 parts),
        (out, partial_out, partial_max, partial_sum, seen, query_heads, width, parts))
