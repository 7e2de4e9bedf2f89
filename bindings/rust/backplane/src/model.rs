//! Networks from ONNX files.

use crate::context::Keep;
use crate::graph::{rank_of, Port};
use crate::session::{port, Holds, Place};
use crate::tensor::Order;
use crate::{raw, CancelFlag, Code, Context, DType, Device, Element, Error, Math, Output, Result, Tensor};
use backplane_sys as sys;
use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

struct Handle {
    raw: NonNull<sys::backplane_model>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    _bytes: Vec<u8>, // of a model from memory
}
// SAFETY: model.h: models do not change, any number of threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}
impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more. The bytes go after it.
        unsafe { sys::backplane_model_destroy(self.raw.as_ptr()) }
    }
}

/// What a file says of itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelInfo {
    /// "ONNX"
    pub format: String,
    /// Of its graph.
    pub name: String,
    /// What wrote it.
    pub producer: String,
    /// Of the default domain.
    pub opset: i64,
    /// Of the file's format.
    pub ir_version: i64,
    /// How many.
    pub nodes: u64,
    /// How many numbers its weights are.
    pub parameters: u64,
    /// How many bytes they take.
    pub weight_bytes: u64,
}

/// An input or output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ValueInfo {
    /// What it is called.
    pub name: String,
    /// None: of a type that graphs do not have.
    pub dtype: Option<DType>,
    /// Whether it is of ONNX's uint32 or uint64: slices of `u32` or `u64` are its bytes, and `dtype` is `I32` or `I64`.
    pub is_unsigned: bool,
    /// None: not even the rank is said. An extent of -1 is open.
    pub shape: Option<Vec<i64>>,
    /// What each open extent is called; empty: it has no name, or is not open.
    pub symbols: Vec<String>,
}

fn value() -> sys::backplane_model_value {
    sys::backplane_model_value {
        struct_size: raw::size_of::<sys::backplane_model_value>(),
        dtype: 0,
        rank: 0,
        is_unsigned: 0,
        name: std::ptr::null(),
        dims: [0; sys::BP_MAX_RANK],
        symbols: [std::ptr::null(); sys::BP_MAX_RANK],
    }
}

impl ValueInfo {
    /// # Safety
    /// The texts of the record are there.
    unsafe fn from_raw(from: &sys::backplane_model_value) -> ValueInfo {
        let text = |at: *const c_char| match at.is_null() {
            true => String::new(),
            // SAFETY: promised by the caller.
            false => unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned(),
        };
        let rank = (from.rank as usize).min(sys::BP_MAX_RANK);
        let known = from.rank != u32::MAX;
        ValueInfo {
            name: text(from.name),
            dtype: if from.dtype == 0 { None } else { Some(DType(from.dtype)) },
            is_unsigned: from.is_unsigned != 0,
            shape: if known { Some(from.dims[..rank].to_vec()) } else { None },
            symbols: if known { from.symbols[..rank].iter().map(|s| text(*s)).collect() } else { Vec::new() },
        }
    }
}

/// An input of a run: host memory, a tensor on a device, or a shape alone where nothing runs.
pub struct ModelInput<'a> {
    name: &'a str,
    place: Place<'a>,
    holds: Holds,
    dims: Option<&'a [i64]>,
}

impl<'a> ModelInput<'a> {
    /// From host memory: dense, row-major, as many elements as the shape has.
    pub fn new<T: Element>(name: &'a str, dims: &'a [i64], data: &'a [T]) -> ModelInput<'a> {
        let place = Place::Host {
            data: data.as_ptr() as *mut c_void, // only read
            bytes: std::mem::size_of_val(data) as u64,
            type_name: std::any::type_name::<T>(),
        };
        ModelInput { name, place, holds: T::holds, dims: Some(dims) }
    }
    /// From a device.
    pub fn tensor(name: &'a str, tensor: &'a Tensor) -> ModelInput<'a> {
        ModelInput { name, place: Place::Device(tensor), holds: |_| true, dims: Some(tensor.shape()) }
    }
    /// A shape, for [`Model::check`] and [`ModelSession::prepare`].
    pub fn shape(name: &'a str, dims: &'a [i64]) -> ModelInput<'a> {
        let place = Place::Host { data: std::ptr::null_mut(), bytes: 0, type_name: "nothing" };
        ModelInput { name, place, holds: |_| true, dims: Some(dims) }
    }
}

