//! What the tests share: a context on the modules of this build, and a small network for pictures.
#![allow(dead_code)]

use backplane::{Context, ContextBuilder};
use std::path::PathBuf;

/// The modules that the library was installed with, or those of BACKPLANE_TEST_MODULES.
pub fn modules() -> PathBuf {
    std::env::var_os("BACKPLANE_TEST_MODULES")
        .map_or_else(|| PathBuf::from(env!("BACKPLANE_BUILT_WITH_MODULES")), PathBuf::from)
}

/// On the processor alone: what drivers other devices have, and what these leak, is not looked at.
pub fn builder() -> ContextBuilder {
    Context::builder().module_path(modules()).skip_default_paths().skip_environment().device_filter("cpu")
}

pub fn context() -> Context {
    builder().build().unwrap()
}

/// A folder that goes when this does.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("backplane-rust-{}-{}", name, std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes an ESRGAN network of two convolutions, scale 2, as a GGUF file (docs/formats.md).
pub fn write_network(path: &std::path::Path) {
    let text = |out: &mut Vec<u8>, s: &str| {
        out.extend((s.len() as u64).to_le_bytes());
        out.extend(s.as_bytes());
    };
    let tensors: [(&str, &[u64]); 4] =
        [("a.weight", &[3, 3, 3, 2]), ("a.bias", &[2]), ("b.weight", &[1, 1, 4, 3]), ("b.bias", &[3])];
    let mut out = Vec::new();
    out.extend(b"GGUF");
    out.extend(3u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend(4u64.to_le_bytes());
    for (key, value) in [("general.architecture", "esrgan"), ("general.name", "tiny-x2")] {
        text(&mut out, key);
        out.extend(8u32.to_le_bytes());
        text(&mut out, value);
    }
    text(&mut out, "esrgan.scale");
    out.extend(11u32.to_le_bytes());
    out.extend(2i64.to_le_bytes());
    text(&mut out, "esrgan.layers");
    out.extend(9u32.to_le_bytes());
    out.extend(8u32.to_le_bytes());
    let layers = ["input LR", "conv a LR", "relu r a", "concat c r a", "conv b c", "upsample up b by=2", "output up"];
    out.extend((layers.len() as u64).to_le_bytes());
    for layer in layers {
        text(&mut out, layer);
    }
    let mut data = Vec::new();
    for (name, dims) in tensors {
        text(&mut out, name);
        out.extend((dims.len() as u32).to_le_bytes());
        for d in dims {
            out.extend(d.to_le_bytes());
        }
        out.extend(0u32.to_le_bytes());
        out.extend((data.len() as u64).to_le_bytes());
        for i in 0..dims.iter().product::<u64>() {
            let value = ((i * 37 + name.len() as u64 * 11 + 5) % 101) as f32 / 101.0 - 0.5;
            data.extend(value.to_le_bytes());
        }
        data.resize((data.len() + 31) / 32 * 32, 0);
    }
    out.resize((out.len() + 31) / 32 * 32, 0);
    out.extend(data);
    std::fs::write(path, out).unwrap();
}

/// An example of speech that is in the sources, and its network.
pub fn speech() -> (PathBuf, PathBuf) {
    let mini = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../models/parakeet-mini");
    (mini.join("parakeet-mini-q8_0.gguf"), mini.join("example.flac"))
}

/// An ONNX file: y = relu(x w), x of [batch, 3], w of [3, 2].
pub fn onnx_model() -> Vec<u8> {
    fn varint(mut n: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while n >= 128 {
            out.push(n as u8 | 128);
            n >>= 7;
        }
        out.push(n as u8);
        out
    }
    let number = |field: u64, n: u64| [varint(field << 3), varint(n)].concat();
    let bytes = |field: u64, of: &[u8]| [varint(field << 3 | 2), varint(of.len() as u64), of.to_vec()].concat();
    let text = |field: u64, of: &str| bytes(field, of.as_bytes());
    let value = |name: &str, last: u64| {
        let dims = [bytes(1, &text(2, "batch")), bytes(1, &number(1, last))].concat();
        let tensor = [number(1, 1), bytes(2, &dims)].concat();
        [text(1, name), bytes(2, &bytes(1, &tensor))].concat()
    };
    let node = |op: &str, inputs: &[&str], output: &str| {
        let inputs: Vec<u8> = inputs.iter().flat_map(|i| text(1, i)).collect();
        [inputs, text(2, output), text(4, op)].concat()
    };
    let weights: Vec<u8> = [1f32, 0.0, 0.0, 1.0, 1.0, -9.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let w = [number(1, 3), number(1, 2), number(2, 1), text(8, "w"), bytes(9, &weights)].concat();
    let graph = [
        bytes(1, &node("MatMul", &["x", "w"], "product")),
        bytes(1, &node("Relu", &["product"], "y")),
        text(2, "dense"),
        bytes(5, &w),
        bytes(11, &value("x", 3)),
        bytes(12, &value("y", 2)),
    ]
    .concat();
    [number(1, 8), text(2, "a test"), bytes(7, &graph), bytes(8, &number(2, 17))].concat()
}
