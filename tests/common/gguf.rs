//! GGUF files, as llama.cpp's converter would write them.
#![allow(dead_code, reason = "every test file uses a part of it")]

use half::f16;
use serde_json::Value;

/// The keys of GGUF for members of `config.json`, as the Python package gguf 0.19 lists them.
const KEYS: [(&str, &str); 18] = [
    ("vocab_size", "vocab_size"),
    ("hidden_size", "embedding_length"),
    ("intermediate_size", "feed_forward_length"),
    ("num_hidden_layers", "block_count"),
    ("num_attention_heads", "attention.head_count"),
    ("num_key_value_heads", "attention.head_count_kv"),
    ("head_dim", "attention.key_length"),
    ("rms_norm_eps", "attention.layer_norm_rms_epsilon"),
    ("max_position_embeddings", "context_length"),
    ("rope_theta", "rope.freq_base"),
    ("sliding_window", "attention.sliding_window"),
    ("num_experts", "expert_count"),
    ("num_experts_per_tok", "expert_used_count"),
    ("moe_intermediate_size", "expert_feed_forward_length"),
    ("attention_multiplier", "attention.scale"),
    ("embedding_multiplier", "embedding_scale"),
    ("logits_scaling", "logit_scale"),
    ("residual_multiplier", "residual_scale"),
];

/// A GGUF file in the making: version 3.
#[derive(Default)]
pub struct GgufFile {
    keys: Vec<u8>,
    key_count: u64,
    pub tensors: Vec<(String, Vec<usize>, Vec<f32>)>,
    /// Matrices are written as Q8_0, the rest in F32.
    quantised: bool,
}

impl GgufFile {
    pub fn quantised() -> Self {
        Self { quantised: true, ..Self::default() }
    }

    fn key(&mut self, name: &str, kind: u32, value: &[u8]) {
        self.keys
            .extend([&(name.len() as u64).to_le_bytes()[..], name.as_bytes(), &kind.to_le_bytes(), value].concat());
        self.key_count += 1;
    }

    pub fn number(&mut self, name: &str, value: &Value) {
        match value.as_u64() {
            Some(count) => self.key(name, 4, &(count as u32).to_le_bytes()),
            None => self.key(name, 6, &(value.as_f64().unwrap() as f32).to_le_bytes()),
        }
    }

    pub fn text(&mut self, name: &str, value: &str) {
        self.key(name, 8, &[&(value.len() as u64).to_le_bytes()[..], value.as_bytes()].concat());
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend([self.tensors.len() as u64, self.key_count].map(u64::to_le_bytes).concat());
        bytes.extend(&self.keys);
        let mut offset = 0_u64;
        let data: Vec<(u32, Vec<u8>)> =
            self.tensors.iter().map(|(_, shape, values)| self.data(shape, values)).collect();
        for ((name, shape, _), (kind, data)) in self.tensors.iter().zip(&data) {
            bytes.extend([&(name.len() as u64).to_le_bytes()[..], name.as_bytes()].concat());
            bytes.extend((shape.len() as u32).to_le_bytes());
            shape.iter().rev().for_each(|size| bytes.extend((*size as u64).to_le_bytes()));
            bytes.extend(kind.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            offset += (data.len() as u64).next_multiple_of(32);
        }
        for (_, data) in data {
            bytes.resize(bytes.len().next_multiple_of(32), 0);
            bytes.extend(data);
        }
        bytes
    }

    /// The number of a tensor's type, and its bytes.
    fn data(&self, shape: &[usize], values: &[f32]) -> (u32, Vec<u8>) {
        if !self.quantised || shape.len() < 2 || !shape[shape.len() - 1].is_multiple_of(32) {
            return (0, values.iter().flat_map(|value| value.to_le_bytes()).collect());
        }
        // A scale for each 32 numbers, which are multiples of it.
        let block = |values: &[f32]| {
            let scale = f16::from_f32(values.iter().fold(0.0_f32, |most, value| most.max(value.abs())) / 127.0);
            let multiple = |value: &f32| (value / scale.to_f32().max(f32::MIN_POSITIVE)).round() as i8;
            [&scale.to_le_bytes()[..], &values.iter().map(|value| multiple(value) as u8).collect::<Vec<u8>>()].concat()
        };
        (8, values.chunks_exact(32).flat_map(block).collect())
    }

    /// The architecture and what of `config.json` describes it.
    pub fn configuration(&mut self, architecture: &str, members: &Value) {
        self.text("general.architecture", architecture);
        for (member, key) in KEYS {
            if !members[member].is_null() {
                self.number(&format!("{architecture}.{key}"), &members[member]);
            }
        }
    }

    pub fn texts(&mut self, name: &str, values: &[String]) {
        let mut bytes = [&8_u32.to_le_bytes()[..], &(values.len() as u64).to_le_bytes()].concat();
        for value in values {
            bytes.extend([&(value.len() as u64).to_le_bytes()[..], value.as_bytes()].concat());
        }
        self.key(name, 9, &bytes);
    }

    pub fn integers(&mut self, name: &str, values: &[i32]) {
        let mut bytes = [&5_u32.to_le_bytes()[..], &(values.len() as u64).to_le_bytes()].concat();
        values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        self.key(name, 9, &bytes);
    }
}
