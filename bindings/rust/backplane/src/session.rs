//! A graph on devices, with its weights.

use crate::graph::Port;
use crate::tensor::Order;
use crate::{raw, CancelFlag, Code, Device, Element, Error, Graph, Result, Tensor, Weights};
use backplane_sys as sys;
use std::collections::BTreeMap;
use std::ffi::{c_void, CString};
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::ptr::NonNull;
use std::time::Duration;

/// How exactly a device computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Math {
    /// Within the bounds of docs/conformance.md.
    Default = sys::BP_MATH_DEFAULT as isize,
    /// Each output is the plain sum of products in f32 or better.
    Strict = sys::BP_MATH_STRICT as isize,
    /// Half precision is allowed; beside weights in blocks, activations in bytes.
    Relaxed = sys::BP_MATH_RELAXED as isize,
}

#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Host { data: *mut c_void, bytes: u64, type_name: &'static str },
    Device(&'a Tensor),
}

/// An input of a run: host memory, or a tensor on a device.
pub struct Input<'a> {
    name: &'a str,
    place: Place<'a>,
    holds: Holds,
}

impl<'a> Input<'a> {
    /// From host memory: dense, row-major, exactly as many elements as the input has.
    pub fn new<T: Element>(name: &'a str, data: &'a [T]) -> Input<'a> {
        let place = Place::Host {
            data: data.as_ptr() as *mut c_void, // only read
            bytes: std::mem::size_of_val(data) as u64,
            type_name: std::any::type_name::<T>(),
        };
        Input { name, place, holds: T::holds }
    }
    /// From a device: of the input's dtype and shape.
    pub fn tensor(name: &'a str, tensor: &'a Tensor) -> Input<'a> {
        Input { name, place: Place::Device(tensor), holds: |_| true }
    }
}

/// An output of a run: host memory, or a tensor on a device.
pub struct Output<'a> {
    pub(crate) name: &'a str,
    pub(crate) place: Place<'a>,
    pub(crate) holds: Holds,
    _written: PhantomData<&'a mut [u8]>,
}

impl<'a> Output<'a> {
    /// Into host memory of exactly as many elements as the output has.
    pub fn new<T: Element>(name: &'a str, room: &'a mut [T]) -> Output<'a> {
        let place = Place::Host {
            bytes: std::mem::size_of_val(room) as u64,
            data: room.as_mut_ptr() as *mut c_void,
            type_name: std::any::type_name::<T>(),
        };
        Output { name, place, holds: T::holds, _written: PhantomData }
    }
    /// Into a tensor of the output's dtype and shape.
    pub fn tensor(name: &'a str, tensor: &'a Tensor) -> Output<'a> {
        Output { name, place: Place::Device(tensor), holds: |_| true, _written: PhantomData }
    }
}

/// A graph compiled for a device, with its weights. Any thread, one call at a time:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<backplane::Session>();
/// ```
///
/// and an output is nobody else's while it is written:
///
/// ```compile_fail,E0502
/// # use backplane::{Input, Output, Session};
/// fn in_place(session: &mut Session, x: &mut [f32]) -> backplane::Result<()> {
///     session.run(&[Input::new("x", x)], &mut [Output::new("y", x)], None)
/// }
/// ```
pub struct Session {
    raw: NonNull<sys::backplane_session>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    states: BTreeMap<String, Order>, // those that others may use, too
    weights: Weights,
    device: Device, // the first: what keeps its closures
}

// SAFETY: backplane.h: sessions may be used from any thread, one call at a time.
unsafe impl Send for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more. It waits for what it submitted; weights and closures go after it.
        unsafe { sys::backplane_session_destroy(self.raw.as_ptr()) }
    }
}

impl Session {
    /// On a device. [`Code::Unsupported`] names what it does not do.
    pub fn new(device: &Device, graph: &Graph, weights: &Weights) -> Result<Session> {
        Session::on(std::slice::from_ref(device), graph, weights, Math::Default)
    }
    /// On devices, best first: the next ones do what the first does not support, and what remains when it is lost.
    pub fn on(devices: &[Device], graph: &Graph, weights: &Weights, math: Math) -> Result<Session> {
        let handles: Vec<*mut sys::backplane_device> = devices.iter().map(Device::raw).collect();
        // SAFETY: as many handles as are said, which live.
        let made = raw::make(|out, error| unsafe {
            let count = handles.len() as u32;
            sys::backplane_session_create_shared(
                handles.as_ptr(),
                count,
                graph.raw(),
                weights.raw(),
                math as u32,
                out,
                error,
            )
        });
        weights.resume();
        Ok(Session {
            raw: made?,
            inputs: graph.inputs.clone(),
            outputs: graph.outputs.clone(),
            states: BTreeMap::new(),
            weights: weights.clone(),
            device: devices[0].clone(),
        })
    }
    fn raw(&self) -> *mut sys::backplane_session {
        self.raw.as_ptr()
    }

