//! Devices that are open.

use crate::context::Keep;
use crate::{raw, DType, Result};
use backplane_sys as sys;
use std::ptr::NonNull;
use std::sync::Arc;

/// What kind of thing computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// It does not say.
    Unknown,
    /// The processor.
    Cpu,
    /// A GPU with the processor's memory.
    Integrated,
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU of a virtual machine.
    Virtual,
    /// Made for networks alone.
    Accelerator,
    /// Emulated on the processor, or an oracle: chosen last.
    Software,
}

/// What is known of a device without opening it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// "vulkan:0"
    pub id: String,
    /// "vulkan"
    pub backend: String,
    /// "pci:0000:01:00.0" or alike: which chip it is.
    pub identity: String,
    /// The chip, as people know it.
    pub name: String,
    /// Driver and version; empty: none.
    pub driver: String,
    /// Why it should not be chosen; empty: nothing.
    pub warning: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Bytes; 0: not known.
    pub memory_total: u64,
    /// Bytes now; 0: not known.
    pub memory_free: u64,
    /// `BP_CAN_*` of module.h.
    pub capabilities: u64,
    dtypes: u64,
}

pub(crate) fn device_info() -> sys::backplane_device_info {
    sys::backplane_device_info {
        struct_size: raw::size_of::<sys::backplane_device_info>(),
        kind: 0,
        memory_total: 0,
        memory_free: 0,
        capabilities: 0,
        dtypes: 0,
        id: [0; 64],
        backend: [0; 64],
        identity: [0; 64],
        name: [0; 256],
        driver: [0; 256],
        warning: [0; 256],
    }
}

impl DeviceInfo {
    pub(crate) fn from_raw(info: &sys::backplane_device_info) -> DeviceInfo {
        DeviceInfo {
            id: raw::member(&info.id),
            backend: raw::member(&info.backend),
            identity: raw::member(&info.identity),
            name: raw::member(&info.name),
            driver: raw::member(&info.driver),
            warning: raw::member(&info.warning),
            kind: match info.kind {
                sys::BP_KIND_CPU => DeviceKind::Cpu,
                sys::BP_KIND_INTEGRATED => DeviceKind::Integrated,
                sys::BP_KIND_DISCRETE => DeviceKind::Discrete,
                sys::BP_KIND_VIRTUAL => DeviceKind::Virtual,
                sys::BP_KIND_ACCELERATOR => DeviceKind::Accelerator,
                sys::BP_KIND_SOFTWARE => DeviceKind::Software,
                _ => DeviceKind::Unknown,
            },
            memory_total: info.memory_total,
            memory_free: info.memory_free,
            capabilities: info.capabilities,
            dtypes: info.dtypes,
        }
    }
    /// Whether some op computes with elements of this type there.
    pub fn computes(&self, dtype: DType) -> bool {
        self.dtypes >> dtype.0 & 1 != 0
    }
}

/// Who holds so much of a device's memory.
#[derive(Clone, Debug)]
pub struct Holder {
    /// "weights", "workspace"
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// What this process holds of a device's memory.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Bytes of all holders.
    pub held: u64,
    /// Largest first.
    pub holders: Vec<Holder>,
}

struct Handle {
    raw: NonNull<sys::backplane_device>,
    keep: Keep,
}
// SAFETY: backplane.h: devices take any number of calls at a time, from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}
impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_device_close(self.raw.as_ptr()) }
    }
}

/// An open device. Copies are cheap, and the same device. Any thread, any number of calls at a time.
#[derive(Clone)]
pub struct Device(Arc<Handle>);

impl Device {
    pub(crate) fn from_raw(raw: NonNull<sys::backplane_device>, keep: Keep) -> Device {
        Device(Arc::new(Handle { raw, keep }))
    }
    pub(crate) fn raw(&self) -> *mut sys::backplane_device {
        self.0.raw.as_ptr()
    }
    pub(crate) fn keep(&self) -> Keep {
        self.0.keep.clone()
    }
    /// What it is.
    pub fn info(&self) -> Result<DeviceInfo> {
        let mut info = device_info();
        // SAFETY: a record with its size.
        raw::call(|error| unsafe { sys::backplane_device_get_info(self.raw(), &mut info, error) })?;
        Ok(DeviceInfo::from_raw(&info))
    }
    /// An option by name, its value as text: ("threads", "4"). [`crate::Code::NotFound`] names the options there are.
    pub fn set_option(&self, name: &str, value: &str) -> Result<()> {
        let name = raw::c_string(name, "the option")?;
        let value = raw::c_string(value, "the value")?;
        // SAFETY: texts with their zeros.
        raw::call(|error| unsafe { sys::backplane_device_set_option(self.raw(), name.as_ptr(), value.as_ptr(), error) })
    }
    /// What this process holds of its memory, and who.
    pub fn ledger(&self) -> Result<Ledger> {
        let empty = sys::backplane_holder {
            struct_size: raw::size_of::<sys::backplane_holder>(),
            reserved: 0,
            bytes: 0,
            name: [0; 64],
        };
        let held = std::cell::Cell::new(0u64);
        // SAFETY: `records` gives room for as many as it says.
        let all = raw::records(empty, |holders, room, count, error| unsafe {
            sys::backplane_device_ledger(self.raw(), holders, room, count, held.as_ptr(), error)
        })?;
        let holders = all.iter().map(|h| Holder { name: raw::member(&h.name), bytes: h.bytes }).collect();
        Ok(Ledger { held: held.get(), holders })
    }
}