/// Inputs as C takes them. `strange` keeps names that the model has not; the orders of tensors are added to `orders`.
fn raw_inputs(
    ports: &[Port],
    inputs: &[ModelInput<'_>],
    runs: bool,
    strange: &mut Vec<CString>,
    orders: &mut Vec<Order>,
) -> Result<Vec<sys::backplane_model_input>> {
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        let mut made = sys::backplane_model_input {
            name: port(ports, input.name, input.place, input.holds, strange)?,
            data: std::ptr::null(),
            bytes: 0,
            dims: input.dims.map_or(std::ptr::null(), <[i64]>::as_ptr),
            rank: rank_of(input.dims.unwrap_or(&[]))?,
            dtype: 0,
            tensor: std::ptr::null_mut(),
        };
        match input.place {
            Place::Host { data, bytes, type_name } => {
                if runs && data.is_null() {
                    let text = format!(
                        "'{}' is a shape, and a run needs what is in it: use ModelInput::new, not {}",
                        input.name, type_name
                    );
                    return Err(Error::new(Code::Invalid, text));
                }
                made.data = data;
                made.bytes = bytes;
            }
            Place::Device(tensor) => {
                made.dtype = tensor.dtype().0;
                made.tensor = tensor.raw();
                orders.push(tensor.order.clone());
            }
        }
        all.push(made);
    }
    Ok(all)
}

/// A network that was read from a file. Copies share it. Any number of threads.
///
/// ```no_run
/// use backplane::{Context, Model, ModelInput, ModelSession};
/// # fn main() -> backplane::Result<()> {
/// let context = Context::new()?;
/// let model = Model::from_onnx("detector.onnx")?;
/// let mut session = ModelSession::new(&model, &context, "")?;
/// let pixels = vec![0f32; 3 * 640 * 480];
/// let results = session.run(&[ModelInput::new("x", &[1, 3, 640, 480], &pixels)], None)?;
/// println!("{:?}", results.get::<f32>("scores")?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Model(Arc<Handle>);

impl Model {
    /// From a file. Weights are used where they lie in it; tensors in other files are found in its folder alone.
    pub fn from_onnx(path: impl AsRef<Path>) -> Result<Model> {
        let path = raw::c_path(path.as_ref(), "the model")?;
        // SAFETY: a text with its zero.
        let raw = raw::make(|out, error| unsafe { sys::backplane_model_from_onnx(path.as_ptr(), out, error) })?;
        Model::made(raw, Vec::new())
    }
    /// From memory. `name` is for messages.
    pub fn from_onnx_bytes(bytes: Vec<u8>, name: &str) -> Result<Model> {
        let name = raw::c_string(name, "the name")?;
        let (data, size) = (bytes.as_ptr() as *const c_void, bytes.len() as u64);
        // SAFETY: as many bytes as are said, which live as long as the model and what is made of it.
        let raw =
            raw::make(|out, error| unsafe { sys::backplane_model_from_onnx_bytes(data, size, name.as_ptr(), out, error) })?;
        Model::made(raw, bytes)
    }
    fn made(raw: NonNull<sys::backplane_model>, bytes: Vec<u8>) -> Result<Model> {
        let mut handle = Handle { raw, inputs: Vec::new(), outputs: Vec::new(), _bytes: bytes };
        let ports = |all: Vec<ValueInfo>| -> Result<Vec<Port>> {
            let known = all.iter().filter_map(|v| v.dtype.map(|dtype| (v, dtype)));
            known.map(|(v, dtype)| Ok(Port { name: raw::c_string(&v.name, "a name of the model")?, dtype })).collect()
        };
        handle.inputs = ports(values(&handle, sys::backplane_model_inputs)?)?;
        handle.outputs = ports(values(&handle, sys::backplane_model_outputs)?)?;
        Ok(Model(Arc::new(handle)))
    }
    fn raw(&self) -> *const sys::backplane_model {
        self.0.raw.as_ptr()
    }
    /// What the file says of itself.
    pub fn info(&self) -> Result<ModelInfo> {
        let mut info = sys::backplane_model_info {
            struct_size: raw::size_of::<sys::backplane_model_info>(),
            input_count: 0,
            output_count: 0,
            reserved: 0,
            opset: 0,
            ir_version: 0,
            nodes: 0,
            parameters: 0,
            weight_bytes: 0,
            format: [0; 16],
            name: [0; 256],
            producer: [0; 128],
        };
        // SAFETY: a record with its size.
        raw::call(|error| unsafe { sys::backplane_model_get_info(self.raw(), &mut info, error) })?;
        Ok(ModelInfo {
            format: raw::member(&info.format),
            name: raw::member(&info.name),
            producer: raw::member(&info.producer),
            opset: info.opset,
            ir_version: info.ir_version,
            nodes: info.nodes,
            parameters: info.parameters,
            weight_bytes: info.weight_bytes,
        })
    }
    /// As the file declares them.
    pub fn inputs(&self) -> Result<Vec<ValueInfo>> {
        values(&self.0, sys::backplane_model_inputs)
    }
    /// As the file declares them.
    pub fn outputs(&self) -> Result<Vec<ValueInfo>> {
        values(&self.0, sys::backplane_model_outputs)
    }
    /// Where each node would run on these devices, best first, and why not, as JSON. Nothing is compiled.
    pub fn check(&self, devices: &[Device], inputs: &[ModelInput<'_>]) -> Result<String> {
        let handles: Vec<*mut sys::backplane_device> = devices.iter().map(Device::raw).collect();
        let (mut strange, mut orders) = (Vec::new(), Vec::new());
        let given = raw_inputs(&self.0.inputs, inputs, false, &mut strange, &mut orders)?;
        // SAFETY: lists as long as is said; `text` gives room for as many bytes as it says.
        raw::text(|json, room, size, error| unsafe {
            let (devices, inputs) = (handles.len() as u32, given.len() as u32);
            sys::backplane_model_check(
                self.raw(),
                handles.as_ptr(),
                devices,
                given.as_ptr(),
                inputs,
                json,
                room,
                size,
                error,
            )
        })
    }
}

type Values = unsafe extern "C" fn(
    *const sys::backplane_model,
    *mut sys::backplane_model_value,
    u32,
    *mut u32,
    *mut sys::bp_error,
) -> sys::bp_code;
fn values(of: &Handle, function: Values) -> Result<Vec<ValueInfo>> {
    // SAFETY: `records` gives room for as many as it says.
    let all = raw::records(value(), |values, room, count, error| unsafe {
        function(of.raw.as_ptr(), values, room, count, error)
    })?;
    // SAFETY: texts that live as long as the model.
    Ok(all.iter().map(|v| unsafe { ValueInfo::from_raw(v) }).collect())
}

/// A model on devices. Each run says by the shapes of its inputs which size it is. Any thread, one call at a time:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<backplane::ModelSession>();
/// ```
pub struct ModelSession {
    raw: NonNull<sys::backplane_model_session>,
    model: Model,
    _keep: Keep,
}

// SAFETY: model.h: one call at a time on a session, from any thread.
unsafe impl Send for ModelSession {}

impl Drop for ModelSession {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more. The model goes after it.
        unsafe { sys::backplane_model_session_destroy(self.raw.as_ptr()) }
    }
}

