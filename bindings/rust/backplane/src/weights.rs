//! The weights of a model, for all of its sessions.

use crate::raw::{self, Caught};
use crate::Result;
use backplane_sys as sys;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_void, CStr};
use std::hash::BuildHasher;
use std::os::raw::c_char;
use std::ptr::NonNull;
use std::sync::Arc;

/// Where weights come from. It lives as long as [`Weights`] made of it and sessions made with them; any thread may ask, also while a session runs.
pub trait WeightSource: Send + Sync + 'static {
    /// The bytes of a weight, dense and row-major, of its dtype and shape in the graph; None: there is no such weight.
    fn bytes(&self, name: &str) -> Option<&[u8]>;
}

impl WeightSource for BTreeMap<String, Vec<u8>> {
    fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.get(name).map(Vec::as_slice)
    }
}

impl<S: BuildHasher + Send + Sync + 'static> WeightSource for HashMap<String, Vec<u8>, S> {
    fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.get(name).map(Vec::as_slice)
    }
}

impl WeightSource for BTreeMap<String, Vec<f32>> {
    fn bytes(&self, name: &str) -> Option<&[u8]> {
        let values = self.get(name)?;
        // SAFETY: so many bytes, each of which is one.
        Some(unsafe { std::slice::from_raw_parts(values.as_ptr() as *const u8, std::mem::size_of_val(values.as_slice())) })
    }
}

/// The source, and the panic of its last call.
pub(crate) struct Source {
    from: Box<dyn WeightSource>,
    pub(crate) caught: Caught,
}

unsafe extern "C" fn give(arg: *mut c_void, name: *const c_char, bytes: *mut u64) -> *const c_void {
    // SAFETY: the Source that the weights were made with, which they and their sessions keep. It is never changed, so that what it lent from a
    // shared reference stays readable until it is dropped.
    let source = unsafe { &*(arg as *const Source) };
    // SAFETY: a text with its zero.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    match source.caught.run(|| source.from.bytes(&name)) {
        Some(Some(found)) => {
            // SAFETY: where the size goes.
            unsafe { *bytes = found.len() as u64 };
            // Null would mean that there is none.
            if found.is_empty() {
                NonNull::<u8>::dangling().as_ptr() as *const c_void
            } else {
                found.as_ptr() as *const c_void
            }
        }
        _ => std::ptr::null(),
    }
}

struct Handle {
    raw: NonNull<sys::backplane_weights>,
    source: Option<Arc<Source>>, // none: the library's own, of a file
}
// SAFETY: backplane.h: weights take any number of calls at a time, from any thread; so does the source.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}
impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more. The source goes after it.
        unsafe { sys::backplane_weights_destroy(self.raw.as_ptr()) }
    }
}

/// The weights of a model, once on a device for all of its sessions. Copies share them. Any thread.
#[derive(Clone)]
pub struct Weights(Option<Arc<Handle>>);

impl Weights {
    /// Of a graph that has none.
    pub fn none() -> Weights {
        Weights(None)
    }
    /// From a map of names to bytes or floats, or whatever else gives them.
    ///
    /// ```no_run
    /// # fn main() -> backplane::Result<()> {
    /// let mut map = std::collections::BTreeMap::new();
    /// map.insert("w".to_string(), vec![1f32, 2.0, 3.0]);
    /// let weights = backplane::Weights::new(map)?;
    /// # Ok(()) }
    /// ```
    pub fn new(source: impl WeightSource) -> Result<Weights> {
        let source = Arc::new(Source { from: Box::new(source), caught: Caught::default() });
        // SAFETY: the argument lives as long as the weights and their sessions.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_weights_create(Some(give), raw::argument(&*source), out, error)
        })?;
        Ok(Weights(Some(Arc::new(Handle { raw, source: Some(source) }))))
    }
    #[cfg(feature = "models")]
    pub(crate) fn from_raw(raw: NonNull<sys::backplane_weights>) -> Weights {
        Weights(Some(Arc::new(Handle { raw, source: None })))
    }
    pub(crate) fn raw(&self) -> *mut sys::backplane_weights {
        self.0.as_ref().map_or(std::ptr::null_mut(), |handle| handle.raw.as_ptr())
    }
    /// Lets a panic of the source go on.
    pub(crate) fn resume(&self) {
        if let Some(source) = self.0.as_ref().and_then(|handle| handle.source.as_ref()) {
            source.caught.resume();
        }
    }
}
