//! The weights of any network in fewer bits.

use crate::raw::{self, Caught};
use crate::{CancelFlag, DType, Result, WeightFile};
use backplane_sys as sys;
use std::cell::RefCell;
use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr::NonNull;

/// How to make weights smaller. `QuantizeOptions::default()`: to q8_0, by all processors.
#[derive(Default)]
pub struct QuantizeOptions<'a> {
    /// Of matrices: f32, f16, bf16, q8_0, q6_k, q5_k, q5_0, q4_k or q4_0; None: q8_0.
    pub dtype: Option<DType>,
    /// Patterns of names (`*`, `?`) that stay as they are.
    pub keep: &'a [&'a str],
    /// Embeddings too, whose rows are looked up and not multiplied by.
    pub embeddings: bool,
    /// 0: as many as the machine has processors.
    pub threads: u32,
    /// Is told, on this thread, how much is done, 0 to 1. A panic in it ends the call as `cancel` does, sets that flag, and goes on then.
    pub progress: Option<&'a mut dyn FnMut(f64)>,
    /// Ends the call, leaving no file.
    pub cancel: Option<&'a CancelFlag>,
}

/// What became of a tensor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QuantizedTensor {
    /// As the file calls it.
    pub name: String,
    /// That it has now.
    pub dtype: DType,
    /// Its type before, as that file calls it.
    pub from: String,
    /// It stays as it is, or is of another type than asked for; else empty.
    pub why: String,
    /// Outermost first.
    pub shape: Vec<i64>,
    /// In the file that was read.
    pub bytes_before: u64,
    /// In the file that was written.
    pub bytes_after: u64,
    /// Root of the mean square of what it differs by, by that of its numbers; of what stays as it is 0.
    pub error: f64,
}

struct Told<'a> {
    progress: RefCell<&'a mut dyn FnMut(f64)>,
    caught: Caught,
    cancel: &'a CancelFlag,
}

unsafe extern "C" fn tell(arg: *mut c_void, done: f64) {
    // SAFETY: the Told of the call that is under way, on its thread.
    let told = unsafe { &*(arg as *const Told<'_>) };
    if told.caught.run(|| (told.progress.borrow_mut())(done)).is_none() {
        told.cancel.cancel();
    }
}

struct Made(NonNull<sys::backplane_quantized>);

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_quantized_destroy(self.0.as_ptr()) }
    }
}

impl Made {
    fn tensors(&self) -> Result<Vec<QuantizedTensor>> {
        let empty = sys::backplane_quantized_tensor {
            struct_size: raw::size_of::<sys::backplane_quantized_tensor>(),
            dtype: 0,
            rank: 0,
            reserved: 0,
            name: std::ptr::null(),
            from: std::ptr::null(),
            why: std::ptr::null(),
            bytes_before: 0,
            bytes_after: 0,
            error: 0.0,
            dims: [0; sys::BP_MAX_RANK],
        };
        // SAFETY: `records` gives room for as many as it says.
        let all = raw::records(empty, |tensors, room, count, error| unsafe {
            sys::backplane_quantized_tensors(self.0.as_ptr(), tensors, room, count, error)
        })?;
        // SAFETY: texts of records that the library filled, whose list lives.
        let text = |from: *const c_char| unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned();
        let tensor = |record: &sys::backplane_quantized_tensor| QuantizedTensor {
            name: text(record.name),
            dtype: DType(record.dtype),
            from: text(record.from),
            why: text(record.why),
            shape: record.dims[..record.rank as usize].to_vec(),
            bytes_before: record.bytes_before,
            bytes_after: record.bytes_after,
            error: record.error,
        };
        Ok(all.iter().map(tensor).collect())
    }
}

impl WeightFile {
    /// Writes the weights in fewer bits as a GGUF file, which appears whole or not at all: matrices whose rows are whole blocks; all else stays as it
    /// is. In the order of the file.
    ///
    /// ```no_run
    /// # fn main() -> backplane::Result<()> {
    /// let file = backplane::WeightFile::open("model.safetensors")?;
    /// let options = backplane::QuantizeOptions { dtype: backplane::DType::from_name("q4_k"), ..Default::default() };
    /// for tensor in file.quantize("model-q4_k.gguf", options)? {
    ///     println!("{}: {}", tensor.name, tensor.error);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn quantize(&self, gguf: impl AsRef<Path>, given: QuantizeOptions<'_>) -> Result<Vec<QuantizedTensor>> {
        let gguf = raw::c_path(gguf.as_ref(), "the output")?;
        let keep =
            given.keep.iter().map(|pattern| raw::c_string(pattern, "the pattern")).collect::<Result<Vec<CString>>>()?;
        let patterns: Vec<*const c_char> = keep.iter().map(|pattern| pattern.as_ptr()).collect();
        let own = CancelFlag::new();
        let cancel = given.cancel.unwrap_or(&own);
        let mut nobody = |_: f64| {};
        let listens = given.progress.is_some();
        let progress: &mut dyn FnMut(f64) = match given.progress {
            Some(progress) => progress,
            None => &mut nobody,
        };
        let told = Told { progress: RefCell::new(progress), caught: Caught::default(), cancel };
        let options = sys::backplane_quantize_options {
            struct_size: raw::size_of::<sys::backplane_quantize_options>(),
            dtype: given.dtype.map_or(0, |dtype| dtype.0),
            keep: patterns.as_ptr(),
            keep_count: patterns.len() as u32,
            embeddings: u32::from(given.embeddings),
            threads: given.threads,
            reserved: 0,
            progress: if listens { Some(tell) } else { None },
            progress_arg: raw::argument(&told),
            cancel: cancel.raw(),
        };
        // SAFETY: texts with their zeros, as many patterns as are said, a record with its size.
        let made =
            raw::make(|out, error| unsafe { sys::backplane_quantize(self.raw(), gguf.as_ptr(), &options, out, error) });
        let made = made.map(Made);
        told.caught.resume();
        made?.tensors()
    }
}