impl ModelSession {
    /// On the device that the library chooses (filter as [`Context::open`] takes it), and behind it the CPU. Compiles nothing yet.
    pub fn new(model: &Model, context: &Context, filter: &str) -> Result<ModelSession> {
        let filter = raw::c_string(filter, "the device filter")?;
        // SAFETY: a text with its zero, handles that live.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_model_session_create(model.raw(), context.raw(), filter.as_ptr(), std::ptr::null(), out, error)
        })?;
        Ok(ModelSession { raw, model: model.clone(), _keep: context.keep.clone() })
    }
    /// On these devices, best first.
    pub fn on(model: &Model, devices: &[Device], math: Math) -> Result<ModelSession> {
        let handles: Vec<*mut sys::backplane_device> = devices.iter().map(Device::raw).collect();
        let struct_size = raw::size_of::<sys::backplane_model_options>();
        let options = sys::backplane_model_options { struct_size, math: math as u32, plans_kept: 0, reserved: 0 };
        // SAFETY: as many handles as are said, which live.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_model_session_create_on(model.raw(), handles.as_ptr(), handles.len() as u32, &options, out, error)
        })?;
        Ok(ModelSession { raw, model: model.clone(), _keep: devices[0].keep() })
    }

    /// Each input of the model once; gives all outputs. The first run of a size compiles its plan.
    pub fn run(&mut self, inputs: &[ModelInput<'_>], cancel: Option<&CancelFlag>) -> Result<Results> {
        let (mut strange, mut orders) = (Vec::new(), Vec::new());
        let given = raw_inputs(&self.model.0.inputs, inputs, true, &mut strange, &mut orders)?;
        let _alone = Order::hold_all(&mut orders);
        let flag = CancelFlag::raw_of(cancel);
        // SAFETY: as many inputs as are said; their memory is borrowed for the call.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_model_session_run(self.raw.as_ptr(), given.as_ptr(), given.len() as u32, flag, out, error)
        })?;
        Ok(Results { raw })
    }
    /// The same into memory or tensors of the caller. Outputs that are not named are not copied.
    pub fn run_into(
        &mut self,
        inputs: &[ModelInput<'_>],
        outputs: &mut [Output<'_>],
        cancel: Option<&CancelFlag>,
    ) -> Result<()> {
        let (mut strange, mut orders) = (Vec::new(), Vec::new());
        let given = raw_inputs(&self.model.0.inputs, inputs, true, &mut strange, &mut orders)?;
        let mut into = Vec::with_capacity(outputs.len());
        for output in outputs.iter() {
            let name = port(&self.model.0.outputs, output.name, output.place, output.holds, &mut strange)?;
            into.push(match output.place {
                Place::Host { data, bytes, .. } => sys::backplane_value { name, data, bytes, tensor: std::ptr::null_mut() },
                Place::Device(tensor) => {
                    orders.push(tensor.order.clone());
                    sys::backplane_value { name, data: std::ptr::null_mut(), bytes: 0, tensor: tensor.raw() }
                }
            });
        }
        let _alone = Order::hold_all(&mut orders);
        let flag = CancelFlag::raw_of(cancel);
        // SAFETY: as many values as are said; their memory is borrowed for the call, that of outputs mutably.
        raw::call(|error| unsafe {
            let (ins, outs) = (given.len() as u32, into.len() as u32);
            sys::backplane_model_session_run_into(self.raw.as_ptr(), given.as_ptr(), ins, into.as_ptr(), outs, flag, error)
        })
    }
    /// The outputs that such a run would have, nothing of them open; compiles its plan.
    pub fn prepare(&mut self, inputs: &[ModelInput<'_>]) -> Result<Vec<ValueInfo>> {
        let (mut strange, mut orders) = (Vec::new(), Vec::new());
        let given = raw_inputs(&self.model.0.inputs, inputs, false, &mut strange, &mut orders)?;
        // SAFETY: `records` gives room for as many as it says.
        let all = raw::records(value(), |values, room, count, error| unsafe {
            sys::backplane_model_session_prepare(
                self.raw.as_ptr(),
                given.as_ptr(),
                given.len() as u32,
                values,
                room,
                count,
                error,
            )
        })?;
        // SAFETY: texts that live as long as the session.
        Ok(all.iter().map(|v| unsafe { ValueInfo::from_raw(v) }).collect())
    }
}

/// The outputs of one run. They do not change: any number of threads.
pub struct Results {
    raw: NonNull<sys::backplane_model_results>,
}

// SAFETY: model.h: results do not change, any number of threads.
unsafe impl Send for Results {}
// SAFETY: as above.
unsafe impl Sync for Results {}

impl Drop for Results {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_model_results_destroy(self.raw.as_ptr()) }
    }
}

