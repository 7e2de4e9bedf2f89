//! Pictures enlarged by ESRGAN networks.

use crate::context::Keep;
use crate::raw::{self, Caught};
use crate::{CancelFlag, Code, Context, DType, Device, Error, Result};
use backplane_sys as sys;
use std::cell::RefCell;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::NonNull;

/// A network, on the device that the library chose or was given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpscalerInfo {
    /// How many times as wide and as high: 2, 3, 4 or 8.
    pub scale: u32,
    /// Of the network.
    pub parameters: u64,
    /// "esrgan-medium-x2"
    pub name: String,
    /// "vulkan:0"
    pub device: String,
    /// The chip, as people know it.
    pub device_name: String,
    /// Why that device was chosen; empty where the caller gave it.
    pub why: String,
}

/// How to enlarge a picture. `UpscaleOptions::default()` suits all.
#[derive(Default)]
pub struct UpscaleOptions<'a> {
    /// Pixels of input that a tile covers in each direction; 0: chosen from picture and memory.
    pub tile: i64,
    /// Pixels of input that neighbouring tiles share; 0: chosen.
    pub overlap: i64,
    /// Bytes of the first device that all of it may take; 0: what it has.
    pub memory: u64,
    /// 1 to 100; 0: 95.
    pub jpeg_quality: u32,
    /// Is told, on this thread, how many tiles of how many are done. A panic in it ends the call as `cancel` does, sets that flag, and goes on then.
    pub progress: Option<&'a mut dyn FnMut(i64, i64)>,
    /// Ends the call, leaving no file.
    pub cancel: Option<&'a CancelFlag>,
}

/// What was made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpscaleResult {
    /// Of the output, in pixels.
    pub width: u32,
    /// Of the output, in pixels.
    pub height: u32,
    /// 3: RGB, 4: RGBA.
    pub channels: u32,
    /// How many.
    pub tiles: i64,
    /// Of how many pixels of input.
    pub tile: i64,
    /// Compile and run.
    pub seconds: f64,
}

/// An ESRGAN network on a device. Any thread, one call at a time:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<backplane::Upscaler>();
/// ```
///
/// ```no_run
/// # fn main() -> backplane::Result<()> {
/// let context = backplane::Context::new()?;
/// let mut upscaler = backplane::Upscaler::new(&context, "", "esrgan-medium-x2.gguf")?;
/// upscaler.run_file("in.png", "out.png", backplane::UpscaleOptions::default())?;
/// # Ok(()) }
/// ```
pub struct Upscaler {
    raw: NonNull<sys::backplane_upscaler>,
    _keep: Keep,
}

// SAFETY: upscaler.h: any thread, one call at a time.
unsafe impl Send for Upscaler {}

impl Drop for Upscaler {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_upscaler_destroy(self.raw.as_ptr()) }
    }
}

struct Told<'a> {
    progress: RefCell<&'a mut dyn FnMut(i64, i64)>,
    caught: Caught,
    cancel: &'a CancelFlag,
}