    /// Each input and output of the graph once; returns when the outputs are written. After an error what is in them is undefined.
    pub fn run(&mut self, inputs: &[Input<'_>], outputs: &mut [Output<'_>], cancel: Option<&CancelFlag>) -> Result<()> {
        let host = |place: &Place<'_>| matches!(place, Place::Host { .. });
        if !inputs.iter().all(|i| host(&i.place)) || !outputs.iter().all(|o| host(&o.place)) {
            return self.hand_over(inputs, outputs, cancel, false).map(drop);
        }
        let mut strange = Vec::new();
        let mut values = Vec::with_capacity(inputs.len() + outputs.len());
        for (ports, name, place, holds) in named(&self.inputs, &self.outputs, inputs, outputs) {
            if let Place::Host { data, bytes, .. } = place {
                values.push(sys::backplane_bytes { name: port(ports, name, place, holds, &mut strange)?, data, bytes });
            }
        }
        let (into, out_of) = values.split_at(inputs.len());
        let mut orders: Vec<Order> = self.states.values().cloned().collect();
        let alone = Order::hold_all(&mut orders);
        // SAFETY: as many values as are said; their memory is borrowed for the call, that of outputs mutably.
        let done = raw::call(|error| unsafe {
            sys::backplane_session_run(
                self.raw(),
                into.as_ptr(),
                into.len() as u32,
                out_of.as_ptr(),
                out_of.len() as u32,
                CancelFlag::raw_of(cancel),
                error,
            )
        });
        drop(alone);
        if done.is_err() {
            self.weights.resume();
        }
        done
    }

    /// Between tensors on devices: returns when the work is under way. They may be given on at once, and dropped.
    pub fn submit(
        &mut self,
        inputs: &[(&str, &Tensor)],
        outputs: &[(&str, &Tensor)],
        cancel: Option<&CancelFlag>,
    ) -> Result<Event> {
        let inputs: Vec<Input<'_>> = inputs.iter().map(|(name, tensor)| Input::tensor(name, tensor)).collect();
        let outputs: Vec<Output<'_>> = outputs.iter().map(|(name, tensor)| Output::tensor(name, tensor)).collect();
        let made = self.hand_over(&inputs, &outputs, cancel, true)?;
        let raw = made.ok_or_else(|| Error::new(Code::Internal, "the library made no event, and gave no reason"))?;
        Ok(Event { raw, cancel: cancel.cloned(), _device: self.device.clone() })
    }

