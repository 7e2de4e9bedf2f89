//! A flag that ends calls.

use backplane_sys as sys;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// Ends calls that were given it, soon, with [`crate::Code::Cancelled`]. Copies share it; any thread, and signal handlers, may set it.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicU32>);

impl CancelFlag {
    /// One that is not set.
    pub fn new() -> CancelFlag {
        CancelFlag::default()
    }
    /// Sets it.
    pub fn cancel(&self) {
        self.0.store(1, Ordering::SeqCst);
    }
    /// Takes it back, for the next call.
    pub fn reset(&self) {
        self.0.store(0, Ordering::SeqCst);
    }
    /// Whether it is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst) != 0
    }
    pub(crate) fn raw(&self) -> *const sys::bp_flag {
        Arc::as_ptr(&self.0)
    }
    pub(crate) fn raw_of(flag: Option<&CancelFlag>) -> *const sys::bp_flag {
        flag.map_or(std::ptr::null(), CancelFlag::raw)
    }
}
