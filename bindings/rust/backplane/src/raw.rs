//! What every call into the library goes through.

use crate::{Code, Error, Result};
use backplane_sys as sys;
use std::any::Any;
use std::ffi::{c_void, CStr, CString};
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Calls a function that writes its reason into an error; its code becomes a Result.
pub(crate) fn call(function: impl FnOnce(*mut sys::bp_error) -> sys::bp_code) -> Result<()> {
    let mut text = MaybeUninit::<[c_char; 4096]>::uninit();
    let first = text.as_mut_ptr() as *mut c_char;
    // SAFETY: the first byte of the array, which is written before it is read.
    unsafe { first.write(0) };
    let mut error = sys::bp_error {
        struct_size: std::mem::size_of::<sys::bp_error>() as u32,
        code: 0,
        native: 0,
        text: first,
        capacity: 4096,
    };
    let code = function(&mut error);
    if code == sys::BP_OK {
        return Ok(());
    }
    // SAFETY: a text of the library ends with a zero within its capacity; there is one since the line above.
    let message = unsafe { CStr::from_ptr(first) }.to_string_lossy().into_owned();
    Err(Error::from_raw(code, error.native, message))
}

/// Calls a function that makes a handle.
pub(crate) fn make<T>(function: impl FnOnce(*mut *mut T, *mut sys::bp_error) -> sys::bp_code) -> Result<NonNull<T>> {
    let mut out = std::ptr::null_mut();
    call(|error| function(&mut out, error))?;
    NonNull::new(out).ok_or_else(|| Error::new(Code::Internal, "the library made nothing, and gave no reason"))
}

/// The whole text of a function that writes as much of it as there is room for.
pub(crate) fn text(function: impl Fn(*mut c_char, usize, *mut usize, *mut sys::bp_error) -> sys::bp_code) -> Result<String> {
    let mut size = 0usize;
    call(|error| function(std::ptr::null_mut(), 0, &mut size, error))?;
    loop {
        let room = size + 1;
        let mut bytes = vec![0u8; room];
        call(|error| function(bytes.as_mut_ptr() as *mut c_char, room, &mut size, error))?;
        if size <= room {
            bytes.truncate(size.saturating_sub(1)); // its zero
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

/// All records of a function that fills as many as there is room for. `empty` is one with its struct_size.
pub(crate) fn records<T: Copy>(
    empty: T,
    function: impl Fn(*mut T, u32, *mut u32, *mut sys::bp_error) -> sys::bp_code,
) -> Result<Vec<T>> {
    let mut count = 0u32;
    call(|error| function(std::ptr::null_mut(), 0, &mut count, error))?;
    loop {
        let mut all = vec![empty; count as usize];
        let room = count;
        call(|error| function(all.as_mut_ptr(), room, &mut count, error))?;
        if count <= room {
            all.truncate(count as usize);
            return Ok(all);
        }
    }
}

/// A string for C. An error where it has a zero inside.
pub(crate) fn c_string(text: &str, what: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::new(Code::Invalid, format!("{} '{}' has a zero byte inside", what, text.escape_debug())))
}

/// A path for C: its bytes on POSIX, UTF-8 on Windows.
pub(crate) fn c_path(path: &Path, what: &str) -> Result<CString> {
    #[cfg(unix)]
    let bytes = {
        use std::os::unix::ffi::OsStrExt;
        path.as_os_str().as_bytes().to_vec()
    };
    #[cfg(not(unix))]
    let bytes = match path.to_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => return Err(Error::new(Code::Invalid, format!("{} '{}' is no valid Unicode", what, path.display()))),
    };
    CString::new(bytes).map_err(|_| {
        Error::new(Code::Invalid, format!("{} '{}' has a zero byte inside", what, path.display().to_string().escape_debug()))
    })
}

/// Null for None.
pub(crate) fn pointer_of(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr())
}

/// A text of the library that lives as long as the program.
///
/// # Safety
/// `text` is such a text, and UTF-8.
pub(crate) unsafe fn text_at(text: *const c_char) -> &'static str {
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// The text of a member of a record.
pub(crate) fn member(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn size_of<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

/// The panic of a closure that the library called, kept until its call has returned.
#[derive(Default)]
pub(crate) struct Caught(Mutex<Option<Box<dyn Any + Send>>>);

impl Caught {
    /// Runs a closure for the library, which no panic may cross. None: it panicked, now or before.
    pub(crate) fn run<T>(&self, closure: impl FnOnce() -> T) -> Option<T> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return None;
        }
        match catch_unwind(AssertUnwindSafe(closure)) {
            Ok(value) => Some(value),
            Err(panic) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
                None
            }
        }
    }
    /// Lets a panic that was caught go on, on the caller's thread.
    pub(crate) fn resume(&self) {
        let panic = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            std::panic::resume_unwind(panic);
        }
    }
}

/// A reference as the argument of a callback.
pub(crate) fn argument<T>(of: &T) -> *mut c_void {
    of as *const T as *mut c_void
}
