// The CUDA kernels of the engine, in one translation unit:
//
//     nvcc -std=c++17 -O3 -fatbin -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
//         -gencode arch=compute_80,code=compute_80 kernels.cu -o kernels.fatbin
//
// ../emulator/emulator.cpp runs the same sources on the CPU.
//
// Matrices are contiguous by rows. T is float in kernels named _f32 and bf16 in those named _bf16. Pointers are aligned
// to 16 bytes, widths are multiples of 8 (vocab is any number up to 2^18). Every kernel is deterministic, and a row's
// result depends neither on other rows nor on their number. Nothing is launched for a grid of no blocks.
//
// Geometry: R(w) = 32 * min(8, ceil(w / 256)) threads. TILE = 32 rows (f32) or 64 (bf16), for queries and for keys.
// PART = 256 tokens. Blocks of threads are one-dimensional. Kernels that ask for more than 48 KiB of shared memory need
// the attribute for it (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES); none asks for more than 99 KiB.
//
// Tiles of attention may come in any order; those with the most work first leave the fewest multiprocessors idle at the
// end.
//
// None of the kernels has been measured yet: what their comments say of speed is design, not observation.
//
// ---- rows.cuh
//
// embed_T(float* out, const T* table, const u32* tokens, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// norm_T(T* out, float* inverses, float* x, const float* residual, const float* weight, float offset, float eps, u32 n,
//         u32 width)
//     grid (n), R(width) threads, shared 0
//
// norm_again_T(T* out, const float* x, const float* inverses, const float* weight, float offset, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// norm_backward_T(float* dx, const T* grad, const float* x, const float* inverses, const float* weight, float offset,
//         u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// norm_weight_gradient_T(float* partial, const T* grad, const float* x, const float* inverses, u32 n, u32 width,
//         u32 parts)
//     grid (ceil(width / 128), parts), 256 threads, shared 0
//
// sum_parts(float* sum, const float* partial, u32 parts, u32 width)
//     grid (ceil(width / 64)), 64 threads, shared 0
//
// norm_heads_T and norm_heads_again_T(T* out, float* inverses, const T* rows, const float* query_weight,
//         const float* key_weight, float offset, float eps, u32 of_queries, u32 wide_query, u32 of_keys, u32 wide_key,
//         u32 row_width, u32 n)
//     grid (n, of_queries + of_keys + 1), R(greater of wide_query and wide_key) threads, shared 0
//
// norm_heads_backward_T(T* grad, const T* rows, const float* inverses, const float* query_weight,
//         const float* key_weight, float offset, u32 of_queries, u32 wide_query, u32 of_keys, u32 wide_key,
//         u32 row_width, u32 n)
//     grid (n, of_queries + of_keys), R(greater of wide_query and wide_key) threads, shared 0
//
// norm_heads_weight_gradient_T(float* partial, const T* grad, const T* rows, const float* inverses, u32 first,
//         u32 count, u32 pieces, u32 of_queries, u32 wide_query, u32 of_keys, u32 wide_key, u32 row_width, u32 n)
//     grid (ceil(width of the parts / 128), pieces), 256 threads, shared 0
//
// column_sums_T(float* partial, const T* x, u32 n, u32 width, u32 parts)
//     grid (ceil(width / 128), parts), 256 threads, shared 0
//
// add_bias_T(T* rows, const float* bias, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// scale_columns_T(T* rows, const float* magnitudes, const float* inverses, const float* bias, u32 n, u32 width, u32 first,
//         u32 count)
//     grid (n), R(count) threads, shared 0
//
// magnitude_sums_T(float* partial, const T* y, const T* dy, const float* inverses, const float* bias, u32 n, u32 width,
//         u32 first, u32 count, u32 parts)
//     grid (ceil(count / 128), parts), 256 threads, shared 0
//
// scale_rows_T(T* rows, const float* factors, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// drop_out_T(T* out, const T* x, const u32* keys, u32 n, u32 width, u32 add, u32 place, u32 threshold, float scale)
//     grid (n), R(width) threads, shared 0
//
// row_products_T(float* out, const T* a, const T* b, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// rotate_T(T* rows, const u32* positions, const float* table, u32 query_heads, u32 kv_heads, u32 width, u32 turned,
//         u32 n, float sign)
//     grid (n), R((query_heads + kv_heads) * width) threads, shared 0
//
// gate_T(T* out, const T* rows, u32 activation, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// gate_backward_T(T* rows, T* grad, u32 activation, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// gather_T(T* out, const T* src, const u32* rows, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// scatter_add_T(float* sum, const T* src, const u32* rows, u32 n, u32 width)
//     grid (n), R(width) threads, shared 0
//
// cache_put_T(T* cache, const T* rows, const u32* slots, u32 query_heads, u32 kv_heads, u32 width, u32 n)
// cache_put_f32_over_bf16(bf16* cache, const float* rows, ... the same)
//     grid (n), R(2 * kv_heads * width) threads, shared 0
//
// embedding_gradient(float* sum, const float* dx, const u32* order, const u32* starts, const u32* tokens,
//         u32 segments, u32 width)
//     grid (segments, ceil(width / 128)), 128 threads, shared 0
//
// add_T(float* sum, const T* x, u64 n), scale_T(T* x, float factor, u64 n), widen_T(float* out, const T* in, u64 n)
//     grid (ceil(n / 1024)), 256 threads, shared 0
//
// convert_T(T* out, const float* in, u64 n)
//     grid (ceil(n / 1024)), 256 threads, shared 0
//
// ---- attention.cuh
//
// attention_T(T* out, float* log_sums, const T* rows, const u32* tiles, u32 tile_count, u32 query_heads,
//         u32 kv_heads, u32 width, float scale, u32 window)
//     grid (tile_count, query_heads, TILE / 32), 256 threads, shared 4 * (64 * (width + 4) + 32 * 17)
//
// attention_delta_T(float* delta, const T* out, const T* grad, u32 n, u32 query_heads, u32 width)
//     grid (ceil(n * query_heads / 8)), 256 threads, shared 0
//
// attention_backward_queries_T(T* drows, const T* rows, const T* grad, const float* log_sums, const float* delta,
//         const u32* tiles, u32 tile_count, u32 query_heads, u32 kv_heads, u32 width, float scale, u32 window)
//     grid (tile_count, query_heads, TILE / 32), 256 threads, shared 4 * (80 * (width + 4) + 32 * 17)
//
// attention_backward_keys_T(T* drows, const T* rows, const T* grad, const float* log_sums, const float* delta,
//         const u32* tiles, u32 tile_count, u32 query_heads, u32 kv_heads, u32 width, float scale, u32 window)
//     grid (tile_count, kv_heads, TILE / 32), 256 threads, shared 4 * (80 * (width + 4) + 2 * 32 * 9)
//
// ---- tensor_attention.cuh: for W = 32, 64, 96 and 128; T is bf16, width is W
//
// attention_bf16_wW(T* out, float* log_sums, const T* rows, const u32* tiles, u32 tile_count, u32 query_heads,
//         u32 kv_heads, u32 width, float scale)
//     grid (tile_count, query_heads), 128 threads, shared 512 * W
//
// attention_backward_queries_bf16_wW(T* drows, const T* rows, const T* grad, const float* log_sums,
//         const float* delta, const u32* tiles, u32 tile_count, u32 query_heads, u32 kv_heads, u32 width,
//         float scale)
//     grid (tile_count, query_heads), 128 threads, shared 512 * W
//
// attention_backward_keys_bf16_wW(T* drows, const T* rows, const T* grad, const float* log_sums, const float* delta,
//         const u32* tiles, u32 tile_count, u32 query_heads, u32 kv_heads, u32 width, float scale)
//     grid (tile_count, kv_heads), 128 threads, shared 768 * W + 1024
//
// ---- cached_attention.cuh
//
// cached_attention_T(float* partial_out, float* partial_max, float* partial_sum, const T* rows, const T* cache,
//         const u32* tables, u32 table_stride, const u32* seen, const u32* tiles, u32 tile_count, u32 query_heads,
//         u32 kv_heads, u32 width, float scale, u32 parts, u32 window)
// cached_attention_f32_over_bf16(float* partial_out, float* partial_max, float* partial_sum, const float* rows,
//         const bf16* cache, ... the same)
//     grid (tile_count, kv_heads, parts), 128 threads, shared 4 * (48 * (width + 4) + 16 * 17)
//
// cached_attention_merge_T(T* out, const float* partial_out, const float* partial_max, const float* partial_sum,
//         const u32* seen, u32 n, u32 query_heads, u32 width, u32 parts)
//     grid (n, query_heads), 32 threads, shared 0
//
// ---- tensor_cached_attention.cuh: for W = 32, 64, 96 and 128; T is bf16, width is W
//
// cached_attention_bf16_wW(float* partial_out, float* partial_max, float* partial_sum, const T* rows, const T* cache,
//         const u32* tables, u32 table_stride, const u32* seen, const u32* tiles, u32 tile_count, u32 query_heads,
//         u32 kv_heads, u32 width, float scale, u32 parts)
//     grid (tile_count, kv_heads, parts), 128 threads, shared 256 * W * (W <= 64 ? 4 : 2)
//
// ---- logits.cuh
//
// read_rows(float* logprobs, float* entropies, const float* logits, const u32* targets, u32 n, u32 vocab)
//     grid (n), 1024 threads, shared 0
//
// read_pairs(float* logprobs, float* log_ratio, float* divergence, const float* student, const float* teacher,
//         const u32* targets, u32 n, u32 vocab, float inverse_temperature, u32 top_k)
//     grid (n), 1024 threads, shared 0
//
// draw(u32* tokens, float* logprobs, float* entropies, const float* logits, const u32* row_of,
//         const double* uniforms, u32 n, u32 vocab, float temperature, u32 top_k, float top_p)
//     grid (n), 1024 threads, shared 32768
//
// logits_gradient_T(T* out, const float* logits, const u32* targets, const float* of_logprobs, u32 n, u32 vocab)
//     grid (n), 1024 threads, shared 0
//
// logits_gradient_pairs_T(T* out, const float* logits, const float* teacher, const u32* targets,
//         const float* of_logprobs, const float* of_divergence, u32 n, u32 vocab, float inverse_temperature,
//         u32 top_k)
//     grid (n), 1024 threads, shared 0
//
// ---- update.cuh
//
// squares(double* sums, const float* x, u64 n, u32 parts)
//     grid (parts), 256 threads, shared 0
//
// adamw_T(float* w, T* copy, float* m, float* v, const float* g, u64 n, float scale, float beta1, float beta2,
//         float step_size, float root_correction, float eps, float keep)
//     grid (ceil(n / 1024)), 256 threads, shared 0
//
// adamw_of_bf16_T(float* w, T* copy, u16* m, u16* v, const float* g, u64 n, u32 key_m, u32 key_v, ... as adamw)
//     grid (ceil(n / 1024)), 256 threads, shared 0
//
// adamw_of_int8_T(float* w, T* copy, u8* m, float* m_scales, u8* v, float* v_scales, const float* values,
//         const float* g, u64 n, ... as adamw)
//     grid (ceil(n / 256)), 256 threads, shared 0
//
// look_ahead(float* m, float* g, u64 n, float scale, float momentum)
// look_ahead_of_bf16(u16* m, float* g, u64 n, u32 key, float scale, float momentum)
//     grid (ceil(n / 1024)), 256 threads, shared 0
//
// look_ahead_of_int8(u8* m, float* scales, const float* values, float* g, u64 n, float scale, float momentum)
//     grid (ceil(n / 256)), 256 threads, shared 0
//
// blend(float* out, const float* x, float by_x, const float* y, float by_y, u64 n)
// subtract_T(float* w, T* copy, const float* update, u64 n, float keep)
//     grid (ceil(n / 1024)), 256 threads, shared 0
#include "rows.cuh"
#include "attention.cuh"
#include "tensor_attention.cuh"
#include "cached_attention.cuh"
#include "tensor_cached_attention.cuh"
#include "logits.cuh"
#include "update.cuh"
