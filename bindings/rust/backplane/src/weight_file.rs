//! Weights by name from GGUF, safetensors and ONNX files.

use crate::{raw, DType, Graph, Result, TensorId, Weights};
use backplane_sys as sys;
use std::ffi::{c_void, CStr};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr::NonNull;

/// A tensor of a [`WeightFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WeightTensor {
    /// As the file calls it.
    pub name: String,
    /// None: a type that graphs do not have.
    pub dtype: Option<DType>,
    /// The type as the file calls it: "Q4_K", "F8_E4M3".
    pub type_name: String,
    /// Outermost first.
    pub shape: Vec<i64>,
    /// Of its data.
    pub bytes: u64,
}

/// A .gguf, .safetensors or .onnx file, an index of several safetensors files, or the folder of such, mapped. Any thread.
///
/// ```no_run
/// # fn main() -> backplane::Result<()> {
/// # let device = backplane::Context::new()?.open("")?;
/// # let mut graph = backplane::Graph::new()?;
/// let file = backplane::WeightFile::open("model.safetensors")?;
/// let w = file.add(&mut graph, "fc.weight")?; // ... and the rest of the graph
/// let session = backplane::Session::new(&device, &graph, &file.weights()?)?;
/// # Ok(()) }
/// ```
pub struct WeightFile(NonNull<sys::backplane_weight_file>);

// SAFETY: weight_file.h: files do not change, any number of threads.
unsafe impl Send for WeightFile {}
// SAFETY: as above.
unsafe impl Sync for WeightFile {}

impl Drop for WeightFile {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_weight_file_destroy(self.0.as_ptr()) }
    }
}

fn empty() -> sys::backplane_weight_tensor {
    sys::backplane_weight_tensor {
        struct_size: raw::size_of::<sys::backplane_weight_tensor>(),
        dtype: 0,
        rank: 0,
        reserved: 0,
        bytes: 0,
        name: std::ptr::null(),
        type_: std::ptr::null(),
        dims: [0; sys::BP_MAX_RANK],
    }
}

/// # Safety
/// Of a record that the library filled, whose file lives.
unsafe fn tensor(record: &sys::backplane_weight_tensor) -> WeightTensor {
    // SAFETY: promised by the caller.
    let text = |from: *const c_char| unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned();
    WeightTensor {
        name: text(record.name),
        dtype: Some(DType(record.dtype)).filter(|dtype| dtype.0 != 0),
        type_name: text(record.type_),
        shape: record.dims[..record.rank as usize].to_vec(),
        bytes: record.bytes,
    }
}

impl WeightFile {
    pub(crate) fn raw(&self) -> *const sys::backplane_weight_file {
        self.0.as_ptr()
    }
    /// Maps the file, which must not be shortened meanwhile.
    pub fn open(path: impl AsRef<Path>) -> Result<WeightFile> {
        let path = raw::c_path(path.as_ref(), "the file")?;
        // SAFETY: a text with its zero.
        let raw = raw::make(|out, error| unsafe { sys::backplane_weight_file_open(path.as_ptr(), out, error) })?;
        Ok(WeightFile(raw))
    }
    /// "GGUF", "safetensors" or "ONNX".
    pub fn format(&self) -> Result<String> {
        let mut info = sys::backplane_weight_file_info {
            struct_size: raw::size_of::<sys::backplane_weight_file_info>(),
            tensor_count: 0,
            bytes: 0,
            format: [0; 16],
        };
        // SAFETY: a record with its size.
        raw::call(|error| unsafe { sys::backplane_weight_file_get_info(self.0.as_ptr(), &mut info, error) })?;
        Ok(raw::member(&info.format))
    }
    /// What the file says of itself beside tensors, as JSON: {"general.architecture": "llama", ..}.
    pub fn metadata_json(&self) -> Result<String> {
        // SAFETY: room as said.
        raw::text(|text, room, size, error| unsafe {
            sys::backplane_weight_file_metadata(self.0.as_ptr(), text, room, size, error)
        })
    }
    /// All of them, in the file's order.
    pub fn tensors(&self) -> Result<Vec<WeightTensor>> {
        // SAFETY: `records` gives room for as many as it says.
        let all = raw::records(empty(), |tensors, room, count, error| unsafe {
            sys::backplane_weight_file_tensors(self.0.as_ptr(), tensors, room, count, error)
        })?;
        // SAFETY: the file lives.
        Ok(all.iter().map(|record| unsafe { tensor(record) }).collect())
    }
    /// An error, `Code::NotFound`, with the nearest name where there is none of this one.
    pub fn find(&self, name: &str) -> Result<WeightTensor> {
        let name = raw::c_string(name, "the tensor")?;
        let mut record = empty();
        // SAFETY: a text with its zero, a record with its size.
        raw::call(|error| unsafe { sys::backplane_weight_file_find(self.0.as_ptr(), name.as_ptr(), &mut record, error) })?;
        // SAFETY: the file lives.
        Ok(unsafe { tensor(&record) })
    }
    /// The bytes of a tensor, dense and row-major; None: there is none of that name.
    pub fn data(&self, name: &str) -> Option<&[u8]> {
        let name = raw::c_string(name, "the tensor").ok()?;
        let mut bytes = 0u64;
        // SAFETY: a text with its zero; the bytes live as long as the file.
        unsafe {
            let data = sys::backplane_weight_file_data(self.0.as_ptr() as *mut c_void, name.as_ptr(), &mut bytes);
            (!data.is_null()).then(|| std::slice::from_raw_parts(data as *const u8, bytes as usize))
        }
    }
    /// The tensor as a weight of the graph, of its name, type and shape.
    pub fn add(&self, graph: &mut Graph, name: &str) -> Result<TensorId> {
        let name = raw::c_string(name, "the tensor")?;
        // SAFETY: a text with its zero.
        graph.put(|graph, out, error| unsafe {
            sys::backplane_weight_file_add(self.0.as_ptr(), graph, name.as_ptr(), out, error)
        })
    }
    /// For all sessions of graphs whose weights have names of the file, which may be dropped.
    pub fn weights(&self) -> Result<Weights> {
        // SAFETY: a file of the library.
        let raw = raw::make(|out, error| unsafe { sys::backplane_weight_file_weights(self.0.as_ptr(), out, error) })?;
        Ok(Weights::from_raw(raw))
    }
}