unsafe extern "C" fn tell(arg: *mut c_void, done: i64, of: i64) {
    // SAFETY: the Told of the call that is under way, on its thread.
    let told = unsafe { &*(arg as *const Told<'_>) };
    if told.caught.run(|| (told.progress.borrow_mut())(done, of)).is_none() {
        told.cancel.cancel();
    }
}

impl Upscaler {
    /// On the device that the library chooses (filter as [`Context::open`] takes it), and behind it the CPU. model: a GGUF file that
    /// `backplane model import` wrote.
    pub fn new(context: &Context, filter: &str, model: impl AsRef<Path>) -> Result<Upscaler> {
        let filter = raw::c_string(filter, "the device filter")?;
        let model = raw::c_path(model.as_ref(), "the model")?;
        // SAFETY: texts with their zeros.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_upscaler_create(context.raw(), filter.as_ptr(), model.as_ptr(), std::ptr::null(), out, error)
        })?;
        Ok(Upscaler { raw, _keep: context.keep.clone() })
    }
    /// On these devices, best first, with weights and feature maps of `dtype`: f32, or f16 for half the memory.
    pub fn on(devices: &[Device], model: impl AsRef<Path>, dtype: DType) -> Result<Upscaler> {
        let handles: Vec<*mut sys::backplane_device> = devices.iter().map(Device::raw).collect();
        let model = raw::c_path(model.as_ref(), "the model")?;
        let options = sys::backplane_upscaler_options {
            struct_size: raw::size_of::<sys::backplane_upscaler_options>(),
            dtype: dtype.0,
        };
        // SAFETY: as many handles as are said, which live.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_upscaler_create_on(handles.as_ptr(), handles.len() as u32, model.as_ptr(), &options, out, error)
        })?;
        Ok(Upscaler { raw, _keep: devices[0].keep() })
    }
    /// Of the network, and why it runs where.
    pub fn info(&self) -> Result<UpscalerInfo> {
        let mut info = sys::backplane_upscaler_info {
            struct_size: raw::size_of::<sys::backplane_upscaler_info>(),
            scale: 0,
            parameters: 0,
            name: [0; 256],
            device: [0; 64],
            device_name: [0; 256],
            why: [0; 512],
        };
        // SAFETY: a record with its size.
        raw::call(|error| unsafe { sys::backplane_upscaler_get_info(self.raw.as_ptr(), &mut info, error) })?;
        Ok(UpscalerInfo {
            scale: info.scale,
            parameters: info.parameters,
            name: raw::member(&info.name),
            device: raw::member(&info.device),
            device_name: raw::member(&info.device_name),
            why: raw::member(&info.why),
        })
    }

    /// A PNG or JPEG to a .png or .jpg, of any size, in bounded memory. The output appears whole or not at all.
    pub fn run_file(
        &mut self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: UpscaleOptions<'_>,
    ) -> Result<UpscaleResult> {
        let from = raw::c_path(from.as_ref(), "the picture")?;
        let to = raw::c_path(to.as_ref(), "the output")?;
        self.run_with(options, |raw, options, result, error| {
            // SAFETY: texts with their zeros, records with their sizes.
            unsafe { sys::backplane_upscaler_run_file(raw, from.as_ptr(), to.as_ptr(), options, result, error) }
        })
    }
    /// Pixels in memory, rows of width * channels bytes, 3 (RGB) or 4 (RGBA) channels. Gives those of width * scale by height * scale.
    pub fn run(
        &mut self,
        pixels: &[u8],
        width: u32,
        height: u32,
        channels: u32,
        options: UpscaleOptions<'_>,
    ) -> Result<(Vec<u8>, UpscaleResult)> {
        let times = u64::from(self.info()?.scale).pow(2);
        let size = (pixels.len() as u64).checked_mul(times).and_then(|n| usize::try_from(n).ok());
        let size = size.ok_or_else(|| Error::new(Code::Invalid, "a picture of more pixels than memory holds"))?;
        let mut out = Vec::new();
        out.try_reserve_exact(size)
            .map_err(|_| Error::new(Code::NoHostMemory, format!("no memory for the {} bytes of the result", size)))?;
        out.resize(size, 0u8);
        let result = self.run_with(options, |raw, options, result, error| {
            let (from, bytes) = (pixels.as_ptr() as *const c_void, pixels.len() as u64);
            // SAFETY: as many bytes as are said, records with their sizes.
            unsafe {
                let into = out.as_mut_ptr() as *mut c_void;
                sys::backplane_upscaler_run(
                    raw,
                    from,
                    bytes,
                    width,
                    height,
                    channels,
                    into,
                    size as u64,
                    options,
                    result,
                    error,
                )
            }
        })?;
        Ok((out, result))
    }

    fn run_with(
        &mut self,
        given: UpscaleOptions<'_>,
        run: impl FnOnce(
            *mut sys::backplane_upscaler,
            *const sys::backplane_upscale_options,
            *mut sys::backplane_upscale_result,
            *mut sys::bp_error,
        ) -> sys::bp_code,
    ) -> Result<UpscaleResult> {
        let own = CancelFlag::new();
        let cancel = given.cancel.unwrap_or(&own);
        let mut nobody = |_: i64, _: i64| {};
        let listens = given.progress.is_some();
        let progress: &mut dyn FnMut(i64, i64) = match given.progress {
            Some(progress) => progress,
            None => &mut nobody,
        };
        let told = Told { progress: RefCell::new(progress), caught: Caught::default(), cancel };
        let options = sys::backplane_upscale_options {
            struct_size: raw::size_of::<sys::backplane_upscale_options>(),
            jpeg_quality: given.jpeg_quality,
            tile: given.tile,
            overlap: given.overlap,
            memory: given.memory,
            progress: if listens { Some(tell) } else { None },
            progress_arg: raw::argument(&told),
            cancel: cancel.raw(),
        };
        let mut result = sys::backplane_upscale_result {
            struct_size: raw::size_of::<sys::backplane_upscale_result>(),
            width: 0,
            height: 0,
            channels: 0,
            tiles: 0,
            tile: 0,
            seconds: 0.0,
        };
        let done = raw::call(|error| run(self.raw.as_ptr(), &options, &mut result, error));
        told.caught.resume();
        done?;
        Ok(UpscaleResult {
            width: result.width,
            height: result.height,
            channels: result.channels,
            tiles: result.tiles,
            tile: result.tile,
            seconds: result.seconds,
        })
    }
}