impl Results {
    /// The outputs, in the model's order.
    pub fn outputs(&self) -> Result<Vec<ValueInfo>> {
        // SAFETY: the handle lives.
        let count = unsafe { sys::backplane_model_results_count(self.raw.as_ptr()) };
        (0..count)
            .map(|i| {
                let mut one = value();
                // SAFETY: a record with its size.
                raw::call(|error| unsafe { sys::backplane_model_results_value(self.raw.as_ptr(), i, &mut one, error) })?;
                // SAFETY: texts that live as long as the results.
                Ok(unsafe { ValueInfo::from_raw(&one) })
            })
            .collect()
    }
    /// An output, without a copy. [`Code::NotFound`] says which there are.
    pub fn get<T: Element>(&self, name: &str) -> Result<&[T]> {
        let all = self.outputs()?;
        let i = all.iter().position(|v| v.name == name).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|v| v.name.as_str()).collect();
            Error::new(Code::NotFound, format!("there is no output '{}'; there are: {}", name, names.join(", ")))
        })?;
        crate::graph::holds::<T>(name, all[i].dtype.unwrap_or(DType(0)))?;
        // SAFETY: the handle lives.
        let (data, bytes) = unsafe {
            let raw = self.raw.as_ptr();
            (sys::backplane_model_results_data(raw, i as u32), sys::backplane_model_results_bytes(raw, i as u32))
        };
        if data.is_null() || bytes == 0 {
            return Ok(&[]);
        }
        // SAFETY: so many bytes, aligned for every type, any of which make elements; they live as long as the results.
        Ok(unsafe { std::slice::from_raw_parts(data as *const T, bytes as usize / std::mem::size_of::<T>()) })
    }
}