    fn hand_over(
        &mut self,
        inputs: &[Input<'_>],
        outputs: &[Output<'_>],
        cancel: Option<&CancelFlag>,
        leave: bool,
    ) -> Result<Option<NonNull<sys::backplane_event>>> {
        let mut strange = Vec::new();
        let mut values = Vec::with_capacity(inputs.len() + outputs.len());
        let mut orders: Vec<Order> = self.states.values().cloned().collect();
        for (ports, name, place, holds) in named(&self.inputs, &self.outputs, inputs, outputs) {
            let name = port(ports, name, place, holds, &mut strange)?;
            values.push(match place {
                Place::Host { data, bytes, .. } => sys::backplane_value { name, data, bytes, tensor: std::ptr::null_mut() },
                Place::Device(tensor) => {
                    orders.push(tensor.order.clone());
                    sys::backplane_value { name, data: std::ptr::null_mut(), bytes: 0, tensor: tensor.raw() }
                }
            });
        }
        let (into, out_of) = values.split_at(inputs.len());
        let alone = Order::hold_all(&mut orders);
        let mut event = std::ptr::null_mut();
        // SAFETY: as many values as are said. Host memory is borrowed for the call, and in use no longer, for without `leave` it returns when all is
        // done; tensors keep their bytes, and the event keeps the flag.
        let done = raw::call(|error| unsafe {
            sys::backplane_session_submit(
                self.raw(),
                into.as_ptr(),
                into.len() as u32,
                out_of.as_ptr(),
                out_of.len() as u32,
                CancelFlag::raw_of(cancel),
                if leave { &mut event } else { std::ptr::null_mut() },
                error,
            )
        });
        drop(alone);
        if done.is_err() {
            self.weights.resume();
        }
        done.map(|()| NonNull::new(event))
    }

    /// A state by its name, shared: a session that is given it goes on from there, and nothing is copied.
    pub fn state(&mut self, name: &str) -> Result<Tensor> {
        let text = raw::c_string(name, "the state")?;
        // SAFETY: a text with its zero.
        let raw = raw::make(|out, error| unsafe { sys::backplane_session_state(self.raw(), text.as_ptr(), out, error) })?;
        let order = self.states.entry(name.to_string()).or_default().clone();
        Tensor::from_raw(raw, order, self.device.keep())
    }
    /// Takes the state of another session, or a tensor of its dtype and shape.
    pub fn set_state(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        let text = raw::c_string(name, "the state")?;
        let _alone = tensor.order.hold();
        // SAFETY: a text with its zero, a handle that lives.
        raw::call(|error| unsafe { sys::backplane_session_set_state(self.raw(), text.as_ptr(), tensor.raw(), error) })?;
        self.states.insert(name.to_string(), tensor.order.clone());
        Ok(())
    }
    /// Makes all states zero.
    pub fn reset_state(&mut self) -> Result<()> {
        let mut orders: Vec<Order> = self.states.values().cloned().collect();
        let _alone = Order::hold_all(&mut orders);
        // SAFETY: the handle lives.
        raw::call(|error| unsafe { sys::backplane_session_reset_state(self.raw(), error) })
    }
    /// A run by the C API alone, for what measures this crate.
    ///
    /// # Safety
    /// As `backplane_session_run` asks.
    #[doc(hidden)]
    pub unsafe fn run_raw(
        &mut self,
        input: *const sys::backplane_bytes,
        output: *const sys::backplane_bytes,
    ) -> sys::bp_code {
        // SAFETY: promised by the caller.
        unsafe { sys::backplane_session_run(self.raw(), input, 1, output, 1, std::ptr::null(), std::ptr::null_mut()) }
    }
    /// What runs where and how many bytes it takes, in lines.
    pub fn plan(&self) -> Result<String> {
        // SAFETY: `text` gives room for as many bytes as it says.
        raw::text(|text, room, size, error| unsafe { sys::backplane_session_plan(self.raw(), 0, text, room, size, error) })
    }
    /// The same as JSON (docs/cli.md, plan).
    pub fn plan_json(&self) -> Result<String> {
        // SAFETY: as above.
        raw::text(|text, room, size, error| unsafe { sys::backplane_session_plan(self.raw(), 1, text, room, size, error) })
    }
}

pub(crate) type Holds = fn(crate::DType) -> bool;
type Named<'a> = (&'a [Port], &'a str, Place<'a>, Holds);
fn named<'a>(
    input_ports: &'a [Port],
    output_ports: &'a [Port],
    inputs: &'a [Input<'a>],
    outputs: &'a [Output<'a>],
) -> impl Iterator<Item = Named<'a>> {
    let ins = inputs.iter().map(move |i| (input_ports, i.name, i.place, i.holds));
    ins.chain(outputs.iter().map(move |o| (output_ports, o.name, o.place, o.holds)))
}

/// The name for C of an input or output, whose elements the caller has right. One that the graph has not is the library's to refuse.
pub(crate) fn port(
    ports: &[Port],
    name: &str,
    place: Place<'_>,
    holds: Holds,
    strange: &mut Vec<CString>,
) -> Result<*const c_char> {
    match ports.iter().find(|p| p.name.as_bytes() == name.as_bytes()) {
        Some(found) => match place {
            Place::Host { type_name, .. } if !holds(found.dtype) => Err(Error::new(
                Code::Invalid,
                format!("'{}' is {:?}: a slice of {} does not hold it", name, found.dtype, type_name),
            )),
            _ => Ok(found.name.as_ptr()),
        },
        None => {
            strange.push(raw::c_string(name, "the name")?);
            Ok(strange[strange.len() - 1].as_ptr())
        }
    }
}

/// The end of one submit. Any thread. Dropping it cancels nothing.
pub struct Event {
    raw: NonNull<sys::backplane_event>,
    cancel: Option<CancelFlag>,
    _device: Device,
}

// SAFETY: backplane.h: events take any number of calls at a time, from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Returns when every output is where it was wanted. The error is the same at each call.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the handle lives.
        raw::call(|error| unsafe { sys::backplane_event_wait(self.raw.as_ptr(), error) })
    }
    /// False: it is not done yet.
    pub fn wait_for(&self, most: Duration) -> Result<bool> {
        let nanoseconds = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the handle lives.
        match raw::call(|error| unsafe { sys::backplane_event_wait_for(self.raw.as_ptr(), nanoseconds, error) }) {
            Ok(()) => Ok(true),
            Err(error) if error.code() == Code::Timeout => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // The work reads the flag until it is done.
        if self.cancel.is_some() {
            let _ = self.wait();
        }
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_event_destroy(self.raw.as_ptr()) }
    }
}
