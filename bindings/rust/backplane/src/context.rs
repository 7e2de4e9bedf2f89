//! What was found on this machine.

use crate::device::{device_info, Device, DeviceInfo};
use crate::{raw, CancelFlag, Result};
use backplane_sys as sys;
use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For developers.
    Debug,
    /// What was done.
    Info,
    /// What may be wrong.
    Warning,
    /// What is wrong.
    Error,
}

/// When a module is first tried in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Probe {
    /// When it is not known yet.
    First,
    /// Each time.
    Always,
    /// Never: this program starts no processes.
    Never,
}

type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// What the library was given and may use as long as anything of a context lives.
#[derive(Clone)]
pub(crate) struct Keep {
    _given: Arc<Given>,
}
struct Given {
    log: Option<Log>,
    _cancel: Option<CancelFlag>,
}

unsafe extern "C" fn log(arg: *mut c_void, level: u32, text: *const c_char) {
    // SAFETY: the Given that was the argument of the options, which everything of the context keeps; it is shared by threads.
    let given = unsafe { &*(arg as *const Given) };
    // SAFETY: a text with its zero.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let level = match level {
        sys::BP_LOG_DEBUG => LogLevel::Debug,
        sys::BP_LOG_INFO => LogLevel::Info,
        sys::BP_LOG_WARNING => LogLevel::Warning,
        _ => LogLevel::Error,
    };
    if let Some(log) = &given.log {
        // It comes from any thread: there is nobody to hand a panic to.
        let _ = catch_unwind(AssertUnwindSafe(|| log(level, &text)));
    }
}

/// How to search; [`Context::builder`].
#[derive(Default)]
pub struct ContextBuilder {
    skip_defaults: bool,
    skip_linked_in: bool,
    skip_environment: bool,
    module_paths: Vec<PathBuf>,
    module_names: Vec<String>,
    device_filter: Option<String>,
    cpu_mask: Option<String>,
    probe: u32,
    probe_limit: Duration,
    probe_budget: Duration,
    probe_program: Option<PathBuf>,
    state_folder: Option<PathBuf>,
    cache_folder: Option<PathBuf>,
    log: Option<Log>,
    cancel: Option<CancelFlag>,
}

impl ContextBuilder {
    /// A folder of modules, or a module file, searched before all else; may be given again.
    pub fn module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.module_paths.push(path.as_ref().to_path_buf());
        self
    }
    /// A file that no folder shows, "libacme-backplane-cpu.so" (docs/discovery.md, Android); may be given again.
    pub fn module_name(mut self, name: impl Into<String>) -> Self {
        self.module_names.push(name.into());
        self
    }
    /// Searches the paths that are given, and no others.
    pub fn skip_default_paths(mut self) -> Self {
        self.skip_defaults = true;
        self
    }
    /// Takes no modules that are linked into this program.
    pub fn skip_linked_in(mut self) -> Self {
        self.skip_linked_in = true;
        self
    }
    /// Reads no `BACKPLANE_*` variables.
    pub fn skip_environment(mut self) -> Self {
        self.skip_environment = true;
        self
    }
    /// Devices that may be seen, as [`Context::open`] takes it.
    pub fn device_filter(mut self, filter: impl Into<String>) -> Self {
        self.device_filter = Some(filter.into());
        self
    }
    /// Features of the CPU to act as if missing, "avx512f,avx2".
    pub fn cpu_mask(mut self, features: impl Into<String>) -> Self {
        self.cpu_mask = Some(features.into());
        self
    }
    /// When modules are tried in a process of their own.
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = probe as u32;
        self
    }
    /// How long such a process may take; 10 s unless said.
    pub fn probe_limit(mut self, limit: Duration) -> Self {
        self.probe_limit = limit;
        self
    }
    /// How long all such processes of one search may take; 20 s unless said.
    pub fn probe_budget(mut self, budget: Duration) -> Self {
        self.probe_budget = budget;
        self
    }
    /// `backplane-probe`; unless said the one beside the library's modules.
    pub fn probe_program(mut self, path: impl AsRef<Path>) -> Self {
        self.probe_program = Some(path.as_ref().to_path_buf());
        self
    }
    /// Where trials are remembered; unless said `BACKPLANE_STATE_DIR`, or the user's cache folder.
    pub fn state_folder(mut self, path: impl AsRef<Path>) -> Self {
        self.state_folder = Some(path.as_ref().to_path_buf());
        self
    }
    /// Of compiled kernels, absolute; unless said `BACKPLANE_CACHE_DIR`, or none.
    pub fn cache_folder(mut self, path: impl AsRef<Path>) -> Self {
        self.cache_folder = Some(path.as_ref().to_path_buf());
        self
    }
    /// Is told what happens, from any thread, also after the context is gone while something made from it lives. A panic in it ends there.
    pub fn log(mut self, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }
    /// Ends trials at once when it is set.
    pub fn cancel(mut self, flag: &CancelFlag) -> Self {
        self.cancel = Some(flag.clone());
        self
    }

    /// Searches, judges and loads. Succeeds also where nothing was found: the report says why.
    pub fn build(self) -> Result<Context> {
        let path = |path: &Option<PathBuf>, what| path.as_deref().map(|p| raw::c_path(p, what)).transpose();
        let text = |text: &Option<String>, what| text.as_deref().map(|t| raw::c_string(t, what)).transpose();
        let paths = self.module_paths.iter().map(|p| raw::c_path(p, "the module path")).collect::<Result<Vec<CString>>>()?;
        let names =
            self.module_names.iter().map(|n| raw::c_string(n, "the module name")).collect::<Result<Vec<CString>>>()?;
        let path_pointers: Vec<*const c_char> = paths.iter().map(|p| p.as_ptr()).collect();
        let name_pointers: Vec<*const c_char> = names.iter().map(|n| n.as_ptr()).collect();
        let device_filter = text(&self.device_filter, "the device filter")?;
        let cpu_mask = text(&self.cpu_mask, "the CPU mask")?;
        let probe_program = path(&self.probe_program, "the probe program")?;
        let state_folder = path(&self.state_folder, "the state folder")?;
        let cache_folder = path(&self.cache_folder, "the cache folder")?;
        let milliseconds = |time: Duration| match time.as_millis() {
            0 if time > Duration::ZERO => 1,
            most => u32::try_from(most).unwrap_or(u32::MAX),
        };
        let cancel = self.cancel.as_ref().map_or(std::ptr::null(), CancelFlag::raw);
        let given = Arc::new(Given { log: self.log, _cancel: self.cancel });
        let options = sys::backplane_context_options {
            struct_size: raw::size_of::<sys::backplane_context_options>(),
            skip_defaults: self.skip_defaults.into(),
            skip_linked_in: self.skip_linked_in.into(),
            skip_environment: self.skip_environment.into(),
            module_paths: path_pointers.as_ptr(),
            module_path_count: path_pointers.len() as u64,
            device_filter: raw::pointer_of(&device_filter),
            cpu_mask: raw::pointer_of(&cpu_mask),
            log: if given.log.is_some() { Some(log) } else { None },
            log_arg: raw::argument(&*given),
            probe: self.probe,
            probe_limit_ms: milliseconds(self.probe_limit),
            probe_program: raw::pointer_of(&probe_program),
            state_folder: raw::pointer_of(&state_folder),
            module_names: name_pointers.as_ptr(),
            module_name_count: name_pointers.len() as u64,
            cache_folder: raw::pointer_of(&cache_folder),
            probe_budget_ms: milliseconds(self.probe_budget),
            reserved: 0,
            cancel,
            parallel: None,
            parallel_arg: std::ptr::null_mut(),
            options: std::ptr::null(),
            option_count: 0,
            strict_options: 0,
            skip_fault_notes: 0,
        };
        // SAFETY: the record and all it points to live through the call; log and flag are kept by the context and what comes of it.
        let raw = raw::make(|out, error| unsafe { sys::backplane_context_create(&options, out, error) })?;
        Ok(Context { raw, keep: Keep { _given: given } })
    }
}

