//! What can go wrong.

use backplane_sys as sys;
use std::fmt;

/// What went wrong, for programs. New ones may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The caller broke a rule that is stated: a mistake in the program.
    Invalid,
    /// Well formed, but this device or build does not do it.
    Unsupported,
    /// Two sides that cannot talk: a library and a module of other versions.
    Version,
    /// No such file, device, library, name or option.
    NotFound,
    /// Permission, sandbox, policy.
    Denied,
    /// The host has no memory left.
    NoHostMemory,
    /// The device has no memory left.
    NoDeviceMemory,
    /// The device is gone.
    DeviceLost,
    /// Not done in time.
    Timeout,
    /// A [`crate::CancelFlag`] was set.
    Cancelled,
    /// Well formed, made for other versions.
    Stale,
    /// A file that does not hold what it says.
    Corrupt,
    /// A mistake in the library or a module.
    Internal,
    /// Still in use.
    Busy,
}

impl Code {
    pub(crate) fn from_raw(code: sys::bp_code) -> Code {
        match code {
            sys::BP_INVALID => Code::Invalid,
            sys::BP_UNSUPPORTED => Code::Unsupported,
            sys::BP_VERSION => Code::Version,
            sys::BP_NOT_FOUND => Code::NotFound,
            sys::BP_DENIED => Code::Denied,
            sys::BP_NO_HOST_MEMORY => Code::NoHostMemory,
            sys::BP_NO_DEVICE_MEMORY => Code::NoDeviceMemory,
            sys::BP_DEVICE_LOST => Code::DeviceLost,
            sys::BP_TIMEOUT => Code::Timeout,
            sys::BP_CANCELLED => Code::Cancelled,
            sys::BP_STALE => Code::Stale,
            sys::BP_CORRUPT => Code::Corrupt,
            sys::BP_BUSY => Code::Busy,
            _ => Code::Internal, // an unknown one is read so
        }
    }

    /// What to do about errors of this code; the sentence of an [`Error`] says it for the case.
    pub fn remedy(self) -> &'static str {
        match self {
            Code::Invalid => "correct the call: it would fail again",
            Code::Unsupported => "ask another device, or a build that has it",
            Code::Version => "install modules of the library's own version",
            Code::NotFound => "check the path or the name; `backplane doctor` lists the devices",
            Code::Denied => "change the permission that is named",
            Code::NoHostMemory => "free memory, or do less at once",
            Code::NoDeviceMemory => "drop tensors and sessions on the device, or do less at once",
            Code::DeviceLost => "drop what is on the device and open one again",
            Code::Timeout => "wait longer",
            Code::Cancelled => "nothing: it was asked for",
            Code::Stale => "make it again",
            Code::Corrupt => "fetch the file again",
            Code::Internal => "report it, with `backplane doctor --json`",
            Code::Busy => "drop what is named, then try again",
        }
    }
}

/// An error of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    native: i64,
    message: String,
}

/// What fallible functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, native: 0, message: message.into() }
    }
    pub(crate) fn from_raw(code: sys::bp_code, native: i64, message: String) -> Error {
        Error { code: Code::from_raw(code), native, message }
    }
    /// For programs.
    pub fn code(&self) -> Code {
        self.code
    }
    /// For people: what was attempted, on what, why it failed, what to do.
    pub fn message(&self) -> &str {
        &self.message
    }
    /// What to do about errors of this code.
    pub fn remedy(&self) -> &'static str {
        self.code.remedy()
    }
    /// As the driver gave it (a VkResult, CUresult, cl_int, errno); 0: none.
    pub fn native(&self) -> i64 {
        self.native
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