/// What was found on this machine: devices, and why others are missing. Any thread, any number of calls at a time.
pub struct Context {
    raw: NonNull<sys::backplane_context>,
    pub(crate) keep: Keep,
}

// SAFETY: backplane.h: contexts take any number of calls at a time, from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_context_destroy(self.raw.as_ptr()) }
    }
}

impl Context {
    /// Searches where modules are looked for (docs/discovery.md), judges and loads.
    pub fn new() -> Result<Context> {
        Context::builder().build()
    }
    /// How to search.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }
    pub(crate) fn raw(&self) -> *mut sys::backplane_context {
        self.raw.as_ptr()
    }

    /// The devices, best first.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>> {
        // SAFETY: `records` gives room for as many as it says.
        let all = raw::records(device_info(), |infos, room, count, error| unsafe {
            sys::backplane_context_devices(self.raw(), infos, room, count, error)
        })?;
        Ok(all.iter().map(DeviceInfo::from_raw).collect())
    }
    /// Opens a device: "" or "auto" for the best, an id "vulkan:0", a backend "cpu", a kind "discrete", "name=*RTX*"; comma-separated, `!` excludes.
    /// [`crate::Code::NotFound`] says what there is.
    pub fn open(&self, filter: &str) -> Result<Device> {
        let filter = raw::c_string(filter, "the device filter")?;
        // SAFETY: a text with its zero.
        let raw = raw::make(|out, error| unsafe { sys::backplane_device_open(self.raw(), filter.as_ptr(), out, error) })?;
        Ok(Device::from_raw(raw, self.keep.clone()))
    }
    /// Everything that was searched, found, refused and chosen, and why, as JSON (docs/discovery.md).
    pub fn report(&self) -> Result<String> {
        // SAFETY: `text` gives room for as many bytes as it says.
        raw::text(|json, room, size, error| unsafe { sys::backplane_context_report(self.raw(), json, room, size, error) })
    }
    /// Looks again. Devices that are open stay; those that are gone answer [`crate::Code::DeviceLost`] from now on.
    pub fn rescan(&self) -> Result<()> {
        // SAFETY: the handle lives.
        raw::call(|error| unsafe { sys::backplane_context_rescan(self.raw(), error) })
    }
    /// Takes a backend's module out of memory until the next rescan. [`crate::Code::Busy`] names what keeps it.
    pub fn unload(&self, backend: &str) -> Result<()> {
        let backend = raw::c_string(backend, "the backend")?;
        // SAFETY: a text with its zero.
        raw::call(|error| unsafe { sys::backplane_context_unload(self.raw(), backend.as_ptr(), error) })
    }
}
